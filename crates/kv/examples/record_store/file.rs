//! The file of records: read line by line, or all its keys in memory.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::store::Result;

const READ_BYTES: usize = 4 << 20;

/// Lines of a file, split into key and value.
pub(crate) struct Records {
    file: BufReader<File>,
    key_columns: usize,
    line: Vec<u8>,
}

impl Records {
    pub(crate) fn open(path: &Path, key_columns: usize) -> Result<Records> {
        let file = BufReader::with_capacity(READ_BYTES, File::open(path)?);
        Ok(Records { file, key_columns, line: Vec::new() })
    }

    /// The next key and value, without the tab between them.
    pub(crate) fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.line.clear();
        if self.file.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        split(line, self.key_columns).map(Some)
    }
}

fn split(line: &[u8], key_columns: usize) -> Result<(&[u8], &[u8])> {
    let tabs = line.iter().enumerate().filter(|(_, byte)| **byte == b'\t').map(|(at, _)| at);
    let tab = tabs.take(key_columns).nth(key_columns - 1).ok_or("a line has too few columns")?;
    Ok((&line[..tab], &line[tab + 1..]))
}

/// Strings of bytes, one after the other in memory.
#[derive(Default)]
pub(crate) struct Strings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Strings {
    pub(crate) fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start..self.ends[at]]
    }
}

/// What is asked for and what is written.
#[derive(Default)]
pub(crate) struct Asked {
    /// All keys.
    pub(crate) keys: Strings,
    /// Values of the first records.
    pub(crate) values: Strings,
}

impl Asked {
    /// Values that are kept: enough that the same one is not written again soon.
    const VALUES: usize = 20_000;

    pub(crate) fn read(path: &Path, key_columns: usize) -> Result<Asked> {
        let mut records = Records::open(path, key_columns)?;
        let mut asked = Asked::default();
        while let Some((key, value)) = records.next()? {
            asked.keys.push(key);
            if asked.values.len() < Asked::VALUES {
                asked.values.push(value);
            }
        }
        if asked.keys.len() == 0 {
            return Err("the file has no records".into());
        }
        Ok(asked)
    }
}
