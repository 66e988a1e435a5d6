/* Measures WiredTiger as crates/kv/examples/record_store measures RocksDB: the same verbs, options and figures.
 *
 *   cc -O2 -pthread wiredtiger.c -lwiredtiger -o wiredtiger      (Debian: libwiredtiger-dev)
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <wiredtiger.h>

#define TABLE "table:records"
#define VALUES 20000
#define EXACT 128
#define EXACT_BITS 7
#define BUCKETS (EXACT + (64 - EXACT_BITS) * EXACT / 2)

typedef struct {
    const char *directory, *file, *group, *page_bytes;
    size_t key_columns, threads, cache_bytes;
    uint64_t reads_percent, writes;
    double seconds, warm_seconds;
} Arguments;

/* A record in the file's bytes. */
typedef struct {
    const char *key, *value;
    uint32_t key_bytes, value_bytes;
} Record;

typedef struct {
    Record *records;
    size_t count;
} Records;

typedef struct {
    uint64_t counts[BUCKETS], count, sum_ns;
} Histogram;

typedef struct {
    WT_CONNECTION *connection;
    const Records *asked;
    const Arguments *arguments;
    uint64_t reads_percent, operations_max, chance;
    double seconds;
    atomic_uint_fast64_t *operations;
    Histogram reads, writes;
    uint64_t bytes, missing;
} Thread;

static void check(int error, const char *doing) {
    if (error != 0) {
        fprintf(stderr, "%s: %s\n", doing, wiredtiger_strerror(error));
        exit(1);
    }
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static double seconds_since(uint64_t started_ns) { return (double)(now_ns() - started_ns) / 1e9; }

/* The generator `splitmix64`. */
static uint64_t next_chance(uint64_t *state) {
    uint64_t mixed = *state += 0x9E3779B97F4A7C15;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return mixed ^ (mixed >> 31);
}

static size_t below(uint64_t *state, size_t end) {
    return (size_t)(((unsigned __int128)next_chance(state) * end) >> 64);
}

/* Numbers below EXACT have a bucket each; above, each power of two has half as many buckets. */
static void add_duration(Histogram *histogram, uint64_t ns) {
    uint64_t bucket = ns;
    if (ns >= EXACT) {
        uint64_t shift = 63 - (uint64_t)__builtin_clzll(ns) - (EXACT_BITS - 1);
        bucket = shift * EXACT / 2 + (ns >> shift);
    }
    histogram->counts[bucket] += 1;
    histogram->count += 1;
    histogram->sum_ns += ns;
}

static double quantile_us(const Histogram *histogram, double share) {
    uint64_t seen = 0, rank = (uint64_t)((double)histogram->count * share + 0.999999);
    for (uint64_t bucket = 0; bucket < BUCKETS && histogram->count > 0; bucket++) {
        seen += histogram->counts[bucket];
        if (seen >= rank && bucket < EXACT) {
            return (double)bucket / 1e3;
        }
        if (seen >= rank) {
            uint64_t shift = bucket / (EXACT / 2) - 1;
            uint64_t low = (bucket - shift * (EXACT / 2)) << shift;
            return ((double)low + (double)(1ull << shift) / 2) / 1e3;
        }
    }
    return 0;
}

/* All of the file's bytes in memory, and where its records are. */
static Records read_records(const Arguments *arguments) {
    FILE *file = fopen(arguments->file, "rb");
    struct stat status;
    if (file == NULL || fstat(fileno(file), &status) != 0) {
        check(errno, arguments->file);
    }
    char *bytes = malloc((size_t)status.st_size), *at = bytes, *end = bytes + status.st_size;
    check(fread(bytes, 1, (size_t)status.st_size, file) == (size_t)status.st_size ? 0 : EIO, arguments->file);
    fclose(file);
    Records found = {malloc(sizeof(Record)), 0};
    for (size_t room = 1; at < end; found.count++) {
        if (found.count == room) {
            found.records = realloc(found.records, (room *= 2) * sizeof(Record));
        }
        char *line_end = memchr(at, '\n', (size_t)(end - at)), *tab = at - 1;
        for (size_t column = 0; column < arguments->key_columns; column++) {
            tab = memchr(tab + 1, '\t', (size_t)(line_end - tab - 1));
        }
        Record record = {at, tab + 1, (uint32_t)(tab - at), (uint32_t)(line_end - tab - 1)};
        found.records[found.count] = record;
        at = line_end + 1;
    }
    return found;
}

/* Reads every file once, so that as much of it as may be is in memory. */
static void read_files(const char *directory) {
    static char buffer[1 << 20];
    char path[4096];
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        int file = entry->d_type == DT_REG ? open(path, O_RDONLY) : -1;
        while (file >= 0 && read(file, buffer, sizeof buffer) > 0) {
        }
        close(file);
    }
    closedir(entries);
}

