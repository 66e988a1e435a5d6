//! Reloads of dictionaries: what queries see in the meantime, and the state after a failed reload.

use std::io::Write;
use std::net::TcpListener;
use std::sync::mpsc::{Sender, channel};

use basalt_itest::server::Server;
use basalt_itest::waiting::{check, wait_until};
use tempfile::{TempDir, tempdir};

use crate::dictionary_sources::read_request;

pub(crate) const EXCEPTION: &str = "SELECT last_exception FROM system.dictionaries WHERE name = 'd'";
const RELOAD: &[u8] = b"SYSTEM RELOAD DICTIONARY d";

/// A server with a table that controls the source of the dictionary `d`.
pub(crate) fn start() -> (TempDir, Server) {
    let data = tempdir().expect("a directory");
    let server = Server::start(data.path());
    server.ask("CREATE TABLE control (at UInt64, rows UInt64, version String, fails UInt8) ENGINE = MergeTree ORDER BY at");
    (data, server)
}

/// Sets the rows that the source returns.
pub(crate) fn control(server: &Server, rows: u64, version: &str, fails: bool) {
    server.ask("TRUNCATE TABLE control");
    server.ask(&format!("INSERT INTO control VALUES (1, {rows}, '{version}', {})", u8::from(fails)));
}

/// A dictionary of many long strings, 100 MB for 200,000 rows.
fn create_large(server: &Server, layout: &str, settings: &str) {
    server.ask(&format!(
        "CREATE DICTIONARY d (id UInt64, name String, at Nullable(UInt32)) PRIMARY KEY id SOURCE(CLICKHOUSE(QUERY \
         'SELECT number AS id, concat((SELECT max(version) FROM control), toString(number), repeat(''x'', 480)) AS name, \
          if(number % 3 = 0, NULL, number) AS at FROM numbers((SELECT max(rows) FROM control)) \
          WHERE throwIf(number >= 150000 AND (SELECT max(fails) FROM control) = 1, ''the source fails'') = 0')) \
         LAYOUT({layout}()) LIFETIME(0) {settings}"
    ));
}

/// The number of keys with the value of `version`, and the number of keys.
fn counts(server: &Server, version: &str) -> String {
    server.ask(&format!(
        "SELECT countIf(startsWith(dictGet('d', 'name', number), concat('{version}', toString(number), 'x'))), \
         countIf(dictGet('d', 'at', number) = number), countIf(dictHas('d', number)) FROM numbers(300000)"
    ))
}

/// Files left by a load.
pub(crate) fn left_over(data: &TempDir) -> Vec<String> {
    let left = std::fs::read_dir(data.path().join("tmp")).expect("a directory");
    let names = left.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("dictionary-")).collect()
}

#[test]
fn a_large_reload_that_fails_leaves_the_old_version_and_no_files() {
    let (data, server) = start();
    create_large(&server, "COMPACT_HASHED", "SETTINGS(require_nonempty = 1)");
    control(&server, 200_000, "old", false);
    assert_eq!(counts(&server, "old"), "200000\t133333\t200000\n");
    for (rows, fails, why) in [(190_000, true, "the source fails"), (0, false, "require_nonempty")] {
        control(&server, rows, "new", fails);
        let failed = server.post("", RELOAD).text();
        assert!(failed.contains(why), "{failed}");
        assert!(server.ask(EXCEPTION).contains(why));
        assert_eq!(counts(&server, "old"), "200000\t133333\t200000\n");
        assert_eq!(left_over(&data), Vec::<String>::new());
    }
    control(&server, 210_000, "new", false);
    server.ask("SYSTEM RELOAD DICTIONARY d");
    assert_eq!(counts(&server, "new"), "210000\t140000\t210000\n");
    assert_eq!(server.ask(EXCEPTION), "\n");
    server.kill();
}

#[test]
fn a_large_reload_without_a_place_for_files_is_made_in_memory() {
    let (data, server) = start();
    create_large(&server, "HASHED", "");
    control(&server, 200_000, "old", false);
    assert_eq!(counts(&server, "old"), "200000\t133333\t200000\n");
    let (tmp, away) = (data.path().join("tmp"), data.path().join("away"));
    std::fs::rename(&tmp, &away).expect("a directory");
    std::fs::write(&tmp, "in the way").expect("a place to write to");
    control(&server, 190_000, "new", false);
    server.ask("SYSTEM RELOAD DICTIONARY d");
    assert_eq!(counts(&server, "new"), "190000\t126666\t190000\n");
    let told = server.ask(EXCEPTION);
    assert!(told.contains("next to its old version, because a file was not possible"), "{told}");

    std::fs::remove_file(&tmp).expect("it is there");
    std::fs::rename(&away, &tmp).expect("a directory");
    server.ask("SYSTEM RELOAD DICTIONARY d");
    assert_eq!(server.ask(EXCEPTION), "\n");
    server.kill();
}

