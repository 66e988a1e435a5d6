//! Reloads of dictionaries: what they take, what is seen meanwhile, and what a reload that fails leaves.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use basalt_itest::server::Server;
use tempfile::{TempDir, tempdir};

const EXCEPTION: &str = "SELECT last_exception FROM system.dictionaries WHERE name = 'd'";
const RELOAD: &[u8] = b"SYSTEM RELOAD DICTIONARY d";

/// A server with a table that says what the source of the dictionary `d` gives.
fn start() -> (TempDir, Server) {
    let data = tempdir().expect("a directory");
    let server = Server::start(data.path());
    server.ask("CREATE TABLE control (at UInt64, rows UInt64, version String, fails UInt8) ENGINE = MergeTree ORDER BY at");
    (data, server)
}

/// What the source gives from now on.
fn control(server: &Server, rows: u64, version: &str, fails: bool) {
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

/// How many keys have the value of `version`, and how many there are.
fn counts(server: &Server, version: &str) -> String {
    server.ask(&format!(
        "SELECT countIf(startsWith(dictGet('d', 'name', number), concat('{version}', toString(number), 'x'))), \
         countIf(dictGet('d', 'at', number) = number), countIf(dictHas('d', number)) FROM numbers(300000)"
    ))
}

/// Files that a load left behind.
fn left_over(data: &TempDir) -> Vec<String> {
    let left = std::fs::read_dir(data.path().join("tmp")).expect("a directory");
    let names = left.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("dictionary-")).collect()
}

/// Memory of the process's own, as Linux counts it.
fn own_bytes(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("a line");
    line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).expect("a number") << 10
}

/// The most that the process took while `run` ran.
fn peak_bytes(server: &Server, run: impl FnOnce()) -> u64 {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut most = 0;
            while !is_over.load(Ordering::Relaxed) {
                most = most.max(own_bytes(server));
                std::thread::sleep(Duration::from_millis(2));
            }
            most
        });
        run();
        is_over.store(true, Ordering::Relaxed);
        watch.join().expect("it only watches")
    })
}

#[test]
fn a_plain_reload_takes_no_second_version() {
    let (data, server) = start();
    control(&server, 6_000_000, "", false);
    server.ask(
        "CREATE DICTIONARY d (id UInt64, value UInt32) PRIMARY KEY id SOURCE(CLICKHOUSE(QUERY \
         'SELECT cityHash64(number) AS id, number + length((SELECT max(version) FROM control)) AS value \
          FROM numbers((SELECT max(rows) FROM control))')) LAYOUT(HASHED(MAX_LOAD_FACTOR 0.5)) LIFETIME(0)",
    );
    let check = "SELECT countIf(dictGet('d', 'value', cityHash64(number)) = number), \
                 countIf(dictGet('d', 'value', cityHash64(number)) = number + 1) FROM numbers(10000)";
    assert_eq!(server.ask(check), "10000\t0\n");
    let version = "SELECT bytes_allocated FROM system.dictionaries WHERE name = 'd'";
    let bytes: u64 = server.ask(version).trim().parse().expect("a number");
    assert!(bytes > 100 << 20, "{bytes}");

    control(&server, 5_900_000, "x", false);
    let before = own_bytes(&server);
    let peak = peak_bytes(&server, || drop(server.ask("SYSTEM RELOAD DICTIONARY d")));
    assert!(peak < before + bytes, "{} MiB over {}", (peak - before) >> 20, before >> 20);
    assert_eq!(server.ask(check), "0\t10000\n");
    assert_eq!(server.ask("SELECT element_count FROM system.dictionaries"), "5900000\n");
    assert_eq!(server.ask(EXCEPTION), "\n");
    assert_eq!(left_over(&data), Vec::<String>::new());
    server.kill();
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
    assert!(told.contains("beside its old version, for want of a file"), "{told}");

    std::fs::remove_file(&tmp).expect("it is there");
    std::fs::rename(&away, &tmp).expect("a directory");
    server.ask("SYSTEM RELOAD DICTIONARY d");
    assert_eq!(server.ask(EXCEPTION), "\n");
    server.kill();
}
