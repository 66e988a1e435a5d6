//! Users, roles, grants, row policies, profiles and quotas of a server, over HTTP.

use std::path::Path;
use std::time::{Duration, Instant};

use basalt_itest::http::{Response, encode};
use basalt_itest::python::Python;
use basalt_itest::server::Server;
use basalt_itest::skipped;
use tempfile::{TempDir, tempdir};

/// A server with a table `d.t` of which the user `reader` may read two columns.
struct World {
    dir: TempDir,
    server: Server,
}

impl World {
    fn new(statements: &[&str]) -> World {
        let dir = tempdir().expect("a directory");
        let server = Server::start(dir.path());
        let world = World { dir, server };
        for statement in [
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a UInt8, b String, secret String) ORDER BY a",
            "INSERT INTO d.t VALUES (1, 'x', 's1'), (2, 'y', 's2'), (3, 'x', 's3')",
            "CREATE TABLE d.hidden (a UInt8) ORDER BY a",
            "CREATE USER reader IDENTIFIED WITH sha256_password BY 'pw'",
        ]
        .iter()
        .chain(statements)
        {
            world.server.ask(statement);
        }
        world
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn as_reader(&self, statement: &str) -> Response {
        self.server.post("user=reader&password=pw", statement.as_bytes())
    }

    #[track_caller]
    fn reads(&self, statement: &str, expected: &str) {
        let answer = self.as_reader(statement);
        assert_eq!((answer.status, answer.text().as_str()), (200, expected), "{statement}");
    }

    #[track_caller]
    fn denies(&self, statement: &str) {
        let answer = self.as_reader(statement);
        let text = answer.text();
        assert!(answer.status == 403 && text.contains("(ACCESS_DENIED)"), "{statement}: {text}");
        assert!(!text.contains("s1"), "{statement}: {text}");
    }
}

#[test]
fn nothing_is_granted_at_first() {
    let world = World::new(&[]);
    world.reads("SELECT 1, currentUser()", "1\treader\n");
    for statement in [
        "SELECT a FROM d.t",
        "SELECT count() FROM d.t",
        "SELECT * FROM (SELECT 1 AS one) WHERE EXISTS (SELECT 1 FROM d.t)",
        "SELECT 1 IN (SELECT a FROM d.t)",
        "SELECT (SELECT max(secret) FROM d.t)",
        "SELECT a FROM d.nosuch",
        "DESCRIBE d.t",
        "SHOW CREATE TABLE d.t",
        "SHOW TABLES FROM d",
        "EXISTS d.t",
        "USE d",
        "INSERT INTO d.t VALUES (9, '', '')",
        "INSERT INTO d.t SELECT * FROM d.t",
        "CREATE TABLE d.new (a UInt8) ORDER BY a",
        "CREATE TABLE new AS d.t",
        "CREATE VIEW v AS SELECT 1",
        "CREATE DATABASE e",
        "DROP TABLE d.t",
        "DROP DATABASE d",
        "DETACH TABLE d.t",
        "TRUNCATE TABLE d.t",
        "RENAME TABLE d.t TO d.u",
        "ALTER TABLE d.t ADD COLUMN c UInt8",
        "ALTER TABLE d.t DROP COLUMN b",
        "ALTER TABLE d.t DELETE WHERE 1",
        "ALTER TABLE d.t UPDATE b = '' WHERE 1",
        "DELETE FROM d.t WHERE 1",
        "OPTIMIZE TABLE d.t",
        "CHECK TABLE d.t",
        "SYSTEM STOP MERGES",
        "SYSTEM STOP MERGES d.t",
        "SELECT * FROM file('x.csv', 'CSV', 'a UInt8')",
        "CREATE NAMED COLLECTION c AS a = 1",
        "CREATE USER other",
        "ALTER USER reader IDENTIFIED BY 'x'",
        "DROP USER default",
        "CREATE ROLE r",
        "GRANT SELECT ON *.* TO reader",
        "CREATE ROW POLICY p ON d.t USING 1 TO reader",
        "CREATE QUOTA q FOR INTERVAL 1 hour MAX queries = 1 TO reader",
        "CREATE SETTINGS PROFILE p TO reader",
        "SELECT * FROM system.users",
        "SELECT * FROM system.query_log",
        "SHOW USERS",
        "SHOW CREATE USER default",
        "SHOW GRANTS FOR default",
        "SHOW ACCESS",
    ] {
        world.denies(statement);
    }
    assert_eq!(world.server.ask("SELECT count() FROM d.t"), "3\n");
    world.reads("SELECT name FROM system.tables WHERE database = 'd'", "");
    world.reads("SELECT count() FROM system.columns WHERE database = 'd'", "0\n");
    world.reads("SELECT count() FROM system.databases WHERE name = 'd'", "0\n");
    world.reads("SELECT count() FROM system.parts", "0\n");
    world.reads("SHOW DATABASES LIKE 'd'", "");
    world.reads("SELECT DISTINCT user FROM system.processes", "reader\n");
    world.reads("SHOW GRANTS", "");
    world.reads("SHOW CREATE USER", "CREATE USER reader IDENTIFIED WITH sha256_password\n");
}

