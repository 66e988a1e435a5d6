//! Other databases from Debian's packages, started for a test on a free loopback port.
//!
//! A test is [`skipped`](crate::skipped) if the database that it needs is not installed or does not start.

use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::certificates::Certificates;
use crate::waiting::{check, wait_at_most};

pub const NO_POSTGRESQL: &str = "PostgreSQL is not installed or does not start (apt-get install postgresql)";
pub const NO_MARIADB: &str = "MariaDB is not installed or does not start (apt-get install mariadb-server)";
pub const NO_REDIS: &str = "Redis is not installed or does not start (apt-get install redis-server)";
pub const NO_REDIS_TLS: &str = "Redis is not installed or has no TLS (apt-get install redis-server)";
pub const NO_SQLITE: &str = "SQLite's shell is not installed (apt-get install sqlite3)";

/// How long a database may take until it accepts connections.
const START: Duration = Duration::from_secs(60);

/// A running server, killed with the test.
pub struct Foreign {
    process: Child,
    pub port: u16,
    /// Removed after the server has ended.
    _dir: TempDir,
}

impl Foreign {
    /// PostgreSQL with the user `postgres`, whose password is `secret` (SCRAM-SHA-256).
    pub fn postgresql() -> Option<Foreign> {
        Foreign::postgresql_with(None)
    }

    /// With certificates the server has TLS, and the database `private` requires a client certificate.
    pub fn postgresql_with(certificates: Option<&Certificates>) -> Option<Foreign> {
        let bin = newest_postgresql()?;
        let dir = server_dir("postgres")?;
        let password = dir.path().join("password");
        std::fs::write(&password, "secret\n").ok()?;
        std::fs::set_permissions(&password, std::os::unix::fs::PermissionsExt::from_mode(0o644)).ok()?;
        let data = dir.path().join("data");
        let mut init = as_user("postgres", &bin.join("initdb"));
        init.args(["-U", "postgres", "-A", "scram-sha-256", "--no-sync", "--pwfile"]).arg(&password);
        run(init.arg("-D").arg(&data))?;
        if let Some(certificates) = certificates {
            certificates.give("good", &data, "postgres")?;
            let mut settings = std::fs::read_to_string(data.join("postgresql.conf")).ok()?;
            settings += "\nssl = on\nssl_cert_file = 'server.pem'\nssl_key_file = 'server.key'\nssl_ca_file = 'ca.pem'\n";
            std::fs::write(data.join("postgresql.conf"), settings).ok()?;
            let rules = "hostssl private all all scram-sha-256 clientcert=verify-ca\n\
                         host private all all reject\nhost all all all scram-sha-256\n";
            std::fs::write(data.join("pg_hba.conf"), rules).ok()?;
        }
        let mut server = as_user("postgres", &bin.join("postgres"));
        let sockets = dir.path().to_owned();
        let started = Foreign::start(dir, |port| {
            server.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-p", &port.to_string(), "-F", "-k"]);
            server.arg(sockets);
            server
        })?;
        // It accepts connections before it answers them.
        let mut is_ready = Command::new(bin.join("pg_isready"));
        is_ready.args(["-q", "-h", "127.0.0.1", "-p", &started.port.to_string()]);
        wait_at_most(START, || run(&mut is_ready).ok_or_else(String::new)).ok()?;
        Some(started)
    }

    /// MariaDB with the user `basalt`, whose password is `secret`.
    pub fn mariadb() -> Option<Foreign> {
        Foreign::mariadb_with(None)
    }

