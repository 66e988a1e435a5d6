/* Every function of leveldb/c.h: what it promises, and NULL for every pointer. The argument is an empty directory. */

#include <leveldb/c.h>

#include <pthread.h>

#include "check.h"

static char path[4096];
static leveldb_options_t* options;
static leveldb_readoptions_t* reads;
static leveldb_writeoptions_t* writes;
static char* error = NULL;

static leveldb_t* open_db(void) {
  leveldb_t* db = leveldb_open(options, path, &error);
  FINE(error);
  CHECK(db != NULL);
  return db;
}

/* An empty database. */
static leveldb_t* new_db(void) {
  leveldb_destroy_db(options, path, &error);
  FINE(error);
  return open_db();
}

static void put(leveldb_t* db, const char* key, const char* value) {
  leveldb_put(db, writes, key, strlen(key), value, strlen(value), &error);
  FINE(error);
}

/* `value` is what the key has; NULL is no such key. */
static void check_get(leveldb_t* db, const char* key, const char* value) {
  size_t length = 77;
  char* found = leveldb_get(db, reads, key, strlen(key), &length, &error);
  FINE(error);
  if (value == NULL) {
    CHECK(found == NULL && length == 0);
  } else {
    SAME(value, found, length);
  }
  leveldb_free(found);
}

static void check_at(const leveldb_iterator_t* iterator, const char* key, const char* value) {
  size_t length;
  const char* bytes;
  CHECK(leveldb_iter_valid(iterator) == 1);
  bytes = leveldb_iter_key(iterator, &length);
  SAME(key, bytes, length);
  bytes = leveldb_iter_value(iterator, &length);
  SAME(value, bytes, length);
}

static void check_end(const leveldb_iterator_t* iterator) {
  size_t length = 77;
  CHECK(leveldb_iter_valid(iterator) == 0);
  CHECK(leveldb_iter_key(iterator, &length) == NULL && length == 0);
  CHECK(leveldb_iter_value(iterator, &length) == NULL && length == 0);
  leveldb_iter_get_error(iterator, &error);
  FINE(error);
}

static void opening(void) {
  leveldb_t *db, *second;
  leveldb_options_set_create_if_missing(options, 0);
  CHECK(leveldb_open(options, path, &error) == NULL);
  FAILED(error, "Invalid argument: ");
  leveldb_options_set_create_if_missing(options, 1);
  db = open_db();
  second = leveldb_open(options, path, &error);
  CHECK(second == NULL);
  FAILED(error, "IO error: ");
  leveldb_destroy_db(options, path, &error);
  FAILED(error, "IO error: ");
  leveldb_close(db);
  leveldb_options_set_error_if_exists(options, 1);
  CHECK(leveldb_open(options, path, &error) == NULL);
  FAILED(error, "Invalid argument: ");
  leveldb_options_set_error_if_exists(options, 0);
  leveldb_close(open_db());
}

static void keys_and_values(void) {
  leveldb_t* db = new_db();
  char binary[4] = {0, 'k', 0, (char)0xff};
  size_t length, large = 3 << 20;
  char *found, *bytes = malloc(large);
  put(db, "key", "value");
  put(db, "key", "newer");
  check_get(db, "key", "newer");
  check_get(db, "kez", NULL);
  put(db, "", "of no bytes");
  check_get(db, "", "of no bytes");
  put(db, "empty", "");
  check_get(db, "empty", "");
  leveldb_put(db, writes, binary, sizeof binary, binary, sizeof binary, &error);
  FINE(error);
  found = leveldb_get(db, reads, binary, sizeof binary, &length, &error);
  CHECK(found != NULL && length == sizeof binary && memcmp(found, binary, length) == 0);
  free(found);
  memset(bytes, 'x', large);
  leveldb_put(db, writes, "large", 5, bytes, large, &error);
  FINE(error);
  found = leveldb_get(db, reads, "large", 5, &length, &error);
  CHECK(found != NULL && length == large && memcmp(found, bytes, large) == 0);
  free(found);
  free(bytes);
  leveldb_delete(db, writes, "key", 3, &error);
  leveldb_delete(db, writes, "missing", 7, &error);
  FINE(error);
  check_get(db, "key", NULL);
  leveldb_close(db);
  db = open_db();
  check_get(db, "", "of no bytes");
  check_get(db, "key", NULL);
  leveldb_close(db);
}

