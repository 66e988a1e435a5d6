//! Bytes of a client's data, on their way from its socket to a thread that blocks.
//!
//! The reader takes what belongs to the data. What is left of the bytes comes back when it is dropped: the client's
//! next packet may be in it.

use std::io::{self, BufRead, Read};

use basalt_wire::native::DataState;
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

/// Pieces of data that may wait for the thread.
const PIECES_WAITING: usize = 8;

/// What a reader leaves when it ends.
#[derive(Debug)]
pub(super) struct Leftover {
    pub(super) bytes: Vec<u8>,
    pub(super) state: DataState,
}

/// The end of a pipe that the connection writes to.
pub(super) struct PipeWriter {
    pub(super) pieces: mpsc::Sender<Bytes>,
    pub(super) leftover: oneshot::Receiver<Leftover>,
}

/// The end of a pipe that a blocking thread reads.
pub(super) struct PipeReader {
    pieces: mpsc::Receiver<Bytes>,
    piece: Bytes,
    leftover: Option<oneshot::Sender<Leftover>>,
    state: DataState,
}

/// A pipe.
pub(super) fn pipe() -> (PipeWriter, PipeReader) {
    let (sender, pieces) = mpsc::channel(PIECES_WAITING);
    let (give_back, leftover) = oneshot::channel();
    let writer = PipeWriter { pieces: sender, leftover };
    let state = DataState::BetweenPackets;
    (writer, PipeReader { pieces, piece: Bytes::new(), leftover: Some(give_back), state })
}

impl PipeReader {
    /// Where the packets that were read end; the connection gets it with the leftover bytes.
    pub(super) fn set_state(&mut self, state: DataState) {
        self.state = state;
    }
}

impl BufRead for PipeReader {
    /// Blocks until the client sends more; empty if it has gone.
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.piece.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.piece = piece,
                None => break,
            }
        }
        Ok(&self.piece)
    }

    fn consume(&mut self, count: usize) {
        drop(self.piece.split_to(count));
    }
}

impl Read for PipeReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let count = out.len().min(bytes.len());
        out[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl Drop for PipeReader {
    fn drop(&mut self) {
        self.pieces.close();
        let mut bytes = self.piece.to_vec();
        while let Ok(piece) = self.pieces.try_recv() {
            bytes.extend_from_slice(&piece);
        }
        if let Some(leftover) = self.leftover.take() {
            // The connection may have ended.
            let _ = leftover.send(Leftover { bytes, state: self.state });
        }
    }
}
