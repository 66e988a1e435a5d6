//! chdb, ClickHouse in a Python package: its table functions read from and write to ours.

use basalt_itest::python::Python;
use basalt_itest::server::Server;
use basalt_itest::skipped;

fn run(statements: &[&str], script: &str) {
    let python = match Python::with("chdb", &["chdb==4.4.0"]) {
        Ok(python) => python,
        Err(why) => return skipped(&format!("chdb cannot be installed: {why}")),
    };
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    for statement in statements {
        server.ask(statement);
    }
    let start = "
import sys, chdb
host = '127.0.0.1:' + sys.argv[1]
def ask(text): return str(chdb.query(text.replace('HOST', host), 'TSV'))
";
    let port = server.tcp_address().port().to_string();
    python.run(&format!("{start}{script}"), &[&port]);
    assert_eq!(server.ask("SELECT 1"), "1\n");
}

#[test]
fn remote_reads_and_inserts() {
    run(
        &[
            "CREATE TABLE t (a UInt32, s LowCardinality(String), d DateTime('UTC'), n Nullable(Int64), l Array(String)) ENGINE = MergeTree ORDER BY a",
            "INSERT INTO t SELECT number, concat('s', toString(number % 10)), toDateTime(number, 'UTC'), if(number % 3 = 0, NULL, -number), [toString(number)] FROM numbers(100000)",
        ],
        "
assert ask(\"SELECT count(), sum(a), uniqExact(s), max(d), sum(n), sum(length(l)) FROM remote('HOST', default.t)\") == ask(\"SELECT 100000, sum(number), 10, toDateTime(99999, 'UTC'), sum(if(number % 3 = 0, NULL, -number)), 100000 FROM numbers(100000)\")
assert ask(\"SELECT s, count() AS c FROM remote('HOST', default.t) WHERE a < 1000 GROUP BY s ORDER BY s LIMIT 2\") == 's0\\t100\\ns1\\t100\\n'
assert ask(\"SELECT * FROM remote('HOST', default.t) ORDER BY a LIMIT 1 OFFSET 4\") == \"4\\ts4\\t1970-01-01 00:00:04\\t-4\\t['4']\\n\"
ask(\"INSERT INTO FUNCTION remote('HOST', default.t) SELECT number + 1000000, 'new', now('UTC'), NULL, [] FROM numbers(50000)\")
assert ask(\"SELECT count() FROM remote('HOST', default.t)\") == '150000\\n'
try:
    ask(\"SELECT * FROM remote('HOST', default.absent)\")
    assert False
except Exception as e:
    assert 'There is no table `default`.`absent` on server' in str(e), e
",
    );
}