static void append_put(void* state, const char* key, size_t key_length, const char* value, size_t value_length) {
  char* text = state;
  strncat(strcat(text, "+"), key, key_length);
  strncat(strcat(text, "="), value, value_length);
}

static void append_deleted(void* state, const char* key, size_t key_length) {
  strncat(strcat((char*)state, "-"), key, key_length);
}

static void batches(void) {
  leveldb_t* db = new_db();
  leveldb_writebatch_t *batch = leveldb_writebatch_create(), *other = leveldb_writebatch_create();
  char text[200] = "";
  leveldb_writebatch_put(batch, "gone", 4, "x", 1);
  leveldb_writebatch_clear(batch);
  leveldb_writebatch_put(batch, "a", 1, "1", 1);
  leveldb_writebatch_put(batch, "b", 1, "2", 1);
  leveldb_writebatch_delete(batch, "a", 1);
  leveldb_writebatch_put(other, "c", 1, "", 0);
  leveldb_writebatch_append(batch, other);
  leveldb_writebatch_append(other, other);
  leveldb_writebatch_iterate(batch, text, append_put, append_deleted);
  CHECK(strcmp(text, "+a=1+b=2-a+c=") == 0);
  text[0] = 0;
  leveldb_writebatch_iterate(other, text, append_put, NULL);
  leveldb_writebatch_iterate(batch, text, NULL, append_deleted);
  CHECK(strcmp(text, "+c=+c=-a") == 0);
  leveldb_write(db, writes, batch, &error);
  FINE(error);
  check_get(db, "a", NULL);
  check_get(db, "b", "2");
  check_get(db, "c", "");
  check_get(db, "gone", NULL);
  put(db, "b", "3");
  leveldb_write(db, writes, batch, &error);
  FINE(error);
  check_get(db, "b", "2");
  leveldb_writebatch_destroy(batch);
  leveldb_writebatch_destroy(other);
  leveldb_close(db);
}

static void iterators(void) {
  leveldb_t* db = new_db();
  leveldb_iterator_t* iterator;
  put(db, "b", "2");
  put(db, "d", "4");
  put(db, "c", "3");
  iterator = leveldb_create_iterator(db, reads);
  put(db, "a", "later");
  check_end(iterator);
  leveldb_iter_next(iterator);
  leveldb_iter_prev(iterator);
  check_end(iterator);
  leveldb_iter_seek_to_first(iterator);
  check_at(iterator, "b", "2");
  leveldb_iter_next(iterator);
  check_at(iterator, "c", "3");
  leveldb_iter_prev(iterator);
  leveldb_iter_prev(iterator);
  check_end(iterator);
  leveldb_iter_seek_to_last(iterator);
  check_at(iterator, "d", "4");
  leveldb_iter_next(iterator);
  check_end(iterator);
  leveldb_iter_seek(iterator, "bb", 2);
  check_at(iterator, "c", "3");
  leveldb_iter_seek(iterator, "c", 1);
  check_at(iterator, "c", "3");
  leveldb_iter_seek(iterator, "", 0);
  check_at(iterator, "b", "2");
  leveldb_iter_seek(iterator, "e", 1);
  check_end(iterator);
  leveldb_iter_destroy(iterator);
  leveldb_close(db);
}

