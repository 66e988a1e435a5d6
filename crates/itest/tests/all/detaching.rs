//! Detached objects stay detached when the server restarts.

use basalt_itest::server::Server;
use tempfile::tempdir;

const DICTIONARY: &str = "CREATE DICTIONARY shop.names (id UInt64, name String) PRIMARY KEY id \
     SOURCE(CLICKHOUSE(DB 'shop' TABLE 'goods')) LAYOUT(HASHED()) LIFETIME(0) SETTINGS(persist = 1)";
const LOOKUP: &str = "SELECT dictGet('shop.names', 'name', toUInt64(2))";
const KEY_VALUE: &str =
    "CREATE TABLE shop.stock (id UInt64, n UInt32) ENGINE = EmbeddedRocksDB PRIMARY KEY id";

fn fill(server: &Server) {
    server.ask("CREATE DATABASE shop");
    server.ask("CREATE TABLE shop.goods (id UInt64, name String) ENGINE = MergeTree ORDER BY id");
    server.ask("INSERT INTO shop.goods VALUES (1, 'one'), (2, 'two')");
    server.ask(KEY_VALUE);
    server.ask("INSERT INTO shop.stock VALUES (2, 7)");
    server.ask(DICTIONARY);
    server.ask("CREATE VIEW shop.few AS SELECT id FROM shop.goods WHERE id < 2");
    assert_eq!(server.ask(LOOKUP), "two\n");
}

fn check_whole(server: &Server) {
    assert_eq!(server.ask("SELECT * FROM shop.goods ORDER BY id"), "1\tone\n2\ttwo\n");
    assert_eq!(server.ask("SELECT n FROM shop.stock WHERE id = 2"), "7\n");
    assert_eq!(server.ask(LOOKUP), "two\n");
}

#[test]
fn a_detached_database_is_back_after_a_restart_and_after_attach() {
    let data = tempdir().expect("a directory");
    let server = Server::start(data.path());
    fill(&server);
    server.ask("DETACH TABLE shop.few PERMANENTLY");
    server.ask("DETACH DATABASE shop");
    assert_eq!(server.ask("EXISTS DATABASE shop"), "0\n");
    // The directory belongs to no table, so nothing may delete it.
    server.ask("CREATE TABLE other (x UInt8) ENGINE = MergeTree ORDER BY x");
    server.ask("DROP TABLE other SYNC");
    server.ask("ATTACH DATABASE shop");
    check_whole(&server);
    server.ask("DETACH DATABASE shop SYNC");
    server.kill();

    let server = Server::start(data.path());
    check_whole(&server);
    assert_eq!(server.ask("SELECT table FROM system.detached_tables"), "few\n");
    server.ask("INSERT INTO shop.goods VALUES (3, 'three')");
    server.ask("DETACH DATABASE shop");
    server.ask("ATTACH DATABASE shop");
    assert_eq!(server.ask("SELECT count() FROM shop.goods"), "3\n");
    server.ask("DROP DATABASE shop SYNC");
    server.kill();

    let store = std::fs::read_dir(data.path().join("store")).expect("the directory of tables");
    assert_eq!(store.count(), 0, "a dropped database leaves nothing");
}
