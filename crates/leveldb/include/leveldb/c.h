/* The C functions of LevelDB 1.23, over key/value stores of Basalt: RocksDB's files. docs/kv-library.md is the guide.

   Handles are pointers to structs that only the library knows. A handle has one function that makes it and one that
   destroys it; it is used no more after that.

   Keys and values are bytes with a length; any bytes may be in them, and they may be empty. The library copies what it
   is given before a function returns.

   Errors: a function with `errptr` leaves *errptr alone if it succeeds. If it fails, it frees the text that is there
   and stores another one: memory of malloc() that ends with NUL and begins with `IO error: `, `Corruption: `,
   `Invalid argument: ` or `Not implemented: `. *errptr is NULL or such a text when a function is called.

   NULL: where a pointer may not be NULL, a function with `errptr` stores an error, and another one does nothing and
   returns NULL or 0. `errptr` may be NULL itself; then the error is lost. No function ends the process, and a fault
   inside of the library is an error too.

   Threads: all functions of a leveldb_t may be called by several threads at the same time, and so may functions that
   take a const pointer. Any other handle has one thread at a time.

   Flags are 0 or another number. Sizes are bytes. */

#ifndef STORAGE_LEVELDB_INCLUDE_C_H_
#define STORAGE_LEVELDB_INCLUDE_C_H_

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef LEVELDB_EXPORT
#define LEVELDB_EXPORT
#endif

typedef struct leveldb_t leveldb_t;
typedef struct leveldb_cache_t leveldb_cache_t;
typedef struct leveldb_comparator_t leveldb_comparator_t;
typedef struct leveldb_env_t leveldb_env_t;
typedef struct leveldb_filelock_t leveldb_filelock_t;
typedef struct leveldb_filterpolicy_t leveldb_filterpolicy_t;
typedef struct leveldb_iterator_t leveldb_iterator_t;
typedef struct leveldb_logger_t leveldb_logger_t;
typedef struct leveldb_options_t leveldb_options_t;
typedef struct leveldb_randomfile_t leveldb_randomfile_t;
typedef struct leveldb_readoptions_t leveldb_readoptions_t;
typedef struct leveldb_seqfile_t leveldb_seqfile_t;
typedef struct leveldb_snapshot_t leveldb_snapshot_t;
typedef struct leveldb_writablefile_t leveldb_writablefile_t;
typedef struct leveldb_writebatch_t leveldb_writebatch_t;
typedef struct leveldb_writeoptions_t leveldb_writeoptions_t;

/* --- Databases --- */

/* Opens the database in the directory `name`; its last part is made if it is missing and the options allow it. A
   database has one process, and is open once in it. Returns NULL after an error. leveldb_close() destroys it. */
LEVELDB_EXPORT leveldb_t* leveldb_open(const leveldb_options_t* options, const char* name, char** errptr);

/* Closes the database. Its iterators must be destroyed before: one that is left keeps the files open, and the lock. Its
   snapshots are released. */
LEVELDB_EXPORT void leveldb_close(leveldb_t* db);

/* Sets the value of a key, whether or not it has one. */
LEVELDB_EXPORT void leveldb_put(leveldb_t* db, const leveldb_writeoptions_t* options, const char* key, size_t keylen,
                                const char* val, size_t vallen, char** errptr);

/* Removes a key. A missing key is no error. */
LEVELDB_EXPORT void leveldb_delete(leveldb_t* db, const leveldb_writeoptions_t* options, const char* key,
                                   size_t keylen, char** errptr);

/* Makes all changes of the batch or, after an error, none. The batch stays as it is. */
LEVELDB_EXPORT void leveldb_write(leveldb_t* db, const leveldb_writeoptions_t* options, leveldb_writebatch_t* batch,
                                  char** errptr);

/* Returns the value of a key, memory of malloc() with *vallen bytes for the caller to free. Returns NULL and sets
   *vallen to 0 if there is no such key, and after an error. */
LEVELDB_EXPORT char* leveldb_get(leveldb_t* db, const leveldb_readoptions_t* options, const char* key, size_t keylen,
                                 size_t* vallen, char** errptr);

/* Returns an iterator over the keys as they are now, or as they are in the snapshot of the options. It begins at no
   key. With options that cannot be used it has no keys, and leveldb_iter_get_error() says why.
   leveldb_iter_destroy() destroys it. */