#[test]
fn columns_are_granted_one_by_one() {
    let world = World::new(&["GRANT SELECT(a, b) ON d.t TO reader"]);
    world.reads("SELECT a, b FROM d.t WHERE b = 'y'", "2\ty\n");
    world.reads("SELECT count() FROM d.t", "3\n");
    world.reads("SELECT sum(a) FROM (SELECT a, b FROM d.t) AS s", "6\n");
    world.reads("SELECT count() FROM d.t AS x JOIN d.t AS y ON x.a = y.a", "3\n");
    world.reads("SELECT name FROM system.columns WHERE database = 'd' ORDER BY name", "a\nb\n");
    world.reads("SELECT name FROM system.tables WHERE database = 'd'", "t\n");
    world.reads("SHOW GRANTS", "GRANT SELECT(a, b) ON d.t TO reader\n");
    for statement in [
        "SELECT secret FROM d.t",
        "SELECT * FROM d.t",
        "SELECT a FROM d.t WHERE secret = 's1'",
        "SELECT a FROM d.t PREWHERE secret = 's1'",
        "SELECT a FROM d.t ORDER BY secret",
        "SELECT count() FROM d.t GROUP BY secret",
        "SELECT count(secret) FROM d.t",
        "SELECT max(secret) FROM d.t",
        "SELECT x.a FROM d.t AS x JOIN d.t AS y ON x.secret = y.secret",
        "SELECT a FROM d.t WHERE a IN (SELECT length(secret) FROM d.t)",
        "SELECT a FROM d.t AS x WHERE EXISTS (SELECT 1 FROM d.t AS y WHERE y.secret = x.b)",
        "EXPLAIN SELECT secret FROM d.t",
        "DESCRIBE d.t",
        "SHOW CREATE TABLE d.t",
        "DESCRIBE (SELECT secret FROM d.t)",
    ] {
        world.denies(statement);
    }
}