static void join_group(const Arguments *arguments) {
    char path[4096];
    if (arguments->group == NULL) {
        return;
    }
    snprintf(path, sizeof path, "%s/cgroup.procs", arguments->group);
    FILE *file = fopen(path, "w");
    if (file == NULL || fprintf(file, "%d", getpid()) < 0 || fclose(file) != 0) {
        check(errno, path);
    }
}

/* A log is not synced. */
static WT_CONNECTION *open_connection(const Arguments *arguments, const char *has_log) {
    char settings[512];
    snprintf(settings, sizeof settings,
             "create,cache_size=%zu,log=(enabled=%s),session_max=64,extensions=[libwiredtiger_snappy.so]",
             arguments->cache_bytes, has_log);
    WT_CONNECTION *connection;
    check(wiredtiger_open(arguments->directory, NULL, settings, &connection), "opening");
    return connection;
}

static WT_CURSOR *open_cursor(WT_CONNECTION *connection, WT_SESSION **session) {
    WT_CURSOR *cursor;
    check(connection->open_session(connection, NULL, NULL, session), "opening a session");
    check((*session)->open_cursor(*session, TABLE, NULL, "overwrite=true", &cursor), "opening the table");
    return cursor;
}

static void put(WT_CURSOR *cursor, WT_ITEM key, WT_ITEM value) {
    cursor->set_key(cursor, &key);
    cursor->set_value(cursor, &value);
    int error;
    while ((error = cursor->insert(cursor)) == WT_ROLLBACK) {
    }
    check(error, "writing");
}

static void load(const Arguments *arguments) {
    char settings[512];
    Records found = read_records(arguments);
    join_group(arguments);
    WT_CONNECTION *connection = open_connection(arguments, "false");
    WT_SESSION *session;
    uint64_t started = now_ns();
    check(connection->open_session(connection, NULL, NULL, &session), "opening a session");
    snprintf(settings, sizeof settings,
             "key_format=u,value_format=u,block_compressor=snappy,allocation_size=512B,leaf_page_max=%s",
             arguments->page_bytes);
    check(session->create(session, TABLE, settings), "creating the table");
    WT_CURSOR *cursor = open_cursor(connection, &session);
    for (size_t at = 0; at < found.count; at++) {
        Record record = found.records[at];
        put(cursor, (WT_ITEM){.data = record.key, .size = record.key_bytes},
            (WT_ITEM){.data = record.value, .size = record.value_bytes});
    }
    check(cursor->close(cursor), "closing the cursor");
    check(session->checkpoint(session, NULL), "checkpoint");
    check(session->compact(session, TABLE, "timeout=0"), "compaction");
    check(session->checkpoint(session, "force"), "checkpoint");
    check(connection->close(connection, NULL), "closing");
    printf("seconds\t%f\nrecords\t%zu\n", seconds_since(started), found.count);
}

static void read_one(Thread *thread, WT_CURSOR *cursor) {
    const Record *record = &thread->asked->records[below(&thread->chance, thread->asked->count)];
    WT_ITEM key = {.data = record->key, .size = record->key_bytes}, value = {0};
    uint64_t started = now_ns();
    cursor->set_key(cursor, &key);
    int error = cursor->search(cursor);
    if (error == 0) {
        check(cursor->get_value(cursor, &value), "reading");
    } else if (error != WT_NOTFOUND) {
        check(error, "reading");
    }
    add_duration(&thread->reads, now_ns() - started);
    check(cursor->reset(cursor), "reading");
    thread->bytes += value.size;
    thread->missing += error == WT_NOTFOUND;
}

