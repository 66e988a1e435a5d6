//! The data of COPY, on their way from the socket to a thread that blocks.
//!
//! # Invariants
//!
//! - **No early end**: the reader sees the end of the data only if the client sent one. If the client goes, it sees an
//!   error, and nothing of the statement stays.

use std::io::{self, Read};

use basalt_engine::{Error, ErrorCode};
use tokio::sync::mpsc;

/// Pieces of data that may wait for the thread.
const PIECES_WAITING: usize = 8;

/// What the client sent.
pub(super) enum Piece {
    Data(Vec<u8>),
    End,
    /// The client gives up, for this reason.
    Failed(String),
}

/// The end of a pipe that a blocking thread reads.
pub(super) struct PipeReader {
    pieces: mpsc::Receiver<Piece>,
    piece: Vec<u8>,
    /// How much of `piece` was read.
    at: usize,
    has_ended: bool,
}

/// A pipe.
pub(super) fn pipe() -> (mpsc::Sender<Piece>, PipeReader) {
    let (sender, pieces) = mpsc::channel(PIECES_WAITING);
    (sender, PipeReader { pieces, piece: Vec::new(), at: 0, has_ended: false })
}

impl PipeReader {
    /// Waits for the next piece; `false` at the end.
    fn fill(&mut self) -> io::Result<bool> {
        while self.at == self.piece.len() && !self.has_ended {
            match self.pieces.blocking_recv() {
                Some(Piece::Data(piece)) => (self.piece, self.at) = (piece, 0),
                Some(Piece::End) => self.has_ended = true,
                Some(Piece::Failed(reason)) => {
                    return Err(failed(&format!("COPY from stdin failed: {reason}")));
                }
                None => return Err(failed("the client disconnected in the middle of COPY")),
            }
        }
        Ok(!self.has_ended)
    }
}

impl Read for PipeReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if !self.fill()? {
            return Ok(0);
        }
        let rest = &self.piece[self.at..];
        let count = out.len().min(rest.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

fn failed(what: &str) -> io::Error {
    io::Error::other(Error::new(ErrorCode::QueryWasCancelled, what))
}

/// Finds the line `\.`, with which old clients end the data of text and CSV.
pub(super) struct EndMark {
    at_line_start: bool,
}

impl Default for EndMark {
    fn default() -> EndMark {
        EndMark { at_line_start: true }
    }
}

impl EndMark {
    /// Cuts the line and what follows it off the piece. Returns whether it was there.
    pub(super) fn cut(&mut self, piece: &mut Vec<u8>) -> bool {
        let mut start = if self.at_line_start { Some(0) } else { next_line(piece, 0) };
        self.at_line_start = piece.last().map_or(self.at_line_start, |byte| *byte == b'\n');
        while let Some(line) = start {
            let rest = &piece[line..];
            if rest == b"\\." || rest.starts_with(b"\\.\n") || rest.starts_with(b"\\.\r\n") {
                piece.truncate(line);
                return true;
            }
            start = next_line(piece, line);
        }
        false
    }
}

fn next_line(piece: &[u8], from: usize) -> Option<usize> {
    let end = memchr::memchr(b'\n', &piece[from..])? + from;
    (end + 1 < piece.len()).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_mark_is_a_line_of_its_own() {
        let check = |pieces: &[&str], expected: (&str, bool)| {
            let (mut mark, mut kept, mut found) = (EndMark::default(), Vec::new(), false);
            for piece in pieces {
                let mut piece = piece.as_bytes().to_vec();
                found = mark.cut(&mut piece);
                kept.extend_from_slice(&piece);
                if found {
                    break;
                }
            }
            assert_eq!((String::from_utf8_lossy(&kept).as_ref(), found), expected, "{pieces:?}");
        };
        check(&["1\n2\n\\.\n"], ("1\n2\n", true));
        check(&["1\n", "\\.\r\n", "more"], ("1\n", true));
        check(&["\\."], ("", true));
        check(&["1\\.\n", "2", "\\.\n", "\\.x\n"], ("1\\.\n2\\.\n\\.x\n", false));
        check(&["", "1\n"], ("1\n", false));
    }

    #[tokio::test]
    async fn reader_sees_an_end_only_if_the_client_sent_one() {
        for (is_ended, expected) in [(true, Some("12")), (false, None)] {
            let (sender, mut reader) = pipe();
            for piece in ["1", "", "2"] {
                assert!(sender.send(Piece::Data(piece.into())).await.is_ok());
            }
            if is_ended {
                assert!(sender.send(Piece::End).await.is_ok());
            }
            drop(sender);
            let read = tokio::task::spawn_blocking(move || {
                let mut text = String::new();
                reader.read_to_string(&mut text).map(|_| text).ok()
            });
            assert_eq!(read.await.expect("no panic").as_deref(), expected);
        }
    }
}
