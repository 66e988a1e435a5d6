//! SSD_CACHE: cached rows in files answer without the source, and each directory belongs to one dictionary.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use basalt_itest::server::Server;
use tempfile::{TempDir, tempdir};

/// Far longer than removing a dropped dictionary takes.
const PATIENCE: Duration = Duration::from_secs(60);
const ROWS: u64 = 2000;
/// A row takes about 110 bytes: these sizes hold all rows, few of them in memory.
const ROOMY: &str =
    "BLOCK_SIZE 512 WRITE_BUFFER_SIZE 4096 READ_BUFFER_SIZE 4096 FILE_SIZE 262144 MAX_PARTITIONS_COUNT 4";
/// These sizes hold about a third of the rows.
const NARROW: &str =
    "BLOCK_SIZE 512 WRITE_BUFFER_SIZE 4096 READ_BUFFER_SIZE 4096 FILE_SIZE 32768 MAX_PARTITIONS_COUNT 2";

/// A data directory, and a directory of user files next to it.
struct Place {
    data: TempDir,
    files: TempDir,
}

impl Place {
    fn new() -> Place {
        Place { data: tempdir().expect("a directory"), files: tempdir().expect("a directory") }
    }

    fn start(&self) -> Server {
        let files = self.files.path().to_string_lossy().into_owned();
        Server::start_with(self.data.path(), &["--user-files-path", &files])
    }

    /// The files in the directory `name` of the user files.
    fn cache_files(&self, name: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.files.path().join(name)).expect("the cache's directory");
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "cache"));
        files
    }
}

/// A table `rows` with `ROWS` rows.
fn create_source(server: &Server) {
    server.ask(
        "CREATE TABLE rows (id UInt64, name String, note Nullable(String)) ENGINE = MergeTree ORDER BY id",
    );
    fill_source(server);
}

fn fill_source(server: &Server) {
    server.ask(&format!(
        "INSERT INTO rows SELECT number, concat('name-', toString(number)), \
         if(number % 3 = 0, NULL, repeat(toString(number % 10), 100)) FROM numbers({ROWS})"
    ));
}

/// `layout` has the parameters except PATH.
fn create(server: &Server, name: &str, path: &str, key: &str, layout: &str) {
    let layout = layout.replacen('(', &format!("(PATH '{path}' "), 1);
    server.ask(&format!(
        "CREATE DICTIONARY {name} (id UInt64, name String DEFAULT 'nobody', note Nullable(String)) \
         PRIMARY KEY {key} SOURCE(CLICKHOUSE(TABLE 'rows')) LAYOUT({layout}) LIFETIME(0)"
    ));
}

/// The number of rows that equal those of the source.
fn right_rows(server: &Server, name: &str) -> String {
    server.ask(&format!(
        "SELECT countIf(dictGet('{name}', 'name', number) = concat('name-', toString(number)) \
         AND ifNull(length(dictGet('{name}', 'note', number)), 0) = if(number % 3 = 0, 0, 100)) \
         FROM numbers({ROWS})"
    ))
}

fn of_system(server: &Server, name: &str, column: &str) -> String {
    server.ask(&format!("SELECT {column} FROM system.dictionaries WHERE name = '{name}'"))
}

fn error_of(server: &Server, statement: &str) -> String {
    let answer = server.post("", statement.as_bytes());
    assert_ne!(answer.status, 200, "{statement}: {}", answer.text());
    answer.text()
}

#[test]
fn rows_in_files_answer_without_the_source() {
    let place = Place::new();
    let server = place.start();
    create_source(&server);
    create(&server, "d", "caches/simple", "id", &format!("SSD_CACHE({ROOMY})"));
    create(&server, "k", "caches/complex", "id, name", &format!("COMPLEX_KEY_SSD_CACHE({ROOMY})"));
    let notes = format!(
        "SELECT sum(length(ifNull(dictGet('k', 'note', (number, concat('name-', toString(number)))), ''))) \
         FROM numbers({ROWS})"
    );
    let sum = server.ask("SELECT sum(length(note)) FROM rows");
    assert_eq!(right_rows(&server, "d"), format!("{ROWS}\n"));
    assert_eq!(server.ask(&notes), sum);
    assert_eq!(of_system(&server, "d", "type, element_count"), format!("SSDCache\t{ROWS}\n"));
    assert_eq!(of_system(&server, "k", "type, element_count"), format!("SSDComplexKeyCache\t{ROWS}\n"));

    server.ask("TRUNCATE TABLE rows");
    assert_eq!(right_rows(&server, "d"), format!("{ROWS}\n"));
    assert_eq!(server.ask(&notes), sum);
    assert_eq!(server.ask("SELECT count() FROM d"), format!("{ROWS}\n"));
    for name in ["caches/simple", "caches/complex"] {
        let bytes: u64 =
            place.cache_files(name).iter().map(|path| path.metadata().expect("it is there").len()).sum();
        assert!(bytes > 150_000, "{name} has {bytes} bytes");
    }
    // The source no longer has the rows that were not cached.
    assert_eq!(server.ask(&format!("SELECT dictGet('d', 'name', {ROWS}::UInt64)")), "nobody\n");
    server.ask("SYSTEM RELOAD DICTIONARY d");
    assert_eq!(right_rows(&server, "d"), "0\n");
}

