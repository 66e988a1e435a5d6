//! clickhouse-go, over HTTP and over the native protocol, with its own interface and that of database/sql.

use std::process::Command;

use basalt_itest::clients::{installed, run};
use basalt_itest::server::Server;
use basalt_itest::skipped_in_ci_too;

#[test]
fn go_inserts_selects_streams_and_cancels() {
    let files = [
        ("main.go", include_str!("../../clients/go/main.go")),
        ("go.mod", include_str!("../../clients/go/go.mod")),
        ("go.sum", include_str!("../../clients/go/go.sum")),
    ];
    let root = match installed("go", &files, &[vec!["go", "build", "-o", "client", "."]]) {
        Ok(root) => root,
        Err(why) => return skipped_in_ci_too(&format!("clickhouse-go cannot be built: {why}")),
    };
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    let (http, tcp) = (server.address().to_string(), server.tcp_address().to_string());
    for compression in ["none", "lz4", "zstd", "gzip", "br"] {
        let native = matches!(compression, "none" | "lz4" | "zstd");
        for (protocol, address) in [("tcp", &tcp), ("http", &http)] {
            if protocol == "http" || native {
                run(Command::new(root.join("client")).args([protocol, address, compression]))
                    .unwrap_or_else(|error| panic!("{protocol} {compression}: {error}"));
            }
        }
    }
}