/* Half of the writes replace a record, the others insert one whose first key column nobody has. */
static void write_one(Thread *thread, WT_CURSOR *cursor) {
    char bytes[4096];
    size_t values = thread->asked->count < VALUES ? thread->asked->count : VALUES;
    const Record *record = &thread->asked->records[below(&thread->chance, thread->asked->count)];
    const Record *other = &thread->asked->records[below(&thread->chance, values)];
    uint64_t number = next_chance(&thread->chance);
    const char *tab = memchr(record->key, '\t', record->key_bytes);
    int first = tab == NULL ? (int)record->key_bytes : (int)(tab - record->key);
    int rest = (int)record->key_bytes - first;
    WT_ITEM key = {.data = record->key, .size = record->key_bytes};
    if (number % 2 != 0) {
        key.size = (size_t)snprintf(bytes, sizeof bytes, "%.*s%llx%.*s", first, record->key,
                                    (unsigned long long)number, rest, record->key + first);
        key.data = bytes;
    }
    uint64_t started = now_ns();
    put(cursor, key, (WT_ITEM){.data = other->value, .size = other->value_bytes});
    add_duration(&thread->writes, now_ns() - started);
}

static void *run_thread(void *context) {
    Thread *thread = context;
    WT_SESSION *session;
    WT_CURSOR *cursor = open_cursor(thread->connection, &session);
    uint64_t started = now_ns();
    while (thread->operations_max > 0 ? atomic_fetch_add(thread->operations, 1) < thread->operations_max
                                      : seconds_since(started) < thread->seconds) {
        if (next_chance(&thread->chance) % 100 < thread->reads_percent) {
            read_one(thread, cursor);
        } else {
            write_one(thread, cursor);
        }
    }
    check(session->close(session, NULL), "closing a session");
    return NULL;
}

static void add_histogram(Histogram *sum, const Histogram *part) {
    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        sum->counts[bucket] += part->counts[bucket];
    }
    sum->count += part->count;
    sum->sum_ns += part->sum_ns;
}

/* Runs `threads` threads like `pattern` and has what they did together. */
static Thread run_threads(Thread pattern, size_t threads) {
    pthread_t running[64];
    Thread *parts = calloc(threads, sizeof(Thread));
    atomic_uint_fast64_t operations = 0;
    for (size_t at = 0; at < threads && at < 64; at++) {
        parts[at] = pattern;
        parts[at].operations = &operations;
        parts[at].chance = pattern.chance * 1000 + at;
        check(pthread_create(&running[at], NULL, run_thread, &parts[at]), "starting a thread");
    }
    for (size_t at = 0; at < threads && at < 64; at++) {
        check(pthread_join(running[at], NULL), "waiting for a thread");
        add_histogram(&pattern.reads, &parts[at].reads);
        add_histogram(&pattern.writes, &parts[at].writes);
        pattern.bytes += parts[at].bytes;
        pattern.missing += parts[at].missing;
    }
    free(parts);
    return pattern;
}

static void print_histogram(const char *name, const Histogram *histogram) {
    double count = histogram->count == 0 ? 1 : (double)histogram->count;
    printf("%s_count\t%llu\n", name, (unsigned long long)histogram->count);
    printf("%s_average_us\t%f\n", name, (double)histogram->sum_ns / count / 1e3);
    printf("%s_median_us\t%f\n", name, quantile_us(histogram, 0.5));
    printf("%s_p99_us\t%f\n", name, quantile_us(histogram, 0.99));
    printf("%s_p999_us\t%f\n", name, quantile_us(histogram, 0.999));
}

