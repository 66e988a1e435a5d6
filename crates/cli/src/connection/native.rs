//! A connection to a server over ClickHouse's native protocol.
//!
//! The server sends blocks and takes blocks: this side writes them in the format of the statement, and reads the data
//! of an INSERT. Each statement runs on a thread of its own, because the client blocks. After Ctrl-C the rest of the
//! answer is read and dropped, so that the session goes on.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use basalt_engine::{
    BlockSource, BlockWriter, ClientSettings, ClientStatement, Columns, Error, ErrorCode, Input,
    ProgressSnapshot,
};
use basalt_sources::clickhouse::{Client, Statement as Asked};
use basalt_sources::{Address, Limits, TlsOptions};
use basalt_wire::native::{DataBlock, ProgressIncrement, ServerPacket};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use super::interrupt::Interrupt;
use super::{COMPLETION_QUERIES, Connection, Finished, Statement, cancelled_by_user};
use crate::arguments::Settings;
use crate::failure::Failure;
use crate::output::{Output, Sink};
use crate::progress::ProgressLine;

/// Pieces of an answer that may wait to be printed.
const PIPE_PIECES: usize = 16;

const USER: &str = "default";

/// The server's address, the user, and the TLS.
pub(crate) struct NativeOptions {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) database: Option<String>,
    pub(crate) tls: TlsOptions,
}

pub(crate) struct NativeConnection {
    address: Address,
    settings: Vec<(String, String)>,
    parameters: Vec<(String, String)>,
    /// `None` after an error of the connection: the next statement connects again.
    open: Option<Open>,
    interrupt: Interrupt,
    runtime: Runtime,
}

/// A session on the server.
struct Open {
    client: Client,
    settings: ClientSettings,
}

impl NativeConnection {
    /// Connects and logs in.
    pub(crate) fn open(options: NativeOptions, settings: Settings) -> Result<NativeConnection, Failure> {
        let NativeOptions { host, port, user, password, database, tls } = options;
        let address = Address {
            host,
            port,
            user: user.unwrap_or_else(|| USER.to_owned()),
            password: password.unwrap_or_default(),
            database: database.unwrap_or_default(),
            tls,
            ..Address::default()
        };
        let mut connection = NativeConnection {
            address,
            settings: settings.settings,
            parameters: settings.parameters.into_iter().collect(),
            open: None,
            interrupt: Interrupt::default(),
            runtime: crate::commands::runtime()?,
        };
        connection.open = Some(connection.connect()?);
        Ok(connection)
    }

    pub(crate) fn close(self) {
        self.runtime.shutdown_background();
    }

    fn connect(&self) -> Result<Open, Failure> {
        // Statements may take as long as they like: Ctrl-C ends them.
        let limits = Limits::default();
        let (connect, none) = (limits.connect.as_secs_f64(), 0.0);
        let client = Client::connect(&self.address, limits.of_seconds(connect, none, none))?;
        let mut settings = ClientSettings::new(client.timezone());
        settings.accept(&self.settings);
        Ok(Open { client, settings })
    }

    /// The session; a new one if the server has ended the last.
    fn session(&mut self) -> Result<Open, Failure> {
        if let Some(mut open) = self.open.take()
            && open.client.is_ready()
        {
            return Ok(open);
        }
        self.connect()
    }