/// An HTTP server with 1,000,000 rows that holds back the last one until it may continue.
fn slow_source() -> (u16, Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let (go_on, wait) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let Some(_) = read_request(&stream) else { continue };
            let rows: String = (1..1_000_000).map(|id| format!("{id}\tthe name of {id}\n")).collect();
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
            // The client may have disconnected.
            let _ = stream.write_all(format!("{head}{rows}").as_bytes());
            let Ok(()) = wait.recv() else { return };
            let _ = stream.write_all(b"1000000\tlast\n");
        }
    });
    (port, go_on)
}

#[test]
fn a_load_that_runs_tells_how_far_it_is() {
    let (_data, server) = start();
    let (port, go_on) = slow_source();
    server.ask(&format!(
        "CREATE DICTIONARY d (id UInt64, name String) PRIMARY KEY id \
         SOURCE(HTTP(URL 'http://127.0.0.1:{port}/' FORMAT 'TSV')) LAYOUT(HASHED()) LIFETIME(0)"
    ));
    let last = "SELECT dictGet('d', 'name', toUInt64(1000000))";
    let told = "SELECT status, loading_rows > 0 AND loading_rows < 1000000, loading_step, element_count \
                FROM system.dictionaries WHERE name = 'd'";
    std::thread::scope(|scope| {
        let first = scope.spawn(|| server.ask(last));
        server.wait_until(told, |answer| answer == "LOADING\t1\treading\t0\n");
        go_on.send(()).expect("it waits");
        assert_eq!(first.join().expect("it is loaded"), "last\n");
    });
    assert_eq!(server.ask(told), "LOADED\t0\t\t1000000\n");
    std::thread::scope(|scope| {
        let reload = scope.spawn(|| server.post("", RELOAD).text());
        server.wait_until(told, |answer| answer == "LOADED_AND_RELOADING\t1\treading\t1000000\n");
        assert_eq!(server.ask(last), "last\n");
        go_on.send(()).expect("it waits");
        assert_eq!(reload.join().expect("it is loaded"), "");
    });
    assert_eq!(server.ask(told), "LOADED\t0\t\t1000000\n");
    assert_eq!(server.ask("SELECT loading_rows FROM system.dictionaries"), "1000000\n");
    server.kill();
}

/// Through any cycle, and from any start.
#[test]
fn a_dictionary_that_comes_to_read_itself_keeps_what_it_has() {
    let ways = [
        ("SELECT id, name FROM d", ""),
        ("SELECT number AS id, dictGet('d', 'name', number) AS name FROM numbers(2)", ""),
        ("SELECT id, name FROM behind", ""),
        ("SELECT id, dictGet('direct', 'name', id) AS name FROM numbers_of", ""),
        ("SELECT id, name FROM behind", "SETTINGS(persist = 1)"),
    ];
    for (way, settings) in ways {
        let (data, server) = start();
        let dictionary = |name: &str, from: &str, layout: &str, rest: &str| {
            let key = "(id UInt64, name String) PRIMARY KEY id";
            let source = format!("SOURCE(CLICKHOUSE(QUERY 'SELECT id, name FROM {from}'))");
            server.ask(&format!("CREATE DICTIONARY {name} {key} {source} LAYOUT({layout}()) {rest}"));
        };
        server.ask("CREATE VIEW numbers_of AS SELECT number AS id FROM numbers(2)");
        server.ask("CREATE VIEW v AS SELECT number AS id, 'first' AS name FROM numbers(2)");
        dictionary("d", "v", "HASHED", &format!("LIFETIME(0) {settings}"));
        dictionary("behind", "d", "HASHED", "LIFETIME(0)");
        dictionary("direct", "d", "DIRECT", "");
        let names =
            "SELECT dictGet('d', 'name', 1), dictGet('behind', 'name', 1), dictGet('direct', 'name', 1)";
        assert_eq!(server.ask(names), "first\tfirst\tfirst\n", "{way}");
        server.ask("DROP VIEW v");
        server.ask(&format!("CREATE VIEW v AS {way}"));
        for _ in 0..2 {
            let refused = server.post("", RELOAD).text();
            assert!(refused.contains("reads itself"), "{way}: {refused}");
            assert!(server.ask(EXCEPTION).contains("reads itself"), "{way}");
            assert_eq!(server.ask(names), "first\tfirst\tfirst\n", "{way}");
        }
        assert_eq!(left_over(&data), Vec::<String>::new());
        server.kill();

        let server = Server::start_with(data.path(), &["--dictionaries-lazy-load", "false"]);
        server.wait_until(EXCEPTION, |told| told.contains("reads itself"));
        server.ask("DROP VIEW v");
        server.ask("CREATE VIEW v AS SELECT number AS id, 'second' AS name FROM numbers(2)");
        server.ask("SYSTEM RELOAD DICTIONARY d");
        assert_eq!(server.ask("SELECT dictGet('d', 'name', 1)"), "second\n", "{way}");
        server.kill();
    }
}

