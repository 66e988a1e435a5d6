//! Time, durability, concurrency, tables by name, passwords: what a comparison with redis-server does not show.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use basalt_redis::{Client, Next, SyncPolicy};

use crate::host::{Directory, TestHost, client, encode};

#[test]
fn expired_keys_are_gone_and_swept() {
    let host = TestHost::new("expiry");
    let mut client = client();
    host.now_ms.store(1_000_000, Ordering::SeqCst);
    let mut say = |line: &str| host.say(&mut client, line);
    assert_eq!(say("SET a 1 PX 100"), "+OK\r\n");
    say("HSET h f v");
    assert_eq!(say("PEXPIRE h 100"), ":1\r\n");
    say("SET kept 1");
    assert_eq!(say("PTTL a"), ":100\r\n");
    host.now_ms.store(1_000_099, Ordering::SeqCst);
    assert_eq!(say("GET a"), "$1\r\n1\r\n");
    host.now_ms.store(1_000_100, Ordering::SeqCst);
    assert_eq!(say("GET a"), "$-1\r\n");
    assert_eq!(say("HGETALL h"), "*0\r\n");
    assert_eq!(say("EXISTS a h kept"), ":1\r\n");
    assert_eq!(say("DBSIZE"), ":1\r\n");
    // A new hash does not have the fields of the expired one.
    assert_eq!(say("HSET h g w"), ":1\r\n");
    assert_eq!(say("HGETALL h"), "*2\r\n$1\r\ng\r\n$1\r\nw\r\n");
    say("PEXPIRE h 50");
    host.now_ms.store(1_000_200, Ordering::SeqCst);
    let swept: usize = (0..4).map(|_| host.database0().sweep(1, 1_000_200).expect("a sweep")).sum();
    assert_eq!(swept, 2);
    assert_eq!(host.database0().sweep(10, 1_000_200).expect("a sweep"), 0);
    assert_eq!(say("KEYS *"), "*1\r\n$4\r\nkept\r\n");
}

#[test]
fn rows_are_there_after_reopening() {
    for policy in [SyncPolicy::Always, SyncPolicy::EverySecond] {
        let directory = Arc::new(Directory::new(&format!("reopen{policy:?}")));
        {
            let host = TestHost::open(Arc::clone(&directory), policy);
            let mut client = client();
            host.say(&mut client, "SET a 1");
            host.say(&mut client, "RPUSH l x y z");
            host.say(&mut client, "LPOP l");
            host.say(&mut client, "ZADD z 2 b 1 a");
        }
        let host = TestHost::open(Arc::clone(&directory), policy);
        let mut client = client();
        assert_eq!(host.say(&mut client, "GET a"), "$1\r\n1\r\n");
        assert_eq!(host.say(&mut client, "LRANGE l 0 -1"), "*2\r\n$1\r\ny\r\n$1\r\nz\r\n");
        assert_eq!(host.say(&mut client, "ZRANGE z 0 -1"), "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
    }
}

#[test]
fn concurrent_increments_lose_nothing() {
    const THREADS: usize = 32;
    const EACH: usize = 200;
    let host = TestHost::new("concurrent");
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut client = client();
                for step in 0..EACH {
                    host.say(&mut client, "INCR counter");
                    host.say(&mut client, "HINCRBY h field 1");
                    if step % 4 == 0 {
                        host.say(&mut client, "MULTI");
                        host.say(&mut client, "INCR both");
                        host.say(&mut client, "INCR counter2");
                        assert!(host.say(&mut client, "EXEC").starts_with("*2\r\n:"));
                    }
                    host.say(&mut client, "SUNIONSTORE u u v");
                }
            });
        }
    });
    let mut client = client();
    assert_eq!(host.say(&mut client, "GET counter"), "$4\r\n6400\r\n");
    assert_eq!(host.say(&mut client, "HGET h field"), "$4\r\n6400\r\n");
    assert_eq!(host.say(&mut client, "MGET both counter2"), "*2\r\n$4\r\n1600\r\n$4\r\n1600\r\n");
}

#[test]
fn watched_keys_stop_a_transaction_once_they_change() {
    let host = TestHost::new("watch");
    let (mut one, mut other) = (client(), client());
    host.say(&mut one, "SET a 1");
    host.say(&mut one, "WATCH a");
    host.say(&mut other, "SET a 2");
    host.say(&mut other, "SET a 1");
    host.say(&mut one, "MULTI");
    host.say(&mut one, "SET a 3");
    assert_eq!(host.say(&mut one, "EXEC"), "*-1\r\n");
    host.say(&mut one, "HSET h f 1");
    host.say(&mut one, "WATCH h missing");
    host.say(&mut other, "HSET h f 2");
    host.say(&mut one, "MULTI");
    assert_eq!(host.say(&mut one, "EXEC"), "*-1\r\n");
    host.say(&mut one, "WATCH a");
    host.say(&mut other, "SET other 1");
    host.say(&mut one, "MULTI");
    host.say(&mut one, "GET a");
    assert_eq!(host.say(&mut one, "EXEC"), "*1\r\n$1\r\n1\r\n");
}