    /// The answer to an internal statement.
    fn ask(&mut self, text: &str) -> Result<String, Failure> {
        let mut answer = Vec::new();
        let statement = Statement {
            text: text.as_bytes().to_vec(),
            input: Input::None,
            default_format: "TabSeparatedRaw".to_owned(),
        };
        let parsed = ClientStatement::parse(statement.text.clone())?;
        self.exchange(parsed, statement, || Ok(Sink::memory(&mut answer)), &mut ProgressLine::hidden())?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Sends the statement and writes its answer. `begin` is called when the server has accepted the statement, so that
    /// a refused statement leaves no file.
    fn exchange<'o>(
        &mut self,
        parsed: ClientStatement,
        statement: Statement,
        begin: impl FnOnce() -> Result<Sink<'o>, Failure>,
        progress: &mut ProgressLine,
    ) -> Result<Finished, Failure> {
        let started = Instant::now();
        let open = self.session()?;
        let (events, mut received) = mpsc::channel(PIPE_PIECES);
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let exchange = Exchange {
            statement: parsed,
            default_format: statement.default_format,
            input: Some(statement.input),
            events,
            is_cancelled: Arc::clone(&is_cancelled),
            figures: ProgressSnapshot::default(),
            writer: None,
        };
        let (settings, parameters) = (self.settings.clone(), self.parameters.clone());
        let work = std::thread::spawn(move || exchange.run(open, &settings, &parameters));
        let NativeConnection { interrupt, runtime, .. } = self;
        progress.start();
        let mut finished =
            Finished { has_rows: false, figures: ProgressSnapshot::default(), elapsed: started.elapsed() };
        let (mut begin, mut sink) = (Some(begin), None);
        let printed: Result<(), Failure> = runtime.block_on(async {
            interrupt.arm().map_err(|e| Failure::output(&e))?;
            let mut figures = ProgressSnapshot::default();
            loop {
                let tick = || progress.show(&figures);
                let cancel = || is_cancelled.store(true, Ordering::Release);
                match interrupt.watch(received.recv(), tick, cancel).await {
                    Some(Event::Head) => {
                        finished.has_rows = true;
                        sink = begin.take().map(|begin| begin()).transpose()?;
                    }
                    Some(Event::Piece(piece)) => {
                        progress.clear();
                        sink.as_mut().map_or(Ok(()), |sink| sink.write(&piece))?;
                    }
                    Some(Event::Figures(now)) => figures = now,
                    None => return Ok(()),
                }
            }
        });
        // The thread ends at the next piece if nobody takes it.
        drop(received);
        progress.clear();
        let (open, ended) =
            work.join().map_err(|_| Error::logical("the thread of a statement has failed"))?;
        self.open = open;
        printed?;
        finished.figures = ended?;
        sink.map_or(Ok(()), Sink::finish)?;
        finished.elapsed = started.elapsed();
        Ok(finished)
    }
}

impl Connection for NativeConnection {
    fn run(
        &mut self,
        statement: Statement,
        output: &mut Output,
        progress: &mut ProgressLine,
    ) -> Result<Finished, Failure> {
        let parsed = ClientStatement::parse(statement.text.clone())?;
        let outfile = parsed.outfile.clone();
        self.exchange(parsed, statement, || output.begin(outfile.as_ref()), progress)
    }

    fn completions(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        for query in COMPLETION_QUERIES {
            if let Ok(answer) = self.ask(query) {
                names.extend(answer.lines().map(str::to_owned));
            }
        }
        names
    }
}

/// An event from a statement's thread.
enum Event {
    /// The statement has an answer, which begins.
    Head,
    Piece(Vec<u8>),
    Figures(ProgressSnapshot),
}

/// A statement on its thread.
struct Exchange {
    statement: ClientStatement,
    default_format: String,
    /// The data of an INSERT, until the server asks for them.
    input: Option<Input>,
    events: mpsc::Sender<Event>,
    is_cancelled: Arc<AtomicBool>,
    figures: ProgressSnapshot,
    /// Writes the answer once its columns are known.
    writer: Option<Box<dyn BlockWriter>>,
}

impl Exchange {
    /// Runs the statement. Returns the session if it goes on, and the figures of the statement.
    fn run(
        mut self,
        mut open: Open,
        settings: &[(String, String)],
        parameters: &[(String, String)],
    ) -> (Option<Open>, Result<ProgressSnapshot, Failure>) {
        let ended = self.answer(&mut open, settings, parameters);
        if ended.is_ok() {
            open.settings.accept(&self.statement.session_settings);
        }
        let goes_on = open.client.is_ready();
        (goes_on.then_some(open), ended.map(|()| self.figures))
    }

