//! Dictionaries that are stored in a file: answers after a restart, and unusable files.

use std::path::{Path, PathBuf};

use basalt_itest::server::Server;
use tempfile::{TempDir, tempdir};

const LAYOUTS: [&str; 7] =
    ["FLAT", "HASHED", "SPARSE_HASHED", "HASHED_ARRAY", "COMPACT_HASHED", "AUTO", "COMPLEX_KEY_HASHED"];
const NAMES: &str = "SELECT groupArray(ifNull(dictGet('d', 'name', number), '-')) FROM numbers(4)";
const EXCEPTION: &str = "SELECT last_exception FROM system.dictionaries WHERE name = 'd'";

/// A data directory, and the source file of its dictionaries.
struct Place {
    data: TempDir,
    source: TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { data: tempdir().expect("a directory"), source: tempdir().expect("a directory") };
        place.write_source("1\tone\n2\t\\N\n3\tthree\n");
        place
    }

    fn source(&self) -> PathBuf {
        self.source.path().join("rows.tsv")
    }

    fn write_source(&self, rows: &str) {
        std::fs::write(self.source(), rows).expect("a place to write to");
    }

    fn start(&self) -> Server {
        let files = self.source.path().to_string_lossy().into_owned();
        Server::start_with(self.data.path(), &["--user-files-path", &files])
    }

    fn create(&self, server: &Server, name: &str, layout: &str) {
        server.ask(&format!(
            "CREATE DICTIONARY {name} (id UInt64, name Nullable(String) DEFAULT 'nobody') PRIMARY KEY id \
             SOURCE(FILE(PATH '{}' FORMAT 'TSV')) LAYOUT({layout}()) LIFETIME(0) SETTINGS(persist = 1)",
            self.source().display()
        ));
    }

    /// The files of all dictionaries.
    fn files(&self) -> Vec<PathBuf> {
        let directories = std::fs::read_dir(self.data.path().join("store")).expect("the store");
        let files = directories.map(|entry| entry.expect("an entry").path().join("dictionary.bin"));
        files.filter(|path| path.exists()).collect()
    }
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).expect("the dictionary's file");
    change(&mut bytes);
    std::fs::write(path, bytes).expect("a place to write to");
}

#[test]
fn a_restart_answers_from_the_file_and_refreshes_in_the_background() {
    let place = Place::new();
    let server = place.start();
    for layout in LAYOUTS {
        place.create(&server, &format!("d_{layout}"), layout);
        let names = NAMES.replace("'d'", &format!("'d_{layout}'"));
        assert_eq!(server.ask(&names), "['nobody','one','-','three']\n", "{layout}");
    }
    assert_eq!(place.files().len(), LAYOUTS.len());
    server.kill();

    std::fs::remove_file(place.source()).expect("the source is there");
    let server = place.start();
    for layout in LAYOUTS {
        let names = NAMES.replace("'d'", &format!("'d_{layout}'"));
        assert_eq!(server.ask(&names), "['nobody','one','-','three']\n", "{layout}");
        assert_eq!(server.ask(&format!("SELECT count() FROM d_{layout}")), "3\n");
    }
    let failed = "SELECT countIf(status = 'LOADED' AND last_exception != '') FROM system.dictionaries";
    server.wait_until(failed, |answer| answer == format!("{}\n", LAYOUTS.len()));

    // Whatever LIFETIME says, the source is checked again.
    place.write_source("1\tuno\n");
    for layout in LAYOUTS {
        let names = NAMES.replace("'d'", &format!("'d_{layout}'"));
        server.wait_until(&names, |answer| answer == "['nobody','uno','nobody','nobody']\n");
    }
    assert_eq!(server.ask("SELECT countIf(last_exception != '') FROM system.dictionaries"), "0\n");
    server.kill();

    place.write_source("1\tONE\n");
    let server = place.start();
    for layout in LAYOUTS {
        let names = NAMES.replace("'d'", &format!("'d_{layout}'"));
        server.wait_until(&names, |answer| answer == "['nobody','ONE','nobody','nobody']\n");
    }
    server.kill();
}

