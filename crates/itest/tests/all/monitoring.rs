//! The paths for monitoring systems: `/health` and `/metrics`.

use std::collections::HashSet;

use basalt_itest::python::Python;
use basalt_itest::server::Server;
use basalt_itest::skipped;
use tempfile::tempdir;

/// The figures in a text of Prometheus, each after its HELP and TYPE.
#[track_caller]
fn figures(text: &str) -> Vec<(String, f64)> {
    let (mut found, mut names) = (Vec::new(), HashSet::new());
    let lines: Vec<&str> = text.lines().collect();
    for lines in lines.chunks(3) {
        let [help, kind, value] = lines else { panic!("{lines:?}") };
        let (name, value) = value.split_once(' ').expect("a name and a value");
        assert!(help.starts_with(&format!("# HELP {name} ")), "{help}");
        let kinds = ["gauge", "counter"].map(|kind| format!("# TYPE {name} {kind}"));
        assert!(kinds.contains(&(*kind).to_owned()), "{kind}");
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{name}");
        assert!(names.insert(name.to_owned()), "{name} twice");
        found.push((name.to_owned(), value.parse().expect("a number")));
    }
    found
}

#[test]
fn metrics_have_the_names_of_clickhouse() {
    let data = tempdir().expect("a directory");
    let server = Server::start(data.path());
    server.ask("SELECT count() FROM numbers(1000)");
    let answer = server.get("/metrics");
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=UTF-8"));
    let found = figures(&answer.text());
    for name in [
        "ClickHouseProfileEvents_Query",
        "ClickHouseProfileEvents_SelectQuery",
        "ClickHouseMetrics_MemoryTracking",
        "ClickHouseMetrics_Query",
        "ClickHouseAsyncMetrics_Uptime",
        "ClickHouseAsyncMetrics_DiskAvailable_default",
    ] {
        assert!(found.iter().any(|(found, _)| found == name), "{name}: {}", answer.text());
    }
    assert_eq!(server.post("", b"SELECT 1").status, 200);
    let python = match Python::with("prometheus", &["prometheus-client==0.23.1"]) {
        Ok(python) => python,
        Err(why) => return skipped(&format!("prometheus-client cannot be installed: {why}")),
    };
    let script = "
import sys, urllib.request
from prometheus_client.parser import text_string_to_metric_families
text = urllib.request.urlopen(sys.argv[1]).read().decode()
families = list(text_string_to_metric_families(text))
assert len(families) > 15 and all(family.documentation and family.samples for family in families), families
";
    python.run(script, &[&format!("http://{}/metrics", server.address())]);
}

#[test]
fn metrics_are_read_while_as_many_queries_run_as_may() {
    let data = tempdir().expect("a directory");
    let server = Server::start_with(data.path(), &["--max-concurrent-queries", "1"]);
    let endless = server.take_the_only_slot();
    assert_eq!(server.get("/metrics").status, 200);
    server.ask("KILL QUERY WHERE query_id = 'endless' SYNC");
    assert_ne!(endless.join().expect("an answer").status, 200);
}

#[test]
fn health_is_of_a_server_that_can_write() {
    let data = tempdir().expect("a directory");
    let server = Server::start(data.path());
    for path in ["/health", "/ping", "/replicas_status"] {
        let answer = server.get(path);
        assert_eq!((answer.status, answer.text()), (200, "Ok.\n".to_owned()), "{path}");
    }
}
