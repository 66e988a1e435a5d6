//! What goes over the socket while a statement runs: its packets and its progress, the client's blocks, and the
//! client's packet Cancel.

use std::time::Duration;

use basalt_engine::{CancelHandle, Error, ErrorCode, Progress, ProgressSnapshot, Result};
use basalt_wire::native::{ClientPacket, DataState, PacketWriter, ProgressIncrement};
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::answer::Event;
use super::pipe::PipeWriter;
use crate::connections::{Channel, broken_off};

/// The pause between two progress packets.
const PROGRESS_PERIOD: Duration = Duration::from_millis(100);

/// The conversation of one statement. Dropping it before the end cancels the statement.
pub(super) struct Conversation<'a> {
    channel: &'a mut Channel,
    events: mpsc::Receiver<Event>,
    writer: PacketWriter,
    cancel: CancelHandle,
    was_cancelled: bool,
    has_ended: bool,
    progress: Option<Progress>,
    shown: ProgressSnapshot,
    upload: Option<PipeWriter>,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(
        channel: &'a mut Channel,
        events: mpsc::Receiver<Event>,
        writer: PacketWriter,
        cancel: CancelHandle,
    ) -> Conversation<'a> {
        Conversation {
            channel,
            events,
            writer,
            cancel,
            was_cancelled: false,
            has_ended: false,
            progress: None,
            shown: ProgressSnapshot::default(),
            upload: None,
        }
    }

    /// Converses until the statement has ended. Fails if the client has gone.
    pub(super) async fn until_end(&mut self) -> Result<()> {
        let mut ticks = progress_ticks();
        let mut is_fed = false;
        loop {
            let watches = self.upload.is_none() && self.channel.arrived().is_empty();
            let pieces = self.upload.as_ref().filter(|_| !is_fed).map(|upload| upload.pieces.clone());
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(event) => self.handle(event).await?,
                    None => break,
                },
                received = receive(self.channel, pieces, watches) => match received? {
                    Received::AllData => is_fed = true,
                    Received::Packet => self.look_for_cancel(),
                },
                _ = ticks.tick(), if self.progress.is_some() => self.show_progress().await?,
            }
        }
        self.has_ended = true;
        self.show_progress().await?;
        self.show_events().await
    }

    /// Sends the counters of a query with rows.
    async fn show_events(&mut self) -> Result<()> {
        let Some(progress) = &self.progress else { return Ok(()) };
        let now = progress.snapshot();
        let events = [
            ("SelectedRows", now.read_rows),
            ("SelectedBytes", now.read_bytes),
            ("RealTimeMicroseconds", now.elapsed_ns / 1000),
        ];
        let mut packet = Vec::new();
        self.writer.profile_events(&events, &mut packet)?;
        self.channel.send(&packet).await
    }

    async fn handle(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Bytes(bytes) => self.channel.send(&bytes).await,
            Event::Running(progress) => {
                self.progress = Some(progress);
                Ok(())
            }
            Event::Upload(pipe) => {
                self.upload = Some(pipe);
                Ok(())
            }
        }
    }

    /// Other packets wait until the statement has ended.
    fn look_for_cancel(&mut self) {
        let mut bytes = self.channel.arrived();
        if matches!(ClientPacket::read(&mut bytes, 0), Ok(ClientPacket::Cancel)) {
            let consumed = self.channel.arrived().len() - bytes.len();
            self.channel.consume(consumed);
            self.was_cancelled = true;
            self.cancel.cancel();
        }
    }

    /// Sends what was read since the last time.
    async fn show_progress(&mut self) -> Result<()> {
        let Some(progress) = &self.progress else { return Ok(()) };
        let (before, now) = (self.shown, progress.snapshot());
        let increment = ProgressIncrement {
            read_rows: now.read_rows - before.read_rows,
            read_bytes: now.read_bytes - before.read_bytes,
            total_rows_to_read: now.total_rows_to_read.saturating_sub(before.total_rows_to_read),
            written_rows: now.written_rows - before.written_rows,
            written_bytes: now.written_bytes - before.written_bytes,
            elapsed_ns: now.elapsed_ns - before.elapsed_ns,
        };
        self.shown = now;
        let mut packet = Vec::new();
        self.writer.progress(&increment, &mut packet);
        self.channel.send(&packet).await
    }

    /// Where the client's blocks ended, if it was asked for them. Bytes after them are put back.
    pub(super) async fn end_of_upload(&mut self) -> Option<DataState> {
        let upload = self.upload.take()?;
        drop(upload.pieces);
        let leftover = upload.leftover.await.ok()?;
        self.channel.put_back(&leftover.bytes);
        Some(leftover.state)
    }

    pub(super) fn was_cancelled(&self) -> bool {
        self.was_cancelled
    }
}

impl Drop for Conversation<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.cancel.cancel();
        }
    }
}

/// What the client sent.
enum Received {
    /// All data that the reader of the pipe takes.
    AllData,
    /// The beginning of another packet.
    Packet,
}

/// Moves data into `pieces`, or else waits for a packet if that is wanted. Dropping the future loses nothing.
async fn receive(
    channel: &mut Channel,
    pieces: Option<mpsc::Sender<Bytes>>,
    watches: bool,
) -> Result<Received> {
    match pieces {
        Some(pieces) => feed(channel, pieces).await.map(|()| Received::AllData),
        None if watches => match channel.receive().await? {
            0 => Err(broken_off()),
            _ => Ok(Received::Packet),
        },
        None => std::future::pending().await,
    }
}

fn progress_ticks() -> Interval {
    let mut ticks = interval(PROGRESS_PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Moves bytes of the client into a pipe, until the reader of the pipe is dropped. Dropping the future loses nothing.
pub(super) async fn feed(channel: &mut Channel, pieces: mpsc::Sender<Bytes>) -> Result<()> {
    let patience = channel.patience();
    loop {
        if channel.arrived().is_empty() {
            channel.activity().wait();
            let received = tokio::select! {
                received = tokio::time::timeout(patience, channel.receive()) => received,
                () = pieces.closed() => return Ok(()),
            };
            match received {
                Ok(Ok(0)) => return Err(broken_off()),
                Ok(received) => drop(received?),
                Err(_) => return Err(too_slow(patience)),
            }
            channel.activity().work();
        }
        let Ok(permit) = pieces.reserve().await else { return Ok(()) };
        permit.send(channel.take_arrived());
    }
}

fn too_slow(patience: Duration) -> Error {
    let seconds = patience.as_secs_f64();
    let what = format!(
        "the client sent nothing of its data for {seconds} s, which is the server's http_receive_timeout"
    );
    Error::new(ErrorCode::SocketTimeout, what)
}
