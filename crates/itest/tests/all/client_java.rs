//! clickhouse-jdbc, the driver of Java programs, over HTTP.

use std::process::Command;

use basalt_itest::clients::{installed, run};
use basalt_itest::server::Server;
use basalt_itest::skipped_in_ci_too;

#[test]
fn jdbc_inserts_batches_selects_and_shows_metadata() {
    let files = [
        ("Jdbc.java", include_str!("../../clients/java/Jdbc.java")),
        ("pom.xml", include_str!("../../clients/java/pom.xml")),
    ];
    let steps = [
        vec!["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"],
        vec!["javac", "-cp", "jars/*", "Jdbc.java"],
    ];
    let root = match installed("java", &files, &steps) {
        Ok(root) => root,
        Err(why) => return skipped_in_ci_too(&format!("clickhouse-jdbc cannot be built: {why}")),
    };
    for options in [&[][..], &["compress=false"], &["decompress=true"]] {
        let data = tempfile::tempdir().expect("a directory");
        let server = Server::start(data.path());
        let port = server.address().port().to_string();
        let mut java = Command::new("java");
        java.current_dir(&root).args(["-cp", "jars/*:.", "Jdbc", &port]).args(options);
        run(&mut java).unwrap_or_else(|error| panic!("{options:?}: {error}"));
    }
}