LEVELDB_EXPORT leveldb_iterator_t* leveldb_create_iterator(leveldb_t* db, const leveldb_readoptions_t* options);

/* Returns the database as it is now, to read it later. leveldb_release_snapshot() destroys it. */
LEVELDB_EXPORT const leveldb_snapshot_t* leveldb_create_snapshot(leveldb_t* db);

/* Destroys a snapshot of `db`. Options that have it cannot be used until they get another one. */
LEVELDB_EXPORT void leveldb_release_snapshot(leveldb_t* db, const leveldb_snapshot_t* snapshot);

/* Returns a property as a text of malloc() for the caller to free, NULL if there is none of this name. The names are
   `leveldb.num-files-at-level<N>`, `leveldb.stats`, `leveldb.sstables`, `leveldb.approximate-memory-usage`, and all
   names of RocksDB. */
LEVELDB_EXPORT char* leveldb_property_value(leveldb_t* db, const char* propname);

/* Stores in sizes[i] about how many bytes of files the keys from the i-th start to before the i-th limit take.
   Changes that are only in memory are not counted. `num_ranges` is the length of all arrays. */
LEVELDB_EXPORT void leveldb_approximate_sizes(leveldb_t* db, int num_ranges, const char* const* range_start_key,
                                              const size_t* range_start_key_len, const char* const* range_limit_key,
                                              const size_t* range_limit_key_len, uint64_t* sizes);

/* Writes the keys from `start_key` to `limit_key` anew, without what later changes replaced, and returns when that is
   done. NULL is the beginning, or the end. */
LEVELDB_EXPORT void leveldb_compact_range(leveldb_t* db, const char* start_key, size_t start_key_len,
                                          const char* limit_key, size_t limit_key_len);

/* --- Databases that nobody has open --- */

/* Removes the files of a database, and its directory if it has no other files. A missing database is no error. */
LEVELDB_EXPORT void leveldb_destroy_db(const leveldb_options_t* options, const char* name, char** errptr);

/* Makes a damaged database usable again, with what its files still have. Some changes may be lost. */
LEVELDB_EXPORT void leveldb_repair_db(const leveldb_options_t* options, const char* name, char** errptr);

/* --- Iterators --- */

LEVELDB_EXPORT void leveldb_iter_destroy(leveldb_iterator_t*);

/* 1 at a key. 0 before the first move, beyond either end, and after an error. */
LEVELDB_EXPORT uint8_t leveldb_iter_valid(const leveldb_iterator_t*);

LEVELDB_EXPORT void leveldb_iter_seek_to_first(leveldb_iterator_t*);
LEVELDB_EXPORT void leveldb_iter_seek_to_last(leveldb_iterator_t*);

/* Moves to the first key that is not before `k`. */
LEVELDB_EXPORT void leveldb_iter_seek(leveldb_iterator_t*, const char* k, size_t klen);

/* Moves to the next key. At no key it does nothing. */
LEVELDB_EXPORT void leveldb_iter_next(leveldb_iterator_t*);

/* Moves to the previous key. At no key it does nothing. */
LEVELDB_EXPORT void leveldb_iter_prev(leveldb_iterator_t*);

/* Returns the key and stores its length. The bytes are the iterator's, until it moves or is destroyed. At no key it
   returns NULL and stores 0. */
LEVELDB_EXPORT const char* leveldb_iter_key(const leveldb_iterator_t*, size_t* klen);

/* Returns the value and stores its length, as leveldb_iter_key() does. */
LEVELDB_EXPORT const char* leveldb_iter_value(const leveldb_iterator_t*, size_t* vlen);

/* Stores the error that left the iterator at no key; none if it has only reached an end. */
LEVELDB_EXPORT void leveldb_iter_get_error(const leveldb_iterator_t*, char** errptr);

/* --- Write batches --- */

/* Returns changes to be made together: none yet. leveldb_writebatch_destroy() destroys them. */
LEVELDB_EXPORT leveldb_writebatch_t* leveldb_writebatch_create(void);
LEVELDB_EXPORT void leveldb_writebatch_destroy(leveldb_writebatch_t*);

/* Removes all changes. */
LEVELDB_EXPORT void leveldb_writebatch_clear(leveldb_writebatch_t*);

/* Adds a change. Of several changes of one key the last wins. */
LEVELDB_EXPORT void leveldb_writebatch_put(leveldb_writebatch_t*, const char* key, size_t klen, const char* val,
                                           size_t vlen);