/* `mix` reads, and writes if reads_percent is below 100, for a time; `write` writes a number of records. */
static void mix_or_write(const Arguments *arguments, int is_mix) {
    Records asked = read_records(arguments);
    join_group(arguments);
    read_files(arguments->directory);
    Thread pattern = {.connection = open_connection(arguments, "true"), .asked = &asked, .arguments = arguments};
    pattern.seconds = arguments->warm_seconds;
    pattern.reads_percent = 100;
    pattern.chance = 1;
    if (is_mix) {
        run_threads(pattern, arguments->threads);
    }
    pattern.seconds = arguments->seconds;
    pattern.reads_percent = is_mix ? arguments->reads_percent : 0;
    pattern.operations_max = is_mix ? 0 : arguments->writes;
    pattern.chance = is_mix ? 2 : 3 + arguments->threads;
    uint64_t started = now_ns();
    Thread done = run_threads(pattern, arguments->threads);
    printf("seconds\t%f\nbytes\t%llu\nmissing\t%llu\n", seconds_since(started), (unsigned long long)done.bytes,
           (unsigned long long)done.missing);
    print_histogram("reads", &done.reads);
    print_histogram("writes", &done.writes);
    check(pattern.connection->close(pattern.connection, NULL), "closing");
}

static void scan(const Arguments *arguments) {
    join_group(arguments);
    read_files(arguments->directory);
    WT_CONNECTION *connection = open_connection(arguments, "true");
    WT_SESSION *session;
    WT_CURSOR *cursor = open_cursor(connection, &session);
    WT_ITEM key, value;
    uint64_t records = 0, bytes = 0, started = now_ns();
    int error;
    while ((error = cursor->next(cursor)) == 0) {
        check(cursor->get_key(cursor, &key), "reading");
        check(cursor->get_value(cursor, &value), "reading");
        records += 1;
        bytes += key.size + value.size;
    }
    check(error == WT_NOTFOUND ? 0 : error, "reading");
    printf("seconds\t%f\nrecords\t%llu\nbytes\t%llu\n", seconds_since(started), (unsigned long long)records,
           (unsigned long long)bytes);
    check(connection->close(connection, NULL), "closing");
}

static Arguments parse(int count, char **words) {
    Arguments found = {.page_bytes = "4KB", .key_columns = 1, .threads = 1, .cache_bytes = 256 << 20,
                       .reads_percent = 100, .writes = 100000, .seconds = 5, .warm_seconds = 2};
    for (int at = 2; at + 1 < count; at += 2) {
        const char *name = words[at], *value = words[at + 1];
        if (strcmp(name, "--directory") == 0) {
            found.directory = value;
        } else if (strcmp(name, "--file") == 0) {
            found.file = value;
        } else if (strcmp(name, "--group") == 0) {
            found.group = value;
        } else if (strcmp(name, "--page-bytes") == 0) {
            found.page_bytes = value;
        } else if (strcmp(name, "--key-columns") == 0) {
            found.key_columns = strtoull(value, NULL, 10);
        } else if (strcmp(name, "--threads") == 0) {
            found.threads = strtoull(value, NULL, 10);
        } else if (strcmp(name, "--cache-bytes") == 0) {
            found.cache_bytes = strtoull(value, NULL, 10);
        } else if (strcmp(name, "--reads-percent") == 0) {
            found.reads_percent = strtoull(value, NULL, 10);
        } else if (strcmp(name, "--writes") == 0) {
            found.writes = strtoull(value, NULL, 10);
        } else if (strcmp(name, "--seconds") == 0) {
            found.seconds = strtod(value, NULL);
        } else if (strcmp(name, "--warm-seconds") == 0) {
            found.warm_seconds = strtod(value, NULL);
        } else if (strcmp(name, "--write-buffer-bytes") != 0) { /* Writes go into the cache. */
            fprintf(stderr, "there is no option `%s`\n", name);
            exit(1);
        }
    }
    return found;
}

int main(int count, char **words) {
    Arguments arguments = parse(count, words);
    const char *verb = count > 1 ? words[1] : "";
    if (strcmp(verb, "load") == 0) {
        load(&arguments);
    } else if (strcmp(verb, "mix") == 0 || strcmp(verb, "write") == 0) {
        mix_or_write(&arguments, strcmp(verb, "mix") == 0);
    } else if (strcmp(verb, "scan") == 0) {
        scan(&arguments);
    } else {
        fprintf(stderr, "there is no verb `%s`; there are load, mix, write and scan\n", verb);
        return 1;
    }
    return 0;
}
