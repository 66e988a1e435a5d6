//! The same commands against this crate and against redis-server 7: every reply is compared byte by byte.
//!
//! `BASALT_REDIS_COMMANDS` sets the number of random commands, `SEED` which they are. Skipped without redis-server.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::host::{Directory, Random, TestHost, encode, words_of};

/// A server of Redis without persistence, on a socket in a directory of its own.
struct Server {
    process: Child,
    socket: UnixStream,
    _directory: Directory,
}

impl Server {
    fn start(name: &str) -> Option<Server> {
        let directory = Directory::new(name);
        let path = directory.0.join("socket");
        let mut command = Command::new("redis-server");
        command.args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"]).arg(&path);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(mut process) = command.spawn() else {
            assert!(std::env::var_os("CI").is_none(), "redis-server is missing");
            let _ = writeln!(
                std::io::stderr(),
                "skipped: redis-server is not installed (apt-get install redis-server)"
            );
            return None;
        };
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            if let Ok(socket) = UnixStream::connect(&path) {
                socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
                return Some(Server { process, socket, _directory: directory });
            }
            if Instant::now() > end {
                let _ = process.kill();
                panic!("redis-server does not listen");
            }
            std::thread::yield_now();
        }
    }

    /// The reply to one command.
    fn ask(&mut self, words: &[&[u8]]) -> Vec<u8> {
        self.socket.write_all(&encode(words)).expect("a living server");
        let mut reply = Vec::new();
        let mut buffer = [0; 65536];
        loop {
            let read = self.socket.read(&mut buffer).expect("a reply");
            assert!(read > 0, "the server closed the connection");
            reply.extend_from_slice(&buffer[..read]);
            if crate::host::reply_end(&reply) == Some(reply.len()) {
                return reply;
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Commands whose replies have any order.
const UNORDERED: &[&str] = &[
    "HGETALL", "HKEYS", "HVALS", "SMEMBERS", "SINTER", "SUNION", "SDIFF", "SPOP", "KEYS", "SCAN", "HSCAN",
    "SSCAN", "ZSCAN",
];

fn comparable(words: &[&[u8]], reply: &[u8]) -> Vec<Vec<u8>> {
    let name = String::from_utf8_lossy(words[0]).to_uppercase();
    let mut lines: Vec<Vec<u8>> = reply.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    if UNORDERED.contains(&name.as_str()) {
        lines[1..].sort();
    }
    lines
}

struct Pair {
    server: Server,
    host: TestHost,
    client: basalt_redis::Client,
    differences: Vec<String>,
}

impl Pair {
    fn new(name: &str) -> Option<Pair> {
        let server = Server::start(&format!("{name}-redis"))?;
        let host = TestHost::new(name);
        Some(Pair { server, host, client: crate::host::client(), differences: Vec::new() })
    }

    fn check(&mut self, words: &[&[u8]]) {
        let theirs = self.server.ask(words);
        let ours = self.host.ask(&mut self.client, words);
        if comparable(words, &theirs) != comparable(words, &ours) {
            let shown: Vec<_> = words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
            self.differences.push(format!(
                "{shown:?}\n  redis {:?}\n  ours  {:?}",
                String::from_utf8_lossy(&theirs),
                String::from_utf8_lossy(&ours)
            ));
        }
    }

    fn finish(self) {
        let shown: Vec<_> = self.differences.iter().take(60).cloned().collect();
        assert!(shown.is_empty(), "{} differences:\n{}", self.differences.len(), shown.join("\n"));
    }
}

#[test]
fn a_script_has_the_replies_of_redis() {
    for version in ["2", "3"] {
        let Some(mut pair) = Pair::new(&format!("script{version}")) else { return };
        if version == "3" {
            pair.server.ask(&[b"HELLO", b"3"]);
            pair.host.ask(&mut pair.client, &[b"HELLO", b"3"]);
        }
        for line in include_str!("script.txt").lines() {
            let words = words_of(line);
            if !words.is_empty() {
                pair.check(&words.iter().map(Vec::as_slice).collect::<Vec<_>>());
            }
        }
        pair.finish();
    }
}

/// Commands with holes: `k` a key, `f` a field or member, `v` a value, `i` an integer, `d` a number, `o` a bound of
/// scores, `x` a bound of names.
const SHAPES: &[&str] = &[
    "GET k",
    "SET k v",
    "SET k i",
    "SETNX k v",
    "GETSET k v",
    "APPEND k v",
    "STRLEN k",
    "INCR k",
    "DECRBY k i",
    "INCRBYFLOAT k d",
    "GETRANGE k i i",
    "SETRANGE k 3 v",
    "MGET k k k",
    "MSET k v k v",
    "MSETNX k v k v",
    "GETDEL k",
    "SET k v NX",
    "SET k v XX GET",
    "SET k v KEEPTTL",
    "SETEX k 1000 v",
    "PERSIST k",
    "EXPIRE k 1000 NX",
    "EXPIRE k 500 GT",
    "TTL k",
    "GETEX k PERSIST",
    "DEL k",
    "EXISTS k k",
    "TYPE k",
    "RENAME k k",
    "RENAMENX k k",
    "COPY k k",
    "COPY k k REPLACE",
    "DBSIZE",
    "KEYS *",
    "HSET k f v",
    "HSET k f v f v",
    "HGET k f",
    "HMGET k f f",
    "HGETALL k",
    "HDEL k f f",
    "HEXISTS k f",
    "HKEYS k",
    "HVALS k",
    "HLEN k",
    "HINCRBY k f i",
    "HINCRBYFLOAT k f d",
    "HSTRLEN k f",
    "HSETNX k f v",
    "HRANDFIELD k 0",
    "LPUSH k v v",
    "RPUSH k v",
    "LPUSHX k v",
    "RPUSHX k v v",
    "LPOP k",
    "RPOP k",
    "LPOP k 2",
    "LLEN k",
    "LRANGE k i i",
    "LINDEX k i",
    "LSET k i v",
    "LTRIM k i i",
    "LREM k i v",
    "LINSERT k BEFORE v v",
    "LINSERT k AFTER v v",
    "RPOPLPUSH k k",
    "LMOVE k k LEFT RIGHT",
    "LMOVE k k RIGHT RIGHT",
    "SADD k f f",
    "SREM k f",
    "SMEMBERS k",
    "SISMEMBER k f",
    "SMISMEMBER k f f",
    "SCARD k",
    "SINTER k k",
    "SUNION k k",
    "SDIFF k k k",
    "SINTERSTORE k k k",
    "SUNIONSTORE k k k",
    "SDIFFSTORE k k k",
    "SMOVE k k f",
    "ZADD k d f",
    "ZADD k d f d f",
    "ZADD k NX d f",
    "ZADD k XX CH d f",
    "ZADD k GT CH d f",
    "ZADD k LT d f",
    "ZADD k INCR d f",
    "ZADD k XX INCR d f",
    "ZREM k f",
    "ZSCORE k f",
    "ZMSCORE k f f",
    "ZINCRBY k d f",
    "ZCARD k",
    "ZCOUNT k o o",
    "ZRANGE k i i",
    "ZRANGE k i i WITHSCORES",
    "ZRANGE k i i REV",
    "ZRANGE k o o BYSCORE LIMIT 1 2",
    "ZRANGE k o o BYSCORE REV WITHSCORES",
    "ZREVRANGE k i i WITHSCORES",
    "ZRANGEBYSCORE k o o",
    "ZREVRANGEBYSCORE k o o",
    "ZRANGEBYSCORE k o o WITHSCORES LIMIT 0 i",
    "ZRANK k f",
    "ZREVRANK k f",
    "ZREMRANGEBYRANK k i i",
    "ZREMRANGEBYSCORE k o o",
    "ZPOPMIN k",
    "ZPOPMAX k 2",
    "MULTI",
    "EXEC",
    "DISCARD",
    "WATCH k",
    "UNWATCH",
];

fn fill(shape: &str, random: &mut Random) -> Vec<Vec<u8>> {
    let pick = |random: &mut Random, from: &[&str]| from[random.below(from.len())].as_bytes().to_vec();
    let words = shape.split(' ').map(|word| match word {
        "k" => pick(random, &["a", "b", "c", "d", "e:1"]),
        "f" => pick(random, &["f1", "f2", "f3", "", "10"]),
        "v" => pick(random, &["x", "y", "10", "", "3.5", "long value with spaces"]),
        "i" => pick(random, &["0", "1", "-1", "2", "-2", "5", "-100", "9223372036854775807", "x"]),
        "d" => pick(random, &["1", "-2.5", "0.1", "3", "1e3", "inf", "x", "0"]),
        "o" => pick(random, &["-inf", "+inf", "1", "(1", "0.1", "(3", "x", "1000"]),
        other => other.as_bytes().to_vec(),
    });
    words.collect()
}

#[test]
fn random_commands_have_the_replies_of_redis() {
    let seed = std::env::var("SEED").ok().map_or(1, |seed| seed.parse().expect("a number"));
    let count =
        std::env::var("BASALT_REDIS_COMMANDS").ok().map_or(20_000, |count| count.parse().expect("a number"));
    println!("SEED={seed}");
    for version in ["2", "3"] {
        let Some(mut pair) = Pair::new(&format!("random{version}")) else { return };
        if version == "3" {
            pair.server.ask(&[b"HELLO", b"3"]);
            pair.host.ask(&mut pair.client, &[b"HELLO", b"3"]);
        }
        let mut random = Random(seed);
        let mut in_transaction = false;
        for _ in 0..count {
            let shape = SHAPES[random.below(SHAPES.len())];
            let words = fill(shape, &mut random);
            // The replies of EXEC are compared as they are: no command of any order may be inside.
            let is_unordered = UNORDERED.contains(&shape.split(' ').next().unwrap_or_default());
            if in_transaction && is_unordered {
                continue;
            }
            match shape {
                "MULTI" => in_transaction = true,
                "EXEC" | "DISCARD" => in_transaction = false,
                _ => {}
            }
            pair.check(&words.iter().map(Vec::as_slice).collect::<Vec<_>>());
            if pair.differences.len() > 20 {
                break;
            }
        }
        pair.finish();
    }
}
