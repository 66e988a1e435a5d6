//! Clients of the native protocol that send what they should not, or too little of it.

use basalt_itest::python::Python;
use basalt_itest::server::Server;
use basalt_itest::{raw_client, skipped};
use tempfile::tempdir;

/// What the server answers to `bytes` before it ends the connection.
fn answer(server: &Server, bytes: &[u8]) -> Vec<u8> {
    raw_client::answer(server.tcp_address(), bytes, true)
}

fn contains(answer: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(answer).contains(text)
}

/// The hello of a client of revision 54460, with a database.
fn hello(database: &str) -> Vec<u8> {
    let mut bytes = vec![0, 4];
    bytes.extend_from_slice(b"test\x01\x00\xbc\xa9\x03");
    bytes.push(database.len() as u8);
    bytes.extend_from_slice(database.as_bytes());
    bytes.extend_from_slice(b"\x07default\x00");
    bytes
}

#[test]
fn other_protocols_and_wrong_bytes_are_refused() {
    let data = tempdir().expect("a directory");
    let server = Server::start(data.path());
    assert!(contains(&answer(&server, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "not HTTP"));
    let garbage: Vec<u8> = (0..1000).map(|index| (index * 31 % 251) as u8 | 1).collect();
    assert!(contains(&answer(&server, &garbage), "DB::Exception"));
    // A name of a terabyte, and a hello of a client from before settings were texts.
    assert!(contains(&answer(&server, b"\x00\xff\xff\xff\xff\xff\x1f"), "the limit is"));
    let mut old = hello("default");
    old[8..11].copy_from_slice(b"\x8c\xa9\x03");
    assert!(contains(&answer(&server, &old), "the oldest that is known"));
    assert!(contains(&answer(&server, &hello("no such database")), "UNKNOWN_DATABASE"));
    // A block without a statement, an unknown packet, and half of a query, after a hello that is right.
    for (packet, refusal) in [
        (&b"\x02\x00"[..], "without a statement"),
        (b"\x63", "no packet 99"),
        (b"\x01\x01q\x01", "the middle of a message"),
    ] {
        let mut bytes = hello("default");
        // The quota key follows the hello, then a Ping.
        bytes.extend_from_slice(b"\x00\x04");
        bytes.extend_from_slice(packet);
        let answer = answer(&server, &bytes);
        assert!(contains(&answer, "ClickHouse") && contains(&answer, refusal), "{}", answer.escape_ascii());
    }
    assert_eq!(server.ask("SELECT 1"), "1\n");
}

#[test]
fn half_sent_messages_cost_a_socket_and_nothing_else() {
    let data = tempdir().expect("a directory");
    let server = Server::start_with(data.path(), &["--max-connections", "50"]);
    let half = hello("default");
    // More than there are slots: the slowest clients make room.
    let silent = raw_client::silent_clients(server.tcp_address(), &half[..half.len() / 2], 200, 50);
    assert_eq!(server.ask("SELECT 1"), "1\n");
    drop(silent);
    assert_eq!(server.ask("SELECT count() FROM system.processes"), "1\n");
}

#[test]
fn damaged_blocks_insert_nothing() {
    let packages = ["clickhouse-driver[lz4,zstd]==0.2.11", "numpy", "pandas"];
    let python = match Python::with("clickhouse-driver", &packages) {
        Ok(python) => python,
        Err(why) => return skipped(&format!("clickhouse-driver cannot be installed: {why}")),
    };
    let data = tempdir().expect("a directory");
    let server = Server::start(data.path());
    server.ask("CREATE TABLE t (a UInt32, s String) ENGINE = MergeTree ORDER BY a");
    // The driver sends right bytes; a proxy changes one of the last block.
    let port = server.tcp_address().port().to_string();
    python.run(DAMAGE, &[&port]);
    assert_eq!(server.ask("SELECT count() FROM t"), "0\n");
}

const DAMAGE: &str = "
import socket, sys, threading
from clickhouse_driver import Client, errors
def proxy(listener, place):
    client, _ = listener.accept()
    server = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
    def answers():
        try:
            while data := server.recv(65536): client.sendall(data)
        except OSError: pass
        client.close()
    threading.Thread(target=answers, daemon=True).start()
    seen, changed = b'', False
    try:
        while data := client.recv(65536):
            seen += data
            # The block follows the statement.
            if not changed and b'VALUES' in seen and len(data) > 4000:
                data = data[:place] + bytes([data[place] ^ 255]) + data[place + 1:]
                changed = True
            server.sendall(data)
    except OSError: pass
    server.close()
def insert(compression, place):
    listener = socket.socket()
    listener.bind(('127.0.0.1', 0))
    listener.listen()
    threading.Thread(target=proxy, args=(listener, place), daemon=True).start()
    client = Client('127.0.0.1', port=listener.getsockname()[1], compression=compression, send_receive_timeout=30)
    rows = [(i * 2654435761 % 2**32, str(i * 7919)) for i in range(2000)]
    try:
        client.execute('INSERT INTO t VALUES', rows)
        raise AssertionError((compression, place))
    except (errors.Error, OSError, EOFError) as error:
        return str(error)
# In a frame every byte is under the checksum.
for place in (100, 1000, 3000):
    assert 'CHECKSUM_DOESNT_MATCH' in insert('lz4', place)
# Without frames, the counts and names of a block are checked. They stand in its first bytes.
for place in (0, 1, 2, 10, 11):
    insert(False, place)
";