#[test]
fn functions_of_postgres_tell_what_is_granted() {
    let world = World::new(&[
        "GRANT SELECT(a, b) ON d.t TO reader",
        "GRANT SELECT, INSERT ON d.hidden TO reader WITH GRANT OPTION",
        "CREATE ROLE worker",
        "GRANT worker TO reader",
    ]);
    let table =
        |table: &str, privilege: &str| format!("SELECT has_table_privilege('{table}', '{privilege}')");
    world.reads(&table("d.t", "SELECT"), "false\n");
    world.reads(&table("d.hidden", "select"), "true\n");
    world.reads(&table("d.hidden", "DELETE, INSERT"), "true\n");
    world.reads(&table("d.hidden", "UPDATE"), "false\n");
    world.reads(&table("d.hidden", "SELECT WITH GRANT OPTION"), "true\n");
    world.reads("SELECT has_any_column_privilege('d.t', 'SELECT')", "true\n");
    world.reads(
        "SELECT arrayMap(c -> has_column_privilege('d.t', c, 'SELECT'), ['a', 'secret'])",
        "[true,false]\n",
    );
    world.reads(
        "SELECT has_schema_privilege('d', 'USAGE'), has_schema_privilege('d', 'CREATE')",
        "true\tfalse\n",
    );
    world.reads("SELECT has_database_privilege('d', 'CONNECT')", "true\n");
    world.reads("SELECT pg_has_role('worker', 'MEMBER'), pg_has_role('other', 'USAGE')", "true\tfalse\n");
    let ask = |statement: &str| world.server.ask(statement);
    assert_eq!(ask(&table("d.t", "DELETE")), "true\n");
    assert_eq!(ask("SELECT has_table_privilege('reader', 'd.t', 'SELECT')"), "false\n");
    assert_eq!(ask("SELECT has_table_privilege(4000000000, 'SELECT')"), "\\N\n");
    for (statement, error) in [
        (table("d.nothing", "SELECT"), "UNKNOWN_TABLE"),
        (table("d.t", "READ"), "BAD_ARGUMENTS"),
        ("SELECT has_table_privilege('nobody', 'd.t', 'SELECT')".to_owned(), "UNKNOWN_USER"),
        ("SELECT has_column_privilege('d.t', 'z', 'SELECT')".to_owned(), "NO_SUCH_COLUMN_IN_TABLE"),
    ] {
        let answer = world.server.post("", statement.as_bytes()).text();
        assert!(answer.contains(error), "{statement}: {answer}");
    }
}

#[test]
fn a_view_needs_its_tables_too() {
    let world =
        World::new(&["CREATE VIEW d.v AS SELECT a, secret FROM d.t", "GRANT SELECT ON d.v TO reader"]);
    world.denies("SELECT a FROM d.v");
    world.server.ask("GRANT SELECT(a) ON d.t TO reader");
    world.reads("SELECT sum(a) FROM d.v", "6\n");
    world.denies("SELECT secret FROM d.v");
}

#[test]
fn row_policies_hide_rows_everywhere() {
    let world = World::new(&[
        "GRANT SELECT(a, b) ON d.t TO reader",
        "GRANT SELECT ON d.v TO reader",
        "GRANT SELECT ON d.m TO reader",
        "GRANT SELECT ON d.r TO reader",
        "CREATE VIEW d.v AS SELECT a, b FROM d.t",
        "CREATE TABLE d.m (a UInt8, b String) ENGINE = Memory",
        "INSERT INTO d.m SELECT a, b FROM d.t",
        "CREATE TABLE d.r (a UInt8, v UInt8, b String) ENGINE = ReplacingMergeTree(v) ORDER BY a",
        "INSERT INTO d.r VALUES (1, 1, 'x')",
        "INSERT INTO d.r VALUES (1, 2, 'y')",
    ]);
    world.server.ask("CREATE ROW POLICY p ON d.t USING secret = 's1' OR a = 3 TO reader");
    world.server.ask("CREATE ROW POLICY p ON d.m USING b = 'x' TO reader");
    world.server.ask("CREATE ROW POLICY p ON d.r USING b = 'x' TO reader");
    world.reads("SELECT a FROM d.t ORDER BY a", "1\n3\n");
    world.reads("SELECT count() FROM d.t", "2\n");
    world.reads("SELECT max(a), min(a) FROM d.t WHERE a < 3", "1\t1\n");
    world.reads("SELECT a FROM d.v ORDER BY a", "1\n3\n");
    world.reads("SELECT count() FROM d.m", "2\n");
    world.reads("SELECT count() FROM d.m AS x JOIN d.t AS y ON x.a = y.a", "2\n");
    world.reads("SELECT 2 IN (SELECT a FROM d.t)", "0\n");
    world.reads("SELECT count() FROM d.r FINAL", "0\n");
    // No condition sees the others.
    for table in ["d.t", "d.m"] {
        for clause in ["WHERE", "PREWHERE"] {
            let guess = format!("SELECT count() FROM {table} {clause} throwIf(a = 2, 'seen') = 0");
            if table == "d.t" || clause == "WHERE" {
                world.reads(&guess, "2\n");
            }
        }
    }
    assert_eq!(world.server.ask("SELECT count() FROM d.t"), "3\n");
    world.server.ask("CREATE ROW POLICY strict ON d.t USING a = 1 AS RESTRICTIVE TO ALL");
    world.reads("SELECT a FROM d.t", "1\n");
    assert_eq!(world.server.ask("SELECT count() FROM d.t"), "1\n");
    world.server.ask("DROP ROW POLICY strict ON d.t");
    world.server.ask("DROP ROW POLICY p ON d.t");
    world.reads("SELECT count() FROM d.t", "3\n");
}