static void snapshots(void) {
  leveldb_t* db = new_db();
  const leveldb_snapshot_t *first, *second;
  leveldb_iterator_t* iterator;
  size_t length;
  put(db, "a", "1");
  first = leveldb_create_snapshot(db);
  put(db, "a", "2");
  second = leveldb_create_snapshot(db);
  put(db, "a", "3");
  leveldb_readoptions_set_snapshot(reads, first);
  check_get(db, "a", "1");
  iterator = leveldb_create_iterator(db, reads);
  leveldb_readoptions_set_snapshot(reads, second);
  check_get(db, "a", "2");
  leveldb_release_snapshot(db, first);
  leveldb_iter_seek_to_first(iterator);
  check_at(iterator, "a", "1");
  leveldb_iter_destroy(iterator);
  leveldb_release_snapshot(db, second);
  CHECK(leveldb_get(db, reads, "a", 1, &length, &error) == NULL);
  FAILED(error, "Invalid argument: ");
  iterator = leveldb_create_iterator(db, reads);
  CHECK(leveldb_iter_valid(iterator) == 0);
  leveldb_iter_seek_to_first(iterator);
  leveldb_iter_get_error(iterator, &error);
  FAILED(error, "Invalid argument: ");
  leveldb_iter_destroy(iterator);
  leveldb_readoptions_set_snapshot(reads, NULL);
  check_get(db, "a", "3");
  /* A snapshot that is not released does not keep the database open. */
  first = leveldb_create_snapshot(db);
  leveldb_readoptions_set_snapshot(reads, first);
  leveldb_close(db);
  db = open_db();
  CHECK(leveldb_get(db, reads, "a", 1, &length, &error) == NULL);
  FAILED(error, "Invalid argument: ");
  leveldb_readoptions_set_snapshot(reads, NULL);
  leveldb_release_snapshot(NULL, first);
  check_get(db, "a", "3");
  leveldb_close(db);
}

static void sizes_and_properties(void) {
  leveldb_t* db = new_db();
  const char* names[] = {"leveldb.stats", "leveldb.sstables", "leveldb.num-files-at-level0",
                         "leveldb.approximate-memory-usage", "rocksdb.estimate-num-keys"};
  const char *starts[] = {"", "key 5", "z"}, *limits[] = {"key 5", "z", "a"};
  size_t start_lengths[] = {0, 5, 1}, limit_lengths[] = {5, 1, 1}, at;
  uint64_t sizes[4] = {7, 7, 7, 7};
  char key[20], value[100], *property;
  int number;
  for (number = 0; number < 10000; number++) {
    snprintf(key, sizeof key, "key %04d", number);
    snprintf(value, sizeof value, "%d %d %d", number * 7919, number * 104729, number * 1299709);
    put(db, key, value);
  }
  leveldb_compact_range(db, "key 3", 5, "key 4", 5);
  leveldb_compact_range(db, NULL, 0, NULL, 0);
  leveldb_approximate_sizes(db, 3, starts, start_lengths, limits, limit_lengths, sizes);
  CHECK(sizes[0] > 0 && sizes[1] > 0 && sizes[2] == 0 && sizes[3] == 7);
  check_get(db, "key 0000", "0 0 0");
  for (at = 0; at < sizeof names / sizeof *names; at++) {
    property = leveldb_property_value(db, names[at]);
    CHECK(property != NULL);
    leveldb_free(property);
  }
  CHECK(leveldb_property_value(db, "leveldb.nothing") == NULL);
  CHECK(leveldb_property_value(db, "nothing") == NULL);
  CHECK(leveldb_property_value(db, "leveldb.num-files-at-level99") == NULL);
  leveldb_close(db);
}

static int destroyed = 0, filters = 0, asked = 0;
static uint8_t answer = 1;

static void count_destroyed(void* state) {
  CHECK(state == &destroyed);
  destroyed++;
}

static int reversed(void* state, const char* a, size_t a_length, const char* b, size_t b_length) {
  size_t least = a_length < b_length ? a_length : b_length;
  int order = least == 0 ? 0 : memcmp(a, b, least);
  CHECK(state == &destroyed);
  if (order == 0) order = a_length < b_length ? -1 : a_length > b_length;
  return order < 0 ? 1000 : order > 0 ? -1000 : 0;
}

static const char* name_of(void* state) {
  CHECK(state == &destroyed);
  return "basalt.tests";
}

