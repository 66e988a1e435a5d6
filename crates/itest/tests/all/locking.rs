//! One process per data directory.

use basalt_itest::program::local;
use basalt_itest::server::Server;
use tempfile::tempdir;

#[test]
fn second_process_is_told_who_has_the_directory() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    let refused = local(dir.path(), "SELECT 1");
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains("is in use by process"), "{}", refused.stderr);
    assert!(refused.stderr.contains(&dir.path().display().to_string()), "{}", refused.stderr);
    assert_eq!(server.ask("SELECT 1"), "1\n");
    server.kill();
    assert_eq!(local(dir.path(), "SELECT 1").expect(), "1\n");
}

#[test]
fn unknown_version_of_the_directory_is_refused() {
    let dir = tempdir().expect("a directory");
    local(dir.path(), "CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a").expect();
    std::fs::write(dir.path().join("VERSION"), "999999\n").expect("writable");
    let refused = local(dir.path(), "SELECT 1");
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains("999999"), "{}", refused.stderr);
}
