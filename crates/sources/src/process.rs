//! A program, what it is told and what it writes.
//!
//! A program that says nothing for too long, or that nobody listens to any more, is killed together with
//! whatever it started.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use basalt_base::{Error, ErrorCode, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::Limits;
use crate::limits::timed_out;

/// How often it is looked whether a program has been silent for too long.
const LOOK: Duration = Duration::from_millis(50);
const ERROR_BYTES_MAX: u64 = 1000;

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    path: PathBuf,
    args: Vec<String>,
}

impl Program {
    /// The program that `command` names first, in the directory `scripts`, and its arguments, separated
    /// by spaces. No shell sees it.
    pub fn find(command: &str, scripts: &Path) -> Result<Program> {
        let mut words = command.split_whitespace().map(str::to_owned);
        let Some(name) = words.next() else {
            bail!(BadArguments, "the command of a source is empty");
        };
        let root = scripts.canonicalize().map_err(|error| Error::io(scripts, &error))?;
        let path = root.join(&name);
        let path = path.canonicalize().map_err(|error| Error::io(&path, &error))?;
        if !path.starts_with(&root) {
            bail!(ReadOnly, "program `{name}` is outside the directory of user scripts");
        }
        Ok(Program { path, args: words.collect() })
    }

    /// Starts it, writes `input` to it, and hands over what it writes. A program that ends with another
    /// status than 0 ends the reader with an error.
    pub fn run(&self, input: Vec<u8>, limits: Limits) -> Result<Output> {
        let mut running = self.start(limits)?;
        let stdin = running.stdin.take();
        if let Some(mut stdin) = stdin {
            let feeding = std::thread::Builder::new().name("source-input".to_owned());
            // A program that needs no input closes it.
            let started = feeding.spawn(move || drop(stdin.write_all(&input)));
            started.map_err(|error| self.failed(&error))?;
        }
        Ok(Output { running })
    }

    /// Starts it for many questions, see [`Running::ask`].
    pub fn start(&self, limits: Limits) -> Result<Running> {
        let mut command = Command::new(&self.path);
        command.args(&self.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.process_group(0).spawn().map_err(|error| self.failed(&error))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let Some(stdout) = stdout else { return Err(Error::logical("a program's output is not piped")) };
        let watch = Arc::new(Watch { group: child.id(), ..Watch::default() });
        watch.start().map_err(|error| self.failed(&error))?;
        let name = format!("program {}", self.path.display());
        Ok(Running { child, stdin, stdout: BufReader::new(stdout), watch, limits, name })
    }

    fn failed(&self, error: &io::Error) -> Error {
        Error::new(ErrorCode::CannotReadFromFile, format!("program {}: {error}", self.path.display()))
    }
}

/// A started program.
pub struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    watch: Arc<Watch>,
    limits: Limits,
    name: String,
}

impl Running {
    /// Writes `input` and takes as many lines of the answer as it has.
    pub fn ask(&mut self, input: &[u8], with_count: bool) -> Result<Vec<u8>> {
        let lines = input.iter().filter(|&&byte| byte == b'\n').count();
        let Some(mut stdin) = self.stdin.take() else { return Err(self.failed("its input is closed")) };
        let head = if with_count { format!("{lines}\n") } else { String::new() };
        self.watch_for(self.limits.silence)?;
        let (sent, stdin, answer) = std::thread::scope(|scope| {
            // From a thread of its own: the program may answer before it has read everything.
            let feeding = scope.spawn(move || {
                let sent = stdin.write_all(head.as_bytes()).and_then(|()| stdin.write_all(input));
                (sent.and_then(|()| stdin.flush()), stdin)
            });
            let answer = read_lines(&mut self.stdout, (!with_count).then_some(lines));
            let (sent, stdin) = feeding.join().expect("writing does not panic");
            (sent, stdin, answer)
        });
        self.stdin = Some(stdin);
        self.watch.rest();
        match (sent, answer) {
            _ if self.watch.has_killed.load(Ordering::Acquire) => Err(timed_out(&self.name)),
            (Ok(()), Ok(answer)) => Ok(answer),
            (Err(error), _) | (_, Err(error)) => Err(self.failed(error)),
        }
    }

    fn watch_for(&self, silence: Duration) -> Result<()> {
        self.watch.arm(self.limits.wait(silence, &self.name)?);
        Ok(())
    }

    fn failed(&self, why: impl std::fmt::Display) -> Error {
        Error::new(ErrorCode::CannotReadFromFile, format!("{}: {why}", self.name))
    }