static void comparators(void) {
  leveldb_comparator_t* comparator =
      leveldb_comparator_create(&destroyed, count_destroyed, reversed, name_of);
  leveldb_t* db;
  leveldb_iterator_t* iterator;
  leveldb_destroy_db(options, path, &error);
  leveldb_options_set_comparator(options, comparator);
  db = new_db();
  put(db, "a", "1");
  put(db, "b", "2");
  leveldb_compact_range(db, NULL, 0, NULL, 0);
  put(db, "c", "3");
  iterator = leveldb_create_iterator(db, reads);
  leveldb_iter_seek_to_first(iterator);
  check_at(iterator, "c", "3");
  leveldb_iter_seek(iterator, "b", 1);
  check_at(iterator, "b", "2");
  leveldb_iter_next(iterator);
  check_at(iterator, "a", "1");
  leveldb_iter_destroy(iterator);
  leveldb_close(db);
  leveldb_options_set_comparator(options, NULL);
  CHECK(leveldb_open(options, path, &error) == NULL);
  FAILED(error, "Invalid argument: ");
  leveldb_options_set_comparator(options, comparator);
  leveldb_repair_db(options, path, &error);
  FINE(error);
  db = open_db();
  check_get(db, "a", "1");
  check_get(db, "c", "3");
  CHECK(destroyed == 0);
  leveldb_comparator_destroy(comparator);
  check_get(db, "b", "2");
  leveldb_close(db);
  CHECK(destroyed == 1);
  CHECK(leveldb_open(options, path, &error) == NULL);
  FAILED(error, "Invalid argument: ");
  leveldb_options_set_comparator(options, NULL);
  leveldb_destroy_db(options, path, &error);
  FINE(error);
}

static char* no_filter(void* state, const char* const* keys, const size_t* lengths, int count, size_t* length) {
  (void)state, (void)keys, (void)lengths, (void)count, (void)length;
  return NULL;
}

static char* first_bytes(void* state, const char* const* keys, const size_t* lengths, int count, size_t* length) {
  char* filter = malloc(count > 0 ? (size_t)count : 1);
  int at;
  CHECK(state == &destroyed);
  for (at = 0; at < count; at++) filter[at] = lengths[at] > 0 ? keys[at][0] : 0;
  *length = (size_t)count;
  filters++;
  return filter;
}

static uint8_t has_first_byte(void* state, const char* key, size_t key_length, const char* filter, size_t length) {
  CHECK(state == &destroyed);
  asked++;
  return answer != 0 && memchr(filter, key_length > 0 ? key[0] : 0, length) != NULL;
}

static void filter_policies(void) {
  leveldb_filterpolicy_t* policy =
      leveldb_filterpolicy_create(&destroyed, count_destroyed, first_bytes, has_first_byte, name_of);
  leveldb_t* db;
  int run;
  destroyed = 0;
  leveldb_options_set_filter_policy(options, policy);
  db = new_db();
  put(db, "foo", "1");
  put(db, "bar", "2");
  leveldb_compact_range(db, NULL, 0, NULL, 0);
  CHECK(filters > 0);
  check_get(db, "foo", "1");
  check_get(db, "far", NULL);
  CHECK(asked > 0);
  answer = 0;
  check_get(db, "foo", NULL);
  answer = 1;
  leveldb_filterpolicy_destroy(policy);
  CHECK(destroyed == 0);
  check_get(db, "bar", "2");
  leveldb_close(db);
  CHECK(destroyed == 1);
  CHECK(leveldb_open(options, path, &error) == NULL);
  FAILED(error, "Invalid argument: ");
  leveldb_options_set_filter_policy(options, NULL);
  db = open_db();
  check_get(db, "foo", "1");
  leveldb_close(db);
  for (run = 0; run < 3; run++) {
    policy = run == 2 ? leveldb_filterpolicy_create(&destroyed, NULL, no_filter, has_first_byte, name_of)
                      : leveldb_filterpolicy_create_bloom(run * 10);
    leveldb_options_set_filter_policy(options, policy);
    db = new_db();
    put(db, "foo", "1");
    leveldb_compact_range(db, NULL, 0, NULL, 0);
    check_get(db, "foo", "1");
    check_get(db, "bar", NULL);
    leveldb_close(db);
    leveldb_options_set_filter_policy(options, NULL);
    leveldb_filterpolicy_destroy(policy);
  }
}

