//! A running program and its three pipes.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use basalt_base::{Error, ErrorCode, Result};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::stderr::Stderr;
use super::{Ending, StderrReaction, is_for_later};
use crate::Limits;
use crate::limits::timed_out;

/// The pauses while no pipe is ready double from the first to the second.
const PAUSES: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(5));
const PIECE_BYTES: usize = 64 << 10;
/// How long a program may take to exit after SIGTERM, before SIGKILL.
const GRACE: Duration = Duration::from_millis(500);
/// A longer answer is refused.
const ANSWER_BYTES_MAX: usize = 1 << 30;

/// A running program.
pub struct Running {
    child: Child,
    /// Its exit status, once known.
    status: Option<ExitStatus>,
    /// `None` after the input was closed.
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    stderr: Stderr,
    ending: Ending,
    limits: Limits,
    name: String,
}

impl Running {
    pub(super) fn start(
        name: &str,
        path: &Path,
        args: &[String],
        ending: Ending,
        limits: Limits,
    ) -> Result<Running> {
        let failed =
            |error: std::io::Error| Error::new(ErrorCode::CannotReadFromFile, format!("{name}: {error}"));
        let mut command = Command::new(path);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.process_group(0).spawn().map_err(failed)?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let Some(stdout) = stdout else { return Err(Error::logical("a program's output is not piped")) };
        let stderr = Stderr::new(stderr, ending.stderr, ending.log, name);
        let name = name.to_owned();
        let running = Running { child, status: None, stdin, stdout, stderr, ending, limits, name };
        let pipes = [
            Some(running.stdout.as_fd()),
            running.stdin.as_ref().map(AsFd::as_fd),
            running.stderr.pipe().map(AsFd::as_fd),
        ];
        for pipe in pipes.into_iter().flatten() {
            let set = fcntl_getfl(pipe).and_then(|flags| fcntl_setfl(pipe, flags | OFlags::NONBLOCK));
            set.map_err(|error| running.failed(error))?;
        }
        Ok(running)
    }

    /// Writes `head` and `input`, and reads as many rows as `input` has, within `limits`.
    pub fn ask(&mut self, head: &[u8], input: &[u8], rows: RowEnds, limits: Limits) -> Result<Vec<u8>> {
        self.limits = limits;
        let mut counter = rows;
        counter.take(input);
        let question = [head, input].concat();
        let mut rest = &question[..];
        let mut answer = Response { wanted: counter.count, ends: rows, rows: Vec::new() };
        let mut piece = vec![0; PIECE_BYTES];
        while !answer.is_whole() {
            let count = self.exchange(&mut rest, false, &mut piece)?;
            if count == 0 {
                self.end()?;
                return Err(self.failed("it ended in the middle of an answer"));
            }
            answer.take(&piece[..count]).map_err(|why| self.failed(why))?;
        }
        if !rest.is_empty() {
            return Err(self.failed("it answers before it has read the question"));
        }
        self.stderr.listen();
        self.stderr.settle()?;
        Ok(answer.rows)
    }

    /// Whether the program runs and has no unread output.
    pub fn is_ready(&mut self) -> bool {
        let is_idle =
            matches!(self.stdout.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock);
        is_idle && !self.has_ended()
    }

    /// Closes the input: there are no more requests.
    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Waits until `end` for a program whose input is closed; kills it after that.
    pub fn retire(mut self, end: Instant) {
        let left = end.saturating_duration_since(Instant::now());
        self.limits.deadline = None;
        if !self.ends_within(left) {
            self.terminate();
        }
    }

