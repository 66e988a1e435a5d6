/* A Succinct table of one String by another, under LevelDB's functions. The argument is a directory with an empty table
   in `db`. At the end the table has the keys `key 0000` to `key 4999` that 3 does not divide. */

#include <leveldb/c.h>

#include "check.h"

enum { KEYS = 5000 };

static char path[4096], key[20], value[60], *error = NULL;
static leveldb_options_t* options;
static leveldb_readoptions_t* reads;
static leveldb_writeoptions_t* writes;

static void name(int number) {
  snprintf(key, sizeof key, "key %04d", number);
  snprintf(value, sizeof value, "a value of number %d", number);
}

/* The keys from 0 that 3 does not divide, or all of them. */
static void check_all(leveldb_t* db, int has_all) {
  leveldb_iterator_t* iterator = leveldb_create_iterator(db, reads);
  const char* bytes;
  size_t length;
  int number;
  CHECK(leveldb_iter_valid(iterator) == 0);
  leveldb_iter_seek_to_first(iterator);
  for (number = 0; number < KEYS; number++) {
    name(number);
    if (!has_all && number % 3 == 0) {
      CHECK(leveldb_get(db, reads, key, strlen(key), &length, &error) == NULL);
      FINE(error);
      continue;
    }
    CHECK(leveldb_iter_valid(iterator) == 1);
    bytes = leveldb_iter_key(iterator, &length);
    SAME(key, bytes, length);
    bytes = leveldb_iter_value(iterator, &length);
    SAME(value, bytes, length);
    leveldb_iter_next(iterator);
  }
  CHECK(leveldb_iter_valid(iterator) == 0);
  leveldb_iter_seek_to_last(iterator);
  for (number = KEYS - 1; number >= 0; number--) {
    if (!has_all && number % 3 == 0) continue;
    name(number);
    bytes = leveldb_iter_key(iterator, &length);
    SAME(key, bytes, length);
    leveldb_iter_prev(iterator);
  }
  CHECK(leveldb_iter_valid(iterator) == 0);
  leveldb_iter_seek(iterator, "key 0100x", 9);
  name(101);
  bytes = leveldb_iter_key(iterator, &length);
  SAME(key, bytes, length);
  leveldb_iter_get_error(iterator, &error);
  FINE(error);
  leveldb_iter_destroy(iterator);
}

static void refusals(leveldb_t* db) {
  char* long_key = calloc(1, 70000);
  leveldb_put(db, writes, long_key, 70000, "", 0, &error);
  FAILED(error, "Invalid argument: ");
  free(long_key);
  CHECK(leveldb_open(options, path, &error) == NULL);
  FAILED(error, "IO error: ");
  leveldb_destroy_db(options, path, &error);
  FAILED(error, "Invalid argument: ");
  leveldb_repair_db(options, path, &error);
  FAILED(error, "Invalid argument: ");
}

int main(int count, char** arguments) {
  leveldb_t* db;
  leveldb_writebatch_t* batch = leveldb_writebatch_create();
  const leveldb_snapshot_t* before;
  const char *start = "", *middle = "key 2500", *end = "l";
  size_t start_length = 0, middle_length = 8, end_length = 1;
  uint64_t whole, half;
  char* text;
  int number;
  CHECK(count == 2);
  snprintf(path, sizeof path, "%s/db", arguments[1]);
  options = leveldb_options_create();
  reads = leveldb_readoptions_create();
  writes = leveldb_writeoptions_create();
  db = leveldb_open(options, path, &error);
  FINE(error);
  for (number = 0; number < KEYS; number++) {
    name(number);
    leveldb_put(db, writes, key, strlen(key), value, strlen(value), &error);
    FINE(error);
    if (number == KEYS / 2) leveldb_compact_range(db, "a", 1, "z", 1);
  }
  check_all(db, 1);
  leveldb_compact_range(db, NULL, 0, NULL, 0);
  check_all(db, 1);
  before = leveldb_create_snapshot(db);
  for (number = 0; number < KEYS; number += 3) {
    name(number);
    leveldb_writebatch_put(batch, key, strlen(key), "x", 1);
    leveldb_writebatch_delete(batch, key, strlen(key));
  }
  leveldb_writeoptions_set_sync(writes, 1);
  leveldb_write(db, writes, batch, &error);
  FINE(error);
  leveldb_delete(db, writes, "no such key", 11, &error);
  FINE(error);
  check_all(db, 0);
  leveldb_readoptions_set_snapshot(reads, before);
  check_all(db, 1);
  leveldb_compact_range(db, NULL, 0, NULL, 0);
  check_all(db, 1);
  leveldb_readoptions_set_snapshot(reads, NULL);
  leveldb_release_snapshot(db, before);
  check_all(db, 0);
  leveldb_approximate_sizes(db, 1, &start, &start_length, &end, &end_length, &whole);
  leveldb_approximate_sizes(db, 1, &start, &start_length, &middle, &middle_length, &half);
  CHECK(half > 0 && half < whole);
  text = leveldb_property_value(db, "leveldb.num-files-at-level0");
  CHECK(text != NULL && strcmp(text, "1") == 0);
  leveldb_free(text);
  text = leveldb_property_value(db, "leveldb.stats");
  CHECK(text != NULL && strstr(text, "read-only") != NULL);
  leveldb_free(text);
  CHECK(leveldb_property_value(db, "leveldb.nothing") == NULL);
  refusals(db);
  leveldb_close(db);
  leveldb_options_set_error_if_exists(options, 1);
  CHECK(leveldb_open(options, path, &error) == NULL);
  FAILED(error, "Invalid argument: ");
  leveldb_options_set_error_if_exists(options, 0);
  db = leveldb_open(options, path, &error);
  FINE(error);
  check_all(db, 0);
  leveldb_close(db);
  leveldb_writebatch_destroy(batch);
  leveldb_options_destroy(options);
  leveldb_readoptions_destroy(reads);
  leveldb_writeoptions_destroy(writes);
  puts("passed");
  return 0;
}
