//! Clients of the protocol of PostgreSQL that send what they should not, or too little of it.

use basalt_itest::raw_client;
use basalt_itest::server::Server;
use tempfile::tempdir;

/// What the server answers to `bytes` before it ends the connection. `is_all` says that the client sends no more.
fn answer_to(server: &Server, bytes: &[u8], is_all: bool) -> String {
    let answer = raw_client::answer(server.postgres_address(), bytes, is_all);
    String::from_utf8_lossy(&answer).into_owned()
}

fn answer(server: &Server, bytes: &[u8]) -> String {
    answer_to(server, bytes, true)
}

fn message(kind: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = kind.as_bytes().to_vec();
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn startup(parameters: &str) -> Vec<u8> {
    let mut body = vec![0, 3, 0, 0];
    body.extend_from_slice(parameters.as_bytes());
    body.extend_from_slice(b"\0\0");
    message("", &body)
}

/// The answer to messages after a login; the last one is followed by Terminate.
fn after_login(server: &Server, messages: &[Vec<u8>]) -> String {
    let mut bytes = startup("user\0default");
    messages.iter().for_each(|message| bytes.extend_from_slice(message));
    bytes.extend_from_slice(&message("X", b""));
    answer_to(server, &bytes, false)
}

/// The answer to messages after a login, of a client that then goes.
fn before_it_goes(server: &Server, messages: &[Vec<u8>]) -> String {
    let mut bytes = startup("user\0default");
    messages.iter().for_each(|message| bytes.extend_from_slice(message));
    answer(server, &bytes)
}

#[test]
fn other_protocols_and_wrong_bytes_are_refused() {
    let data = tempdir().expect("a directory");
    let server = Server::start(data.path());
    assert!(
        answer(&server, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").contains("no client of PostgreSQL")
    );
    assert!(answer(&server, &[0, 0, 0, 8, 0, 2, 0, 0]).contains("version 2.0"));
    assert!(answer(&server, &startup("user\0default\0database\0missing")).contains("C3D000"));
    assert!(answer(&server, &startup("user\0default\0no_such\0x")).contains("no_such"));
    let tls = [0, 0, 0, 8, 4, 210, 22, 47];
    assert!(answer(&server, &tls.repeat(4)).contains("refused already"));
    // A key that nobody has.
    assert_eq!(answer(&server, &[0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 0, 1, 0, 0, 0, 2]), "");
    for (bytes, refusal) in [
        (message("Z", b""), "there is no message `Z`"),
        (message("Q", b"SELECT 1"), "does not end"),
        (vec![b'Q', 0xff, 0xff, 0xff, 0xff], "the limit is"),
        (vec![b'Q', 0, 0, 0, 1], "a message of 1 bytes"),
        (message("B", b"\0\0\xff\xff"), "ends too early"),
        (message("Q", b"SELECT 1\0")[..8].to_vec(), "the middle of a message"),
    ] {
        let answer = before_it_goes(&server, std::slice::from_ref(&bytes));
        assert!(answer.contains(refusal) && answer.contains("FATAL"), "{bytes:?}: {answer}");
    }
    assert_eq!(server.ask("SELECT 1"), "1\n");
}

#[test]
fn wrong_steps_are_errors_and_the_connection_goes_on() {
    let data = tempdir().expect("a directory");
    let server = Server::start(data.path());
    let (sync, query) = (message("S", b""), message("Q", b"SELECT 'it goes on'\0"));
    let parse = message("P", b"s\0SELECT $1::int4\0\0\0");
    for (steps, state) in [
        (vec![message("B", b"\0none\0\0\0\0\0\0\0")], "C26000"),
        (vec![message("E", b"none\0\0\0\0\0")], "C34000"),
        (vec![message("D", b"Pnone\0")], "C34000"),
        (vec![parse.clone(), parse.clone()], "C42P05"),
        (vec![parse.clone(), message("B", b"\0s\0\0\0\0\0\0\0")], "C08P01"),
        (vec![parse.clone(), message("B", b"\0s\0\0\x01\0\x01\0\x01\0\0\0\x01x\0\0")], "C08P01"),
        (vec![message("P", b"\0SELECT 1; SELECT 2\0\0\0")], "C42601"),
        (vec![message("P", b"\0SELECT '\0\0\0")], "C42601"),
        (vec![message("F", b"\0\0\0\0")], "C0A000"),
        (vec![message("p", b"secret\0")], "C08P01"),
        (
            vec![
                message("c", b""),
                message("d", b"1\n"),
                message("f", b"no\0"),
                message("E", b"x\0\0\0\0\0"),
            ],
            "C34000",
        ),
    ] {
        let mut messages = steps.clone();
        messages.extend([sync.clone(), query.clone()]);
        let answer = after_login(&server, &messages);
        assert!(answer.contains(state) && answer.contains("it goes on"), "{steps:?}: {answer}");
    }
}

#[test]
fn names_with_quotes_and_parameters_with_zero_bytes_are_values() {
    let data = tempdir().expect("a directory");
    let server = Server::start(data.path());
    let mut bind = b"\0\0\0\0\0\x01\0\0\0\x04a'\0b".to_vec();
    bind.extend_from_slice(b"\0\0");
    let messages = [
        message("P", b"\0SELECT length($1)\0\0\0"),
        message("B", &bind),
        message("E", b"\0\0\0\0\0"),
        message("S", b""),
    ];
    let answer = after_login(&server, &messages);
    assert!(answer.contains("\0\x01\0\0\0\x014"), "{}", answer.escape_debug());
}

#[test]
fn broken_off_copy_inserts_nothing() {
    let data = tempdir().expect("a directory");
    let server = Server::start(data.path());
    server.ask("CREATE TABLE t (a Int32) ENGINE = MergeTree ORDER BY a");
    let copy = message("Q", b"COPY t FROM STDIN\0");
    let rows = message("d", "1\n".repeat(100_000).as_bytes());
    for end in
        [vec![], message("X", b""), message("Q", b"SELECT 1\0"), message("f", b"no\0"), message("d", b"x\n")]
    {
        let mut messages = vec![copy.clone(), rows.clone(), end.clone()];
        if !end.is_empty() {
            messages.push(message("c", b""));
        }
        before_it_goes(&server, &messages);
        assert_eq!(server.ask("SELECT count() FROM t"), "0\n", "{end:?}");
    }
    after_login(&server, &[copy, rows, message("c", b"")]);
    assert_eq!(server.ask("SELECT count() FROM t"), "100000\n");
}

#[test]
fn half_sent_messages_cost_a_socket_and_nothing_else() {
    let data = tempdir().expect("a directory");
    let server = Server::start_with(data.path(), &["--max-connections", "50"]);
    let half = startup("user\0default");
    // More than there are slots: the slowest clients make room.
    let silent = raw_client::silent_clients(server.postgres_address(), &half[..half.len() / 2], 200, 50);
    assert_eq!(server.ask("SELECT 1"), "1\n");
    drop(silent);
    assert_eq!(server.ask("SELECT count() FROM system.processes"), "1\n");
}
