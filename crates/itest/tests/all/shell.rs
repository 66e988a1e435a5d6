//! The shell at a terminal made by `script` (of util-linux).

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use basalt_itest::program;
use basalt_itest::server::Server;
use tempfile::tempdir;

const PATIENCE: Duration = Duration::from_secs(60);

/// A simulated user at a terminal.
struct Terminal {
    process: Child,
    keys: ChildStdin,
    screen: Receiver<Vec<u8>>,
    /// Output that was not read yet.
    shown: String,
}

impl Terminal {
    fn open(folder: &Path, arguments: &str) -> Terminal {
        let command = format!("{} {arguments}", program::path().display());
        let mut process = Command::new("script")
            .args(["--quiet", "--flush", "--return", "--command", &command, "/dev/null"])
            .env("TERM", "xterm")
            .env("BASALT_HISTORY", folder.join("history"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is `script`");
        let (keys, mut output) =
            (process.stdin.take().expect("piped"), process.stdout.take().expect("piped"));
        let (sender, screen) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count) = output.read(&mut piece) {
                if count == 0 || sender.send(piece[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Terminal { process, keys, screen, shown: String::new() }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).and_then(|()| self.keys.flush()).expect("the terminal reads");
    }

    /// Reads until `text` was shown.
    #[track_caller]
    fn wait_for(&mut self, text: &str) {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.shown.find(text) {
                self.shown.drain(..at + text.len());
                return;
            }
            match self.screen.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(piece) => self.shown.push_str(&String::from_utf8_lossy(&piece)),
                Err(_) => panic!("`{text}` was not shown, but: {}", self.shown),
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const PROMPT: &str = "basalt :) ";

#[track_caller]
fn check(terminal: &mut Terminal) {
    terminal.wait_for(PROMPT);
    terminal.press("SELECT 41\r");
    terminal.press("+ 1 AS answer;\r");
    terminal.wait_for("\u{2500}answer\u{2500}");
    terminal.wait_for("42 \u{2502}");
    terminal.wait_for("1 row in set. Elapsed: ");
    terminal.wait_for(PROMPT);
    terminal.press("SELECT nosuch;\r");
    terminal.wait_for("Code: 47. DB::Exception: ");
    terminal.wait_for(PROMPT);
    terminal.press("CREATE TABLE shell_table (a UInt8) ENGINE = Memory;\r");
    terminal.wait_for("Ok.");
    terminal.wait_for(PROMPT);
    terminal.press("\\d\r");
    terminal.wait_for("shell_table");
    terminal.wait_for(PROMPT);
    terminal.press("SELECT 7 AS lucky\\G\r");
    terminal.wait_for("lucky: 7");
    terminal.wait_for(PROMPT);
}

#[test]
fn shell_answers_and_goes_on_after_an_error() {
    let dir = tempdir().expect("a directory");
    let mut terminal = Terminal::open(dir.path(), "local");
    check(&mut terminal);
    terminal.press("half a line\x03");
    terminal.wait_for(PROMPT);
    terminal.press("exit\r");
    terminal.wait_for("Bye.");
    let history = std::fs::read_to_string(dir.path().join("history")).expect("a history was kept");
    assert!(history.contains("SELECT nosuch;"), "{history}");
}

#[test]
fn shell_of_the_client_is_the_same() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(&dir.path().join("data"));
    let mut terminal = Terminal::open(dir.path(), &format!("client --port {}", server.address().port()));
    check(&mut terminal);
    terminal.press("\x04");
    terminal.wait_for("Bye.");
}

const ENDLESS: &str = "SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1;\r";

#[test]
fn control_c_ends_the_query_and_not_the_shell() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(&dir.path().join("data"));
    let client = format!("client --port {}", server.address().port());
    let native = format!("client --protocol native --port {}", server.tcp_address().port());
    for arguments in ["local", &client, &native] {
        let mut terminal = Terminal::open(dir.path(), arguments);
        terminal.wait_for(PROMPT);
        terminal.press(ENDLESS);
        // The progress line shows that the statement runs.
        terminal.wait_for(" sec.");
        terminal.press("\x03");
        terminal.wait_for("(QUERY_WAS_CANCELLED)");
        terminal.wait_for(PROMPT);
        terminal.press("SELECT 'still here';\r");
        terminal.wait_for("1. \u{2502} still here");
    }
}
