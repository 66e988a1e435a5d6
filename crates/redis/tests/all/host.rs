//! A host of two databases and one table, for tests.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use basalt_base::Result;
use basalt_kv::{KvOptions, ReopeningStore, SharedCache};
use basalt_redis::{Client, ClientFacts, Database, Host, Next, RowTable, ServerFacts, SyncPolicy, Tables};

/// A directory that is removed when it is dropped.
pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("basalt-redis-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a directory");
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Numbers from a seed: SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

pub(crate) struct TestHost {
    databases: Vec<Arc<Database>>,
    /// 0: the machine's clock.
    pub(crate) now_ms: AtomicU64,
    tables: TestTables,
    _directory: Arc<Directory>,
}

struct TestTables {
    several: Arc<TestTable>,
    one: Arc<TestTable>,
}

/// The columns of a row, as texts.
type TableRow = Vec<Option<Vec<u8>>>;

#[derive(Default)]
struct TestTable {
    columns: Vec<String>,
    rows: Mutex<BTreeMap<Vec<u8>, TableRow>>,
}

impl RowTable for TestTable {
    fn columns(&self) -> Vec<String> {
        self.columns.clone()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<Option<Vec<u8>>>>> {
        Ok(self.rows.lock().expect("no panic").get(key).cloned())
    }

    fn put(&self, key: &[u8], fields: &[(usize, &[u8])]) -> Result<bool> {
        let mut rows = self.rows.lock().expect("no panic");
        let is_new = !rows.contains_key(key);
        let row = rows.entry(key.to_vec()).or_insert_with(|| vec![Some(Vec::new()); self.columns.len()]);
        fields.iter().for_each(|(at, value)| row[*at] = Some(value.to_vec()));
        Ok(is_new)
    }

    fn delete(&self, key: &[u8]) -> Result<bool> {
        Ok(self.rows.lock().expect("no panic").remove(key).is_some())
    }
}

impl Tables for TestTables {
    fn find(&self, name: &str) -> Option<Arc<dyn RowTable>> {
        match name {
            "users" | "shop.users" => Some(Arc::clone(&self.several) as Arc<dyn RowTable>),
            "names" => Some(Arc::clone(&self.one) as Arc<dyn RowTable>),
            _ => None,
        }
    }
}

impl TestHost {
    pub(crate) fn new(name: &str) -> TestHost {
        TestHost::open(Arc::new(Directory::new(name)), SyncPolicy::EverySecond)
    }

    pub(crate) fn open(directory: Arc<Directory>, policy: SyncPolicy) -> TestHost {
        let open = |number: u32| {
            let options = KvOptions { cache: SharedCache::new(8 << 20, 64 << 20), ..KvOptions::default() };
            let path = directory.0.join(format!("db{number}"));
            let spec = basalt_redis::table::spec().expect("columns");
            Arc::new(Database::new(
                Arc::new(ReopeningStore::open(&path, spec, options).expect("a store")),
                policy,
            ))
        };
        let databases = vec![open(0), open(1)];
        let table = |columns: &[&str]| {
            Arc::new(TestTable {
                columns: columns.iter().map(|name| (*name).to_owned()).collect(),
                ..TestTable::default()
            })
        };
        let tables = TestTables { several: table(&["name", "city"]), one: table(&["name"]) };
        TestHost { databases, now_ms: AtomicU64::new(0), tables, _directory: directory }
    }

    /// The reply to one command.
    pub(crate) fn ask(&self, client: &mut Client, words: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        let input = encode(words);
        let served = client.serve(self, &input, &mut out);
        assert_eq!(served.consumed, input.len());
        if let Next::Authenticate { user, password } = served.next {
            match password.as_slice() == b"secret" {
                true => client.authenticated(&user, &mut out),
                false => client.refused(&mut out),
            }
        }
        out
    }

    /// The reply to the words of a line, as text.
    pub(crate) fn say(&self, client: &mut Client, line: &str) -> String {
        let words = words_of(line);
        let reply = self.ask(client, &words.iter().map(Vec::as_slice).collect::<Vec<_>>());
        String::from_utf8_lossy(&reply).into_owned()
    }

    pub(crate) fn database0(&self) -> &Arc<Database> {
        &self.databases[0]
    }
}

impl Host for TestHost {
    fn database(&self, number: u32) -> Result<Arc<Database>> {
        Ok(Arc::clone(&self.databases[number as usize % 2]))
    }

    fn existing(&self) -> Vec<u32> {
        vec![0, 1]
    }

    fn tables(&self) -> &dyn Tables {
        &self.tables
    }

    fn now_ms(&self) -> u64 {
        match self.now_ms.load(Ordering::SeqCst) {
            0 => SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as u64,
            now => now,
        }
    }

    fn facts(&self) -> ServerFacts {
        ServerFacts::default()
    }

    fn clients(&self) -> Vec<ClientFacts> {
        Vec::new()
    }
}

pub(crate) fn client() -> Client {
    Client::new(1, Some("default".to_owned()))
}

/// A command as an array of bulk strings.
pub(crate) fn encode(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// The words of a line; `""` is an empty one, `#` begins a comment.
pub(crate) fn words_of(line: &str) -> Vec<Vec<u8>> {
    let line = line.split('#').next().unwrap_or_default();
    let words = line.split_whitespace().map(|word| if word == "\"\"" { "" } else { word });
    words.map(|word| word.replace("\\s", " ").replace("\\0", "\0").into_bytes()).collect()
}

/// The end of the reply at the front of `bytes`, if it is there.
pub(crate) fn reply_end(bytes: &[u8]) -> Option<usize> {
    let line = bytes.windows(2).position(|pair| pair == b"\r\n")? + 2;
    let number = || std::str::from_utf8(&bytes[1..line - 2]).ok()?.parse::<i64>().ok();
    match bytes[0] {
        b'$' | b'=' => match number()? {
            -1 => Some(line),
            length => (bytes.len() >= line + length as usize + 2).then_some(line + length as usize + 2),
        },
        kind @ (b'*' | b'~' | b'%' | b'>') => {
            let count = number()?.max(0) * if kind == b'%' { 2 } else { 1 };
            (0..count).try_fold(line, |at, _| {
                Some(at + reply_end(bytes.get(at..).filter(|rest| !rest.is_empty())?)?)
            })
        }
        _ => Some(line),
    }
}