#[test]
fn reads_by_key_need_what_scans_need() {
    let world = World::new(&[
        "CREATE TABLE d.kv (k UInt8, v String, secret String) ENGINE = EmbeddedRocksDB PRIMARY KEY k",
        "INSERT INTO d.kv VALUES (1, 'x', 's1'), (2, 'y', 's2')",
        "CREATE TABLE d.kv2 (k UInt8, secret String) ENGINE = EmbeddedRocksDB PRIMARY KEY k",
        "INSERT INTO d.kv2 VALUES (1, 's1')",
        "GRANT SELECT(k, v) ON d.kv TO reader",
        "GRANT SELECT(secret) ON d.kv2 TO reader",
    ]);
    world.reads("SELECT v FROM d.kv WHERE k = 1", "x\n");
    world.denies("SELECT secret FROM d.kv WHERE k = 1");
    world.denies("SELECT * FROM d.kv WHERE k = 1");
    // The condition reads the key.
    world.denies("SELECT secret FROM d.kv2 WHERE k = 1");
    world.denies("SELECT a FROM d.hidden WHERE a = 1");
    world.server.ask("CREATE ROW POLICY p ON d.kv USING secret = 's1' TO reader");
    world.reads("SELECT v FROM d.kv WHERE k = 1", "x\n");
    world.reads("SELECT v FROM d.kv WHERE k = 2", "");
    world.reads("SELECT v FROM d.kv WHERE k IN (1, 2)", "x\n");
    let limited = "SELECT v FROM d.kv WHERE k IN (1, 2) SETTINGS max_result_rows = 1";
    assert!(world.server.post("", limited.as_bytes()).text().contains("(TOO_MANY_ROWS)"));
}

#[test]
fn a_policy_that_reads_its_own_table_is_an_error() {
    let world = World::new(&[
        "GRANT SELECT ON d.t TO reader",
        "CREATE ROW POLICY p ON d.t USING a IN (SELECT a FROM d.t) TO reader",
    ]);
    let answer = world.as_reader("SELECT a FROM d.t");
    assert!(answer.status >= 400, "{}", answer.text());
    assert_eq!(world.server.ask("SELECT count() FROM d.t"), "3\n");
}