LEVELDB_EXPORT void leveldb_writebatch_delete(leveldb_writebatch_t*, const char* key, size_t klen);

/* Calls `put` or `deleted` with `state` for each change, in order. A function that is NULL is not called. The bytes
   are there during the call. */
LEVELDB_EXPORT void leveldb_writebatch_iterate(const leveldb_writebatch_t*, void* state,
                                               void (*put)(void*, const char* k, size_t klen, const char* v,
                                                           size_t vlen),
                                               void (*deleted)(void*, const char* k, size_t klen));

/* Adds the changes of `source` at the end of `destination`. */
LEVELDB_EXPORT void leveldb_writebatch_append(leveldb_writebatch_t* destination, const leveldb_writebatch_t* source);

/* --- Options of a database --- */

/* Returns the defaults. leveldb_options_destroy() destroys them; databases that were opened with them stay open. */
LEVELDB_EXPORT leveldb_options_t* leveldb_options_create(void);
LEVELDB_EXPORT void leveldb_options_destroy(leveldb_options_t*);

/* The order of keys. NULL, the default, is that of bytes. A database opens only with the order that it was made with.
   The comparator is not destroyed before the last use of the options. */
LEVELDB_EXPORT void leveldb_options_set_comparator(leveldb_options_t*, leveldb_comparator_t*);

/* Filters that tell which files do not have a key. NULL, the default, is none. The policy is not destroyed before the
   last use of the options. */
LEVELDB_EXPORT void leveldb_options_set_filter_policy(leveldb_options_t*, leveldb_filterpolicy_t*);

/* Make a database that is missing. 0, the default: it is an error. */
LEVELDB_EXPORT void leveldb_options_set_create_if_missing(leveldb_options_t*, uint8_t);

/* Refuse a database that exists. The default is 0. */
LEVELDB_EXPORT void leveldb_options_set_error_if_exists(leveldb_options_t*, uint8_t);

/* Stop at the first sign of damage. The default is 1. */
LEVELDB_EXPORT void leveldb_options_set_paranoid_checks(leveldb_options_t*, uint8_t);

/* No effect: there is one environment. */
LEVELDB_EXPORT void leveldb_options_set_env(leveldb_options_t*, leveldb_env_t*);

/* No effect: the library makes no loggers. RocksDB writes the file LOG in the directory of the database. */
LEVELDB_EXPORT void leveldb_options_set_info_log(leveldb_options_t*, leveldb_logger_t*);

/* Bytes of changes in memory after which they become a file: 4 MiB, at least 64 KiB. */
LEVELDB_EXPORT void leveldb_options_set_write_buffer_size(leveldb_options_t*, size_t);

/* Files that the database has open at once: 1000. -1 is no limit. */
LEVELDB_EXPORT void leveldb_options_set_max_open_files(leveldb_options_t*, int);

/* A cache of blocks, which databases may share and keep. NULL, the default, is one of 8 MiB of the database's own. */
LEVELDB_EXPORT void leveldb_options_set_cache(leveldb_options_t*, leveldb_cache_t*);

/* Bytes of a block before compression: 4096. */
LEVELDB_EXPORT void leveldb_options_set_block_size(leveldb_options_t*, size_t);

/* Keys of a block between two that are stored whole: 16. */
LEVELDB_EXPORT void leveldb_options_set_block_restart_interval(leveldb_options_t*, int);

/* Bytes of a file: 64 MiB, at least 1 MiB. */
LEVELDB_EXPORT void leveldb_options_set_max_file_size(leveldb_options_t*, size_t);

/* How blocks are compressed. leveldb_snappy_compression, the default, is LZ4. Another number has no effect. */
enum { leveldb_no_compression = 0, leveldb_snappy_compression = 1, leveldb_zstd_compression = 2 };
LEVELDB_EXPORT void leveldb_options_set_compression(leveldb_options_t*, int);

/* --- Comparators --- */

/* Returns an order of keys that `compare` defines: less than, equal to or greater than 0. `name` is called once, and
   its text is copied; a database has it, and opens with no other. All functions get `state`. `compare` is called by
   several threads at once. NULL without `compare` or `name`; then `state` stays the caller's. */
LEVELDB_EXPORT leveldb_comparator_t* leveldb_comparator_create(void* state, void (*destructor)(void*),
                                                               int (*compare)(void*, const char* a, size_t alen,
                                                                              const char* b, size_t blen),
                                                               const char* (*name)(void*));