#[test]
fn the_oldest_rows_go_when_files_are_full() {
    let place = Place::new();
    let server = place.start();
    create_source(&server);
    create(&server, "d", "cache", "id", &format!("SSD_CACHE({NARROW})"));
    for _ in 0..3 {
        assert_eq!(right_rows(&server, "d"), format!("{ROWS}\n"));
    }
    let kept = of_system(&server, "d", "element_count");
    let kept: u64 = kept.trim().parse().expect("a number");
    assert!((100..ROWS / 2).contains(&kept), "{kept}");
    assert!(place.cache_files("cache").len() <= 2);
    create(&server, "few", "few", "id", &format!("SSD_CACHE(MAX_STORED_KEYS 100 {ROOMY})"));
    assert_eq!(right_rows(&server, "few"), format!("{ROWS}\n"));
    assert_eq!(of_system(&server, "few", "element_count"), "100\n");
}

#[test]
fn what_a_killed_server_left_counts_for_nothing() {
    let place = Place::new();
    let server = place.start();
    create_source(&server);
    create(&server, "d", "cache", "id", &format!("SSD_CACHE({ROOMY})"));
    assert_eq!(right_rows(&server, "d"), format!("{ROWS}\n"));
    server.ask("TRUNCATE TABLE rows");
    server.kill();
    assert!(!place.cache_files("cache").is_empty());

    let server = place.start();
    assert_eq!(right_rows(&server, "d"), "0\n");
    assert!(place.cache_files("cache").is_empty());
    fill_source(&server);
    server.ask("SYSTEM RELOAD DICTIONARY d");
    assert_eq!(right_rows(&server, "d"), format!("{ROWS}\n"));
    assert_eq!(server.terminate(), Some(0));

    let server = place.start();
    assert_eq!(right_rows(&server, "d"), format!("{ROWS}\n"));
}

#[test]
fn a_directory_is_of_one_dictionary() {
    let place = Place::new();
    let server = place.start();
    create_source(&server);
    create(&server, "first", "cache", "id", &format!("SSD_CACHE({ROOMY})"));
    create(&server, "second", "./cache", "id", &format!("SSD_CACHE({ROOMY})"));
    assert_eq!(right_rows(&server, "first"), format!("{ROWS}\n"));
    let refused = error_of(&server, "SELECT dictGet('second', 'name', 1::UInt64)");
    assert!(refused.contains("is in use by the dictionary default.first"), "{refused}");
    // The next version of the same dictionary may use it.
    server.ask("SYSTEM RELOAD DICTIONARY first");
    server.ask("TRUNCATE TABLE rows");
    fill_source(&server);
    assert_eq!(right_rows(&server, "first"), format!("{ROWS}\n"));

    // Another process may not use it while this one runs.
    let other = Place { data: tempdir().expect("a directory"), ..place };
    let neighbour = other.start();
    create_source(&neighbour);
    create(&neighbour, "third", "cache", "id", &format!("SSD_CACHE({ROOMY})"));
    let refused = error_of(&neighbour, "SYSTEM RELOAD DICTIONARY third");
    assert!(refused.contains(&format!("is in use by process {}", server.pid())), "{refused}");
    assert_eq!(right_rows(&server, "first"), format!("{ROWS}\n"));

    server.ask("DROP DICTIONARY first");
    let start = Instant::now();
    while server.post("", b"SYSTEM RELOAD DICTIONARY second").status != 200 {
        assert!(start.elapsed() < PATIENCE, "the directory is still in use");
        std::thread::yield_now();
    }
    assert_eq!(right_rows(&server, "second"), format!("{ROWS}\n"));
    server.kill();
    neighbour.ask("SYSTEM RELOAD DICTIONARY third");
    assert_eq!(right_rows(&neighbour, "third"), format!("{ROWS}\n"));
}

#[test]
fn a_directory_outside_or_of_others_is_refused() {
    let place = Place::new();
    let server = place.start();
    create_source(&server);
    let mine = place.files.path().join("mine");
    std::fs::create_dir(&mine).expect("a new directory");
    std::fs::write(mine.join("notes.txt"), "mine").expect("a new file");
    for (name, path, error) in [
        ("up", "../cache", "outside the directory of user files"),
        ("hidden", "new/../../cache", "outside the directory of user files"),
        ("absolute", "/cache", "outside the directory of user files"),
        ("others", "mine", "needs a directory of its own"),
    ] {
        create(&server, name, path, "id", &format!("SSD_CACHE({ROOMY})"));
        let refused = error_of(&server, &format!("SELECT dictGet('{name}', 'name', 1::UInt64)"));
        assert!(refused.contains(error), "{path}: {refused}");
    }
    let left: Vec<_> = std::fs::read_dir(&mine).expect("it is there").collect();
    assert_eq!(left.len(), 1);
    let absolute = place.files.path().join("absolute").to_string_lossy().into_owned();
    create(&server, "inside", &absolute, "id", &format!("SSD_CACHE({ROOMY})"));
    assert_eq!(right_rows(&server, "inside"), format!("{ROWS}\n"));
}