#[test]
fn roles_are_enabled_and_set() {
    let world = World::new(&[
        "CREATE ROLE inner, outer",
        "GRANT SELECT ON d.t TO inner",
        "GRANT inner TO outer",
        "GRANT outer TO reader",
        "CREATE ROLE other",
        "GRANT SELECT ON d.hidden TO other",
        "GRANT other TO reader",
        "SET DEFAULT ROLE outer TO reader",
    ]);
    world.reads("SELECT count(secret) FROM d.t", "3\n");
    world.reads("SELECT currentRoles(), enabledRoles()", "['outer']\t['inner','outer']\n");
    world.denies("SELECT count() FROM d.hidden");
    let session = "user=reader&password=pw&session_id=s";
    assert_eq!(world.server.post(session, b"SET ROLE other").status, 200);
    assert_eq!(world.server.post(session, b"SELECT count() FROM d.hidden").text(), "0\n");
    assert_eq!(world.server.post(session, b"SELECT count() FROM d.t").status, 403);
    let by_url = world.server.post("user=reader&password=pw&role=other", b"SELECT currentRoles()");
    assert_eq!(by_url.text(), "['other']\n");
    assert!(world.server.post(session, b"SET ROLE inner").text().contains("(SET_NON_GRANTED_ROLE)"));
    world.server.ask("REVOKE outer FROM reader");
    world.denies("SELECT count() FROM d.t");
    world.server.ask("DROP USER reader");
    assert!(world.server.post(session, b"SELECT 1").text().contains("(AUTHENTICATION_FAILED)"));
}

#[test]
fn grants_are_given_on() {
    let world = World::new(&[
        "CREATE USER second IDENTIFIED BY 'q'",
        "GRANT SELECT ON d.* TO reader WITH GRANT OPTION",
    ]);
    world.reads("GRANT SELECT(a) ON d.t TO second", "");
    world.denies("GRANT INSERT ON d.t TO second");
    world.denies("GRANT SELECT ON *.* TO second");
    let second = |statement: &str| world.server.post("user=second&password=q", statement.as_bytes());
    assert_eq!(second("SELECT sum(a) FROM d.t").text(), "6\n");
    assert_eq!(second("SELECT b FROM d.t").status, 403);
    world.server.ask("REVOKE SELECT(secret) ON d.t FROM reader");
    world.denies("SELECT * FROM d.t");
    world.reads("SELECT count(b) FROM d.t", "3\n");
    world.reads(
        "SHOW GRANTS",
        "GRANT SELECT ON d.* TO reader WITH GRANT OPTION\nREVOKE SELECT(secret) ON d.t FROM reader\n",
    );
}

#[test]
fn mutations_read_nothing_that_is_not_granted() {
    let world = World::new(&["GRANT SELECT(a), ALTER DELETE, ALTER UPDATE(b) ON d.t TO reader"]);
    world.denies("ALTER TABLE d.t UPDATE b = (SELECT max(a) FROM d.hidden) WHERE 1");
    world.denies("DELETE FROM d.t WHERE a IN (SELECT a FROM d.hidden)");
    world.denies("ALTER TABLE d.t UPDATE secret = '' WHERE 1");
    world.reads("ALTER TABLE d.t DELETE WHERE a = 1 SETTINGS mutations_sync = 2", "");
    assert_eq!(world.server.ask("SELECT count() FROM d.t"), "2\n");
}

#[test]
fn partitions_and_names_take_no_rows_along() {
    let world = World::new(&[
        "CREATE DATABASE own",
        "CREATE TABLE own.t (a UInt8, b String, secret String) ORDER BY a",
        "GRANT ALL ON own.* TO reader",
        "GRANT SELECT(a, b), DROP TABLE, ALTER TABLE ON d.t TO reader",
    ]);
    let statements = [
        "ALTER TABLE own.t ATTACH PARTITION ALL FROM d.t",
        "ALTER TABLE own.t REPLACE PARTITION ALL FROM d.t",
        "ALTER TABLE d.t MOVE PARTITION ALL TO TABLE own.t",
        "RENAME TABLE d.t TO own.u",
        "EXCHANGE TABLES d.t AND own.t",
        "CREATE TABLE own.u ORDER BY a AS SELECT * FROM d.t",
        "INSERT INTO own.t SELECT * FROM d.t",
    ];
    statements.iter().for_each(|statement| world.denies(statement));
    world.server.ask("GRANT SELECT ON d.t TO reader");
    world.server.ask("CREATE ROW POLICY p ON d.t USING a = 1 TO reader");
    statements[..5].iter().for_each(|statement| world.denies(statement));
    world.reads("INSERT INTO own.t SELECT * FROM d.t", "");
    assert_eq!(world.server.ask("SELECT count() FROM own.t"), "1\n");
}