/* Destroys the comparator. `destructor` is called when no open database has it any more; it may be NULL. */
LEVELDB_EXPORT void leveldb_comparator_destroy(leveldb_comparator_t*);

/* --- Filter policies --- */

/* Returns a policy that `create_filter` and `key_may_match` define.
   `create_filter` gets the keys of a file in order, each once, and returns memory of malloc() with *filter_length
   bytes, which the library frees; NULL is no filter. `key_may_match` gets a key and the bytes that `create_filter`
   returned, and returns 0 if the file cannot have the key. Both are called by several threads at once.
   `name` is called once, and its text is copied; files with filters of another name are read without them.
   NULL without one of these functions; then `state` stays the caller's. */
LEVELDB_EXPORT leveldb_filterpolicy_t* leveldb_filterpolicy_create(
    void* state, void (*destructor)(void*),
    char* (*create_filter)(void*, const char* const* key_array, const size_t* key_length_array, int num_keys,
                           size_t* filter_length),
    uint8_t (*key_may_match)(void*, const char* key, size_t length, const char* filter, size_t filter_length),
    const char* (*name)(void*));

/* Destroys the policy. `destructor` is called when no open database has it any more; it may be NULL. */
LEVELDB_EXPORT void leveldb_filterpolicy_destroy(leveldb_filterpolicy_t*);

/* Returns RocksDB's Bloom filter with so many bits for each key; below 1 there is no filter. */
LEVELDB_EXPORT leveldb_filterpolicy_t* leveldb_filterpolicy_create_bloom(int bits_per_key);

/* --- Options of reads --- */

/* Returns the defaults. leveldb_readoptions_destroy() destroys them. */
LEVELDB_EXPORT leveldb_readoptions_t* leveldb_readoptions_create(void);
LEVELDB_EXPORT void leveldb_readoptions_destroy(leveldb_readoptions_t*);

/* Compare the checksum of each block that is read. The default is 1. */
LEVELDB_EXPORT void leveldb_readoptions_set_verify_checksums(leveldb_readoptions_t*, uint8_t);

/* Keep the blocks that are read in the cache. The default is 1. */
LEVELDB_EXPORT void leveldb_readoptions_set_fill_cache(leveldb_readoptions_t*, uint8_t);

/* Read the database as it was then. NULL, the default, is now. */
LEVELDB_EXPORT void leveldb_readoptions_set_snapshot(leveldb_readoptions_t*, const leveldb_snapshot_t*);

/* --- Options of writes --- */

/* Returns the defaults. leveldb_writeoptions_destroy() destroys them. */
LEVELDB_EXPORT leveldb_writeoptions_t* leveldb_writeoptions_create(void);
LEVELDB_EXPORT void leveldb_writeoptions_destroy(leveldb_writeoptions_t*);

/* Sync the log before the function returns. 0, the default: the last changes are lost if the machine stops, but not if
   the process does. */
LEVELDB_EXPORT void leveldb_writeoptions_set_sync(leveldb_writeoptions_t*, uint8_t);

/* --- Caches --- */

/* Returns a cache of up to `capacity` bytes of blocks. */
LEVELDB_EXPORT leveldb_cache_t* leveldb_cache_create_lru(size_t capacity);

/* Destroys the cache. Options and open databases that have it keep it. */
LEVELDB_EXPORT void leveldb_cache_destroy(leveldb_cache_t* cache);

/* --- Environments --- */

/* Returns the operating system. leveldb_env_destroy() destroys the handle. */
LEVELDB_EXPORT leveldb_env_t* leveldb_create_default_env(void);
LEVELDB_EXPORT void leveldb_env_destroy(leveldb_env_t*);

/* Makes a directory for tests: the one of the variable TEST_TMPDIR, or one below /tmp for each user. Returns its path
   as a text of malloc() for the caller to free; NULL if it cannot be made. */
LEVELDB_EXPORT char* leveldb_env_get_test_directory(leveldb_env_t*);

/* --- Other functions --- */

/* free(), for what functions of this header return. NULL is nothing to free. */
LEVELDB_EXPORT void leveldb_free(void* ptr);

/* The version of LevelDB whose functions these are: 1.23. */
LEVELDB_EXPORT int leveldb_major_version(void);
LEVELDB_EXPORT int leveldb_minor_version(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* STORAGE_LEVELDB_INCLUDE_C_H_ */
