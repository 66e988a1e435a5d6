//! Redis: the keys of a database and their values, over its protocol RESP.
//!
//! Layout: a request is an array of strings; a reply is `+text`, `-error`, `:number`, `$length` and that many
//! bytes, or `*count` and that many replies.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use basalt_base::{Error, ErrorCode, Result, bail};

use crate::socket::Socket;
use crate::{Address, Limits, Row, RowStream, TlsMode};

/// Keys that one SCAN requests, and values that one request gets.
const KEYS_A_ROUND: usize = 1000;

/// Most nesting of replies: no reply to these requests has more.
const DEPTH_MAX: usize = 4;

/// How values are stored in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// A string a key: rows of key and value.
    Simple,
    /// A hash a key: rows of key, field and value.
    HashMap,
}

/// A connection.
pub struct Client {
    socket: Socket,
}

#[derive(Debug)]
enum Reply {
    Nothing,
    Text(Vec<u8>),
    List(Vec<Reply>),
}

impl Client {
    /// Connects, authenticates if there is a password, and selects the database.
    pub fn connect(address: &Address, db_index: u64, limits: Limits) -> Result<Client> {
        let mut socket = Socket::connect("Redis", address, limits)?;
        if address.tls.mode > TlsMode::Disable {
            socket = socket.protected(&address.host, &address.tls)?;
        }
        let mut client = Client { socket };
        match (address.user.as_str(), address.password.as_str()) {
            (_, "") => {}
            ("", password) => drop(client.ask(&[b"AUTH", password.as_bytes()])?),
            (user, password) => drop(client.ask(&[b"AUTH", user.as_bytes(), password.as_bytes()])?),
        }
        if db_index > 0 {
            client.ask(&[b"SELECT", db_index.to_string().as_bytes()])?;
        }
        Ok(client)
    }

    /// Sets the limits of the next request on the connection.
    pub fn renew(&mut self, limits: Limits) {
        self.socket.renew(limits);
    }

    /// Whether the connection can be used again; if not, it must be closed.
    pub fn is_ready(&mut self) -> bool {
        self.socket.is_idle()
    }

    /// Every key of the storage kind, with its value or with its fields and their values. A key that changes during
    /// the scan may occur twice.
    pub fn all(self, storage: Storage) -> impl RowStream {
        AllRows { client: self, storage, cursor: Some(b"0".to_vec()), ready: Vec::new() }
    }

    /// The values of `keys`: each is a key, or for hashes a key and a field. A missing value is `None`.
    pub fn values(&mut self, storage: Storage, keys: &[Row]) -> Result<Vec<Option<Vec<u8>>>> {
        let mut values = Vec::with_capacity(keys.len());
        for round in keys.chunks(KEYS_A_ROUND) {
            match storage {
                Storage::Simple => {
                    let mut request: Vec<&[u8]> = vec![b"MGET"];
                    request.extend(round.iter().map(|key| key.fields().next().flatten().unwrap_or_default()));
                    values.extend(self.ask(&request)?.list()?.into_iter().map(Reply::text));
                }
                Storage::HashMap => {
                    // Pipelined: all requests are sent before the first reply is read.
                    let mut requests = Vec::new();
                    for key in round {
                        let parts: Vec<&[u8]> = key.fields().map(Option::unwrap_or_default).collect();
                        encode(&[&[&b"HGET"[..]], &parts[..]].concat(), &mut requests);
                    }
                    self.socket.send(&requests)?;
                    for _ in round {
                        values.push(self.receive(0)?.text());
                    }
                }
            }
        }
        Ok(values)
    }

    fn ask(&mut self, words: &[&[u8]]) -> Result<Reply> {
        let mut request = Vec::new();
        encode(words, &mut request);
        self.socket.send(&request)?;
        self.receive(0)
    }