/// With every kind of reload, and every kind of failing source.
#[test]
fn a_source_that_fails_leaves_the_old_version_in_every_way() {
    let (data, server) = start();
    let ways = [
        ("plain", "HASHED", "require_nonempty = 1"),
        ("persisted", "HASHED", "require_nonempty = 1, persist = 1"),
        ("persisted_flat", "FLAT", "require_nonempty = 1, persist = 1"),
    ];
    let names = |name: &str| {
        let query = format!("SELECT groupArray(dictGet('{name}', 'name', toUInt64(number))) FROM numbers(3)");
        server.ask(&query)
    };
    let view = |select: &str| {
        server.ask("DROP VIEW IF EXISTS v");
        server.ask(&format!("CREATE VIEW v AS {select}"));
    };
    let good = "SELECT number AS id, concat('name ', toString(number)) AS name FROM numbers(100000)";
    view(good);
    for (name, layout, settings) in ways {
        server.ask(&format!(
            "CREATE DICTIONARY {name} (id UInt64, name String) PRIMARY KEY id SOURCE(CLICKHOUSE(QUERY 'SELECT id, name FROM v')) \
             LAYOUT({layout}()) LIFETIME(0) SETTINGS({settings}, max_execution_time = 20)"
        ));
        assert_eq!(names(name), "['name 0','name 1','name 2']\n", "{name}");
    }
    let failures = [
        (
            "SELECT number AS id, toString(throwIf(number = 90000, 'the source fails')) AS name FROM numbers(100000)",
            "the source fails",
        ),
        ("SELECT number AS id, number AS other FROM numbers(100000)", "name"),
        ("SELECT number AS id, '' AS name FROM numbers(0)", "require_nonempty"),
        (
            "SELECT toInt64(number) - 1 AS id, '' AS name FROM numbers(100000)",
            "-1 is not the same in type UInt64: column `id`",
        ),
        (
            "SELECT nullIf(number, 99999) AS id, '' AS name FROM numbers(100000)",
            "NULL cannot be converted to UInt64, which is not Nullable: column `id`",
        ),
    ];
    for (select, why) in failures {
        view(select);
        for (name, ..) in ways {
            let failed = server.post("", format!("SYSTEM RELOAD DICTIONARY {name}").as_bytes()).text();
            assert!(failed.contains(why), "{name}, {select}: {failed}");
            let told = format!("SELECT last_exception FROM system.dictionaries WHERE name = '{name}'");
            assert!(server.ask(&told).contains(why), "{name}, {select}");
            assert_eq!(names(name), "['name 0','name 1','name 2']\n", "{name}, {select}");
        }
    }
    server.ask("DROP VIEW v");
    for (name, ..) in ways {
        let failed = server.post("", format!("SYSTEM RELOAD DICTIONARY {name}").as_bytes()).text();
        assert!(failed.contains("UNKNOWN_TABLE"), "{name}: {failed}");
        assert_eq!(names(name), "['name 0','name 1','name 2']\n", "{name}");
    }
    assert_eq!(left_over(&data), Vec::<String>::new());
    view(good);
    for (name, ..) in ways {
        server.ask(&format!("SYSTEM RELOAD DICTIONARY {name}"));
    }
    assert_eq!(server.ask("SELECT countIf(last_exception != '') FROM system.dictionaries"), "0\n");
    server.kill();
}