static void other_options(void) {
  leveldb_cache_t* cache = leveldb_cache_create_lru(1 << 20);
  leveldb_env_t* env = leveldb_create_default_env();
  char* directory = leveldb_env_get_test_directory(env);
  leveldb_t* db;
  int compression;
  CHECK(directory != NULL && directory[0] == '/');
  leveldb_free(directory);
  leveldb_options_set_env(options, env);
  leveldb_options_set_info_log(options, NULL);
  leveldb_options_set_paranoid_checks(options, 0);
  leveldb_options_set_paranoid_checks(options, 1);
  leveldb_options_set_write_buffer_size(options, 100000);
  leveldb_options_set_max_open_files(options, 10);
  leveldb_options_set_cache(options, cache);
  leveldb_options_set_block_size(options, 1024);
  leveldb_options_set_block_restart_interval(options, 8);
  leveldb_options_set_max_file_size(options, 3 << 20);
  for (compression = -1; compression < 4; compression++) {
    leveldb_options_set_compression(options, compression);
    db = new_db();
    put(db, "a", "1");
    leveldb_compact_range(db, NULL, 0, NULL, 0);
    leveldb_close(db);
    db = open_db();
    check_get(db, "a", "1");
    leveldb_close(db);
  }
  leveldb_options_set_write_buffer_size(options, 0);
  leveldb_options_set_max_open_files(options, -1);
  leveldb_options_set_block_size(options, 0);
  leveldb_options_set_block_restart_interval(options, -5);
  leveldb_options_set_max_file_size(options, 0);
  db = new_db();
  /* The database keeps it. */
  leveldb_cache_destroy(cache);
  put(db, "a", "1");
  leveldb_compact_range(db, NULL, 0, NULL, 0);
  check_get(db, "a", "1");
  leveldb_close(db);
  leveldb_env_destroy(env);
  leveldb_options_set_cache(options, NULL);
  leveldb_options_set_env(options, NULL);
  leveldb_readoptions_set_fill_cache(reads, 0);
  leveldb_readoptions_set_verify_checksums(reads, 0);
  db = open_db();
  check_get(db, "a", "1");
  leveldb_close(db);
  leveldb_readoptions_set_fill_cache(reads, 1);
  leveldb_readoptions_set_verify_checksums(reads, 1);
}

static void* work(void* argument) {
  leveldb_t* db = argument;
  leveldb_readoptions_t* own = leveldb_readoptions_create();
  char key[40], *found, *failure = NULL;
  size_t length;
  int number;
  for (number = 0; number < 2000; number++) {
    const leveldb_snapshot_t* snapshot = leveldb_create_snapshot(db);
    snprintf(key, sizeof key, "%d of %lx", number, (unsigned long)pthread_self());
    leveldb_put(db, writes, key, strlen(key), key, strlen(key), &failure);
    FINE(failure);
    found = leveldb_get(db, reads, key, strlen(key), &length, &failure);
    SAME(key, found, length);
    leveldb_free(found);
    leveldb_readoptions_set_snapshot(own, snapshot);
    CHECK(leveldb_get(db, own, key, strlen(key), &length, &failure) == NULL);
    FINE(failure);
    leveldb_release_snapshot(db, snapshot);
  }
  leveldb_readoptions_destroy(own);
  return NULL;
}

static void threads(void) {
  leveldb_t* db = new_db();
  leveldb_iterator_t* iterator;
  pthread_t ids[4];
  int at, count = 0;
  for (at = 0; at < 4; at++) CHECK(pthread_create(&ids[at], NULL, work, db) == 0);
  for (at = 0; at < 4; at++) CHECK(pthread_join(ids[at], NULL) == 0);
  iterator = leveldb_create_iterator(db, reads);
  for (leveldb_iter_seek_to_first(iterator); leveldb_iter_valid(iterator); leveldb_iter_next(iterator)) count++;
  CHECK(count == 8000);
  leveldb_iter_destroy(iterator);
  leveldb_close(db);
}

