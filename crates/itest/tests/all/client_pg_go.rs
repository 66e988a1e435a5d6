//! pgx, the client of PostgreSQL for Go, with its own interface and that of database/sql.

use std::process::Command;

use basalt_itest::clients::{installed, run};
use basalt_itest::server::Server;
use basalt_itest::skipped_in_ci_too;

/// Whether the driver prepares statements, only asks for their types, or sends them with their values at once.
const MODES: &[&str] = &["cache_statement", "describe_exec", "exec"];

#[test]
fn pgx_inserts_selects_copies_streams_and_cancels() {
    let files = [
        ("main.go", include_str!("../../clients/go/postgres/main.go")),
        ("go.mod", include_str!("../../clients/go/postgres/go.mod")),
        ("go.sum", include_str!("../../clients/go/postgres/go.sum")),
    ];
    let root = match installed("go_postgres", &files, &[vec!["go", "build", "-o", "client", "."]]) {
        Ok(root) => root,
        Err(why) => return skipped_in_ci_too(&format!("pgx cannot be built: {why}")),
    };
    for mode in MODES {
        let data = tempfile::tempdir().expect("a directory");
        let server = Server::start(data.path());
        let address = server.postgres_address().to_string();
        let options = format!("default_query_exec_mode={mode}");
        run(Command::new(root.join("client")).args([&address, &options]))
            .unwrap_or_else(|error| panic!("{mode}: {error}"));
    }
}
