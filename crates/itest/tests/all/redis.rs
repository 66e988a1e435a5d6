//! The interface of Redis: its clients, what SQL sees of their keys and they of its rows, logins, and clients that do
//! not keep to the protocol.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use basalt_itest::clients::{installed, run};
use basalt_itest::foreign::find;
use basalt_itest::python::Python;
use basalt_itest::server::Server;
use basalt_itest::waiting::{check, wait_until};
use basalt_itest::{raw_client, skipped, skipped_in_ci_too};
use tempfile::tempdir;

const NO_REDIS: &str = "redis-cli is not installed (apt-get install redis-tools)";

fn start(data: &std::path::Path, more: &[&str]) -> Server {
    Server::start_with(data, more)
}

/// The answer of redis-cli to a command.
fn cli(server: &Server, arguments: &[&str]) -> String {
    let port = server.address_of("redis").port().to_string();
    let mut command = Command::new("redis-cli");
    run(command.args(["-p", &port, "--no-auth-warning"]).args(arguments))
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn redis_cli_and_sql_see_the_same_keys() {
    if find("redis-cli").is_none() {
        return skipped(NO_REDIS);
    }
    let dir = tempdir().expect("a directory");
    let server = start(dir.path(), &[]);
    assert_eq!(cli(&server, &["set", "greeting", "hello"]), "OK\n");
    assert_eq!(cli(&server, &["hset", "user", "name", "Ada", "age", "36"]), "2\n");
    assert_eq!(cli(&server, &["-n", "3", "set", "elsewhere", "1"]), "OK\n");
    assert_eq!(server.ask("SELECT value FROM redis.db0 WHERE key = 'greeting' AND part = 'key'"), "hello\n");
    let fields = "SELECT name, value FROM redis.db0 WHERE key = 'user' AND part = 'field' ORDER BY name";
    assert_eq!(server.ask(fields), "age\t36\nname\tAda\n");
    assert_eq!(server.ask("SELECT key FROM redis.db3"), "elsewhere\n");
    server.ask("INSERT INTO redis.db0 (key, type, value) VALUES ('from sql', 'string', '7')");
    assert_eq!(cli(&server, &["incr", "from sql"]), "8\n");
    server.ask("DELETE FROM redis.db0 WHERE key = 'greeting'");
    assert_eq!(cli(&server, &["get", "greeting"]), "\n");
    assert_eq!(cli(&server, &["dbsize"]), "2\n");
}

#[test]
fn rows_of_tables_are_hashes() {
    if find("redis-cli").is_none() {
        return skipped(NO_REDIS);
    }
    let dir = tempdir().expect("a directory");
    let server = start(dir.path(), &[]);
    server.ask(
        "CREATE TABLE users (id UInt64, name String, born Nullable(Date), visits UInt32 DEFAULT 7) \
         ENGINE = EmbeddedRocksDB PRIMARY KEY id",
    );
    server.ask("CREATE TABLE pages (path String, text String) ENGINE = Succinct PRIMARY KEY path");
    server.ask("INSERT INTO users VALUES (1, 'Ada', '1815-12-10', 3)");
    assert_eq!(cli(&server, &["hgetall", "users:1"]), "name\nAda\nborn\n1970-01-01\nvisits\n3\n");
    assert_eq!(cli(&server, &["hset", "default.users:2", "name", "B'en\\"]), "1\n");
    assert_eq!(server.ask("SELECT * FROM users WHERE id = 2"), "2\tB\\'en\\\\\t\\N\t7\n");
    assert_eq!(cli(&server, &["hset", "users:2", "visits", "9"]), "0\n");
    assert_eq!(cli(&server, &["hget", "users:2", "visits"]), "9\n");
    assert_eq!(cli(&server, &["del", "users:1", "users:5"]), "1\n");
    assert_eq!(server.ask("SELECT count() FROM users"), "1\n");
    assert_eq!(cli(&server, &["set", "pages:/a", "text of a"]), "OK\n");
    assert_eq!(cli(&server, &["get", "pages:/a"]), "text of a\n");
    server.ask("OPTIMIZE TABLE pages FINAL");
    assert_eq!(cli(&server, &["get", "pages:/a"]), "text of a\n");
    // A prefix that is no table is a part of the key.
    assert_eq!(cli(&server, &["set", "nothing:1", "x"]), "OK\n");
    assert_eq!(cli(&server, &["get", "nothing:1"]), "x\n");
    let refused = cli(&server, &["hset", "users:2", "visits", "many"]);
    assert!(refused.contains("ERR"), "{refused}");
}

#[test]
fn redis_py_runs_its_commands_over_both_versions() {
    let python = match Python::with("redis", &["redis==6.4.0"]) {
        Ok(python) => python,
        Err(reason) => return skipped(&reason),
    };
    let dir = tempdir().expect("a directory");
    let server = start(dir.path(), &[]);
    let port = server.address_of("redis").port().to_string();
    let script = r#"
import redis, sys, threading, time
for protocol in (2, 3):
    r = redis.Redis(port=int(sys.argv[1]), decode_responses=True, protocol=protocol)
    r.flushdb()
    assert r.ping() and r.set('a', 'x' * 1_000_000) and len(r.get('a')) == 1_000_000
    assert r.mset({'b': 1, 'c': 2}) and r.mget('b', 'c', 'd') == ['1', '2', None]
    assert r.hset('h', mapping={'f': 'v', 'g': 'w'}) == 2 and r.hgetall('h') == {'f': 'v', 'g': 'w'}
    assert r.lpush('l', 1, 2, 3) == 3 and r.lrange('l', 0, -1) == ['3', '2', '1'] and r.rpop('l') == '1'
    assert r.sadd('s', 'a', 'b') == 2 and r.smembers('s') == {'a', 'b'}
    assert r.zadd('z', {'a': 1.5, 'b': 2}) == 2 and [m for m, _ in r.zrange('z', 0, -1, withscores=True)] == ['a', 'b']
    with r.pipeline(transaction=True) as pipe:
        pipe.watch('b')
        value = int(pipe.get('b'))
        r.set('b', 100)
        pipe.multi()
        pipe.set('b', value + 1)
        try:
            pipe.execute()
            raise SystemExit('a watched key changed, and EXEC ran')
        except redis.WatchError:
            pass
    with r.pipeline(transaction=False) as pipe:
        for number in range(5000):
            pipe.set(f'key:{number}', number)
        assert all(pipe.execute())
    assert sum(1 for _ in r.scan_iter('key:*', count=500)) == 5000
    assert r.set('e', 1, px=30) and r.pttl('e') <= 30
    while r.exists('e'):
        time.sleep(0.005)
    try:
        r.lpush('a', 1)
        raise SystemExit('no error')
    except redis.ResponseError as error:
        assert 'WRONGTYPE' in str(error)
    def count():
        own = redis.Redis(port=int(sys.argv[1]))
        for _ in range(200):
            own.incr('n')
            own.hincrby('h', 'n', 2)
    threads = [threading.Thread(target=count) for _ in range(16)]
    [t.start() for t in threads]; [t.join() for t in threads]
    assert (r.get('n'), r.hget('h', 'n')) == ('3200', '6400'), (r.get('n'), r.hget('h', 'n'))
print('done')
"#;
    assert_eq!(python.run(script, &[&port]), "done\n");
}

#[test]
fn node_redis_runs_its_commands() {
    let files = [("client.mjs", include_str!("../../clients/node/redis/client.mjs"))];
    let install = vec!["npm", "install", "--silent", "--no-audit", "--no-fund", "redis@5.8.0"];
    let root = match installed("node_redis", &files, &[install]) {
        Ok(root) => root,
        Err(why) => return skipped_in_ci_too(&format!("node-redis cannot be installed: {why}")),
    };
    let dir = tempdir().expect("a directory");
    let server = start(dir.path(), &[]);
    let port = server.address_of("redis").port().to_string();
    run(Command::new("node").current_dir(&root).args(["client.mjs", &port]))
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn keys_survive_the_end_of_the_process() {
    for policy in ["everysec", "always"] {
        let dir = tempdir().expect("a directory");
        let server = start(dir.path(), &["--redis-appendfsync", policy]);
        let mut stream = TcpStream::connect(server.address_of("redis")).expect("the server listens");
        let commands: String = (0..2000).map(|number| format!("SET key{number} {number}\r\n")).collect();
        let writing = stream.try_clone().expect("a socket");
        let sent = std::thread::spawn(move || (&writing).write_all(commands.as_bytes()));
        let mut answers = vec![0; 2000 * b"+OK\r\n".len()];
        stream.read_exact(&mut answers).expect("2000 replies");
        sent.join().expect("no panic").expect("the server reads");
        server.kill();
        let server = start(dir.path(), &[]);
        assert_eq!(server.ask("SELECT count(), sum(toUInt32(value)) FROM redis.db0"), "2000\t1999000\n");
    }
}

#[test]
fn passwords_and_rights_are_those_of_sql() {
    if find("redis-cli").is_none() {
        return skipped(NO_REDIS);
    }
    let dir = tempdir().expect("a directory");
    let server = start(dir.path(), &[]);
    server.ask("CREATE USER cache IDENTIFIED WITH sha256_password BY 'secret'");
    server.ask("CREATE USER nobody IDENTIFIED WITH sha256_password BY 'secret'");
    server.ask("CREATE DATABASE redis");
    server.ask("GRANT SELECT, INSERT, ALTER DELETE, CREATE TABLE ON redis.* TO cache");
    server.ask("GRANT CREATE DATABASE ON redis.* TO cache");
    assert_eq!(cli(&server, &["--user", "cache", "-a", "secret", "set", "a", "1"]), "OK\n");
    let refused = cli(&server, &["--user", "nobody", "-a", "secret", "get", "a"]);
    assert!(refused.contains("Not enough privileges"), "{refused}");
    let answer = |commands: &str| {
        let bytes = raw_client::answer(server.address_of("redis"), commands.as_bytes(), true);
        String::from_utf8_lossy(&bytes).into_owned()
    };
    assert_eq!(
        answer("AUTH cache wrong\r\n"),
        "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
    );
    assert_eq!(answer("AUTH cache secret\r\nGET a\r\n"), "+OK\r\n$1\r\n1\r\n");
    drop(server);
    let config = dir.path().join("basalt.toml");
    std::fs::write(&config, "[users.default]\npassword = 'other'\n").expect("written");
    let data = dir.path().join("protected");
    let server = start(&data, &["--config", &config.display().to_string()]);
    let answer = |commands: &str| {
        let bytes = raw_client::answer(server.address_of("redis"), commands.as_bytes(), true);
        String::from_utf8_lossy(&bytes).into_owned()
    };
    assert_eq!(answer("GET a\r\n"), "-NOAUTH Authentication required.\r\n");
    assert_eq!(answer("AUTH other\r\nSET a 1\r\nGET a\r\n"), "+OK\r\n+OK\r\n$1\r\n1\r\n");
}

#[test]
fn wrong_bytes_end_their_connection_and_nothing_else() {
    let dir = tempdir().expect("a directory");
    let server = start(dir.path(), &["--max-connections", "50"]);
    let address = server.address_of("redis");
    let answer =
        |bytes: &[u8]| String::from_utf8_lossy(&raw_client::answer(address, bytes, true)).into_owned();
    assert!(answer(b"*1\r\n$-5\r\n").starts_with("-ERR Protocol error"));
    assert!(answer(b"*99999999999\r\n").starts_with("-ERR Protocol error"));
    assert!(answer(b"*1\r\n$999999999999\r\n").starts_with("-ERR Protocol error"));
    assert!(answer(b"NOSUCH x\r\n").starts_with("-ERR unknown command"));
    // A page in a browser must not be able to send commands.
    let page = answer(b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\nSET injected 1\r\n");
    assert!(!page.contains("+OK"), "{page}");
    let mut random = 1_u64;
    for _ in 0..50 {
        let bytes: Vec<u8> = (0..500)
            .map(|_| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                b"*$0123456789\r\nGETSET "[(random >> 33) as usize % 21]
            })
            .collect();
        let _ = answer(&bytes);
    }
    let silent = raw_client::silent_clients(address, b"*2\r\n$3\r\nGE", 200, 50);
    assert_eq!(server.ask("SELECT 1"), "1\n");
    drop(silent);
    wait_until(|| {
        let alive = answer(b"PING\r\n");
        check(alive == "+PONG\r\n", alive)
    });
}

#[test]
fn expired_keys_leave_the_disk() {
    let dir = tempdir().expect("a directory");
    let server = start(dir.path(), &[]);
    let address = server.address_of("redis");
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    let commands = "SET gone x PX 1\r\nHSET h f v\r\nPEXPIRE h 1\r\nSET stays y\r\n";
    stream.write_all(commands.as_bytes()).expect("the server reads");
    let mut answers = vec![0; b"+OK\r\n:1\r\n:1\r\n+OK\r\n".len()];
    stream.read_exact(&mut answers).expect("replies");
    wait_until(|| {
        let left = server.ask("SELECT key FROM redis.db0");
        check(left == "stays\n", left)
    });
}
