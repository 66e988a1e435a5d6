//! A started program and its three pipes.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use basalt_base::{Error, ErrorCode, Result};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::Ending;
use crate::Limits;
use crate::limits::timed_out;

/// The pauses while nothing moves: they double from the first to the second.
const PAUSES: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(5));
const PIECE_BYTES: usize = 64 << 10;
/// How much of what a program says on its standard error is told: the last of it.
const ERROR_BYTES_MAX: usize = 1000;
/// An answer longer than this is none.
const ANSWER_BYTES_MAX: usize = 1 << 30;

/// A started program.
pub struct Running {
    child: Child,
    /// How it ended, if it did and we know.
    status: Option<ExitStatus>,
    /// Gone when the program is to read no more.
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    stderr: Option<ChildStderr>,
    /// The last bytes of its standard error.
    said: Vec<u8>,
    ending: Ending,
    limits: Limits,
    name: String,
}

impl Running {
    pub(super) fn start(path: &Path, args: &[String], ending: Ending, limits: Limits) -> Result<Running> {
        let name = format!("program {}", path.display());
        let failed =
            |error: std::io::Error| Error::new(ErrorCode::CannotReadFromFile, format!("{name}: {error}"));
        let mut command = Command::new(path);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.process_group(0).spawn().map_err(failed)?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let Some(stdout) = stdout else { return Err(Error::logical("a program's output is not piped")) };
        let running =
            Running { child, status: None, stdin, stdout, stderr, said: Vec::new(), ending, limits, name };
        let pipes = [
            Some(running.stdout.as_fd()),
            running.stdin.as_ref().map(AsFd::as_fd),
            running.stderr.as_ref().map(AsFd::as_fd),
        ];
        for pipe in pipes.into_iter().flatten() {
            let set = fcntl_getfl(pipe).and_then(|flags| fcntl_setfl(pipe, flags | OFlags::NONBLOCK));
            set.map_err(|error| running.failed(error))?;
        }
        Ok(running)
    }

    /// Writes `input` and takes as many lines of the answer as it has, within `limits`; with a count, both begin
    /// with the number of rows.
    pub fn ask(&mut self, input: &[u8], with_count: bool, limits: Limits) -> Result<Vec<u8>> {
        self.limits = limits;
        let lines = input.iter().filter(|&&byte| byte == b'\n').count();
        let head = if with_count { format!("{lines}\n") } else { String::new() };
        let question = [head.as_bytes(), input].concat();
        let mut rest = &question[..];
        let mut answer = Answer { lines: (!with_count).then_some(lines), ..Answer::default() };
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
        Ok(answer.rows)
    }

    /// Whether the program lives and says nothing unasked.
    pub fn is_ready(&mut self) -> bool {
        let is_silent =
            matches!(self.stdout.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock);
        is_silent && !self.has_ended()
    }

    /// Tells the program that nothing is asked any more.
    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Lets a program whose input is closed end by itself, until `end`; killed is what does not.
    pub fn retire(mut self, end: Instant) {
        let left = end.saturating_duration_since(Instant::now());
        self.limits.deadline = None;
        self.ends_within(left);
    }

    /// Moves what can be moved of `input` until there is output; 0 at its end. With `closes`, the program's
    /// input ends with `input`.
    pub(super) fn exchange(&mut self, input: &mut &[u8], closes: bool, output: &mut [u8]) -> Result<usize> {
        let (mut moved_at, mut pause) = (Instant::now(), PAUSES.0);
        loop {
            let has_moved = self.write_some(input)?;
            if closes && input.is_empty() {
                self.stdin = None;
            }
            self.listen();
            match self.stdout.read(output) {
                Err(error) if is_for_later(&error) => {}
                read => return read.map_err(|error| self.failed(error)),
            }
            if has_moved {
                (moved_at, pause) = (Instant::now(), PAUSES.0);
                continue;
            }
            let patience = if input.is_empty() { self.limits.silence } else { self.limits.send };
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
            // A program that needs no more input closes it.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                *input = &[];
                self.stdin = None;
            }
            Err(error) => return Err(self.failed(error)),
        }
        Ok(true)
    }

    /// Takes what is there of the standard error, so that the program does not wait for us.
    fn listen(&mut self) {
        let mut piece = [0; 4096];
        while let Some(stderr) = &mut self.stderr {
            match stderr.read(&mut piece) {
                Err(error) if is_for_later(&error) => return,
                Ok(0) | Err(_) => self.stderr = None,
                Ok(count) => {
                    self.said.extend_from_slice(&piece[..count]);
                    let excess = self.said.len().saturating_sub(ERROR_BYTES_MAX);
                    self.said.drain(..excess);
                }
            }
        }
    }

    /// What the program says by its end, which has to come soon: its output is closed.
    pub(super) fn end(&mut self) -> Result<()> {
        self.stdin = None;
        let has_ended = self.ends_within(self.ending.patience);
        let Some(status) = self.kill().filter(|_| has_ended) else {
            return Err(timed_out(&format!("{}: it has closed its output, but its end", self.name)));
        };
        self.listen();
        let said = String::from_utf8_lossy(&self.said).trim().to_owned();
        if self.ending.checks_status && !status.success() {
            return Err(self.failed(format!("it ended with {status} {said}")));
        }
        if self.ending.refuses_stderr && !said.is_empty() {
            return Err(self.failed(format!("it says on its standard error: {said}")));
        }
        Ok(())
    }

    /// Whether the program ends in time.
    fn ends_within(&mut self, patience: Duration) -> bool {
        let (started, mut pause) = (Instant::now(), PAUSES.0);
        loop {
            self.listen();
            let is_late = self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if self.has_ended() || is_late || started.elapsed() >= patience {
                return self.has_ended();
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Whether it has ended; its number stays its own until [`Running::kill`].
    fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let seen = self.group().map(|child| waitid(WaitId::Pid(child), look));
        self.status.is_some() || matches!(seen, Some(Ok(Some(_))))
    }

    fn group(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// Ends the program, and whatever it started and left in its group; how it ended.
    fn kill(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            if let Some(group) = self.group() {
                // It may have ended already.
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
    }
}

/// The lines of an answer that have come.
#[derive(Default)]
struct Answer {
    /// How many are wanted; not known before the head has come.
    lines: Option<usize>,
    head: Vec<u8>,
    rows: Vec<u8>,
    lines_here: usize,
}

impl Answer {
    fn is_whole(&self) -> bool {
        self.lines.is_some_and(|lines| self.lines_here >= lines)
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), &'static str> {
        let mut rest = piece;
        if self.lines.is_none() {
            let end = rest.iter().position(|&byte| byte == b'\n');
            self.head.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
            let number = || std::str::from_utf8(&self.head).ok()?.trim().parse().ok();
            match end {
                None if self.head.len() > 100 => return Err("it sends no count of rows"),
                None => return Ok(()),
                Some(end) => rest = &rest[end + 1..],
            }
            self.lines = Some(number().ok_or("it sends no count of rows")?);
        }
        self.rows.extend_from_slice(rest);
        self.lines_here += rest.iter().filter(|&&byte| byte == b'\n').count();
        let ends_here = self.rows.last().is_none_or(|&byte| byte == b'\n');
        if self.lines_here > self.lines.unwrap_or(0) || self.is_whole() && !ends_here {
            return Err("it answers with more rows than it was asked for");
        }
        if self.rows.len() > ANSWER_BYTES_MAX {
            return Err("its answer does not end");
        }
        Ok(())
    }
}

fn is_for_later(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
