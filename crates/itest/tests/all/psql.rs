//! psql, PostgreSQL's own client.

use std::io::Write;
use std::process::{Command, Stdio};

use basalt_itest::server::Server;
use basalt_itest::skipped;

const NO_PSQL: &str = "psql is not installed (apt-get install postgresql-client)";

/// What psql prints when it runs `script`, or why it cannot run.
fn psql(server: &Server, arguments: &[&str], script: &str) -> Option<(String, String)> {
    let port = server.postgres_address().port().to_string();
    let mut command = Command::new("psql");
    command.args(["-X", "-h", "127.0.0.1", "-p", &port, "-U", "default", "-d", "default"]).args(arguments);
    command.env("PGCONNECT_TIMEOUT", "30");
    let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut process = started.ok()?;
    process.stdin.take().expect("it is piped").write_all(script.as_bytes()).expect("psql reads");
    let output = process.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Some((text(output.stdout), text(output.stderr)))
}

fn check(script: &str, expected: &str) {
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    server.ask("CREATE TABLE t (id Int64, name Nullable(String), amount Decimal(10, 2)) ENGINE = EmbeddedRocksDB PRIMARY KEY id");
    server.ask("CREATE VIEW v AS SELECT id, name FROM t");
    let Some((out, err)) = psql(&server, &["-At"], script) else { return skipped(NO_PSQL) };
    assert_eq!((out.as_str(), err.as_str()), (expected, ""), "{script}");
}

#[test]
fn statements_and_copy_work() {
    check(
        "SELECT 1 AS one, 'a' AS two;\n\
         INSERT INTO t VALUES (1, 'x', 1.5), (2, NULL, 2);\n\
         COPY t FROM STDIN;\n3\t\\N\t3.25\n4\ta\\tb\t4\n\\.\n\
         SELECT * FROM t ORDER BY id;\n\
         COPY t (id, name) TO STDOUT (FORMAT csv);\n\
         \\copy t (id, name) from stdin csv\n5,five\n\\.\n\
         SELECT count(*) FROM t;\n\
         SHOW server_version;\n\
         SELECT 1 \\; SELECT 2;\n",
        "1|a\nINSERT 0 2\nCOPY 2\n1|x|1.50\n2||2.00\n3||3.25\n4|a\tb|4.00\n1,x\n2,\n3,\n4,a\tb\nCOPY 1\n5\n15.0\n1\n2\n",
    );
}

#[test]
fn catalog_is_listed() {
    check("\\dt\n\\dv\n", "default|t|table|default\ndefault|v|view|default\n");
    check("\\d t\n", "id|bigint||not null|\nname|text|||\namount|numeric(10,2)||not null|\n");
    check(
        "\\dn\n\\l\n\\du\n\\df no_such\n\\dT no_such\n\\di\n\\dp no_such\n",
        "default|default\nsystem|default\ndefault|default|UTF8|C.UTF-8|C.UTF-8||libc|\n\
         system|default|UTF8|C.UTF-8|C.UTF-8||libc|\n\
         default|Superuser, Create role, Create DB|{}\ndefault|t_pkey|index|default|t\n",
    );
}

#[test]
fn errors_have_their_states() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    let script = "\\set VERBOSITY sqlstate\nSELECT * FROM missing;\nSELEC;\nROLLBACK;\nSELECT 1;\n";
    let Some((out, err)) = psql(&server, &["-At"], script) else { return skipped(NO_PSQL) };
    assert_eq!(out, "ROLLBACK\n1\n");
    let states: Vec<&str> = err.lines().map(|line| line.rsplit(' ').next().unwrap_or_default()).collect();
    assert_eq!(states, ["42P01", "42601", "25P01"], "{err}");
}

#[test]
fn cursor_mode_reads_in_pieces() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    let script = "SELECT number FROM numbers(100000) \\g /dev/null\nSELECT count(*) FROM numbers(3);\n";
    let Some((out, err)) = psql(&server, &["-At"], script) else { return skipped(NO_PSQL) };
    assert_eq!((out.as_str(), err.as_str()), ("3\n", ""));
}
