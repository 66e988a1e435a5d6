//! node-postgres, the client of PostgreSQL for Node.js, with its cursors and streams of COPY.

use std::process::Command;

use basalt_itest::clients::{installed, run};
use basalt_itest::server::Server;
use basalt_itest::skipped_in_ci_too;

#[test]
fn node_postgres_inserts_selects_copies_streams_and_cancels() {
    let files = [("client.mjs", include_str!("../../clients/node/postgres/client.mjs"))];
    let install = ["npm", "install", "--silent", "--no-audit", "--no-fund"];
    let packages = ["pg@8.23.1", "pg-cursor@2.22.1", "pg-copy-streams@7.0.0"];
    let root = match installed("node_postgres", &files, &[[&install[..], &packages].concat()]) {
        Ok(root) => root,
        Err(why) => return skipped_in_ci_too(&format!("node-postgres cannot be installed: {why}")),
    };
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    let port = server.postgres_address().port().to_string();
    run(Command::new("node").current_dir(&root).args(["client.mjs", &port]))
        .unwrap_or_else(|error| panic!("{error}"));
}
