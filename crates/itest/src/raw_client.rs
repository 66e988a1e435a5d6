//! Clients of a protocol that send bytes as they are, wrong ones or too few among them.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// A server that sends nothing for this long has lost its client.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What the server answers to `bytes` before it ends the connection. `is_all` says that the client sends no more.
pub fn answer(address: SocketAddr, bytes: &[u8], is_all: bool) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    // The server may answer, and end the connection, before it has all bytes.
    let _ = stream.write_all(bytes);
    if is_all {
        let _ = stream.shutdown(Shutdown::Write);
    }
    read_to_end(&mut stream)
}

/// Connects `count` clients, each of which sends the beginning of a message and no more. Returns when the server has
/// closed all of them that its `slots` have no place for.
pub fn silent_clients(address: SocketAddr, beginning: &[u8], count: usize, slots: usize) -> Vec<TcpStream> {
    let open = || {
        let mut stream = TcpStream::connect(address).expect("the server listens");
        stream.write_all(beginning).expect("the server reads");
        stream
    };
    let mut clients: Vec<TcpStream> = (0..count).map(|_| open()).collect();
    for displaced in &mut clients[..count - slots] {
        // Closed, with a farewell or without.
        let _ = read_to_end(displaced);
    }
    clients
}

fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    stream.set_read_timeout(Some(TIMEOUT)).expect("not zero");
    let mut answer = Vec::new();
    // A connection that is reset was ended, too.
    let _ = stream.read_to_end(&mut answer);
    answer
}
