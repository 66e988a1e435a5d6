//! A connection to a server: its greeting, and the packets of one statement after the other.

use std::time::Duration;

use arrow::array::RecordBatch;
use basalt_base::{Columns, Error, ErrorCode, Result, bail};
use basalt_formats::native::BlockLimits;
use basalt_wire::frame::Method;
use basalt_wire::native::{
    ClientHello, ClientInfo, ClientWriter, OLDEST_REVISION, Query, REVISION, ServerHello, ServerPacket,
    ServerReader, Setting, Stage, negotiated, write_addendum,
};

use super::insert::Insert;
use super::rows::Rows;
use crate::socket::Socket;
use crate::{Address, Limits, TlsMode};

/// The name in the server's list of queries.
const CLIENT_NAME: &str = "Basalt";
/// The version of ClickHouse whose client this is, as far as a server can tell.
const CLIENT_VERSION: (u64, u64) = (26, 9);

/// The limits of a server's block.
const BLOCK_LIMITS: BlockLimits = BlockLimits { bytes_max: 1 << 30 };

/// How long a client that leaves waits until the server has the packet that says so.
const FAREWELL: Duration = Duration::from_secs(1);

/// A connection.
pub struct Client {
    reader: ServerReader<Socket>,
    writer: ClientWriter,
    revision: u64,
    quota_key: String,
    /// The time zone of the server.
    timezone: String,
    /// Whether the server has not yet ended its answer.
    is_busy: bool,
    /// The name of the server, for errors.
    peer: String,
}

/// A statement, its settings and the values of its parameters, as texts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statement<'a> {
    pub text: &'a [u8],
    /// Settings that the server must know.
    pub settings: &'a [(String, String)],
    pub parameters: &'a [(String, String)],
}

impl Client {
    /// Connects and logs in, within the connect timeout each.
    pub fn connect(address: &Address, limits: Limits) -> Result<Client> {
        let mut socket = Socket::connect("ClickHouse", address, limits)?;
        if address.tls.mode >= TlsMode::Require {
            socket = socket.protected(&address.host, &address.tls)?;
        }
        let peer = socket.peer().to_owned();
        socket.renew(limits.within(limits.connect));
        let (revision, timezone) = greet(&mut socket, address, &peer)?;
        socket.renew(limits);
        let compression = Some(Method::default());
        Ok(Client {
            reader: ServerReader::new(socket, revision, compression.is_some(), BLOCK_LIMITS)?,
            writer: ClientWriter::new(revision, compression),
            revision,
            quota_key: address.quota_key.clone(),
            timezone,
            is_busy: false,
            peer,
        })
    }

    /// The name of the server's time zone.
    pub fn timezone(&self) -> &str {
        &self.timezone
    }

    /// The rows of a query. The connection is closed with them.
    pub fn into_rows(self, query: &[u8]) -> Result<Rows<Client>> {
        Rows::begin(self, query)
    }

    /// The rows of a query. The connection can be used again only after all rows were read without an error.
    pub fn rows(&mut self, query: &[u8], limits: Limits) -> Result<Rows<&mut Client>> {
        self.socket().renew(limits);
        Rows::begin(self, query)
    }

    /// Begins `INSERT INTO .. VALUES`, without the values.
    pub fn into_insert(self, statement: &[u8]) -> Result<Insert> {
        Insert::begin(self, statement)
    }

    /// Whether the connection can be used again; if not, it must be closed.
    pub fn is_ready(&mut self) -> bool {
        !self.is_busy && self.socket().is_idle()
    }

    /// Sends a statement without external tables: an empty block ends their list. The caller reads the answer, packet by
    /// packet, up to the end of the stream or an error.
    pub fn ask(&mut self, statement: Statement<'_>) -> Result<()> {
        let settings = statement.settings.iter().map(|(name, value)| Setting {
            name: name.clone(),
            is_important: true,
            value: value.clone(),
        });
        let query = Query {
            id: String::new(),
            client: ClientInfo {
                quota_key: self.quota_key.clone(),
                client_name: CLIENT_NAME.to_owned(),
                version: (CLIENT_VERSION.0, CLIENT_VERSION.1, 0),
                ..ClientInfo::default()
            },
            settings: settings.collect(),
            stage: Stage::Complete,
            is_compressed: true,
            text: statement.text.to_vec(),
            parameters: statement.parameters.to_vec(),
        };
        let mut packets = Vec::new();
        query.write(self.revision, &mut packets);
        self.writer.end_of_data(&mut packets)?;
        self.is_busy = true;
        self.send(&packets)
    }

