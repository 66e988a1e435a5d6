//! pgjdbc, the driver of PostgreSQL for Java programs, with the metadata that other programs read through it.

use std::process::Command;

use basalt_itest::clients::{installed, run};
use basalt_itest::server::Server;
use basalt_itest::skipped_in_ci_too;

#[test]
fn pgjdbc_inserts_selects_copies_streams_cancels_and_shows_metadata() {
    let files = [
        ("Postgres.java", include_str!("../../clients/java/postgres/Postgres.java")),
        ("pom.xml", include_str!("../../clients/java/postgres/pom.xml")),
    ];
    let steps = [
        vec!["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"],
        vec!["javac", "-cp", "jars/*", "Postgres.java"],
    ];
    let root = match installed("java_postgres", &files, &steps) {
        Ok(root) => root,
        Err(why) => return skipped_in_ci_too(&format!("pgjdbc cannot be built: {why}")),
    };
    for options in ["reWriteBatchedInserts=false", "reWriteBatchedInserts=true&binaryTransfer=false"] {
        let data = tempfile::tempdir().expect("a directory");
        let server = Server::start(data.path());
        let port = server.postgres_address().port().to_string();
        let mut java = Command::new("java");
        java.current_dir(&root).args(["-cp", "jars/*:.", "Postgres", &port, options]);
        run(&mut java).unwrap_or_else(|error| panic!("{options}: {error}"));
    }
}
