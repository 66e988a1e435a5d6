//! @clickhouse/client, the client of Node.js, over HTTP.

use std::process::Command;

use basalt_itest::clients::{installed, run};
use basalt_itest::server::Server;
use basalt_itest::skipped_in_ci_too;

#[test]
fn node_inserts_selects_streams_and_cancels() {
    let files = [("client.mjs", include_str!("../../clients/node/client.mjs"))];
    let quiet = ["--silent", "--no-audit", "--no-fund"];
    let install = [&["npm", "install"], &quiet[..], &["@clickhouse/client@1.23.1"]].concat();
    let root = match installed("node", &files, &[install]) {
        Ok(root) => root,
        Err(why) => return skipped_in_ci_too(&format!("@clickhouse/client cannot be installed: {why}")),
    };
    for compression in ["plain", "compressed"] {
        let data = tempfile::tempdir().expect("a directory");
        let server = Server::start(data.path());
        let port = server.address().port().to_string();
        run(Command::new("node").current_dir(&root).args(["client.mjs", &port, compression]))
            .unwrap_or_else(|error| panic!("{compression}: {error}"));
    }
}