#[test]
fn temporary_tables_open_no_door() {
    let world = World::new(&["GRANT CREATE TEMPORARY TABLE ON *.* TO reader"]);
    let session = |statement: &str| {
        world.server.post("user=reader&password=pw&session_id=s&database=default", statement.as_bytes())
    };
    assert_eq!(session("CREATE TEMPORARY TABLE t (a UInt8)").status, 200);
    assert_eq!(session("INSERT INTO t VALUES (7)").status, 200);
    assert_eq!(session("SELECT a FROM t").text(), "7\n");
    assert_eq!(session("CREATE TABLE t (a UInt8) ORDER BY a").status, 403);
    assert_eq!(session("RENAME TABLE t TO d.t2").status, 403);
}

#[test]
fn dictionaries_have_their_own_privilege() {
    let world = World::new(&[
        "CREATE DICTIONARY d.dict (a UInt64, secret String) PRIMARY KEY a SOURCE(CLICKHOUSE(TABLE 't' DB 'd')) \
         LAYOUT(FLAT()) LIFETIME(0)",
    ]);
    world.denies("SELECT dictGet('d.dict', 'secret', 1)");
    world.denies("SELECT * FROM d.dict");
    world.denies("SELECT * FROM dictionary('d.dict')");
    world.denies("SELECT dictHas('d.dict', 1)");
    world.reads("SELECT count() FROM system.dictionaries", "0\n");
    world.server.ask("GRANT dictGet ON d.dict TO reader");
    world.reads("SELECT dictGet('d.dict', 'secret', 2)", "s2\n");
}

#[test]
fn profiles_constrain_settings() {
    let world = World::new(&[
        "CREATE SETTINGS PROFILE small SETTINGS max_threads = 2 MIN 1 MAX 4, extremes CONST, max_memory_usage = '1Gi' \
         MAX '2Gi' TO reader",
    ]);
    world.reads("SELECT getSetting('max_threads'), getSetting('max_memory_usage')", "2\t1073741824\n");
    let with = |settings: &str| {
        let answer = world.server.post(&format!("user=reader&password=pw&{settings}"), b"SELECT 1");
        answer.text()
    };
    assert_eq!(with("max_threads=4"), "1\n");
    assert_eq!(with("max_memory_usage=2Gi"), "1\n");
    for settings in ["max_threads=5", "max_threads=0", "extremes=1", "max_memory_usage=3Gi"] {
        assert!(with(settings).contains("(SETTING_CONSTRAINT_VIOLATION)"), "{settings}: {}", with(settings));
    }
    let answer = world.as_reader("SELECT 1 SETTINGS max_threads = 9");
    assert!(answer.text().contains("(SETTING_CONSTRAINT_VIOLATION)"));
    world.reads("SELECT min, max FROM system.settings WHERE name = 'max_threads'", "1\t4\n");
    let refused = world.server.post("", b"CREATE SETTINGS PROFILE p SETTINGS max_thread = 1");
    assert!(refused.text().contains("(UNKNOWN_SETTING)"), "{}", refused.text());
    world.server.ask("ALTER USER reader SETTINGS readonly = 1");
    assert!(with("extremes=0&max_threads=3").contains("(READONLY)"));
}