    /// With certificates the server has TLS. The user `guarded` must use TLS.
    pub fn mariadb_with(certificates: Option<&Certificates>) -> Option<Foreign> {
        let (install, server) = (find("mariadb-install-db")?, find("mariadbd")?);
        let dir = server_dir("mysql")?;
        let data = dir.path().join("data");
        let mut init = as_user("mysql", &install);
        run(init
            .arg("--no-defaults")
            .arg(format!("--datadir={}", data.display()))
            .arg("--auth-root-authentication-method=normal"))?;
        let start = dir.path().join("start.sql");
        let user = "CREATE USER basalt@'127.0.0.1' IDENTIFIED BY 'secret';\n\
                    GRANT ALL ON *.* TO basalt@'127.0.0.1';\n\
                    CREATE USER guarded@'127.0.0.1' IDENTIFIED BY 'secret' REQUIRE SSL;\n\
                    GRANT ALL ON *.* TO guarded@'127.0.0.1';\n\
                    CREATE DATABASE shop;\n";
        std::fs::write(&start, user).ok()?;
        std::fs::set_permissions(&start, std::os::unix::fs::PermissionsExt::from_mode(0o644)).ok()?;
        let socket = dir.path().join("socket");
        let mut command = as_user("mysql", &server);
        command.arg("--no-defaults");
        if let Some(certificates) = certificates {
            certificates.give("good", dir.path(), "mysql")?;
            command.arg(format!("--ssl-cert={}", dir.path().join("server.pem").display()));
            command.arg(format!("--ssl-key={}", dir.path().join("server.key").display()));
            command.arg(format!("--ssl-ca={}", dir.path().join("ca.pem").display()));
        }
        Foreign::start(dir, |port| {
            command.arg(format!("--datadir={}", data.display()));
            command.arg(format!("--port={port}")).arg("--bind-address=127.0.0.1").arg("--skip-name-resolve");
            command.arg(format!("--socket={}", socket.display()));
            command.arg(format!("--init-file={}", start.display()));
            command
        })
    }

    /// Redis with the password `secret`.
    pub fn redis() -> Option<Foreign> {
        Foreign::redis_with(None)
    }

    /// With certificates the port uses TLS, and does not require a client certificate.
    pub fn redis_with(certificates: Option<&Certificates>) -> Option<Foreign> {
        let server = find("redis-server")?;
        let dir = server_dir("")?;
        let path = dir.path().to_owned();
        Foreign::start(dir, |port| {
            let mut command = Command::new(server);
            match certificates {
                None => command.args(["--port", &port.to_string()]),
                Some(files) => {
                    command.args([
                        "--port",
                        "0",
                        "--tls-port",
                        &port.to_string(),
                        "--tls-auth-clients",
                        "optional",
                    ]);
                    command.arg("--tls-cert-file").arg(files.path("good.pem"));
                    command.arg("--tls-key-file").arg(files.path("good.key"));
                    command.arg("--tls-ca-cert-file").arg(files.path("ca.pem"))
                }
            };
            command.args(["--bind", "127.0.0.1", "--requirepass", "secret"]);
            command.args(["--save", "", "--appendonly", "no", "--dir"]).arg(path);
            command
        })
    }

    fn start(dir: TempDir, command: impl FnOnce(u16) -> Command) -> Option<Foreign> {
        let port = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
        let mut command = command(port);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.process_group(0).spawn().ok()?;
        let mut started = Foreign { process, port, _dir: dir };
        let mut has_ended = false;
        let connected = wait_at_most(START, || {
            has_ended = started.process.try_wait().is_ok_and(|status| status.is_some());
            let connects = TcpStream::connect(("127.0.0.1", port)).is_ok();
            check(has_ended || connects, "it does not accept connections")
        });
        (connected.is_ok() && !has_ended).then_some(started)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        // It may have ended already. Servers that change their user stay in the group of the first process.
        let group = format!("-{}", self.process.id());
        let _ = Command::new("/bin/kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs `command` to its end; `None` if it fails.
pub fn run(command: &mut Command) -> Option<()> {
    let ended = command.stdin(Stdio::null()).output().ok()?;
    ended.status.success().then_some(())
}

/// A program on the path.
pub fn find(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&folders).chain(["/usr/sbin".into(), "/usr/local/bin".into()]);
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The directory of the newest PostgreSQL's programs.
fn newest_postgresql() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let folders = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
    folders.filter(|folder| folder.join("initdb").is_file()).max()
}

/// Runs a program as its own user if this process is root, which the program would refuse.
fn as_user(user: &str, program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("/sbin/runuser");
    command.args(["-u", user, "--"]).arg(program);
    command
}

fn server_dir(user: &str) -> Option<TempDir> {
    let dir = tempfile::tempdir().ok()?;
    if is_root() && !user.is_empty() {
        run(Command::new("chown").arg(user).arg(dir.path()))?;
    }
    Some(dir)
}

pub(crate) fn is_root() -> bool {
    let owner = std::fs::metadata("/proc/self").map(|found| std::os::unix::fs::MetadataExt::uid(&found));
    owner.is_ok_and(|owner| owner == 0)
}
