/* RocksDB's additions to LevelDB under their own names, and that both kinds of functions work in one program. The
   argument is an empty directory. */

#include <leveldb/c.h>
#include <rocksdb/c.h>

#include "check.h"

static char* error = NULL;

/* Joins the operands with commas. */
static char* full_merge(void* state, const char* key, size_t key_length, const char* value, size_t value_length,
                        const char* const* operands, const size_t* lengths, int count, unsigned char* success,
                        size_t* length) {
  size_t bytes = value_length, at = 0;
  char* merged;
  int operand;
  (void)state, (void)key, (void)key_length;
  for (operand = 0; operand < count; operand++) bytes += 1 + lengths[operand];
  merged = malloc(bytes + 1);
  if (value != NULL) memcpy(merged, value, at = value_length);
  for (operand = 0; operand < count; operand++) {
    if (at > 0) merged[at++] = ',';
    memcpy(merged + at, operands[operand], lengths[operand]);
    at += lengths[operand];
  }
  *success = 1;
  *length = at;
  return merged;
}

static char* partial_merge(void* state, const char* key, size_t key_length, const char* const* operands,
                           const size_t* lengths, int count, unsigned char* success, size_t* length) {
  return full_merge(state, key, key_length, NULL, 0, operands, lengths, count, success, length);
}

static void delete_value(void* state, const char* value, size_t length) {
  (void)state, (void)length;
  free((char*)value);
}

static void destroy_nothing(void* state) { (void)state; }

static const char* name_of(void* state) {
  (void)state;
  return "commas";
}

static void check_get(rocksdb_t* db, rocksdb_column_family_handle_t* family, const char* key, const char* value) {
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  size_t length;
  char* found = rocksdb_get_cf(db, reads, family, key, strlen(key), &length, &error);
  FINE(error);
  if (value == NULL) {
    CHECK(found == NULL);
  } else {
    SAME(value, found, length);
  }
  rocksdb_free(found);
  rocksdb_readoptions_destroy(reads);
}

static void families(rocksdb_options_t* options, const char* path, const char* copy) {
  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  rocksdb_t* db = rocksdb_open(options, path, &error);
  rocksdb_column_family_handle_t *family, *handles[2];
  const rocksdb_options_t* each[2] = {options, options};
  const char *names[2] = {"default", "fruit"}, *keys[2] = {"a", "missing"};
  size_t key_lengths[2] = {1, 7}, lengths[2], count;
  char *values[2], *errors[2], **listed;
  rocksdb_checkpoint_t* checkpoint;
  FINE(error);
  family = rocksdb_create_column_family(db, options, "fruit", &error);
  FINE(error);
  rocksdb_put(db, writes, "a", 1, "1", 1, &error);
  rocksdb_put_cf(db, writes, family, "a", 1, "2", 1, &error);
  rocksdb_merge_cf(db, writes, family, "a", 1, "3", 1, &error);
  rocksdb_merge_cf(db, writes, family, "a", 1, "4", 1, &error);
  FINE(error);
  check_get(db, family, "a", "2,3,4");
  rocksdb_multi_get(db, reads, 2, keys, key_lengths, values, lengths, errors);
  FINE(errors[0]);
  FINE(errors[1]);
  SAME("1", values[0], lengths[0]);
  CHECK(values[1] == NULL);
  rocksdb_free(values[0]);
  checkpoint = rocksdb_checkpoint_object_create(db, &error);
  FINE(error);
  rocksdb_checkpoint_create(checkpoint, copy, 0, &error);
  FINE(error);
  rocksdb_checkpoint_object_destroy(checkpoint);
  rocksdb_delete_cf(db, writes, family, "a", 1, &error);
  FINE(error);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
  listed = rocksdb_list_column_families(options, copy, &count, &error);
  FINE(error);
  CHECK(count == 2);
  rocksdb_list_column_families_destroy(listed, count);
  db = rocksdb_open_column_families(options, copy, 2, names, each, handles, &error);
  FINE(error);
  check_get(db, handles[0], "a", "1");
  check_get(db, handles[1], "a", "2,3,4");
  rocksdb_column_family_handle_destroy(handles[0]);
  rocksdb_column_family_handle_destroy(handles[1]);
  rocksdb_close(db);
  rocksdb_readoptions_destroy(reads);
  rocksdb_writeoptions_destroy(writes);
}

