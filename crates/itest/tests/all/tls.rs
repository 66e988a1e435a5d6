//! TLS on the ports of the server: real clients, certificates that change, clients that do not keep to it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use basalt_itest::certificates::{Certificates, NO_OPENSSL};
use basalt_itest::foreign::find;
use basalt_itest::program::run;
use basalt_itest::python::Python;
use basalt_itest::server::Server;
use basalt_itest::waiting::{check, wait_until};
use basalt_itest::{raw_client, skipped};
use tempfile::TempDir;

const NO_CURL: &str = "curl is not installed (apt-get install curl)";

/// A server whose files of TLS are `server.pem`, `server.key` and `ca.pem` in its directory.
struct Secured {
    dir: TempDir,
    server: Server,
    certificates: Certificates,
}

impl Secured {
    /// `None` where no certificates can be made. `more` are further keys of `[tls]`.
    fn start(more: &str, arguments: &[&str]) -> Option<Secured> {
        let certificates = Certificates::make()?;
        let dir = tempfile::tempdir().expect("a directory");
        let config = write_config(&dir, more);
        certificates.give("good", dir.path(), "")?;
        let arguments = [&["--config", &config][..], arguments].concat();
        let server = Server::start_with(&dir.path().join("data"), &arguments);
        Some(Secured { dir, server, certificates })
    }

    fn https(&self) -> SocketAddr {
        self.server.address_of("https")
    }

    fn native(&self) -> SocketAddr {
        self.server.address_of("tcps")
    }

    fn curl(&self, arguments: &[&str]) -> Output {
        let url = format!("https://localhost:{}/?query=SELECT+1", self.https().port());
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--max-time", "20", "--cacert"]);
        command.arg(self.certificates.path("ca.pem")).args(arguments).arg(url);
        command.output().expect("curl starts")
    }

    /// The common name of the certificate that a new client gets.
    fn shown(&self) -> String {
        let mut command = Command::new("openssl");
        command.args(["s_client", "-connect", &self.https().to_string()]);
        let output = command.stdin(std::process::Stdio::null()).output().expect("openssl starts");
        let text = String::from_utf8_lossy(&output.stdout).replace(' ', "");
        let name = text.split("subject=").nth(1).and_then(|rest| rest.lines().next());
        name.unwrap_or_default().trim_start_matches("CN=").to_owned()
    }
}