#[test]
fn rows_of_tables_are_hashes_or_strings() {
    let host = TestHost::new("tables");
    let mut client = client();
    let mut say = |line: &str| host.say(&mut client, line);
    assert_eq!(say("HSET users:7 name Ann city Bonn"), ":2\r\n");
    assert_eq!(say("HSET shop.users:7 city Ulm"), ":0\r\n");
    assert_eq!(say("HGETALL users:7"), "*4\r\n$4\r\nname\r\n$3\r\nAnn\r\n$4\r\ncity\r\n$3\r\nUlm\r\n");
    assert_eq!(say("HGET users:7 city"), "$3\r\nUlm\r\n");
    assert_eq!(say("HMGET users:7 city nope"), "*2\r\n$3\r\nUlm\r\n$-1\r\n");
    assert_eq!(say("HLEN users:7"), ":2\r\n");
    assert_eq!(say("HEXISTS users:8 city"), ":0\r\n");
    assert_eq!(say("TYPE users:7"), "+hash\r\n");
    assert_eq!(say("TTL users:7"), ":-1\r\n");
    assert!(say("GET users:7").starts_with("-WRONGTYPE"));
    assert!(say("HSET users:7 nope 1").starts_with("-ERR the table has no column 'nope'"));
    assert!(say("INCR users:7").starts_with("-ERR"));
    assert_eq!(say("SET names:1 Bob"), "+OK\r\n");
    assert_eq!(say("GET names:1"), "$3\r\nBob\r\n");
    assert_eq!(say("MGET names:1 names:2 plain"), "*3\r\n$3\r\nBob\r\n$-1\r\n$-1\r\n");
    assert_eq!(say("EXISTS names:1 users:7 users:8"), ":2\r\n");
    assert_eq!(say("DEL names:1 users:7 users:8"), ":2\r\n");
    assert_eq!(say("SET nobody:1 x"), "+OK\r\n");
    assert_eq!(say("TYPE nobody:1"), "+string\r\n");
    assert!(say("RENAME nobody:1 users:9").starts_with("-ERR"));
}

#[test]
fn a_password_is_asked_for() {
    let host = TestHost::new("password");
    let mut client = Client::new(5, None);
    assert_eq!(host.say(&mut client, "GET a"), "-NOAUTH Authentication required.\r\n");
    assert!(host.say(&mut client, "HELLO 3").starts_with("-NOAUTH HELLO must"));
    assert!(host.say(&mut client, "AUTH wrong").starts_with("-WRONGPASS"));
    assert_eq!(host.say(&mut client, "AUTH secret"), "+OK\r\n");
    assert_eq!(host.say(&mut client, "GET a"), "$-1\r\n");
    assert_eq!(host.say(&mut client, "RESET"), "+RESET\r\n");
    assert!(host.say(&mut client, "GET a").starts_with("-NOAUTH"));
    let hello = host.say(&mut client, "HELLO 3 AUTH default secret SETNAME me");
    assert!(hello.starts_with("%7\r\n$6\r\nserver\r\n"), "{hello}");
    assert_eq!(client.name(), b"me");
    assert_eq!(host.say(&mut client, "GET a"), "_\r\n");
}

#[test]
fn a_pipeline_is_served_at_once_and_broken_bytes_close() {
    let host = TestHost::new("pipeline");
    let mut client = client();
    let mut input =
        [encode(&[b"SET", b"a", b"1"]), b"INCR a\r\n\r\n".to_vec(), encode(&[b"GET", b"a"])].concat();
    let whole = input.len();
    input.extend_from_slice(b"*1\r\n$4\r\nPI");
    let mut out = Vec::new();
    let served = client.serve(&host, &input, &mut out);
    assert_eq!((served.consumed, served.next, served.needs_input), (whole, Next::Continue, true));
    assert_eq!(out, b"+OK\r\n:2\r\n$1\r\n2\r\n");
    out.clear();
    let rest = [&input[whole..], b"NG\r\n*1\r\n!"].concat();
    let served = client.serve(&host, &rest, &mut out);
    assert_eq!(served.next, Next::Close);
    assert_eq!(out, b"+PONG\r\n-ERR Protocol error: expected '$', got '!'\r\n");
}

#[test]
fn long_collections_are_scanned_and_removed() {
    let host = TestHost::new("long");
    let mut client = client();
    for start in 0..30 {
        let mut words = vec![b"HSET".to_vec(), b"h".to_vec()];
        (0..20).for_each(|at| words.extend([format!("f{:04}", start * 20 + at).into_bytes(), b"v".to_vec()]));
        host.ask(&mut client, &words.iter().map(Vec::as_slice).collect::<Vec<_>>());
        host.say(&mut client, &format!("SET key{start} 1"));
    }
    assert_eq!(host.say(&mut client, "HLEN h"), ":600\r\n");
    for (command, expected) in [("HSCAN h", 1200), ("SCAN", 31)] {
        let (mut cursor, mut found) = ("0".to_owned(), 0);
        loop {
            let reply = host.say(&mut client, &format!("{command} {cursor} COUNT 7"));
            let lines: Vec<&str> = reply.split("\r\n").collect();
            found += lines[3][1..].parse::<usize>().expect("a count");
            cursor = lines[2].to_owned();
            if cursor == "0" {
                break;
            }
        }
        assert_eq!(found, expected, "{command}");
    }
    assert_eq!(host.say(&mut client, "DEL h"), ":1\r\n");
    assert_eq!(host.say(&mut client, "HSET h x y"), ":1\r\n");
    assert_eq!(host.say(&mut client, "HGETALL h"), "*2\r\n$1\r\nx\r\n$1\r\ny\r\n");
    assert_eq!(host.say(&mut client, "DBSIZE"), ":31\r\n");
    assert_eq!(host.say(&mut client, "FLUSHALL"), "+OK\r\n");
    assert_eq!(host.say(&mut client, "DBSIZE"), ":0\r\n");
}