    /// Writes `input` as far as possible until there is output; returns 0 at the end of the output. With `closes`,
    /// closes the program's input after `input`.
    pub(super) fn exchange(&mut self, input: &mut &[u8], closes: bool, output: &mut [u8]) -> Result<usize> {
        let (mut moved_at, mut pause) = (Instant::now(), PAUSES.0);
        loop {
            let has_moved = self.write_some(input)?;
            if closes && input.is_empty() {
                self.stdin = None;
            }
            self.stderr.listen();
            match self.stdout.read(output) {
                Err(error) if is_for_later(&error) => {}
                read => return read.map_err(|error| self.failed(error)),
            }
            if has_moved {
                (moved_at, pause) = (Instant::now(), PAUSES.0);
                continue;
            }
            let patience = if input.is_empty() { self.limits.receive } else { self.limits.send };
            let is_late = self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if is_late || moved_at.elapsed() >= patience {
                self.kill();
                return Err(timed_out(&self.name));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    fn write_some(&mut self, input: &mut &[u8]) -> Result<bool> {
        let Some(stdin) = self.stdin.as_mut().filter(|_| !input.is_empty()) else {
            *input = &[];
            return Ok(false);
        };
        match stdin.write(input) {
            Ok(count) => *input = &input[count..],
            Err(error) if is_for_later(&error) => return Ok(false),
            // The program closed its input because it needs no more.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                *input = &[];
                self.stdin = None;
            }
            Err(error) => return Err(self.failed(error)),
        }
        Ok(true)
    }

    /// Waits for the exit of a program that closed its output, and checks its status.
    pub(super) fn end(&mut self) -> Result<()> {
        self.stdin = None;
        let has_ended = self.ends_within(self.ending.patience);
        if !has_ended {
            self.terminate();
        }
        let Some(status) = self.kill().filter(|_| has_ended) else {
            return Err(timed_out(&format!("{}: it has closed its output, but its end", self.name)));
        };
        self.stderr.listen();
        // A reaction that makes standard error an error takes precedence over the status.
        let is_settled = self.ending.stderr != StderrReaction::Throw || self.stderr.quoted().is_empty();
        if self.ending.checks_status && !status.success() && is_settled {
            let message = format!("{}: it ended with {status} {}", self.name, self.stderr.quoted());
            self.stderr.forget();
            return Err(Error::new(ErrorCode::ChildWasNotExitedNormally, message.trim_end()));
        }
        self.stderr.settle()
    }

    /// Whether the program exits in time.
    fn ends_within(&mut self, patience: Duration) -> bool {
        let (started, mut pause) = (Instant::now(), PAUSES.0);
        loop {
            self.stderr.listen();
            let is_late = self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if self.has_ended() || is_late || started.elapsed() >= patience {
                return self.has_ended();
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Whether it has exited. Its process id is not reused until [`Running::kill`].
    fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let seen = self.group().map(|child| waitid(WaitId::Pid(child), look));
        self.status.is_some() || matches!(seen, Some(Ok(Some(_))))
    }

    fn group(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// Sends SIGTERM and waits a moment.
    fn terminate(&mut self) {
        if let Some(group) = self.group() {
            // It may have exited just now.
            let _ = kill_process_group(group, Signal::TERM);
        }
        self.ends_within(GRACE);
    }

    /// Kills the program and its process group; returns its exit status.
    fn kill(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            if let Some(group) = self.group() {
                // It may have exited already.
                let _ = kill_process_group(group, Signal::KILL);
            }
            self.status = self.child.wait().ok();
        }
        self.status
    }

    fn failed(&self, why: impl std::fmt::Display) -> Error {
        Error::new(ErrorCode::CannotReadFromFile, format!("{}: {why}", self.name))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        self.stderr.listen();
        // Logged if so configured; too late for an error.
        let _ = self.stderr.settle();
    }
}

/// Counts rows in a text format with one row a line.
#[derive(Clone, Copy, Debug)]
pub struct RowEnds {
    /// Whether a line continues inside double quotes (CSV).
    quotes: bool,
    is_quoted: bool,
    count: usize,
}

impl RowEnds {
    /// Every line is a row.
    pub const LINES: RowEnds = RowEnds { quotes: false, is_quoted: false, count: 0 };
    /// Every line end outside double quotes ends a row.
    pub const CSV: RowEnds = RowEnds { quotes: true, ..RowEnds::LINES };

    /// Counts the row ends in the next bytes.
    fn take(&mut self, text: &[u8]) {
        for &byte in text {
            match byte {
                b'"' => self.is_quoted = self.quotes && !self.is_quoted,
                b'\n' if !self.is_quoted => self.count += 1,
                _ => {}
            }
        }
    }
}

/// The rows received so far.
struct Response {
    wanted: usize,
    ends: RowEnds,
    rows: Vec<u8>,
}

impl Response {
    fn is_whole(&self) -> bool {
        self.ends.count >= self.wanted
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), &'static str> {
        self.rows.extend_from_slice(piece);
        self.ends.take(piece);
        let ends_here = self.rows.last().is_none_or(|&byte| byte == b'\n');
        if self.ends.count > self.wanted || self.is_whole() && !ends_here {
            return Err("it returns more rows than requested");
        }
        if self.rows.len() > ANSWER_BYTES_MAX {
            return Err("its answer does not end");
        }
        Ok(())
    }
}