    /// Sends packets. If the server does not take them, its exception is the error, if there is one.
    fn send(&mut self, packets: &[u8]) -> Result<()> {
        let Err(error) = self.socket().send(packets) else { return Ok(()) };
        self.take_arrived().and(Err(error))
    }

    /// Sends rows of an INSERT. An error that the server has found in earlier rows is returned here.
    pub fn send_rows(&mut self, columns: &Columns, rows: &RecordBatch) -> Result<()> {
        self.take_arrived()?;
        let mut packet = Vec::new();
        self.writer.data(columns, rows, &mut packet)?;
        self.send(&packet)
    }

    /// Ends the rows of an INSERT.
    pub fn end_rows(&mut self) -> Result<()> {
        let mut packet = Vec::new();
        self.writer.end_of_data(&mut packet)?;
        self.send(&packet)
    }

    /// Asks the server to end the statement. Its answer goes on, up to its end, and must be read.
    pub fn cancel(&mut self) -> Result<()> {
        let mut packet = Vec::new();
        self.writer.cancel(&mut packet);
        self.send(&packet)
    }

    /// The next packet; an exception of the server is the error.
    pub fn next_packet(&mut self) -> Result<ServerPacket> {
        match self.reader.next_packet() {
            Ok(ServerPacket::Exception(error)) => {
                self.is_busy = false;
                Err(error.within(&self.peer))
            }
            Ok(ServerPacket::EndOfStream) => {
                self.is_busy = false;
                Ok(ServerPacket::EndOfStream)
            }
            // Errors of the connection name the server already.
            Err(error) if is_of_connection(&error) => Err(error),
            other => other.map_err(|error| error.within(&self.peer)),
        }
    }

    /// Reads the packets that have arrived: counters, or an exception.
    fn take_arrived(&mut self) -> Result<()> {
        while self.socket().has_arrived()? {
            self.next_packet()?;
        }
        Ok(())
    }

    /// Tells the server that nobody reads the rest of its answer. The connection is of no use afterwards.
    pub(super) fn leave(&mut self) {
        let limits = self.socket().limits().within(FAREWELL);
        self.socket().renew(limits);
        // A server that has gone needs no farewell.
        let _ = self.cancel();
    }

    /// An error about a packet that does not belong here.
    pub(super) fn unexpected(&self, what: &str) -> Error {
        let message = format!("{} sends {what}", self.peer);
        Error::new(ErrorCode::UnexpectedPacketFromServer, message)
    }

    fn socket(&mut self) -> &mut Socket {
        self.reader.input_mut()
    }
}

/// Logs in. Returns the revision of the connection, and the server's time zone.
fn greet(socket: &mut Socket, address: &Address, peer: &str) -> Result<(u64, String)> {
    let hello = ClientHello {
        client_name: CLIENT_NAME.to_owned(),
        version: CLIENT_VERSION,
        revision: REVISION,
        database: address.database.clone(),
        user: address.user.clone(),
        password: address.password.clone(),
    };
    let mut packet = Vec::new();
    hello.write(&mut packet);
    socket.send(&packet)?;
    let server = ServerHello::read(&mut *socket).map_err(|error| {
        let error = error.into_error("the greeting of a server");
        match error.code() {
            _ if is_of_connection(&error) => error,
            // The primitives of packets cannot tell who sent them.
            ErrorCode::UnexpectedPacketFromClient => {
                Error::new(ErrorCode::UnexpectedPacketFromServer, error.message()).within(peer)
            }
            _ => error.within(peer),
        }
    })?;
    let revision = negotiated(server.revision);
    if revision < OLDEST_REVISION {
        bail!(
            NotImplemented,
            "{peer} speaks revision {revision} of the protocol, the oldest that is known is {OLDEST_REVISION}"
        );
    }
    packet.clear();
    write_addendum(&address.quota_key, revision, &mut packet);
    socket.send(&packet)?;
    Ok((revision, server.timezone))
}

/// Whether the error is one of the socket, or the end of the query that waits.
fn is_of_connection(error: &Error) -> bool {
    matches!(
        error.code(),
        ErrorCode::NetworkError | ErrorCode::TimeoutExceeded | ErrorCode::QueryWasCancelled
    )
}