    fn answer(
        &mut self,
        open: &mut Open,
        settings: &[(String, String)],
        parameters: &[(String, String)],
    ) -> Result<(), Failure> {
        let started = Instant::now();
        let Open { client, settings: session } = open;
        client.ask(Asked { text: &self.statement.text, settings, parameters })?;
        let mut before_limit = None;
        let mut was_cancelled = false;
        loop {
            let packet = client.next_packet();
            if self.is_cancelled.load(Ordering::Acquire) && !was_cancelled {
                was_cancelled = true;
                client.cancel()?;
            }
            match packet? {
                ServerPacket::EndOfStream if was_cancelled => return Err(cancelled_by_user()),
                ServerPacket::EndOfStream => break,
                _ if was_cancelled => {}
                ServerPacket::Data(block) => self.take(block, client, session)?,
                ServerPacket::Totals(block) => self.write(|writer, out| writer.totals(&block.rows, out))?,
                ServerPacket::Extremes(block) => {
                    self.write(|writer, out| writer.extremes(&block.rows, out))?
                }
                ServerPacket::Progress(progress) => self.advance(progress, started),
                ServerPacket::ProfileInfo(info) => before_limit = info.rows_before_limit,
                _ => {}
            }
        }
        self.figures.elapsed_ns = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let statistics = self.figures.statistics(before_limit);
        self.write(|writer, out| writer.finish(&statistics, out))
    }

    /// Takes a block of the answer, or the columns of an INSERT that waits for its data.
    fn take(
        &mut self,
        block: DataBlock,
        client: &mut Client,
        session: &ClientSettings,
    ) -> Result<(), Failure> {
        if block.columns.is_empty() {
            return Ok(());
        }
        if self.statement.data_format.is_some() {
            return self.send_data(&block.columns, client, session);
        }
        if self.writer.is_none() {
            let mut writer = self.statement.writer(&block.columns, &self.default_format, session)?;
            let mut head = Vec::new();
            writer.start(&mut head);
            self.writer = Some(writer);
            self.tell(Event::Head)?;
            self.tell(Event::Piece(head))?;
        }
        self.figures.result_rows += block.rows.num_rows() as u64;
        match block.rows.num_rows() {
            0 => Ok(()),
            _ => self.write(|writer, out| writer.write(&block.rows, out)),
        }
    }

    fn send_data(
        &mut self,
        columns: &Columns,
        client: &mut Client,
        session: &ClientSettings,
    ) -> Result<(), Failure> {
        if let Some(Input::Reader(data)) = self.input.take() {
            let data: Box<dyn Read + Send> = data;
            let mut rows = self.statement.data(columns, session, data)?;
            while let Some((columns, rows)) = rows.next_block()? {
                client.send_rows(&columns, &rows)?;
                if self.is_cancelled.load(Ordering::Acquire) {
                    // The connection ends with the INSERT in it, and the server drops its rows.
                    return Err(cancelled_by_user());
                }
            }
        }
        Ok(client.end_rows()?)
    }

    fn write(
        &mut self,
        write: impl FnOnce(&mut dyn BlockWriter, &mut Vec<u8>) -> basalt_engine::Result<()>,
    ) -> Result<(), Failure> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let mut piece = Vec::new();
        write(writer.as_mut(), &mut piece)?;
        self.tell(Event::Piece(piece))
    }

    fn advance(&mut self, progress: ProgressIncrement, started: Instant) {
        let figures = &mut self.figures;
        figures.read_rows += progress.read_rows;
        figures.read_bytes += progress.read_bytes;
        figures.total_rows_to_read += progress.total_rows_to_read;
        figures.written_rows += progress.written_rows;
        figures.written_bytes += progress.written_bytes;
        figures.elapsed_ns = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        // Figures that are not shown in time are no loss.
        let _ = self.events.try_send(Event::Figures(*figures));
    }

    fn tell(&self, event: Event) -> Result<(), Failure> {
        let gone = |_| Failure::with_code(ErrorCode::QueryWasCancelled, "nobody takes the answer");
        self.events.blocking_send(event).map_err(gone)
    }
}
