//! The command line: a verb, then pairs of a name and a value.

use std::collections::HashMap;
use std::path::PathBuf;
use std::str::FromStr;

use crate::store::Result;

/// What to do, with which store.
pub(crate) struct Arguments {
    pub(crate) verb: String,
    /// The kind of store.
    pub(crate) store: String,
    pub(crate) directory: PathBuf,
    /// The records, one in a line.
    pub(crate) file: PathBuf,
    /// The number of columns, from the first, that are the key.
    pub(crate) key_columns: usize,
    pub(crate) threads: usize,
    /// How long to measure, and how long to do the same before without measuring.
    pub(crate) seconds: f64,
    pub(crate) warm_seconds: f64,
    /// Operations in a hundred that read.
    pub(crate) reads_percent: u64,
    /// The number of records that `write` writes.
    pub(crate) writes: u64,
    /// The memory cgroup that the process joins before it opens the store.
    pub(crate) group: Option<PathBuf>,
    pub(crate) rocks: RocksArguments,
    pub(crate) succinct: SuccinctArguments,
}

/// How RocksDB is opened, ours inside Succinct too.
pub(crate) struct RocksArguments {
    pub(crate) compression: String,
    pub(crate) block_bytes: usize,
    pub(crate) cache_bytes: usize,
    pub(crate) write_buffer_bytes: usize,
    /// Whether files are read past the page cache.
    pub(crate) direct: bool,
    /// Whether each write is on the disk before the next.
    pub(crate) sync: bool,
}

/// How a Succinct table is made.
pub(crate) struct SuccinctArguments {
    /// Names and types of the file's columns.
    pub(crate) columns: String,
    /// Whether all columns outside the key are one column group.
    pub(crate) grouped: bool,
}

impl Arguments {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments> {
        let verb = words.next().ok_or("a verb is expected")?;
        let mut pairs = Pairs(HashMap::new());
        while let Some(name) = words.next() {
            let value = words.next().ok_or_else(|| format!("`{name}` has no value"))?;
            pairs.0.insert(name, value);
        }
        let arguments = Arguments {
            verb,
            store: pairs.take("--store", "rocksdb".to_owned())?,
            directory: pairs.take("--directory", PathBuf::new())?,
            file: pairs.take("--file", PathBuf::new())?,
            key_columns: pairs.take("--key-columns", 1)?,
            threads: pairs.take("--threads", 1)?,
            seconds: pairs.take("--seconds", 5.0)?,
            warm_seconds: pairs.take("--warm-seconds", 2.0)?,
            reads_percent: pairs.take("--reads-percent", 100)?,
            writes: pairs.take("--writes", 100_000)?,
            group: pairs.0.remove("--group").map(PathBuf::from),
            rocks: RocksArguments {
                compression: pairs.take("--compression", "lz4".to_owned())?,
                block_bytes: pairs.take("--block-bytes", 4 << 10)?,
                cache_bytes: pairs.take("--cache-bytes", 256 << 20)?,
                write_buffer_bytes: pairs.take("--write-buffer-bytes", 64 << 20)?,
                direct: pairs.take("--direct", false)?,
                sync: pairs.take("--sync", false)?,
            },
            succinct: SuccinctArguments {
                columns: pairs.take("--columns", String::new())?,
                grouped: pairs.take("--grouped", false)?,
            },
        };
        match pairs.0.keys().next() {
            Some(unknown) => Err(format!("there is no option `{unknown}`").into()),
            None => Ok(arguments),
        }
    }
}

/// Pairs that nobody has asked for yet.
struct Pairs(HashMap<String, String>);

impl Pairs {
    fn take<T: FromStr>(&mut self, name: &str, default: T) -> Result<T> {
        let Some(value) = self.0.remove(name) else { return Ok(default) };
        value.parse().map_err(|_| format!("`{value}` is not a value of `{name}`").into())
    }
}