    /// What the program says by its end.
    fn end(&mut self) -> Result<()> {
        let status = self.child.wait().map_err(|error| self.failed(error))?;
        if self.watch.has_killed.load(Ordering::Acquire) {
            return Err(timed_out(&self.name));
        }
        if !status.success() {
            let mut text = String::new();
            if let Some(stderr) = self.child.stderr.take() {
                // What cannot be read cannot be told.
                let _ = stderr.take(ERROR_BYTES_MAX).read_to_string(&mut text);
            }
            return Err(self.failed(format!("it ended with {status} {}", text.trim())));
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.watch.end();
        kill(self.child.id());
        // It is dead, or was before.
        let _ = self.child.wait();
    }
}

/// Exactly `count` lines; without a count the first line says it.
fn read_lines(input: &mut impl BufRead, count: Option<usize>) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    let count = match count {
        Some(count) => count,
        None => {
            let mut head = String::new();
            input.read_line(&mut head)?;
            head.trim().parse().map_err(|_| io::Error::other("it sends no count of rows"))?
        }
    };
    for _ in 0..count {
        if input.read_until(b'\n', &mut lines)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(lines)
}

/// What a program writes until it ends.
pub struct Output {
    running: Running,
}

impl Read for Output {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Running { limits, .. } = self.running;
        self.running.watch_for(limits.silence).map_err(io::Error::other)?;
        let count = self.running.stdout.read(buffer)?;
        self.running.watch.rest();
        if count == 0 && !buffer.is_empty() {
            self.running.end().map_err(io::Error::other)?;
        }
        Ok(count)
    }
}

/// Kills a program that is silent for too long.
#[derive(Debug, Default)]
struct Watch {
    /// The number of the program, which is that of its group.
    group: u32,
    /// Milliseconds from the start of the watch to the end of its patience; 0 while nobody waits.
    patience_ms: AtomicU64,
    is_over: AtomicBool,
    has_killed: AtomicBool,
}

impl Watch {
    fn start(self: &Arc<Self>) -> io::Result<()> {
        let watch = Arc::clone(self);
        let looking = move || {
            while !watch.is_over.load(Ordering::Acquire) {
                std::thread::sleep(LOOK);
                let patience = watch.patience_ms.load(Ordering::Acquire);
                if patience > 0 && watch.now_ms() > patience && !watch.is_over.load(Ordering::Acquire) {
                    watch.has_killed.store(true, Ordering::Release);
                    kill(watch.group);
                    return;
                }
            }
        };
        std::thread::Builder::new().name("source-watch".to_owned()).spawn(looking).map(|_| ())
    }

    fn now_ms(&self) -> u64 {
        START.elapsed().as_millis() as u64
    }

    fn arm(&self, wait: Duration) {
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX / 2);
        self.patience_ms.store(self.now_ms().saturating_add(wait).max(1), Ordering::Release);
    }

    fn rest(&self) {
        self.patience_ms.store(0, Ordering::Release);
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }
}

/// What times of watches are counted from.
static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);

fn kill(group: u32) {
    if let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) {
        // It may have ended already.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// What the script writes for `input`.
    fn check(script: &str, input: &[u8], silence: Duration) -> Result<String> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("script");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("writable");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("ours");
        let limits = Limits { silence, ..Limits::default() };
        let mut text = String::new();
        let mut output = Program::find("script 7", dir.path())?.run(input.to_vec(), limits)?;
        let read = output.read_to_string(&mut text);
        read.map_err(|error| Error::new(ErrorCode::CannotReadFromFile, error.to_string()))?;
        Ok(text)
    }

    #[test]
    fn a_program_gets_its_input_and_arguments() {
        let minute = Duration::from_secs(60);
        assert_eq!(check("echo $1; cat", b"x\ny\n", minute).expect("it works"), "7\nx\ny\n");
        let error = check("echo a; echo broken >&2; exit 3", b"", minute).expect_err("status 3");
        assert!(error.message().contains("broken"), "{error}");
    }

    #[test]
    fn a_silent_program_is_killed_with_what_it_started() {
        let started = Instant::now();
        let error = check("sleep 100", b"", Duration::from_millis(200)).expect_err("silent");
        assert!(error.message().contains("in time"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(50));
    }

    #[test]
    fn programs_elsewhere_are_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let code = |command: &str| Program::find(command, dir.path()).map_err(|error| error.code());
        assert_eq!(code("/bin/sh -c true").err(), Some(ErrorCode::ReadOnly));
        assert_eq!(code("../../../../bin/sh").err(), Some(ErrorCode::ReadOnly));
        assert_eq!(code("nothing").err(), Some(ErrorCode::FileDoesntExist));
        assert_eq!(code(" ").err(), Some(ErrorCode::BadArguments));
    }
}