/// Layouts that identify rows by ranges, prefixes, polygons or expressions.
#[test]
fn layouts_that_do_not_hash_answer_from_their_file_too() {
    let place = Place::new();
    let server = place.start();
    let kinds = [
        (
            "r",
            "id UInt64, s UInt32, e UInt32",
            "RANGE(MIN s MAX e) LAYOUT(RANGE_HASHED())",
            "1\t5\t9\tone\n1\t20\t30\ttwo\n",
        ),
        ("i", "id String", "LAYOUT(IP_TRIE())", "10.0.0.0/8\tone\n10.1.0.0/16\ttwo\n"),
        (
            "p",
            "id Array(Tuple(Float64, Float64))",
            "LAYOUT(POLYGON(STORE_POLYGON_KEY_COLUMN 1))",
            "[(0,0),(8,0),(8,8),(0,8)]\tone\n[(0,0),(1,0),(1,1),(0,1)]\ttwo\n",
        ),
    ];
    let asks = [
        ("r", "[dictGet('r', 'name', 1, 6), dictGet('r', 'name', 1, 30), dictGet('r', 'name', 1, 10)]"),
        (
            "i",
            "[dictGet('i', 'name', toIPv4('10.2.0.0')), dictGet('i', 'name', toIPv4('10.1.0.9')), \
               dictGet('i', 'name', toIPv4('11.0.0.0'))]",
        ),
        (
            "p",
            "[dictGet('p', 'name', (5.0, 5.0)), dictGet('p', 'name', (0.5, 0.5)), dictGet('p', 'name', (9.0, 9.0))]",
        ),
        (
            "e",
            "[dictGet('e', 'name', 'a one'), dictGet('e', 'name', 'a two'), dictGet('e', 'name', 'nothing')]",
        ),
    ];
    for (name, keys, layout, rows) in kinds {
        let source = place.source.path().join(format!("{name}.tsv"));
        std::fs::write(&source, rows).expect("a place to write to");
        server.ask(&format!(
            "CREATE DICTIONARY {name} ({keys}, name String) PRIMARY KEY id \
             SOURCE(FILE(PATH '{}' FORMAT 'TSV')) {layout} LIFETIME(0) SETTINGS(persist = 1)",
            source.display()
        ));
    }
    // The nodes of a REGEXP_TREE come from a table, which is dropped, too.
    server.ask("CREATE TABLE nodes (id UInt64, parent_id UInt64, regexp String, keys Array(String), values Array(String)) \
                ENGINE = MergeTree ORDER BY id");
    server
        .ask("INSERT INTO nodes VALUES (1, 0, 'a (one|two)', ['name'], ['\\\\1']), (2, 1, 'never', [], [])");
    server.ask(
        "CREATE DICTIONARY e (regexp String, name String) PRIMARY KEY regexp SOURCE(CLICKHOUSE(QUERY 'SELECT * FROM nodes')) \
         LAYOUT(REGEXP_TREE()) LIFETIME(0) SETTINGS(persist = 1)",
    );
    let check = |server: &Server| {
        for (name, ask) in asks {
            assert_eq!(server.ask(&format!("SELECT {ask}")), "['one','two','']\n", "{name}");
            assert_eq!(server.ask(&format!("SELECT count() FROM {name}")), "2\n");
        }
    };
    check(&server);
    assert_eq!(place.files().len(), asks.len());
    server.ask("DROP TABLE nodes");
    server.kill();
    for (name, ..) in kinds {
        std::fs::remove_file(place.source.path().join(format!("{name}.tsv"))).expect("the source is there");
    }
    let server = place.start();
    check(&server);
    let failed = "SELECT countIf(status = 'LOADED' AND last_exception != '') FROM system.dictionaries";
    server.wait_until(failed, |answer| answer == format!("{}\n", asks.len()));
    check(&server);
    server.kill();
}

#[test]
fn a_file_that_is_of_no_use_is_thrown_away_and_written_anew() {
    let damages: [fn(&mut Vec<u8>); 3] = [
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| {
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
        },
        |bytes| bytes[0] ^= 1,
    ];
    for (at, damage) in damages.into_iter().enumerate() {
        let place = Place::new();
        let server = place.start();
        place.create(&server, "d", "COMPACT_HASHED");
        assert_eq!(server.ask(NAMES), "['nobody','one','-','three']\n");
        server.kill();
        let [file] = &place.files()[..] else { panic!("one dictionary has one file") };
        change(file, damage);

        let server = place.start();
        // Damage that is not found at open is found by the first lookup.
        let first = server.post("", NAMES.as_bytes()).text();
        assert!(
            first == "['nobody','one','-','three']\n" || first.contains("CHECKSUM_DOESNT_MATCH"),
            "{first}"
        );
        assert_eq!(server.ask(NAMES), "['nobody','one','-','three']\n", "damage {at}");
        let told = server.ask(EXCEPTION);
        assert!(told.contains("thrown away, and it is loaded anew"), "damage {at}: {told}");
        server.kill();

        std::fs::remove_file(place.source()).expect("the source is there");
        let server = place.start();
        assert_eq!(server.ask(NAMES), "['nobody','one','-','three']\n", "damage {at}");
        server.kill();
    }
}

