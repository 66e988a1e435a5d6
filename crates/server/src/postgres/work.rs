//! What goes over the socket while the engine works: answers to the client, and a look whether it is still there.

use std::future::Future;
use std::time::Duration;

use basalt_engine::{CancelHandle, Error, Result, Session};
use tokio::sync::mpsc;

use super::client::{Client, WAITING_BYTES};
use crate::connections::broken_off;

/// Pieces of answers that may wait for the client.
const PIECES_WAITING: usize = 2;

/// Smaller pieces wait this long for others.
const GATHERING: Duration = Duration::from_millis(1);

/// Messages that a client sends ahead are read up to this size.
const AHEAD_BYTES_MAX: usize = 256 << 10;

/// Cancels what runs for a client that has gone.
pub(super) struct CancelOnDrop(Option<CancelHandle>);

impl CancelOnDrop {
    pub(super) fn new(cancel: CancelHandle) -> CancelOnDrop {
        CancelOnDrop(Some(cancel))
    }

    /// The work has ended.
    pub(super) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(cancel) = &self.0 {
            cancel.cancel();
        }
    }
}

/// Runs `work` with the session, on the threads of queries, and sends the pieces that it makes. `cancel` ends the work
/// early. Fails if the client has gone.
pub(super) async fn run<T, W>(
    client: &mut Client,
    cancel: CancelHandle,
    work: impl FnOnce(Session, mpsc::Sender<Vec<u8>>) -> W,
) -> Result<T>
where
    T: Send + 'static,
    W: Future<Output = (Session, T)> + Send + 'static,
{
    let Some(session) = client.session.take() else { return Err(Error::logical("no session")) };
    let (sender, pieces) = mpsc::channel(PIECES_WAITING);
    let running = client.shared.queries.spawn(work(session, sender));
    client.key.set(Some(cancel.clone()));
    let going = CancelOnDrop::new(cancel);
    send_pieces(client, pieces).await?;
    let ended = running.await.map_err(|panic| Error::logical(format!("the query ended early: {panic}")));
    going.disarm();
    client.key.set(None);
    let (session, value) = ended?;
    client.session = Some(session);
    Ok(value)
}

async fn send_pieces(client: &mut Client, mut pieces: mpsc::Receiver<Vec<u8>>) -> Result<()> {
    loop {
        let watches = client.channel.arrived().len() < AHEAD_BYTES_MAX;
        let has_answers = !client.answers.bytes.is_empty();
        tokio::select! {
            piece = pieces.recv() => match piece {
                Some(bytes) if bytes.len() < WAITING_BYTES => {
                    client.answers.bytes.extend_from_slice(&bytes);
                    client.flush_many().await?;
                }
                Some(bytes) => {
                    client.flush().await?;
                    client.channel.send(&bytes).await?;
                }
                None => return Ok(()),
            },
            () = tokio::time::sleep(GATHERING), if has_answers => client.flush().await?,
            received = client.channel.receive(), if watches => if received? == 0 {
                return Err(broken_off());
            },
        }
    }
}