    fn receive(&mut self, depth: usize) -> Result<Reply> {
        let peer = self.socket.peer().to_owned();
        let line = self.socket.take_line()?.to_vec();
        let (kind, rest) = line.split_first().ok_or_else(|| unexpected(&peer, &line))?;
        let count = || std::str::from_utf8(rest).ok().and_then(|text| text.parse::<i64>().ok());
        match kind {
            b'+' | b':' => Ok(Reply::Text(rest.to_vec())),
            b'-' => bail!(NetworkError, "{peer} answers: {}", String::from_utf8_lossy(rest)),
            b'$' | b'*' => {
                let count = count().ok_or_else(|| unexpected(&peer, &line))?;
                let Ok(count) = usize::try_from(count) else { return Ok(Reply::Nothing) };
                if *kind == b'$' {
                    let text = self.socket.take(count)?.to_vec();
                    self.socket.take(2)?;
                    return Ok(Reply::Text(text));
                }
                if depth == DEPTH_MAX {
                    return Err(unexpected(&peer, &line));
                }
                let mut list = Vec::new();
                for _ in 0..count {
                    list.push(self.receive(depth + 1)?);
                }
                Ok(Reply::List(list))
            }
            _ => Err(unexpected(&peer, &line)),
        }
    }
}

impl Reply {
    fn text(self) -> Option<Vec<u8>> {
        match self {
            Reply::Text(text) => Some(text),
            Reply::Nothing | Reply::List(_) => None,
        }
    }

    fn list(self) -> Result<Vec<Reply>> {
        match self {
            Reply::List(list) => Ok(list),
            other => bail!(IncorrectData, "Redis answers {other:?} instead of a list"),
        }
    }
}

struct AllRows {
    client: Client,
    storage: Storage,
    /// The cursor of SCAN; `None` at the end.
    cursor: Option<Vec<u8>>,
    /// Rows not yet returned, in reverse order.
    ready: Vec<Row>,
}

impl AllRows {
    fn round(&mut self, cursor: &[u8]) -> Result<()> {
        let kind: &[u8] = match self.storage {
            Storage::Simple => b"string",
            Storage::HashMap => b"hash",
        };
        let count = KEYS_A_ROUND.to_string();
        let scan = self.client.ask(&[b"SCAN", cursor, b"COUNT", count.as_bytes(), b"TYPE", kind])?.list()?;
        let [cursor, keys] = <[Reply; 2]>::try_from(scan)
            .map_err(|_| Error::new(ErrorCode::IncorrectData, "Redis answers SCAN without a cursor"))?;
        self.cursor = cursor.text().filter(|cursor| cursor != b"0");
        let keys: Vec<Vec<u8>> = keys.list()?.into_iter().filter_map(Reply::text).collect();
        match self.storage {
            Storage::Simple => self.take_values(&keys)?,
            Storage::HashMap => self.take_hashes(&keys)?,
        }
        self.ready.reverse();
        Ok(())
    }

    fn take_values(&mut self, keys: &[Vec<u8>]) -> Result<()> {
        for round in keys.chunks(KEYS_A_ROUND) {
            let mut request: Vec<&[u8]> = vec![b"MGET"];
            request.extend(round.iter().map(Vec::as_slice));
            for (key, value) in round.iter().zip(self.client.ask(&request)?.list()?) {
                if let Some(value) = value.text() {
                    self.ready.push(row(&[key, &value]));
                }
            }
        }
        Ok(())
    }

    fn take_hashes(&mut self, keys: &[Vec<u8>]) -> Result<()> {
        for key in keys {
            let mut fields = self.client.ask(&[b"HGETALL", key])?.list()?.into_iter();
            while let (Some(field), Some(value)) = (fields.next(), fields.next()) {
                if let (Some(field), Some(value)) = (field.text(), value.text()) {
                    self.ready.push(row(&[key, &field, &value]));
                }
            }
        }
        Ok(())
    }
}

impl RowStream for AllRows {
    fn next_row(&mut self, row: &mut Row) -> Result<bool> {
        loop {
            if let Some(next) = self.ready.pop() {
                *row = next;
                return Ok(true);
            }
            let Some(cursor) = self.cursor.take() else { return Ok(false) };
            self.round(&cursor)?;
        }
    }
}

fn row(fields: &[&[u8]]) -> Row {
    let mut row = Row::default();
    fields.iter().for_each(|field| row.push(Some(field)));
    row
}

fn encode(words: &[&[u8]], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        out.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
}

fn unexpected(peer: &str, line: &[u8]) -> Error {
    let line = String::from_utf8_lossy(&line[..line.len().min(100)]).into_owned();
    Error::new(ErrorCode::IncorrectData, format!("{peer} answers `{line}`, which Redis does not"))
}
