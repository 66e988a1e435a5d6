//! `basalt server` on a free port, killed with the test.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::http::{self, Response};
use crate::program;
use crate::waiting::{check, wait_until};

/// A server that runs until it is dropped.
pub struct Server {
    process: Child,
    address: SocketAddr,
    /// The address of the native protocol.
    tcp: SocketAddr,
    /// The address of the protocol of PostgreSQL.
    postgres: SocketAddr,
    log: Arc<Mutex<String>>,
}

/// A server on `data` with a free port for each interface.
fn server_command(data: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program::path());
    command.arg("server");
    for port in ["--http-port", "--tcp-port", "--postgres-port", "--redis-port"] {
        command.args([port, "auto"]);
    }
    command.arg("--path").arg(data).args(arguments);
    command
}

impl Server {
    /// The exit code and standard error of a server that must not start.
    pub fn refusal(data: &Path, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = server_command(data, arguments);
        let output = command.output().expect("the program starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Starts on `data` and waits until it is ready.
    pub fn start(data: &Path) -> Server {
        Server::start_with(data, &[])
    }

    pub fn start_with(data: &Path, arguments: &[&str]) -> Server {
        let mut command = server_command(data, arguments);
        if !arguments.contains(&"--user-files-path") && !arguments.contains(&"--config") {
            // Tests have files in their own directories.
            command.args(["--user-files-path", "/"]);
        }
        let mut process = command.stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut lines = BufReader::new(process.stderr.take().expect("it is piped"));
        // Reports of damage come before the line with the server's address.
        let mut said = String::new();
        let (address, tcp, postgres) = loop {
            let start = said.len();
            if lines.read_line(&mut said).expect("readable") == 0 {
                panic!("the server did not start: {said}");
            }
            let line = &said[start..];
            let address = |scheme: &str| address_in(line, scheme);
            if let (Some(http), Some(tcp), Some(postgres)) =
                (address("http://"), address("tcp://"), address("postgresql://"))
            {
                break (http, tcp, postgres);
            }
        };
        // Drain the pipe, or the server would eventually block on it.
        let log = Arc::new(Mutex::new(said));
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|count| count > 0) {
                kept.lock().expect("no panics").push_str(&line);
                crate::note(&format!("server: {}", line.trim_end()));
                line.clear();
            }
        });
        Server { process, address, tcp, postgres, log }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the native protocol.
    pub fn tcp_address(&self) -> SocketAddr {
        self.tcp
    }

    /// The address of the protocol of PostgreSQL.
    pub fn postgres_address(&self) -> SocketAddr {
        self.postgres
    }

    /// The address of another interface, by the scheme of its URL.
    pub fn address_of(&self, scheme: &str) -> SocketAddr {
        let scheme = format!("{scheme}://");
        self.log().lines().find_map(|line| address_in(line, &scheme)).expect("the interface is on")
    }

    /// Sends the process a signal, by its name without SIG.
    pub fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        // The shell's built-in: not every machine has the program.
        let sent = Command::new("sh").args(["-c", "kill -\"$1\" \"$0\"", &pid, name]).status();
        assert!(sent.expect("a shell").success());
    }

    /// Everything it has written to standard error.
    pub fn log(&self) -> String {
        self.log.lock().expect("no panics").clone()
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The answer to a statement in the body of a POST.
    pub fn post(&self, query_string: &str, body: &[u8]) -> Response {
        http::request(self.address, "POST", &format!("/?{query_string}"), &[], body)
    }

    /// The text answer to a statement, which must succeed.
    #[track_caller]
    pub fn ask(&self, statement: &str) -> String {
        let answer = self.post("", statement.as_bytes());
        assert_eq!(answer.status, 200, "{statement}: {}", answer.text());
        assert!(answer.is_whole, "{statement}: broke off: {}", answer.text());
        answer.text()
    }

    /// Starts a query that runs until it is killed by its id, `endless`, on a server that runs one query at a time.
    /// Returns when it has the only slot.
    pub fn take_the_only_slot(&self) -> JoinHandle<Response> {
        let address = self.address;
        let endless = std::thread::spawn(move || {
            let text = b"SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1";
            loop {
                let answer = http::request(address, "POST", "/?query_id=endless", &[], text);
                // It may arrive while a query of the other thread has the slot.
                if answer.status != 503 {
                    return answer;
                }
            }
        });
        while self.post("", b"SELECT 1").status == 200 {}
        endless
    }

    /// Repeats a query until `is_wanted` holds for its answer.
    #[track_caller]
    pub fn wait_until(&self, statement: &str, is_wanted: impl Fn(&str) -> bool) {
        wait_until(|| {
            let answer = self.ask(statement);
            check(is_wanted(&answer), format!("{statement} still answers {answer}"))
        });
    }

    pub fn get(&self, target: &str) -> Response {
        http::request(self.address, "GET", target, &[], b"")
    }

    /// Kills the process, as a power failure would.
    pub fn kill(mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
    }

    /// Asks the process to end, and returns its exit code.
    pub fn terminate(mut self) -> Option<i32> {
        self.signal("TERM");
        self.process.wait().expect("it ends").code()
    }

    pub fn is_alive(&mut self) -> bool {
        self.process.try_wait().expect("its state is known").is_none()
    }
}

/// The address after `scheme` in the line that says that the server is ready.
fn address_in(line: &str, scheme: &str) -> Option<SocketAddr> {
    line.split(scheme).nth(1)?.split('/').next()?.parse().ok()
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
