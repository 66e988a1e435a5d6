//! INSERTs that receive data while they run. Their number is bounded, and waiting ones can be replaced.
//!
//! An INSERT reads its data on a thread that blocks while there are none. It starts only when a sizeable piece of its
//! data has arrived ([`super::statement`]), so a client that is slow from the start costs no thread. A client that
//! becomes slow later loses its place to an upload that waits for one.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use axum::body::BodyDataStream;
use basalt_engine::{Error, ErrorCode};
use bytes::Bytes;
use futures::StreamExt;
use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};

/// The maximum number of INSERTs that read a body at once. Each has a thread out of some hundred for all statements.
const UPLOADS_MAX: usize = 128;

/// An upload whose client sends nothing for this long can be replaced.
const IDLE: Duration = Duration::from_secs(1);

/// Pieces of a body that may wait for the engine.
const PIPE_PIECES: usize = 8;

/// How much of an unneeded body is read, so that its sender gets to read the answer.
const DRAIN_BYTES_MAX: usize = 64 << 20;

/// The uploads of a server.
pub(crate) struct Uploads {
    places: Arc<Semaphore>,
    running: Mutex<Vec<Weak<Upload>>>,
}

impl Default for Uploads {
    fn default() -> Uploads {
        Uploads { places: Arc::new(Semaphore::new(UPLOADS_MAX)), running: Mutex::default() }
    }
}

/// A single upload.
struct Upload {
    started: Instant,
    /// Milliseconds from `started` to the start of the reader's wait, plus 1; 0 while there is no wait.
    waits_from: AtomicU64,
    end: Notify,
}

impl Uploads {
    /// A blocking reader of the rest of a body, as soon as there is a place for it.
    pub(super) async fn open(&self, pieces: BodyDataStream) -> PipeReader {
        let place = self.place().await;
        let upload =
            Arc::new(Upload { started: Instant::now(), waits_from: AtomicU64::new(0), end: Notify::new() });
        self.running.lock().push(Arc::downgrade(&upload));
        let (sender, receiver) = mpsc::channel(PIPE_PIECES);
        tokio::spawn(pump(pieces, sender, Arc::clone(&upload)));
        PipeReader { receiver, piece: Bytes::new(), upload, _place: place }
    }

    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        loop {
            let place = Arc::clone(&self.places).acquire_owned();
            match tokio::time::timeout(IDLE, place).await {
                Ok(place) => return place.ok(),
                Err(_) => self.end_slowest(),
            }
        }
    }

    /// Ends the upload that has waited longest, if it has waited for [`IDLE`].
    fn end_slowest(&self) {
        let mut running = self.running.lock();
        running.retain(|upload| upload.strong_count() > 0);
        let waiting = running.iter().filter_map(Weak::upgrade);
        let waiting = waiting.filter_map(|upload| Some((upload.waits_since()?, upload)));
        let slowest = waiting.min_by_key(|(since, _)| *since);
        if let Some((_, upload)) = slowest.filter(|(since, _)| since.elapsed() >= IDLE) {
            upload.end.notify_one();
        }
    }
}

impl Upload {
    fn waits_since(&self) -> Option<Instant> {
        match self.waits_from.load(Ordering::Relaxed) {
            0 => None,
            from => Some(self.started + Duration::from_millis(from - 1)),
        }
    }
}

/// Sends the pieces of a body to its reader.
async fn pump(mut pieces: BodyDataStream, sender: mpsc::Sender<io::Result<Bytes>>, upload: Arc<Upload>) {
    let mut unwanted = 0;
    loop {
        let piece = tokio::select! {
            piece = pieces.next() => piece.map(|piece| piece.map_err(broken_body)),
            () = upload.end.notified() => Some(Err(displaced())),
        };
        let Some(piece) = piece else { return };
        let (bytes, failed) = piece.as_ref().map_or((0, true), |piece| (piece.len(), false));
        if sender.send(piece.map_err(io::Error::other)).await.is_err() {
            unwanted += bytes;
        }
        if failed || unwanted > DRAIN_BYTES_MAX {
            return;
        }
    }
}

/// The error that ended a body: our own, or the client's disconnection.
pub(super) fn broken_body(source: axum::Error) -> Error {
    let mut source = source.into_inner();
    // A body that was made of a stream has its errors wrapped twice.
    while source.is::<axum::Error>() {
        source = match source.downcast::<axum::Error>() {
            Ok(inner) => inner.into_inner(),
            Err(other) => other,
        };
    }
    match source.downcast::<Error>() {
        Ok(error) => *error,
        Err(other) => {
            Error::new(ErrorCode::CannotReadAllData, format!("the request's body broke off: {other}"))
        }
    }
}

/// A body of compressed frames that ends too early.
pub(super) fn broken_frame() -> Error {
    Error::new(ErrorCode::CannotReadAllData, "the request's body ends inside of a compressed frame")
}

fn displaced() -> Error {
    Error::new(
        ErrorCode::SocketTimeout,
        format!(
            "the request's body came too slowly: nothing for {} s, while other INSERTs waited for one of the {UPLOADS_MAX} \
             places; send it faster, or in several INSERTs",
            IDLE.as_secs()
        ),
    )
}

/// The rest of a body; reading blocks until the client sends more.
pub(super) struct PipeReader {
    receiver: mpsc::Receiver<io::Result<Bytes>>,
    piece: Bytes,
    upload: Arc<Upload>,
    _place: Option<OwnedSemaphorePermit>,
}

impl PipeReader {
    fn next_piece(&mut self) -> Option<io::Result<Bytes>> {
        if let Ok(piece) = self.receiver.try_recv() {
            return Some(piece);
        }
        let now = self.upload.started.elapsed().as_millis() as u64 + 1;
        self.upload.waits_from.store(now, Ordering::Relaxed);
        let piece = self.receiver.blocking_recv();
        self.upload.waits_from.store(0, Ordering::Relaxed);
        piece
    }
}

impl Read for PipeReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.next_piece() {
                Some(piece) => self.piece = piece?,
                None => return Ok(0),
            }
        }
        let count = out.len().min(self.piece.len());
        out[..count].copy_from_slice(&self.piece.split_to(count));
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use futures::stream;

    use super::*;

    fn endless() -> BodyDataStream {
        Body::from_stream(stream::pending::<io::Result<Bytes>>()).into_data_stream()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn slow_uploads_give_their_places_to_others() {
        let uploads = Uploads::default();
        let mut slow = Vec::new();
        for _ in 0..UPLOADS_MAX {
            slow.push(uploads.open(endless()).await);
        }
        let readers: Vec<_> = slow
            .into_iter()
            .map(|mut reader| std::thread::spawn(move || reader.read(&mut [0; 10])))
            .collect();
        let mut quick = uploads.open(Body::from("data").into_data_stream()).await;
        let read = tokio::task::spawn_blocking(move || {
            let mut text = String::new();
            quick.read_to_string(&mut text).map(|_| text)
        });
        assert_eq!(read.await.expect("no panic").expect("whole"), "data");
        while !readers.iter().any(|reader| reader.is_finished()) {
            tokio::task::yield_now().await;
        }
    }
}
