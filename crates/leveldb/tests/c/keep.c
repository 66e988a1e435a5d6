/* A process that writes until it is killed, or has a database open, for tests of what is left.

     keep write DIRECTORY     writes the keys 0, 1, 2, ... synced and prints each one when it is written
     keep count DIRECTORY     prints how many of them are there, one after the other from 0
     keep hold DIRECTORY      opens the database, prints `open` and waits for the end of its input

   It exits with 3 and prints the error if the database does not open. */

#include <leveldb/c.h>

#include "check.h"

static char key[20], *error = NULL;

static size_t name(long number) { return (size_t)snprintf(key, sizeof key, "%ld", number); }

int main(int count, char** arguments) {
  leveldb_options_t* options = leveldb_options_create();
  leveldb_writeoptions_t* writes = leveldb_writeoptions_create();
  leveldb_readoptions_t* reads = leveldb_readoptions_create();
  leveldb_t* db;
  long number;
  CHECK(count == 3);
  leveldb_options_set_create_if_missing(options, strcmp(arguments[1], "count") != 0);
  leveldb_writeoptions_set_sync(writes, 1);
  db = leveldb_open(options, arguments[2], &error);
  if (error != NULL) {
    puts(error);
    return 3;
  }
  if (strcmp(arguments[1], "write") == 0) {
    for (number = 0;; number++) {
      size_t length = name(number);
      leveldb_put(db, writes, key, length, key, length, &error);
      FINE(error);
      puts(key);
      fflush(stdout);
    }
  } else if (strcmp(arguments[1], "count") == 0) {
    char* found;
    size_t length;
    for (number = 0;; number++) {
      found = leveldb_get(db, reads, key, name(number), &length, &error);
      FINE(error);
      if (found == NULL) break;
      leveldb_free(found);
    }
    printf("%ld\n", number);
  } else {
    puts("open");
    fflush(stdout);
    while (getchar() != EOF) {
    }
  }
  leveldb_close(db);
  leveldb_options_destroy(options);
  leveldb_readoptions_destroy(reads);
  leveldb_writeoptions_destroy(writes);
  return 0;
}