#[test]
fn changes_count_for_the_memory_of_the_server() {
    let data = tempdir().expect("a directory");
    let server = Server::start_with(data.path(), &["--max-server-memory-usage", "230000000"]);
    server.ask("CREATE TABLE control (rows UInt64) ENGINE = Memory");
    server.ask("INSERT INTO control VALUES (0)");
    // 100 MB; rows as new as the newest row are read again.
    server.ask(
        "CREATE DICTIONARY d (id UInt64, name String) PRIMARY KEY id SOURCE(CLICKHOUSE(QUERY \
         'WITH (SELECT max(rows) FROM control) AS changed \
          SELECT number AS id, concat(if(number < changed, ''new'', ''''), toString(number), repeat(''x'', 900)) AS name, \
          toDateTime(if(number < changed, 2000, 1000 + (number = 0))) AS at FROM numbers(110000) WHERE {condition}' \
         UPDATE_FIELD at UPDATE_LAG 0)) LAYOUT(HASHED()) LIFETIME(0)",
    );
    // Pages that a failed reload freed are returned to the system a moment later; until then a statement may be refused.
    let ask = |statement: &str| {
        let mut answer = String::new();
        wait_until(|| {
            let response = server.post("", statement.as_bytes());
            answer = response.text();
            check(response.status == 200 || !answer.contains("MEMORY_LIMIT_EXCEEDED"), answer.clone())
        });
        answer
    };
    let counts = || {
        ask("SELECT countIf(startsWith(dictGet('d', 'name', number), concat(toString(number), 'x'))), \
             countIf(startsWith(dictGet('d', 'name', number), concat('new', toString(number), 'x'))) FROM numbers(110000) \
             SETTINGS max_block_size = 1000")
    };
    let change = |rows: u64| {
        ask("TRUNCATE TABLE control");
        ask(&format!("INSERT INTO control VALUES ({rows})"));
        server.post("", RELOAD).text()
    };
    assert_eq!(counts(), "110000\t0\n");
    // There is no room for that many rows next to the old version, and for merging them.
    for _ in 0..2 {
        let failed = change(80_000);
        assert!(failed.contains("MEMORY_LIMIT_EXCEEDED"), "{failed}");
        assert_eq!(counts(), "110000\t0\n");
        assert_eq!(left_over(&data), Vec::<String>::new());
    }
    // A few changes stay in an overlay; the base counts once.
    wait_until(|| {
        let refused = change(20_000);
        check(refused.is_empty(), refused)
    });
    assert_eq!(counts(), "90000\t20000\n");
    server.kill();
}

#[test]
fn dictionaries_count_for_the_memory_of_the_server() {
    let data = tempdir().expect("a directory");
    let server = Server::start_with(data.path(), &["--max-server-memory-usage", "120000000"]);
    server.ask("CREATE TABLE control (rows UInt64) ENGINE = Memory");
    let create = |name: &str, settings: &str| {
        server.ask(&format!(
            "CREATE DICTIONARY {name} (id UInt64, value UInt32) PRIMARY KEY id SOURCE(CLICKHOUSE(QUERY \
             'SELECT cityHash64(number) AS id, number AS value FROM numbers((SELECT max(rows) FROM control))')) \
             LAYOUT(HASHED()) LIFETIME(0){settings}"
        ));
    };
    let rows = |count: u64| {
        server.ask("TRUNCATE TABLE control");
        server.ask(&format!("INSERT INTO control VALUES ({count})"));
    };
    let reload = |name: &str| server.post("", format!("SYSTEM RELOAD DICTIONARY {name}").as_bytes()).text();
    let ask = "SELECT sum(dictGet('first', 'value', cityHash64(number)) = number) FROM numbers(1000000)";
    rows(1_000_000);
    create("first", "");
    create("second", "");
    assert_eq!(server.ask(ask), "1000000\n");
    // A load that would be too large keeps the old version, and the error says what to do.
    rows(40_000_000);
    for _ in 0..2 {
        let failed = reload("first");
        for part in ["MEMORY_LIMIT_EXCEEDED", "`default.first`", "120000000 bytes", "persist = 1"] {
            assert!(failed.contains(part), "{failed}");
        }
        assert_eq!(server.ask(ask), "1000000\n");
        let told = "SELECT last_exception LIKE '%max_server_memory_usage%' FROM system.dictionaries WHERE name = 'first'";
        assert_eq!(server.ask(told), "1\n");
    }
    // A loaded dictionary leaves less memory to others, until it is dropped.
    rows(5_000_000);
    assert_eq!(reload("first"), "");
    assert!(reload("second").contains("MEMORY_LIMIT_EXCEEDED"));
    server.ask("SYSTEM UNLOAD DICTIONARY first");
    assert_eq!(reload("second"), "");
    server.ask("DROP DICTIONARY second");
    assert_eq!(reload("first"), "");
    server.ask("SYSTEM UNLOAD DICTIONARY first");
    // Pages of a file do not count.
    rows(6_000_000);
    create("filed", " SETTINGS(persist = 1)");
    assert_eq!(reload("filed"), "");
    rows(5_000_000);
    assert_eq!(reload("first"), "");
    assert_eq!(
        server.ask("SELECT element_count FROM system.dictionaries ORDER BY name"),
        "6000000\n5000000\n"
    );
    server.kill();
}
