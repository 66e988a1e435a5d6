//! The standard error of a program, and how it is handled.

use std::io::Read;
use std::process::ChildStderr;

use basalt_base::{Error, ErrorCode, Result};

use super::is_for_later;

/// Bytes of it that are kept, the first or the last ones.
const KEPT_BYTES_MAX: usize = 4096;
/// Kept bytes that an error quotes.
const QUOTED_BYTES_MAX: usize = 1000;
/// A longer line is logged in pieces.
const LINE_BYTES_MAX: usize = 1000;
/// The most bytes that one run logs.
const LOGGED_BYTES_MAX: usize = 1 << 20;

/// The handling of a program's standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StderrReaction {
    /// Quoted only in the error of a program that fails.
    None,
    /// Each line is logged when it is written.
    Log,
    /// The first bytes are logged at the end.
    LogFirst,
    /// The last bytes are logged at the end.
    #[default]
    LogLast,
    /// Any output is an error.
    Throw,
}

/// The standard error of one program.
pub(super) struct Stderr {
    /// `None` after it was closed.
    pipe: Option<ChildStderr>,
    reaction: StderrReaction,
    log: Option<fn(&str)>,
    /// The program's name.
    name: String,
    /// The first bytes, or the last ones, depending on the reaction.
    kept: Vec<u8>,
    /// An incomplete line.
    line: Vec<u8>,
    logged_bytes: usize,
}

impl Stderr {
    pub(super) fn new(
        pipe: Option<ChildStderr>,
        reaction: StderrReaction,
        log: Option<fn(&str)>,
        name: &str,
    ) -> Stderr {
        let name = name.to_owned();
        Stderr { pipe, reaction, log, name, kept: Vec::new(), line: Vec::new(), logged_bytes: 0 }
    }

    pub(super) fn pipe(&self) -> Option<&ChildStderr> {
        self.pipe.as_ref()
    }

    /// Reads what is available, so that the program does not block.
    pub(super) fn listen(&mut self) {
        let mut piece = [0; 4096];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut piece) {
                Err(error) if is_for_later(&error) => return,
                Ok(0) | Err(_) => self.pipe = None,
                Ok(count) => self.take(&piece[..count]),
            }
        }
    }

    fn take(&mut self, piece: &[u8]) {
        if matches!(self.reaction, StderrReaction::LogFirst | StderrReaction::Throw) {
            let room = KEPT_BYTES_MAX - self.kept.len();
            self.kept.extend_from_slice(&piece[..room.min(piece.len())]);
        } else {
            self.kept.extend_from_slice(piece);
            let excess = self.kept.len().saturating_sub(KEPT_BYTES_MAX);
            self.kept.drain(..excess);
        }
        if self.reaction == StderrReaction::Log {
            self.log_lines(piece);
        }
    }

    fn log_lines(&mut self, piece: &[u8]) {
        for &byte in piece {
            if byte == b'\n' || self.line.len() == LINE_BYTES_MAX {
                let line = std::mem::take(&mut self.line);
                self.log_line(&line);
            }
            if byte != b'\n' {
                self.line.push(byte);
            }
        }
    }

    /// Logs one line; when the limit is reached, logs once that further lines are dropped.
    fn log_line(&mut self, line: &[u8]) {
        let Some(log) = self.log else { return };
        let was_open = self.logged_bytes < LOGGED_BYTES_MAX;
        self.logged_bytes += line.len() + 1;
        if was_open && !line.is_empty() {
            log(&format!("{} says on its standard error: {}", self.name, shown(line)));
        }
        if was_open && self.logged_bytes >= LOGGED_BYTES_MAX {
            log(&format!("{} says more on its standard error than is logged", self.name));
        }
    }

    /// The kept bytes, in the form for errors.
    pub(super) fn quoted(&self) -> String {
        let excess = self.kept.len().saturating_sub(QUOTED_BYTES_MAX);
        let quoted = match self.reaction {
            StderrReaction::LogFirst | StderrReaction::Throw => &self.kept[..self.kept.len() - excess],
            _ => &self.kept[excess..],
        };
        String::from_utf8_lossy(quoted).trim().to_owned()
    }

    /// Applies the reaction to the output since the last request; fails if it must be empty.
    pub(super) fn settle(&mut self) -> Result<()> {
        let quoted = self.quoted();
        let kept = std::mem::take(&mut self.kept);
        let line = std::mem::take(&mut self.line);
        match self.reaction {
            StderrReaction::None => {}
            StderrReaction::Log => self.log_line(&line),
            StderrReaction::LogFirst | StderrReaction::LogLast => {
                kept.split(|&byte| byte == b'\n').for_each(|line| self.log_line(line));
            }
            StderrReaction::Throw if kept.is_empty() => {}
            StderrReaction::Throw => {
                let message = format!("{}: it says on its standard error: {quoted}", self.name);
                return Err(Error::new(ErrorCode::UnsupportedMethod, message));
            }
        }
        // The limit applies to each request.
        self.logged_bytes = 0;
        Ok(())
    }

    /// Drops the output so far, which is part of an error already.
    pub(super) fn forget(&mut self) {
        self.kept.clear();
        self.line.clear();
    }
}

