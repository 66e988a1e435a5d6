//! Whatever a PostgreSQL, MySQL, Redis or ClickHouse server answers, the caller gets rows or an error, and in time.
//!
//! The first byte chooses the protocol. The rest is all that the server sends, whatever it is sent.

use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use basalt_base::Result;
use basalt_sources::redis::{Client, Storage};
use basalt_sources::{Address, Limits, Row, RowStream, TlsMode, TlsOptions, clickhouse, mysql, postgresql};

/// The server sends fewer bytes than this, so more rows would be invented ones.
const ROWS_MAX: usize = 1 << 20;

static SERVER: LazyLock<(PathBuf, UnixListener)> = LazyLock::new(|| {
    let path = std::env::temp_dir().join(format!("source_answers.{}", std::process::id()));
    let listener = UnixListener::bind(&path).expect("a socket");
    (path, listener)
});

/// Panics if the promise is broken.
pub fn run(bytes: &[u8]) {
    let [protocol, answer @ ..] = bytes else { return };
    let (path, listener) = &*SERVER;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let Ok((mut stream, _)) = listener.accept() else { return };
            // A client that has read enough may have disconnected.
            let _ = stream.write_all(answer);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        });
        // An error is as good as rows.
        let _ = ask(*protocol, path);
    });
}

fn ask(protocol: u8, path: &std::path::Path) -> Result<()> {
    let address = Address {
        user: "user".to_owned(),
        password: "secret".to_owned(),
        socket: Some(path.to_owned()),
        tls: TlsOptions { mode: TlsMode::Disable, ..TlsOptions::default() },
        ..Address::default()
    };
    let second = Duration::from_secs(1);
    let limits = Limits { connect: second, receive: second, send: second, deadline: None };
    match protocol % 5 {
        0 => drain(postgresql::query(&address, "SELECT 1", limits)?),
        1 => drain(mysql::query(&address, "SELECT 1", limits)?),
        2 => drain(Client::connect(&address, 0, limits)?.all(Storage::Simple)),
        3 => drain(Client::connect(&address, 0, limits)?.all(Storage::HashMap)),
        _ => {
            let mut rows = clickhouse::Client::connect(&address, limits)?.into_rows(b"SELECT 1")?;
            while rows.next_rows()?.is_some() {}
            Ok(())
        }
    }
}

fn drain(mut rows: impl RowStream) -> Result<()> {
    let mut row = Row::default();
    for _ in 0..ROWS_MAX {
        if !rows.next_row(&mut row)? {
            return Ok(());
        }
        assert_eq!(row.fields().count(), row.len());
    }
    panic!("more rows than bytes");
}
