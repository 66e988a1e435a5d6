//! Programs in C, compiled with the system's compiler against the shared and the static library, do what they promise.
//!
//! LevelDB's own test of its C functions runs too, where BASALT_LEVELDB_SOURCE names a directory with LevelDB's
//! sources; `scripts/leveldb-source` fetches them.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};

use basalt_base::fs::RealStorage;
use basalt_base::{Column, Columns, SqlType};
use basalt_kv::{KvOptions, KvSpec};
use basalt_segment::BuildOptions;
use basalt_segment::file::Access;
use basalt_succinct::{Table, TableOptions, TableSpec};
use tempfile::TempDir;

// The static library that the tests link is built with this crate.
use basalt_leveldb as _;

/// Libraries of the system that the static library needs, where pkg-config does not say it.
const SYSTEM_LIBRARIES: [&str; 4] = ["-lstdc++", "-lm", "-lpthread", "-ldl"];

#[derive(Clone, Copy, Debug)]
enum Link {
    Shared,
    Static,
}

/// The library as `scripts/kv-library` makes it; `None` without a compiler of C.
fn library() -> Option<&'static Path> {
    static LIBRARY: OnceLock<Option<TempDir>> = OnceLock::new();
    let made = LIBRARY.get_or_init(|| {
        let compiler = Command::new("cc").arg("--version").stdout(Stdio::null()).status();
        if !compiler.is_ok_and(|status| status.success()) {
            assert!(std::env::var_os("CI").is_none(), "CI has a compiler of C");
            skipped("there is no compiler of C (cc)");
            return None;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/kv-library");
        let made = Command::new(script).arg(archive()).arg(directory.path()).stdout(Stdio::null()).status();
        assert!(made.expect("the script runs").success());
        Some(directory)
    });
    made.as_ref().map(TempDir::path)
}

#[expect(clippy::print_stdout, reason = "tests say what they leave out")]
fn skipped(why: &str) {
    println!("skipped: {why}");
}

/// The newest static library beside this program.
fn archive() -> PathBuf {
    let program = std::env::current_exe().expect("a path");
    let files = std::fs::read_dir(program.parent().expect("a directory")).expect("a directory");
    let named = files.map(|file| file.expect("a file").path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libbasalt_leveldb") && name.ends_with(".a")
    });
    let written = |path: &PathBuf| path.metadata().and_then(|file| file.modified()).ok();
    named.max_by_key(written).expect("cargo builds the static library with the crate")
}

/// The flags that pkg-config gives, without `-lbasalt_kv` for the static library; `None` without pkg-config.
fn flags(library: &Path, link: Link) -> Option<Vec<String>> {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", library.join("lib/pkgconfig")).args(["--cflags", "--libs"]);
    if matches!(link, Link::Static) {
        command.arg("--static");
    }
    let output = command.arg("basalt_kv").output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let flags = String::from_utf8(output.stdout).expect("UTF-8");
    let is_wanted = |flag: &&str| matches!(link, Link::Shared) || *flag != "-lbasalt_kv";
    Some(flags.split_whitespace().filter(is_wanted).map(str::to_owned).collect())
}