static void nulls(void) {
  leveldb_t* db = new_db();
  leveldb_writebatch_t* batch = leveldb_writebatch_create();
  leveldb_iterator_t* iterator = leveldb_create_iterator(db, reads);
  const char *keys[1] = {NULL}, *key = "k";
  size_t lengths[1] = {1}, length = 77;
  uint64_t sizes[1] = {7};
  CHECK(leveldb_open(NULL, path, &error) == NULL);
  FAILED(error, "Invalid argument: ");
  CHECK(leveldb_open(options, NULL, &error) == NULL);
  FAILED(error, "Invalid argument: ");
  CHECK(leveldb_open(options, "", &error) == NULL);
  FAILED(error, "Invalid argument: ");
  CHECK(leveldb_open(NULL, NULL, NULL) == NULL);
  leveldb_close(NULL);
  leveldb_put(NULL, writes, key, 1, key, 1, &error);
  FAILED(error, "Invalid argument: ");
  leveldb_put(db, NULL, key, 1, key, 1, &error);
  FAILED(error, "Invalid argument: ");
  leveldb_put(db, writes, NULL, 1, key, 1, &error);
  FAILED(error, "Invalid argument: ");
  leveldb_put(db, writes, key, 1, NULL, 1, &error);
  FAILED(error, "Invalid argument: ");
  leveldb_put(db, writes, key, (size_t)-1, key, 1, &error);
  FAILED(error, "Invalid argument: ");
  leveldb_put(db, writes, key, 1, key, 1, NULL);
  check_get(db, "k", "k");
  leveldb_put(db, writes, NULL, 0, NULL, 0, &error);
  FINE(error);
  check_get(db, "", "");
  leveldb_delete(NULL, writes, key, 1, &error);
  FAILED(error, "Invalid argument: ");
  leveldb_delete(db, NULL, key, 1, &error);
  FAILED(error, "Invalid argument: ");
  leveldb_delete(db, writes, NULL, 1, &error);
  FAILED(error, "Invalid argument: ");
  leveldb_write(NULL, writes, batch, &error);
  FAILED(error, "Invalid argument: ");
  leveldb_write(db, NULL, batch, &error);
  FAILED(error, "Invalid argument: ");
  leveldb_write(db, writes, NULL, &error);
  FAILED(error, "Invalid argument: ");
  CHECK(leveldb_get(NULL, reads, key, 1, &length, &error) == NULL && length == 0);
  FAILED(error, "Invalid argument: ");
  CHECK(leveldb_get(db, NULL, key, 1, &length, &error) == NULL);
  FAILED(error, "Invalid argument: ");
  CHECK(leveldb_get(db, reads, NULL, 1, &length, &error) == NULL);
  FAILED(error, "Invalid argument: ");
  CHECK(leveldb_get(db, reads, key, 1, NULL, &error) == NULL);
  FAILED(error, "Invalid argument: ");
  CHECK(leveldb_create_iterator(NULL, reads) == NULL);
  leveldb_iter_destroy(leveldb_create_iterator(db, NULL));
  CHECK(leveldb_create_snapshot(NULL) == NULL);
  leveldb_release_snapshot(db, NULL);
  leveldb_release_snapshot(NULL, NULL);
  CHECK(leveldb_property_value(NULL, "leveldb.stats") == NULL);
  CHECK(leveldb_property_value(db, NULL) == NULL);
  leveldb_approximate_sizes(NULL, 1, &key, lengths, &key, lengths, sizes);
  CHECK(sizes[0] == 0);
  leveldb_approximate_sizes(db, 1, NULL, lengths, &key, lengths, sizes);
  leveldb_approximate_sizes(db, 1, keys, NULL, &key, lengths, sizes);
  leveldb_approximate_sizes(db, 1, keys, lengths, keys, lengths, sizes);
  leveldb_approximate_sizes(db, 1, &key, lengths, NULL, lengths, sizes);
  leveldb_approximate_sizes(db, 1, &key, lengths, &key, NULL, sizes);
  leveldb_approximate_sizes(db, 1, &key, lengths, &key, lengths, NULL);
  leveldb_approximate_sizes(db, -1, &key, lengths, &key, lengths, sizes);
  CHECK(sizes[0] == 0);
  leveldb_compact_range(NULL, NULL, 0, NULL, 0);
  leveldb_destroy_db(NULL, path, &error);
  FAILED(error, "Invalid argument: ");
  leveldb_destroy_db(options, NULL, &error);
  FAILED(error, "Invalid argument: ");
  leveldb_repair_db(NULL, path, &error);
  FAILED(error, "Invalid argument: ");
  leveldb_repair_db(options, NULL, &error);
  FAILED(error, "Invalid argument: ");
  leveldb_iter_destroy(NULL);
  CHECK(leveldb_iter_valid(NULL) == 0);
  leveldb_iter_seek_to_first(NULL);
  leveldb_iter_seek_to_last(NULL);
  leveldb_iter_seek(NULL, key, 1);
  leveldb_iter_seek(iterator, NULL, 1);
  leveldb_iter_next(NULL);
  leveldb_iter_prev(NULL);
  CHECK(leveldb_iter_key(NULL, &length) == NULL && length == 0);
  CHECK(leveldb_iter_value(NULL, &length) == NULL);
  leveldb_iter_seek_to_first(iterator);
  CHECK(leveldb_iter_key(iterator, NULL) == NULL);
  CHECK(leveldb_iter_value(iterator, NULL) == NULL);
  leveldb_iter_get_error(NULL, &error);
  FAILED(error, "Invalid argument: ");
  leveldb_iter_get_error(iterator, NULL);
  leveldb_writebatch_destroy(NULL);
  leveldb_writebatch_clear(NULL);
  leveldb_writebatch_put(NULL, key, 1, key, 1);
  leveldb_writebatch_put(batch, NULL, 1, key, 1);
  leveldb_writebatch_put(batch, key, 1, NULL, 1);
  leveldb_writebatch_delete(NULL, key, 1);
  leveldb_writebatch_delete(batch, NULL, 1);
  leveldb_writebatch_iterate(NULL, NULL, append_put, append_deleted);
  leveldb_writebatch_iterate(batch, NULL, append_put, append_deleted);
  leveldb_writebatch_append(NULL, batch);
  leveldb_writebatch_append(batch, NULL);
  leveldb_writebatch_append(NULL, NULL);
  leveldb_options_destroy(NULL);
  leveldb_options_set_comparator(NULL, NULL);
  leveldb_options_set_filter_policy(NULL, NULL);
  leveldb_options_set_create_if_missing(NULL, 1);
  leveldb_options_set_error_if_exists(NULL, 1);
  leveldb_options_set_paranoid_checks(NULL, 1);
  leveldb_options_set_env(NULL, NULL);
  leveldb_options_set_info_log(NULL, NULL);
  leveldb_options_set_write_buffer_size(NULL, 1);
  leveldb_options_set_max_open_files(NULL, 1);
  leveldb_options_set_cache(NULL, NULL);
  leveldb_options_set_block_size(NULL, 1);
  leveldb_options_set_block_restart_interval(NULL, 1);
  leveldb_options_set_max_file_size(NULL, 1);
  leveldb_options_set_compression(NULL, 1);
  CHECK(leveldb_comparator_create(NULL, NULL, NULL, name_of) == NULL);
  CHECK(leveldb_comparator_create(NULL, NULL, reversed, NULL) == NULL);
  leveldb_comparator_destroy(NULL);
  CHECK(leveldb_filterpolicy_create(NULL, NULL, NULL, has_first_byte, name_of) == NULL);
  CHECK(leveldb_filterpolicy_create(NULL, NULL, first_bytes, NULL, name_of) == NULL);
  CHECK(leveldb_filterpolicy_create(NULL, NULL, first_bytes, has_first_byte, NULL) == NULL);
  leveldb_filterpolicy_destroy(NULL);
  leveldb_readoptions_destroy(NULL);
  leveldb_readoptions_set_verify_checksums(NULL, 1);
  leveldb_readoptions_set_fill_cache(NULL, 1);
  leveldb_readoptions_set_snapshot(NULL, NULL);
  leveldb_writeoptions_destroy(NULL);
  leveldb_writeoptions_set_sync(NULL, 1);
  leveldb_cache_destroy(NULL);
  leveldb_env_destroy(NULL);
  CHECK(leveldb_env_get_test_directory(NULL) == NULL);
  leveldb_free(NULL);
  leveldb_iter_destroy(iterator);
  leveldb_writebatch_destroy(batch);
  leveldb_close(db);
}

int main(int count, char** arguments) {
  CHECK(count == 2);
  snprintf(path, sizeof path, "%s/db", arguments[1]);
  CHECK(leveldb_major_version() == 1 && leveldb_minor_version() == 23);
  options = leveldb_options_create();
  reads = leveldb_readoptions_create();
  writes = leveldb_writeoptions_create();
  opening();
  keys_and_values();
  batches();
  iterators();
  snapshots();
  sizes_and_properties();
  comparators();
  filter_policies();
  other_options();
  threads();
  nulls();
  leveldb_writeoptions_set_sync(writes, 1);
  keys_and_values();
  leveldb_destroy_db(options, path, &error);
  FINE(error);
  leveldb_options_destroy(options);
  leveldb_readoptions_destroy(reads);
  leveldb_writeoptions_destroy(writes);
  puts("passed");
  return 0;
}