#[test]
fn the_file_of_another_definition_is_not_used() {
    let place = Place::new();
    let server = place.start();
    place.create(&server, "d", "HASHED");
    assert_eq!(server.ask(NAMES), "['nobody','one','-','three']\n");
    let [of_d] = &place.files()[..] else { panic!("one dictionary has one file") };
    let bytes = std::fs::read(of_d).expect("the file");
    server.ask("DROP DICTIONARY d");
    assert!(place.files().is_empty(), "DROP removes the file");
    place.create(&server, "d", "SPARSE_HASHED");
    assert_eq!(server.ask(NAMES), "['nobody','one','-','three']\n");
    server.kill();
    let [of_other] = &place.files()[..] else { panic!("one dictionary has one file") };
    change(of_other, |old| *old = bytes);
    place.write_source("3\tTHREE\n");

    let server = place.start();
    assert_eq!(server.ask(NAMES), "['nobody','nobody','nobody','THREE']\n");
    let told = server.ask(EXCEPTION);
    assert!(told.contains("was written for another definition"), "{told}");
    server.ask("SYSTEM RELOAD DICTIONARY d");
    assert_eq!(server.ask(EXCEPTION), "\n");
    server.kill();
}

/// More rows than are loaded in memory: all shards of all columns are complete, and a failed load changes nothing.
#[test]
fn many_rows_are_loaded_into_the_file_and_a_failed_reload_keeps_it() {
    let place = Place::new();
    let server = place.start();
    server.ask("CREATE TABLE bounds (n UInt64, fails UInt8) ENGINE = MergeTree ORDER BY n");
    server.ask("INSERT INTO bounds VALUES (700000, 0)");
    server.ask(
        "CREATE DICTIONARY d (id UInt64, name String, at Nullable(UInt32)) PRIMARY KEY id SOURCE(CLICKHOUSE(QUERY \
         'SELECT cityHash64(number) AS id, concat(''the name of row '', toString(number)) AS name, \
          if(number % 3 = 0, NULL, number) AS at FROM numbers((SELECT max(n) FROM bounds)) \
          WHERE throwIf(number = 650000 AND (SELECT max(fails) FROM bounds) = 1, ''the source fails'') = 0')) \
         LAYOUT(SPARSE_HASHED()) LIFETIME(0) SETTINGS(persist = 1)",
    );
    let check = "SELECT countIf(dictGet('d', 'name', cityHash64(number)) = \
                 concat('the name of row ', toString(number))), \
                 countIf(dictGet('d', 'at', cityHash64(number)) = number), countIf(dictHas('d', number)) \
                 FROM numbers(720000)";
    assert_eq!(server.ask(check), "700000\t466666\t0\n");
    assert_eq!(server.ask("SELECT count(), uniqExact(id) FROM d"), "700000\t700000\n");

    server.ask("INSERT INTO bounds VALUES (710000, 1)");
    let failed = server.post("", b"SYSTEM RELOAD DICTIONARY d").text();
    assert!(failed.contains("the source fails"), "{failed}");
    assert!(server.ask(EXCEPTION).contains("the source fails"));
    assert_eq!(server.ask(check), "700000\t466666\t0\n");
    let left = std::fs::read_dir(place.data.path().join("tmp")).expect("a directory");
    let left = left.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    assert_eq!(left.filter(|name| name.starts_with("dictionary-")).count(), 0);
    server.kill();

    let server = place.start();
    assert_eq!(server.ask(check), "700000\t466666\t0\n");
    server.ask("TRUNCATE TABLE bounds");
    server.ask("INSERT INTO bounds VALUES (710000, 0)");
    server.ask("SYSTEM RELOAD DICTIONARY d");
    assert_eq!(server.ask(check), "710000\t473333\t0\n");
    server.kill();
}
