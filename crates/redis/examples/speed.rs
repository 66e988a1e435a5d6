//! Commands a second of one thread, without a socket: `cargo run --release -p basalt-redis --example speed`.

#![expect(clippy::print_stdout, reason = "its result is for a person")]

use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use basalt_base::Result;
use basalt_kv::{KvOptions, ReopeningStore, SharedCache};
use basalt_redis::{Client, ClientFacts, Database, Host, RowTable, ServerFacts, SyncPolicy, Tables};

const KEYS: usize = 100_000;
const PIPELINE: usize = 16;

struct OneDatabase(Arc<Database>);

struct NoTables;

impl Tables for NoTables {
    fn find(&self, _: &str) -> Option<Arc<dyn RowTable>> {
        None
    }
}

impl Host for OneDatabase {
    fn database(&self, _: u32) -> Result<Arc<Database>> {
        Ok(Arc::clone(&self.0))
    }

    fn existing(&self) -> Vec<u32> {
        vec![0]
    }

    fn tables(&self) -> &dyn Tables {
        &NoTables
    }

    fn now_ms(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
    }

    fn facts(&self) -> ServerFacts {
        ServerFacts::default()
    }

    fn clients(&self) -> Vec<ClientFacts> {
        Vec::new()
    }
}

fn measure(host: &OneDatabase, what: &str, command: impl Fn(usize) -> String) {
    let mut client = Client::new(1, Some("default".to_owned()));
    let pipelines: Vec<Vec<u8>> = (0..KEYS / PIPELINE)
        .map(|at| (0..PIPELINE).map(|step| command((at * PIPELINE + step) * 7919 % KEYS)).collect::<String>())
        .map(String::into_bytes)
        .collect();
    let (start, mut out) = (Instant::now(), Vec::new());
    for input in &pipelines {
        out.clear();
        client.serve(host, input, &mut out);
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{what}: {:.0} a second", (pipelines.len() * PIPELINE) as f64 / seconds);
}

fn words(words: &[&str]) -> String {
    let words: String = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
    let count = words.matches('$').count();
    format!("*{count}\r\n{words}")
}

fn main() -> Result<()> {
    let path = std::env::temp_dir().join(format!("basalt-redis-speed-{}", std::process::id()));
    let options = KvOptions { cache: SharedCache::default(), ..KvOptions::default() };
    let store = Arc::new(ReopeningStore::open(&path, basalt_redis::table::spec()?, options)?);
    let host = OneDatabase(Arc::new(Database::new(store, SyncPolicy::EverySecond)));
    measure(&host, "PING", |_| words(&["PING"]));
    measure(&host, "SET", |at| words(&["SET", &format!("key{at:08}"), "0123456789"]));
    measure(&host, "GET", |at| words(&["GET", &format!("key{at:08}")]));
    measure(&host, "INCR", |at| words(&["INCR", &format!("counter{at:08}")]));
    measure(&host, "HSET", |at| {
        words(&["HSET", &format!("hash{:08}", at / 100), &format!("f{at}"), "0123456789"])
    });
    measure(&host, "HGET", |at| words(&["HGET", &format!("hash{:08}", at / 100), &format!("f{at}")]));
    drop(host);
    let _ = std::fs::remove_dir_all(path);
    Ok(())
}