fn write_config(dir: &TempDir, more: &str) -> String {
    let path = dir.path().join("basalt.toml");
    let text = format!(
        "https_port = 'auto'\ntcp_port_secure = 'auto'\n[tls]\ncertificate_file = 'server.pem'\n\
         private_key_file = 'server.key'\n{more}\n"
    );
    std::fs::write(&path, text).expect("writable");
    path.display().to_string()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn own_client_verifies_the_server() {
    let Some(secured) = Secured::start("", &[]) else { return skipped(NO_OPENSSL) };
    let (authority, port) = (secured.certificates.path("ca.pem"), secured.native().port().to_string());
    let authority = authority.display().to_string();
    let ask = |more: &[&str]| {
        run(&[&["client", "--secure", "--port", &port, "--query", "SELECT 1"], more].concat(), b"")
    };
    assert_eq!(ask(&["--host", "localhost", "--tls-ca-file", &authority]).expect(), "1\n");
    assert_eq!(ask(&["--host", "localhost", "--accept-invalid-certificate"]).expect(), "1\n");
    ask(&["--host", "localhost"]).expect_error("NETWORK_ERROR");
}

#[test]
fn curl_verifies_the_server() {
    if find("curl").is_none() {
        return skipped(NO_CURL);
    }
    let Some(secured) = Secured::start("", &[]) else { return skipped(NO_OPENSSL) };
    for version in [&["--tlsv1.3"][..], &["--tlsv1.2", "--tls-max", "1.2"], &["--http2"]] {
        let answer = secured.curl(version);
        assert_eq!(text(&answer.stdout), "1\n", "{version:?}: {}", text(&answer.stderr));
    }
    // Many connections, and an answer of many records.
    let big = secured.curl(&[
        "--data-binary",
        "FROM numbers(2000000) WHERE number >= 0",
        "-o",
        "/dev/null",
        "-w",
        "%{size_download}",
    ]);
    assert_eq!(text(&big.stdout), "4000000", "{}", text(&big.stderr));
    let stranger = secured.certificates.text("stranger.pem");
    let refused = secured.curl(&["--cacert", &stranger]);
    assert!(!refused.status.success() && text(&refused.stderr).contains("certificate"), "{refused:?}");
    assert_eq!(secured.server.ask("SELECT 1"), "1\n");
}

#[test]
fn drivers_of_clickhouse_connect_over_tls() {
    let packages = ["clickhouse-driver[lz4,zstd]==0.2.11", "numpy", "pandas"];
    let python = match Python::with("clickhouse-driver", &packages) {
        Ok(python) => python,
        Err(why) => return skipped(&format!("clickhouse-driver cannot be installed: {why}")),
    };
    let Some(secured) = Secured::start("", &[]) else { return skipped(NO_OPENSSL) };
    let (port, ca) = (secured.native().port().to_string(), secured.certificates.text("ca.pem"));
    python.run(
        "
import sys, ssl
from clickhouse_driver import Client, errors
port, ca = int(sys.argv[1]), sys.argv[2]
for compression in (False, 'lz4'):
    c = Client('localhost', port=port, secure=True, ca_certs=ca, compression=compression)
    assert c.execute('SELECT 1') == [(1,)]
    c.execute('CREATE OR REPLACE TABLE t (a UInt64, s String) ENGINE = MergeTree ORDER BY a')
    assert c.execute('INSERT INTO t VALUES', [(i, 'x' * 100) for i in range(100_000)]) == 100_000
    assert len(c.execute('SELECT * FROM t')) == 100_000
    c.disconnect()
try:
    Client('localhost', port=port, secure=True).execute('SELECT 1')
    raise AssertionError
except errors.NetworkError as error:
    assert 'certificate' in str(error).lower(), error
# Without TLS on this port: the reason comes in the protocol of the client.
try:
    Client('localhost', port=port, secure=False).execute('SELECT 1')
    raise AssertionError
except errors.ServerException as error:
    assert 'speaks TLS' in str(error), error
",
        &[&port, &ca],
    );
}

#[test]
fn clickhouse_connect_uses_https() {
    let python = match Python::with("clickhouse-connect-tls", &["clickhouse-connect==1.12.0"]) {
        Ok(python) => python,
        Err(why) => return skipped(&format!("clickhouse-connect cannot be installed: {why}")),
    };
    let Some(secured) = Secured::start("", &[]) else { return skipped(NO_OPENSSL) };
    let (port, ca) = (secured.https().port().to_string(), secured.certificates.text("ca.pem"));
    python.run(
        "
import sys, clickhouse_connect
c = clickhouse_connect.get_client(host='localhost', port=int(sys.argv[1]), secure=True, ca_cert=sys.argv[2])
assert c.query('SELECT number FROM numbers(3)').result_rows == [(0,), (1,), (2,)]
c.command('CREATE TABLE t (a UInt64, s String) ENGINE = MergeTree ORDER BY a')
c.insert('t', [[i, str(i)] for i in range(10_000)], column_names=['a', 's'])
assert c.query('SELECT count(), sum(a) FROM t').result_rows == [(10_000, 49995000)]
",
        &[&port, &ca],
    );
}

#[test]
fn clients_of_postgresql_may_use_tls_or_must() {
    let packages = ["psycopg[binary]==3.3.9", "asyncpg==0.32.0", "sqlalchemy==2.1.9"];
    let python = match Python::with("postgres", &packages) {
        Ok(python) => python,
        Err(why) => return skipped(&format!("clients of PostgreSQL cannot be installed: {why}")),
    };
    for is_required in [false, true] {
        let more = format!("require_for_postgres = {is_required}");
        let Some(secured) = Secured::start(&more, &[]) else { return skipped(NO_OPENSSL) };
        let port = secured.server.postgres_address().port().to_string();
        let ca = secured.certificates.text("ca.pem");
        python.run(
            "
import sys, ssl, asyncio, psycopg, asyncpg
port, ca, required = int(sys.argv[1]), sys.argv[2], sys.argv[3] == 'true'
base = f'host=localhost port={port} user=default dbname=default'
def ask(more):
    with psycopg.connect(f'{base} {more}', autocommit=True) as c:
        assert c.execute('SELECT 1').fetchone() == (1,)
        c.execute('SELECT number FROM generate_series(1, 100000) AS t(number)').fetchall()
        return c.pgconn.ssl_in_use
assert ask('sslmode=require')
assert ask(f'sslmode=verify-full sslrootcert={ca}')
assert ask(f'sslmode=verify-full sslrootcert={ca} sslnegotiation=direct')
assert ask('sslmode=prefer')
try:
    assert not ask('sslmode=disable') and not required
except psycopg.OperationalError as error:
    assert required and 'encrypted connections only' in str(error), error
try:
    ask('sslmode=verify-full')
    raise AssertionError
except psycopg.OperationalError: pass
async def main():
    context = ssl.create_default_context(cafile=ca)
    c = await asyncpg.connect(host='localhost', port=port, user='default', database='default', ssl=context)
    assert await c.fetchval('SELECT 5') == 5
    await c.close()
asyncio.run(main())
",
            &[&port, &ca, if is_required { "true" } else { "false" }],
        );
    }
}

#[test]
fn strict_verification_wants_a_certificate_of_the_client() {
    if find("curl").is_none() {
        return skipped(NO_CURL);
    }
    for (mode, without) in [("strict", false), ("relaxed", true)] {
        let more = format!("ca_file = 'ca.pem'\nverification = '{mode}'");
        let Some(secured) = Secured::start(&more, &[]) else { return skipped(NO_OPENSSL) };
        let [cert, key] = ["client.pem", "client.key"].map(|name| secured.certificates.text(name));
        let answer = secured.curl(&["--cert", &cert, "--key", &key]);
        assert_eq!(text(&answer.stdout), "1\n", "{mode}: {}", text(&answer.stderr));
        assert_eq!(secured.curl(&[]).status.success(), without, "{mode}");
        // One of another authority is refused in both modes.
        let [cert, key] = ["stranger.pem", "stranger.key"].map(|name| secured.certificates.text(name));
        assert!(!secured.curl(&["--cert", &cert, "--key", &key]).status.success(), "{mode}");
    }
}

#[test]
fn a_certificate_of_the_client_is_its_password() {
    if find("curl").is_none() {
        return skipped(NO_CURL);
    }
    let Some(secured) = Secured::start("ca_file = 'ca.pem'\nverification = 'relaxed'", &[]) else {
        return skipped(NO_OPENSSL);
    };
    secured.server.ask("CREATE USER robot IDENTIFIED WITH ssl_certificate CN 'client'");
    secured.server.ask("CREATE USER named IDENTIFIED WITH ssl_certificate SAN 'DNS:client.example'");
    secured.server.ask("CREATE USER other IDENTIFIED WITH ssl_certificate CN 'somebody'");
    let [cert, key] = ["client.pem", "client.key"].map(|name| secured.certificates.text(name));
    let ask = |user: &str, certificate: &[&str]| {
        let user = format!("X-ClickHouse-User: {user}");
        text(&secured.curl(&[&["-H", &user], certificate].concat()).stdout)
    };
    let with = ["--cert", &cert, "--key", &key];
    assert_eq!(ask("robot", &with), "1\n");
    assert_eq!(ask("named", &with), "1\n");
    for (user, certificate) in [("robot", &with[..0]), ("other", &with), ("nobody", &with)] {
        assert!(ask(user, certificate).contains("AUTHENTICATION_FAILED"), "{user}");
    }
}

#[test]
fn certificates_are_reloaded_and_broken_ones_change_nothing() {
    let Some(secured) = Secured::start("", &[]) else { return skipped(NO_OPENSSL) };
    let give = |name: &str| secured.certificates.give(name, secured.dir.path(), "").expect("copied");
    assert_eq!(secured.shown(), "good");
    // By a statement and by a signal, at once.
    give("elsewhere");
    secured.server.ask("SYSTEM RELOAD CONFIG");
    assert_eq!(secured.shown(), "elsewhere");
    give("nameless");
    secured.server.signal("HUP");
    wait_until(|| check(secured.shown() == "nameless", "the previous certificate".to_owned()));
    // By a look at the files.
    give("good");
    wait_until(|| check(secured.shown() == "good", "the previous certificate".to_owned()));
    std::fs::write(secured.dir.path().join("server.pem"), "nothing").expect("writable");
    let answer = secured.server.post("", b"SYSTEM RELOAD CONFIG");
    assert!(answer.text().contains("server.pem: there is no certificate in it"), "{}", answer.text());
    assert_eq!(secured.shown(), "good");
    assert!(secured.server.log().contains("the previous certificate stays in use"));
    // A key of another certificate.
    give("good");
    std::fs::copy(secured.certificates.path("elsewhere.key"), secured.dir.path().join("server.key"))
        .expect("copied");
    let answer = secured.server.post("", b"SYSTEM RELOAD CONFIG");
    assert!(answer.text().contains("it is not the key of the certificate"), "{}", answer.text());
    assert_eq!(secured.shown(), "good");
}

#[test]
fn a_server_does_not_start_with_wrong_files() {
    let Some(certificates) = Certificates::make() else { return skipped(NO_OPENSSL) };
    let dir = tempfile::tempdir().expect("a directory");
    let data = dir.path().join("data");
    let check = |more: &str, expected: &str| {
        let config = write_config(&dir, more);
        let (code, said) = Server::refusal(&data, &["--config", &config]);
        assert!(code != Some(0) && said.contains(expected), "{code:?}: {said}");
    };
    check("", "server.pem: No such file");
    certificates.give("good", dir.path(), "").expect("copied");
    check("verification = 'strict'", "ca_file, which has the authorities of clients, is not set");
    check("verification = 'once'", "`once` is no verification of clients");
    check("certificate = 'x'", "unknown field");
    let (code, said) = Server::refusal(&data, &["--https-port", "auto"]);
    assert!(code != Some(0) && said.contains("need a certificate"), "{said}");
}

#[test]
fn who_does_not_speak_tls_is_told_so_and_nothing_hangs() {
    let Some(secured) = Secured::start("", &["--login-timeout", "1"]) else { return skipped(NO_OPENSSL) };
    let plain = raw_client::answer(secured.https(), b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n", false);
    assert!(
        text(&plain).starts_with("HTTP/1.1 400 ") && text(&plain).contains("speaks TLS"),
        "{}",
        text(&plain)
    );
    // TLS where there is none.
    let hello = [&b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"[..], &[0; 200]].concat();
    for address in [secured.server.address(), secured.server.tcp_address()] {
        let started = Instant::now();
        raw_client::answer(address, &hello, false);
        assert!(started.elapsed() < Duration::from_secs(20));
    }
    // Half a handshake, and nothing at all, end after the time of the login.
    for (address, bytes) in [
        (secured.https(), &b"\x16\x03\x01\x02\x00\x01"[..]),
        (secured.native(), b"\x16\x03\x01\x02\x00\x01"),
        (secured.native(), b""),
        (secured.server.postgres_address(), b"\x16\x03\x01\x02\x00\x01"),
        (secured.server.postgres_address(), b"\0\0\0\x08\x04\xd2\x16\x2f"),
        (secured.server.postgres_address(), b""),
    ] {
        let started = Instant::now();
        raw_client::answer(address, bytes, false);
        let took = started.elapsed();
        assert!(took > Duration::from_millis(500) && took < Duration::from_secs(20), "{bytes:?}: {took:?}");
    }
    assert_eq!(secured.server.ask("SELECT 1"), "1\n");
}

#[test]
fn bytes_before_the_handshake_do_not_pass_for_encrypted_ones() {
    let Some(secured) = Secured::start("", &[]) else { return skipped(NO_OPENSSL) };
    let mut stream = TcpStream::connect(secured.server.postgres_address()).expect("it listens");
    let request = b"\0\0\0\x08\x04\xd2\x16\x2f\0\0\0\x16\0\x03\0\0user\0default\0\0";
    stream.write_all(request).expect("it reads");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("not zero");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(text(&answer).contains("unencrypted bytes after it had asked"), "{}", text(&answer));
}

#[test]
fn slow_handshakes_keep_nobody_out() {
    let Some(secured) = Secured::start("", &["--max-connections", "50"]) else { return skipped(NO_OPENSSL) };
    let silent = raw_client::silent_clients(secured.https(), b"\x16\x03\x01\x02\x00\x01", 200, 50);
    assert_eq!(secured.server.ask("SELECT 1"), "1\n");
    assert_eq!(secured.shown(), "good");
    drop(silent);
}
