//! Certificates for tests, made by the program `openssl`, and a proxy that adds TLS to any server.
//!
//! A test that needs them is [`skipped`](crate::skipped) where `openssl` or `python3` is not installed.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::foreign::{find, run};

pub const NO_OPENSSL: &str = "openssl or python3 is not installed (apt-get install openssl python3)";

/// The names of certificates for this machine.
const HERE: &str = "subjectAltName=IP:127.0.0.1,DNS:localhost";

/// An authority that signs with given dates.
const AUTHORITY: &str = "[ca]\ndefault_ca = own\n[own]\ndatabase = index.txt\nnew_certs_dir = .\nrand_serial = yes\n\
                         default_md = sha256\npolicy = any\nunique_subject = no\n[any]\ncommonName = supplied\n";

/// Reads the certificate for each connection, so that a test can change it.
const PROXY: &str = "
import socket, ssl, sys, threading
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
def pump(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
    except OSError:
        pass
    for s in (a, b):
        try: s.shutdown(socket.SHUT_RDWR)
        except OSError: pass
def serve(plain):
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1])
        near = context.wrap_socket(plain, server_side=True)
    except (OSError, ssl.SSLError):
        return plain.close()
    far = socket.create_connection(('127.0.0.1', int(sys.argv[2])))
    threading.Thread(target=pump, args=(far, near), daemon=True).start()
    pump(near, far)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
";

/// A folder of certificates (`name.pem`), their keys (`name.key`), and both in one file (`name.both`).
///
/// - `ca`: the authority that signs all others except `stranger` and `own`.
/// - `good`, `expired`, `elsewhere`: for servers; `elsewhere` is for another host, `expired` is no longer valid.
/// - `nameless`: without a host in subjectAltName.
/// - `client`: for a client.
/// - `own`: a self-signed server certificate; `stranger`: an unknown authority.
pub struct Certificates {
    dir: TempDir,
}

impl Certificates {
    pub fn make() -> Option<Certificates> {
        find("openssl")?;
        let made = Certificates { dir: tempfile::tempdir().ok()? };
        std::fs::write(made.dir.path().join("authority.cnf"), AUTHORITY).ok()?;
        std::fs::write(made.dir.path().join("index.txt"), "").ok()?;
        made.self_signed("ca", &[])?;
        made.self_signed("stranger", &[])?;
        made.self_signed("own", &["-addext", HERE])?;
        let (from, to) = ("20200101000000Z", "20991231000000Z");
        made.signed("good", HERE, (from, to))?;
        made.signed("expired", HERE, (from, "20210101000000Z"))?;
        made.signed("elsewhere", "subjectAltName=DNS:elsewhere.example", (from, to))?;
        made.signed("nameless", "keyUsage=digitalSignature", (from, to))?;
        made.signed("client", "extendedKeyUsage=clientAuth\nsubjectAltName=DNS:client.example", (from, to))?;
        Some(made)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// [`Certificates::path`] as text.
    pub fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Copies the certificate and the key of `name` to `dir`, for a server that runs as `user`.
    pub fn give(&self, name: &str, dir: &Path, user: &str) -> Option<()> {
        for (from, to) in [(format!("{name}.pem"), "server.pem"), (format!("{name}.key"), "server.key")] {
            let to = dir.join(to);
            std::fs::copy(self.path(&from), &to).ok()?;
            std::fs::set_permissions(&to, std::os::unix::fs::PermissionsExt::from_mode(0o600)).ok()?;
            if !user.is_empty() && crate::foreign::is_root() {
                run(Command::new("chown").arg(user).arg(&to))?;
            }
        }
        let ca = dir.join("ca.pem");
        std::fs::copy(self.path("ca.pem"), &ca).ok()?;
        std::fs::set_permissions(&ca, std::os::unix::fs::PermissionsExt::from_mode(0o644)).ok()
    }

    fn self_signed(&self, name: &str, more: &[&str]) -> Option<()> {
        self.new_key(name)?;
        let (key, pem) = (format!("{name}.key"), format!("{name}.pem"));
        let subject = format!("/CN={name}");
        let fixed = ["req", "-x509", "-new", "-key", &key, "-out", &pem, "-days", "3000", "-subj", &subject];
        self.openssl(&[&fixed[..], more].concat())?;
        self.with_key(name)
    }

    fn signed(&self, name: &str, extension: &str, (from, to): (&str, &str)) -> Option<()> {
        self.new_key(name)?;
        let (key, pem) = (format!("{name}.key"), format!("{name}.pem"));
        let (request, extensions) = (format!("{name}.csr"), format!("{name}.ext"));
        std::fs::write(self.path(&extensions), format!("basicConstraints=CA:FALSE\n{extension}\n")).ok()?;
        self.openssl(&["req", "-new", "-key", &key, "-out", &request, "-subj", &format!("/CN={name}")])?;
        let by =
            ["ca", "-batch", "-notext", "-config", "authority.cnf", "-cert", "ca.pem", "-keyfile", "ca.key"];
        let what =
            ["-in", &request, "-out", &pem, "-extfile", &extensions, "-startdate", from, "-enddate", to];
        self.openssl(&[&by[..], &what].concat())?;
        self.with_key(name)
    }

    fn new_key(&self, name: &str) -> Option<()> {
        self.openssl(&["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", &format!("{name}.key")])
    }

    /// Writes certificate and key to one file, for the proxy.
    fn with_key(&self, name: &str) -> Option<()> {
        let mut text = std::fs::read_to_string(self.path(&format!("{name}.pem"))).ok()?;
        text += &std::fs::read_to_string(self.path(&format!("{name}.key"))).ok()?;
        std::fs::write(self.path(&format!("{name}.both")), text).ok()
    }

    fn openssl(&self, arguments: &[&str]) -> Option<()> {
        run(Command::new("openssl").current_dir(self.dir.path()).args(arguments))
    }
}

/// A TLS proxy for a server on this machine, with the certificate in `server.both`. Ends with the test.
pub struct Proxy {
    process: Child,
    pub port: u16,
}

impl Proxy {
    pub fn start(certificates: &Certificates, server_port: u16) -> Option<Proxy> {
        let python = find("python3")?;
        let mut command = Command::new(python);
        command.args(["-c", PROXY]).arg(certificates.path("server.both")).arg(server_port.to_string());
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take()?).read_line(&mut line).ok()?;
        Some(Proxy { process, port: line.trim().parse().ok()? })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