#[test]
fn quotas_are_counted() {
    let world = World::new(&[
        "GRANT SELECT ON d.t TO reader",
        "CREATE QUOTA q KEYED BY user_name FOR INTERVAL 1 hour MAX queries = 5, read_rows = 7 TO reader",
    ]);
    world.reads("SELECT sum(a) FROM d.t", "6\n");
    world.reads("SELECT sum(a) FROM d.t", "6\n");
    world.reads("SELECT queries, max_queries, read_rows FROM system.quota_usage", "3\t5\t6\n");
    world.reads("SELECT sum(a) FROM d.t", "6\n");
    let answer = world.as_reader("SELECT 1");
    assert!(
        answer.text().contains("(QUOTA_EXCEEDED)") && answer.text().contains("read_rows"),
        "{}",
        answer.text()
    );
    assert_eq!(world.server.ask("SELECT 1"), "1\n");
    assert_eq!(world.server.ask("SELECT quota_key, queries FROM system.quotas_usage"), "reader\t5\n");
}

#[test]
fn secrets_are_shown_nowhere() {
    let world = World::new(&["CREATE USER u IDENTIFIED WITH plaintext_password BY 'hunter2'"]);
    world.server.post("", b"CREATE USER v IDENTIFIED BY 'hunter2' NONSENSE");
    world.server.ask("ALTER USER u IDENTIFIED WITH scram_sha256_password BY 'hunter2'");
    for statement in [
        "SHOW CREATE USER u",
        "SHOW ACCESS",
        "SELECT * FROM system.users",
        "SELECT query, exception FROM system.query_log",
    ] {
        let text = world.server.ask(statement);
        assert!(!text.contains("hunter") && !text.contains("_hash BY"), "{statement}: {text}");
    }
    assert!(!world.server.log().contains("hunter"));
}

#[test]
fn users_survive_a_restart() {
    let world = World::new(&[
        "CREATE USER `we\\`ird '\"\\0 user` IDENTIFIED WITH double_sha1_password BY 'it\\'s\\n' HOST LOCAL",
        "CREATE ROLE r SETTINGS max_threads = 3",
        "GRANT SELECT(a) ON d.t TO r WITH GRANT OPTION",
        "GRANT r TO reader WITH ADMIN OPTION",
        "CREATE ROW POLICY p ON d.t USING a > 1 TO r",
        "CREATE QUOTA q KEYED BY ip_address FOR RANDOMIZED INTERVAL 5 minute MAX errors = 100 TO ALL EXCEPT reader",
        "CREATE SETTINGS PROFILE s SETTINGS max_threads = 2 MAX 8 TO reader",
    ]);
    let before = world.server.ask("SHOW ACCESS");
    assert!(before.contains("ird \\'"), "{before}");
    let path = world.path().to_owned();
    let World { dir, server } = world;
    assert_eq!(server.terminate(), Some(0));
    let world = World { dir, server: Server::start(&path) };
    assert_eq!(world.server.ask("SHOW ACCESS"), before);
    world.reads("SELECT sum(a) FROM d.t", "5\n");
    let weird = format!("user={}&password={}", encode("we`ird '\"\0 user"), encode("it's\n"));
    assert_eq!(world.server.post(&weird, b"SELECT currentUser()").text(), "we`ird \\'\"\\0 user\n");
}

#[test]
fn hosts_and_dates_restrict_logins() {
    let world = World::new(&["ALTER USER reader HOST IP '10.0.0.0/8'"]);
    assert!(world.as_reader("SELECT 1").text().contains("(AUTHENTICATION_FAILED)"));
    world.server.ask("ALTER USER reader HOST LOCAL");
    world.reads("SELECT 1", "1\n");
    world.server.ask("ALTER USER reader VALID UNTIL '2001-01-01'");
    assert!(world.as_reader("SELECT 1").text().contains("(AUTHENTICATION_FAILED)"));
}