/// The program of `source`.
fn compile(library: &Path, source: &Path, link: Link, program: &Path) {
    let mut command = Command::new("cc");
    command.args(["-std=gnu11", "-O1"]).arg(source).arg("-o").arg(program);
    if matches!(link, Link::Static) {
        command.arg(library.join("lib/libbasalt_kv.a"));
    }
    match flags(library, link) {
        Some(flags) => command.args(flags),
        None => {
            command.arg("-I").arg(library.join("include")).arg("-L").arg(library.join("lib"));
            match link {
                Link::Shared => command.arg("-lbasalt_kv"),
                Link::Static => command.args(SYSTEM_LIBRARIES),
            }
        }
    };
    command.arg("-lpthread");
    let output = command.output().expect("cc runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn ours(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name)
}

fn start(library: &Path, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", library.join("lib"));
    command
}

/// Compiles `source` in both ways and runs it in an empty directory.
fn check(source: &Path) {
    check_in(source, |_| {});
}

/// The same in a directory that `prepare` fills.
fn check_in(source: &Path, prepare: impl Fn(&Path)) {
    let Some(library) = library() else { return };
    for link in [Link::Shared, Link::Static] {
        let directory = tempfile::tempdir().expect("a directory");
        prepare(directory.path());
        let program = directory.path().join("program");
        compile(library, source, link, &program);
        let mut command = start(library, &program);
        let output = command.arg(directory.path()).env("TEST_TMPDIR", directory.path()).output();
        let output = output.expect("the program runs");
        assert!(output.status.success(), "{link:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn functions_of_leveldb_do_what_the_header_says() {
    check(&ours("leveldb_functions.c"));
}

#[test]
fn functions_of_rocksdb_are_there_too() {
    check(&ours("rocksdb_functions.c"));
}

/// An empty table as `CREATE TABLE t (name String, value String) ENGINE = Succinct PRIMARY KEY name` makes it.
fn make_table(dir: &Path) {
    let columns =
        Columns::new(vec![Column::new("name", SqlType::String), Column::new("value", SqlType::String)]);
    let spec = TableSpec::new(KvSpec::new(columns, vec![0]).expect("a valid definition"));
    let options = TableOptions {
        storage: Arc::new(RealStorage),
        kv: KvOptions::default(),
        access: Access::Mapped,
        build: BuildOptions::default(),
        segment_bytes: 100_000,
        segments_max: 3,
        dead_share_max: 0.1,
    };
    Table::open(dir, spec, options).expect("a table");
}

#[test]
fn succinct_table_is_a_database() {
    check_in(&ours("succinct_table.c"), |directory| make_table(&directory.join("db")));
}

#[test]
fn test_of_leveldb_passes_unchanged() {
    match std::env::var_os("BASALT_LEVELDB_SOURCE") {
        Some(source) => check(&Path::new(&source).join("db/c_test.c")),
        None => skipped("BASALT_LEVELDB_SOURCE names no sources of LevelDB (scripts/leveldb-source)"),
    }
}

#[test]
fn shared_library_exports_the_functions_of_the_headers_alone() {
    let Some(library) = library() else { return };
    let mut nm = Command::new("nm");
    let symbols = nm.args(["-D", "--defined-only"]).arg(library.join("lib/libbasalt_kv.so"));
    let Ok(symbols) = symbols.output() else {
        skipped("there is no nm");
        return;
    };
    let symbols = String::from_utf8(symbols.stdout).expect("UTF-8");
    let exported: Vec<&str> = symbols.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    let header = std::fs::read_to_string(library.join("include/leveldb/c.h")).expect("the header");
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let declarations = header.split("LEVELDB_EXPORT ").skip(1);
    let declared = declarations.filter_map(|text| text.split('(').next()?.rsplit(|c| !is_name(c)).next());
    let mut declared: Vec<&str> = declared.collect();
    assert_eq!(declared.len(), 68, "the functions of LevelDB 1.23");
    declared.sort_unstable();
    let mut ours: Vec<&str> = exported.iter().copied().filter(|name| name.starts_with("leveldb_")).collect();
    ours.sort_unstable();
    assert_eq!(ours, declared);
    assert!(exported.contains(&"rocksdb_open_column_families"));
    let others = exported.iter().find(|name| !name.starts_with("leveldb_") && !name.starts_with("rocksdb_"));
    assert_eq!(others, None);
}

/// `keep`, which writes to `db` or holds it.
struct Keep {
    directory: TempDir,
    library: &'static Path,
}

impl Keep {
    fn new() -> Option<Keep> {
        let library = library()?;
        let directory = tempfile::tempdir().expect("a directory");
        compile(library, &ours("keep.c"), Link::Shared, &directory.path().join("keep"));
        Some(Keep { directory, library })
    }

    fn command(&self, what: &str) -> Command {
        let mut command = start(self.library, &self.directory.path().join("keep"));
        command.arg(what).arg(self.directory.path().join("db"));
        command
    }

    fn spawn(&self, what: &str) -> (Child, BufReader<std::process::ChildStdout>) {
        let mut command = self.command(what);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        (child, output)
    }

    fn run(&self, what: &str) -> (ExitStatus, String) {
        let output = self.command(what).output().expect("it runs");
        (output.status, String::from_utf8(output.stdout).expect("UTF-8"))
    }
}

#[test]
fn synced_writes_survive_a_kill() {
    let Some(keep) = Keep::new() else { return };
    let (mut child, mut output) = keep.spawn("write");
    let mut line = String::new();
    for _ in 0..50 {
        line.clear();
        output.read_line(&mut line).expect("a line");
    }
    child.kill().expect("a kill");
    child.wait().expect("an end");
    // Whole lines that are still in the pipe were acknowledged too.
    let rest: Vec<String> = output.lines().map(|line| line.expect("a line")).collect();
    let (status, counted) = keep.run("count");
    assert!(status.success(), "{counted}");
    let counted: usize = counted.trim().parse().expect("a number");
    assert!(
        counted >= 50 + rest.len().saturating_sub(1),
        "{counted} keys, {} lines more than 50",
        rest.len()
    );
}

#[test]
fn database_of_another_process_is_refused() {
    let Some(keep) = Keep::new() else { return };
    let (mut child, mut output) = keep.spawn("hold");
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    assert_eq!(line, "open\n");
    let (status, refused) = keep.run("count");
    assert_eq!(status.code(), Some(3));
    assert!(refused.starts_with("IO error: ") && refused.contains("lock"), "{refused}");
    drop(child.stdin.take());
    assert!(child.wait().expect("an end").success());
    assert!(keep.run("count").0.success());
}