/// A line without control characters, which could move a terminal's cursor.
fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    thread_local! {
        static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    }

    fn check(reaction: StderrReaction, pieces: &[&[u8]]) -> (Vec<String>, Result<()>) {
        LOG.take();
        let log = |line: &str| LOG.with_borrow_mut(|lines| lines.push(line.to_owned()));
        let mut stderr = Stderr::new(None, reaction, Some(log), "p");
        pieces.iter().for_each(|piece| stderr.take(piece));
        let settled = stderr.settle();
        let said = |line: &String| line.strip_prefix("p says on its standard error: ").map(str::to_owned);
        (LOG.take().iter().map(|line| said(line).unwrap_or_else(|| line.clone())).collect(), settled)
    }

    #[test]
    fn each_reaction_logs_what_it_names() {
        let first = [&[b'a'; KEPT_BYTES_MAX - 2][..], b"\nbc"].concat();
        let pieces: [&[u8]; 3] = [b"x\ny", b"z\n\n\x1b[1m", b""];
        assert_eq!(check(StderrReaction::None, &pieces).0, [""; 0]);
        assert_eq!(check(StderrReaction::Log, &pieces).0, ["x", "yz", " [1m"]);
        assert_eq!(check(StderrReaction::LogFirst, &pieces).0, ["x", "yz", " [1m"]);
        let (log, _) = check(StderrReaction::LogFirst, &[&first, b"the end"]);
        assert_eq!(log.last().map(String::as_str), Some("b"));
        let (log, _) = check(StderrReaction::LogLast, &[b"the beginning\n", &first]);
        assert_eq!(log.last().map(String::as_str), Some("bc"));
        assert!(!log.iter().any(|line| line.contains("beginning")));
    }

    #[test]
    fn what_is_not_to_be_said_is_an_error_of_bounded_length() {
        let (log, settled) = check(StderrReaction::Throw, &[b"why\n", &[b'x'; 100_000]]);
        let error = settled.expect_err("it was said");
        assert_eq!((log.len(), error.code()), (0, ErrorCode::UnsupportedMethod));
        assert!(error.message().contains("why\nxxx") && error.message().len() < 2 * QUOTED_BYTES_MAX);
        assert!(check(StderrReaction::Throw, &[]).1.is_ok());
    }

    #[test]
    fn a_flood_is_logged_up_to_a_limit() {
        let flood = [b'x'; LINE_BYTES_MAX].map(|byte| byte);
        let pieces = vec![&flood[..]; 2 * LOGGED_BYTES_MAX / LINE_BYTES_MAX];
        let (log, _) = check(StderrReaction::Log, &pieces);
        let bytes: usize = log.iter().map(String::len).sum();
        assert!(bytes <= LOGGED_BYTES_MAX + 100, "{bytes}");
        assert!(log.last().is_some_and(|line| line.contains("more")));
    }
}
