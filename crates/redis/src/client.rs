//! A connection: how it reads commands and runs them.

use basalt_base::Result;
use basalt_wire::resp::{Decoded, Limits};

use crate::command::{Command, Effect, Run};
use crate::commands::table::find;
use crate::failure::{Failure, Outcome, printed};
use crate::host::Host;
use crate::locks::Access;
use crate::rows_by_name::run_data;
use crate::state::{Client, Next};

/// Output at which [`Client::serve`] returns, so that the server can send it.
const OUTPUT_BYTES: usize = 1 << 20;
/// Bytes of an unknown command that its error shows.
const SHOWN_BYTES: usize = 128;

const NOT_AUTHENTICATED: Failure = Failure::text("NOAUTH Authentication required.");

/// What [`Client::serve`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Bytes of the input that it has used. The next call has the rest.
    pub consumed: usize,
    pub next: Next,
    /// Whether the rest of the input is no whole command.
    pub needs_input: bool,
}

impl Client {
    /// Runs the commands at the front of `input`, and appends their replies to `out`. All changes are durable on return,
    /// as the policies of their databases say. If that fails, the replies are replaced by an error and the connection is
    /// to be closed.
    pub fn serve(&mut self, host: &dyn Host, input: &[u8], out: &mut Vec<u8>) -> Served {
        let start = out.len();
        let mut served = self.serve_unsynced(host, input, out);
        if let Err(error) = self.sync() {
            out.truncate(start);
            self.failed(&Failure::from(error), out);
            served.next = Next::Close;
        }
        served
    }

    fn serve_unsynced(&mut self, host: &dyn Host, input: &[u8], out: &mut Vec<u8>) -> Served {
        let mut consumed = 0;
        let (start, mut reader) = (out.len(), std::mem::take(&mut self.reader));
        let mut served = Served { consumed, next: Next::Continue, needs_input: false };
        while served.next == Next::Continue && out.len() - start < OUTPUT_BYTES {
            let rest = &input[consumed..];
            match reader.read(rest) {
                Ok(Decoded::Command { end }) => {
                    served.next = self.run_words(host, reader.arguments(rest), out);
                    consumed += end;
                }
                Ok(Decoded::Incomplete) => {
                    served.needs_input = true;
                    break;
                }
                Err(error) => {
                    self.failed(&Failure::new(error.0), out);
                    served.next = Next::Close;
                }
            }
        }
        reader.set_limits(if self.is_authenticated() {
            Limits::default()
        } else {
            Limits::before_authentication()
        });
        self.reader = reader;
        served.consumed = consumed;
        served
    }

    /// Bytes that the command at the end of the input lacks at least, if that is known.
    pub fn expected_bytes(&self, arrived: usize) -> usize {
        self.reader.expected_bytes(arrived)
    }

    fn run_words<'w>(
        &mut self,
        host: &dyn Host,
        mut words: impl ExactSizeIterator<Item = &'w [u8]>,
        out: &mut Vec<u8>,
    ) -> Next {
        // Most commands have few words.
        let mut few: [&[u8]; 8] = [b""; 8];
        match words.len() {
            count @ 0..=8 => {
                few.iter_mut().zip(&mut words).for_each(|(place, word)| *place = word);
                self.run(host, &few[..count], out)
            }
            _ => self.run(host, &words.collect::<Vec<_>>(), out),
        }
    }

    /// Runs one command, whose changes are durable after [`Client::sync`] only.
    pub fn run(&mut self, host: &dyn Host, words: &[&[u8]], out: &mut Vec<u8>) -> Next {
        let Some(name) = words.first() else { return Next::Continue };
        // The head of a request of HTTP: a page in a browser may have sent it, and its body next.
        if [&b"post"[..], b"host:"].iter().any(|word| name.eq_ignore_ascii_case(word)) {
            return Next::Close;
        }
        let start = out.len();
        let ran = self.find(name, words).and_then(|command| self.dispatch(host, command, words, out));
        ran.unwrap_or_else(|failure| {
            out.truncate(start);
            self.failed(&failure, out);
            Next::Continue
        })
    }

    fn find(&mut self, name: &[u8], words: &[&[u8]]) -> Outcome<&'static Command> {
        let found = match find(name) {
            None => Err(unknown(name, &words[1..])),
            Some(command) if !command.takes(words.len()) => Err(Failure::arity(command.name)),
            Some(command) => Ok(command),
        };
        let found = found.and_then(|command| match command.name {
            "auth" | "hello" | "quit" | "reset" => Ok(command),
            _ if self.is_authenticated() => Ok(command),
            _ => Err(NOT_AUTHENTICATED),
        });
        if let (Err(_), Some(queue)) = (&found, &mut self.queue) {
            queue.is_broken = true;
        }
        found
    }

    fn dispatch(
        &mut self,
        host: &dyn Host,
        command: &'static Command,
        words: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Outcome<Next> {
        if let Some(queue) = &mut self.queue
            && !matches!(command.name, "exec" | "discard" | "multi" | "watch" | "quit" | "reset")
        {
            queue.add(command, words)?;
            out.extend_from_slice(b"+QUEUED\r\n");
            return Ok(Next::Continue);
        }
        match command.run {
            Run::Connection(run) => run(self, host, words, out),
            Run::Data(run) => {
                let database = self.database(host)?;
                let held = match command.effect {
                    Effect::Writes => database.locks.hold(command.keys_of(words), Access::Alone),
                    Effect::Reads => database.locks.hold(command.keys_of(words), Access::Shared),
                    Effect::WritesAll => database.locks.hold_all(),
                    Effect::ReadsRow | Effect::None => crate::locks::Held::None,
                };
                let now = host.now_ms();
                let mut rows = match command.effect {
                    Effect::Writes | Effect::WritesAll => database.begin_change(now)?,
                    _ => database.begin(now)?,
                };
                let mut call = self.call(host, &database, &mut rows, words, out);
                run_data(command, run, &mut call)?;
                if database.write(&mut rows)? {
                    self.note_unsynced(&database);
                }
                drop(held);
                Ok(Next::Continue)
            }
        }
    }

    /// Makes the changes of all commands so far durable, where the policies of their databases ask for it.
    pub fn sync(&mut self) -> Result<()> {
        self.unsynced.drain(..).try_for_each(|database| database.sync_log())
    }

    /// The password of [`Next::Authenticate`] is right.
    pub fn authenticated(&mut self, user: &str, out: &mut Vec<u8>) {
        self.user = Some(user.to_owned());
        match self.greeting.take() {
            Some(greeting) => self.greet(greeting, out),
            None => out.extend_from_slice(b"+OK\r\n"),
        }
        self.reader.set_limits(Limits::default());
    }

    /// The password of [`Next::Authenticate`] is wrong.
    pub fn refused(&mut self, out: &mut Vec<u8>) {
        self.greeting = None;
        self.failed(&Failure::text("WRONGPASS invalid username-password pair or user is disabled."), out);
    }
}

fn unknown(name: &[u8], arguments: &[&[u8]]) -> Failure {
    let mut shown = Vec::new();
    for argument in arguments {
        if shown.len() >= SHOWN_BYTES {
            break;
        }
        let room = SHOWN_BYTES - shown.len();
        shown.push(b'\'');
        shown.extend_from_slice(printed(argument, room));
        shown.extend_from_slice(b"' ");
    }
    let name = printed(name, SHOWN_BYTES);
    Failure::new([b"ERR unknown command '", name, b"', with args beginning with: ", &shown].concat())
}