static void transactions(rocksdb_options_t* options, const char* path) {
  rocksdb_transactiondb_options_t* how = rocksdb_transactiondb_options_create();
  rocksdb_transaction_options_t* each = rocksdb_transaction_options_create();
  rocksdb_writeoptions_t* writes = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* reads = rocksdb_readoptions_create();
  rocksdb_transactiondb_t* db = rocksdb_transactiondb_open(options, how, path, &error);
  rocksdb_transaction_t* transaction;
  size_t length;
  char* found;
  FINE(error);
  transaction = rocksdb_transaction_begin(db, writes, each, NULL);
  rocksdb_transaction_put(transaction, "a", 1, "1", 1, &error);
  FINE(error);
  CHECK(rocksdb_transactiondb_get(db, reads, "a", 1, &length, &error) == NULL);
  rocksdb_transaction_commit(transaction, &error);
  FINE(error);
  found = rocksdb_transactiondb_get(db, reads, "a", 1, &length, &error);
  SAME("1", found, length);
  rocksdb_free(found);
  rocksdb_transaction_destroy(transaction);
  transaction = rocksdb_transaction_begin(db, writes, each, NULL);
  rocksdb_transaction_delete(transaction, "a", 1, &error);
  rocksdb_transaction_rollback(transaction, &error);
  FINE(error);
  rocksdb_transaction_destroy(transaction);
  rocksdb_transactiondb_close(db);
  rocksdb_readoptions_destroy(reads);
  rocksdb_writeoptions_destroy(writes);
  rocksdb_transaction_options_destroy(each);
  rocksdb_transactiondb_options_destroy(how);
}

/* A database of one kind of functions is one of the other kind. */
static void both(rocksdb_options_t* options, const char* path) {
  leveldb_options_t* leveldb_options = leveldb_options_create();
  leveldb_readoptions_t* reads = leveldb_readoptions_create();
  leveldb_writeoptions_t* writes = leveldb_writeoptions_create();
  leveldb_t* db = leveldb_open(leveldb_options, path, &error);
  rocksdb_t* other;
  size_t length;
  char* found;
  FINE(error);
  found = leveldb_get(db, reads, "a", 1, &length, &error);
  FINE(error);
  SAME("1", found, length);
  leveldb_free(found);
  leveldb_put(db, writes, "b", 1, "2", 1, &error);
  FINE(error);
  leveldb_close(db);
  other = rocksdb_open(options, path, &error);
  FINE(error);
  check_get(other, rocksdb_get_default_column_family_handle(other), "b", "2");
  rocksdb_close(other);
  leveldb_options_destroy(leveldb_options);
  leveldb_readoptions_destroy(reads);
  leveldb_writeoptions_destroy(writes);
}

int main(int count, char** arguments) {
  char path[4096], copy[4096], third[4096];
  rocksdb_options_t* options = rocksdb_options_create();
  CHECK(count == 2);
  snprintf(path, sizeof path, "%s/families", arguments[1]);
  snprintf(copy, sizeof copy, "%s/copy", arguments[1]);
  snprintf(third, sizeof third, "%s/transactions", arguments[1]);
  rocksdb_options_set_create_if_missing(options, 1);
  transactions(options, third);
  both(options, third);
  rocksdb_options_set_merge_operator(
      options, rocksdb_mergeoperator_create(NULL, destroy_nothing, full_merge, partial_merge, delete_value, name_of));
  families(options, path, copy);
  rocksdb_options_destroy(options);
  puts("passed");
  return 0;
}