#[test]
fn guesses_are_slowed_and_others_are_not() {
    let world = World::new(&[]);
    let start = Instant::now();
    for _ in 0..5 {
        let answer = world.server.post("user=nobody&password=guess", b"SELECT 1");
        assert!(answer.text().contains("(AUTHENTICATION_FAILED)"));
    }
    assert!(start.elapsed() > Duration::from_millis(1500), "{:?}", start.elapsed());
    let start = Instant::now();
    world.reads("SELECT 1", "1\n");
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

#[test]
fn every_interface_asks_for_the_password() {
    let world = World::new(&[
        "GRANT SELECT(a) ON d.t TO reader",
        "CREATE USER plain IDENTIFIED WITH bcrypt_password BY 'pw'",
        "CREATE USER proving IDENTIFIED WITH scram_sha256_password BY 'p\u{e4}ss'",
    ]);
    let ports = [world.server.tcp_address(), world.server.postgres_address()].map(|a| a.port().to_string());
    match Python::with("clickhouse-driver", &["clickhouse-driver[lz4,zstd]==0.2.11", "numpy", "pandas"]) {
        Ok(python) => drop(python.run(NATIVE, &[&ports[0]])),
        Err(why) => skipped(&format!("clickhouse-driver cannot be installed: {why}")),
    }
    match Python::with("postgres", &["psycopg[binary]==3.3.9", "asyncpg==0.32.0", "sqlalchemy==2.1.9"]) {
        Ok(python) => drop(python.run(POSTGRES, &[&ports[1]])),
        Err(why) => skipped(&format!("clients of PostgreSQL cannot be installed: {why}")),
    }
}

const NATIVE: &str = "
import sys
from clickhouse_driver import Client, errors
def refused(code, **more):
    try:
        Client('127.0.0.1', port=int(sys.argv[1]), **more).execute('SELECT secret FROM d.t')
    except errors.ServerException as error:
        assert error.code == code, error
    else:
        raise AssertionError('let in')
refused(516, user='reader', password='wrong')
refused(516, user='reader')
refused(516, user='nobody', password='pw')
refused(497, user='reader', password='pw')
c = Client('127.0.0.1', port=int(sys.argv[1]), user='reader', password='pw')
assert c.execute('SELECT sum(a), currentUser() FROM d.t') == [(6, 'reader')]
assert Client('127.0.0.1', port=int(sys.argv[1]), user='plain', password='pw').execute('SELECT 1') == [(1,)]
";

const POSTGRES: &str = "
import asyncio, sys, psycopg
def connect(**more):
    return psycopg.connect(host='127.0.0.1', port=int(sys.argv[1]), dbname='default', autocommit=True, **more)
def refused(state, act):
    try:
        act()
    except psycopg.Error as error:
        assert state in (error.sqlstate, None) or state in str(error), (error.sqlstate, error)
    else:
        raise AssertionError('let in')
refused('password', lambda: connect(user='reader', password='wrong'))
refused('password', lambda: connect(user='nobody', password='pw'))
proved = dict(user='proving', require_auth='scram-sha-256')
assert connect(password='p\u{e4}ss', **proved).execute('SELECT currentUser()').fetchone() == ('proving',)
refused('password', lambda: connect(password='wrong', **proved))
refused('authentication method', lambda: connect(user='reader', password='pw', require_auth='scram-sha-256'))
async def by_asyncpg():
    import asyncpg
    c = await asyncpg.connect(
        host='127.0.0.1', port=int(sys.argv[1]), user='proving', password='p\u{e4}ss', database='default')
    assert await c.fetchval('SELECT currentUser()') == 'proving'
    await c.close()
asyncio.run(by_asyncpg())
c = connect(user='reader', password='pw')
assert c.execute('SELECT sum(a), currentUser() FROM d.t').fetchone() == (6, 'reader')
for binary in (False, True):
    refused('42501', lambda: c.cursor(binary=binary).execute('SELECT secret FROM d.t WHERE a = %s', (1,)))
    refused('42501', lambda: c.cursor(binary=binary).execute('INSERT INTO d.t (a) VALUES (%s)', (1,)))
assert c.execute(\"SELECT count(*) FROM pg_class WHERE relname = 'hidden'\").fetchone() == (0,)
assert c.execute(\"SELECT count(*) FROM information_schema.tables WHERE table_name = 'hidden'\").fetchone() == (0,)
";
