//! The source of each row of a vertical merge: its input, and whether it was kept, in one byte.
//!
//! The first stage of a [vertical](super::vertical) merge records it while it merges the deciding columns; then
//! each other column is gathered by reading it from the front. What exceeds [`MEMORY_BYTES_MAX`] goes into a file,
//! which is removed with the log.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use basalt_base::FileAction;
use basalt_base::fs::{RandomAccess, Storage, WritableFile};

use crate::error::Result;

/// Flag of rows that the merge dropped.
const LEFT_OUT: u8 = 0x80;

/// The most inputs that a byte can number.
pub(super) const INPUTS_MAX: usize = LEFT_OUT as usize;

/// The most bytes of the log in memory.
const MEMORY_BYTES_MAX: usize = 16 << 20;

/// Records sources while rows are merged. Clones share the log.
#[derive(Clone)]
pub(super) struct RowSourceLog(Arc<Mutex<Log>>);

struct Log {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    file: Option<Box<dyn WritableFile>>,
    /// Bytes in the file.
    written: u64,
    bytes: Vec<u8>,
    /// Rows whose fate is decided: those before it that were not kept are dropped.
    decided: u64,
    bytes_max: usize,
}

/// The finished log. Its file is removed with it.
pub(super) struct RowSources {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    file: Option<Arc<dyn RandomAccess>>,
    /// The bytes after those in the file.
    bytes: Vec<u8>,
}

/// The input of a row with this byte.
pub(super) fn input_of(byte: u8) -> usize {
    usize::from(byte & !LEFT_OUT)
}

/// Whether the merge kept a row with this byte.
pub(super) fn is_kept(byte: u8) -> bool {
    byte & LEFT_OUT == 0
}

impl RowSourceLog {
    /// An empty log that may create the file `path`.
    pub(super) fn new(storage: Arc<dyn Storage>, path: PathBuf) -> RowSourceLog {
        RowSourceLog::with_memory(storage, path, MEMORY_BYTES_MAX)
    }

    fn with_memory(storage: Arc<dyn Storage>, path: PathBuf, bytes_max: usize) -> RowSourceLog {
        let (file, bytes) = (None, Vec::new());
        RowSourceLog(Arc::new(Mutex::new(Log {
            storage,
            path,
            file,
            written: 0,
            bytes,
            decided: 0,
            bytes_max,
        })))
    }

    /// Records that the next `rows` merged rows come from `input`.
    pub(super) fn push(&self, input: usize, rows: usize) {
        assert!(input < INPUTS_MAX, "a merge has few inputs");
        let mut log = self.log();
        let length = log.bytes.len();
        log.bytes.resize(length + rows, input as u8);
    }

    /// Keeps the recorded rows with these ascending ordinals and drops the undecided rows between them. May be
    /// called again for later rows.
    pub(super) fn keep(&self, ordinals: &[u64]) -> Result<()> {
        let mut log = self.log();
        for &ordinal in ordinals {
            assert!(ordinal >= log.decided, "a merge keeps the order of its rows");
            log.leave_out_until(ordinal);
            log.decided = ordinal + 1;
        }
        log.spill()
    }

    /// Ends the log.
    pub(super) fn finish(&self) -> Result<RowSources> {
        let mut log = self.log();
        let end = log.written + log.bytes.len() as u64;
        log.leave_out_until(end);
        let file = match log.file.take() {
            Some(_) => Some(log.storage.open(&log.path)?),
            None => None,
        };
        let bytes = std::mem::take(&mut log.bytes);
        Ok(RowSources { storage: Arc::clone(&log.storage), path: log.path.clone(), file, bytes })
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        // A panic while it was held ends the merge.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    fn leave_out_until(&mut self, end: u64) {
        let at = |row: u64| (row - self.written) as usize;
        let (start, end) = (at(self.decided), at(end));
        self.bytes[start..end].iter_mut().for_each(|byte| *byte |= LEFT_OUT);
    }

    /// Writes the decided rows to the file, once they are many.
    fn spill(&mut self) -> Result<()> {
        let decided = (self.decided - self.written) as usize;
        if decided <= self.bytes_max {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(self.storage.create(&self.path)?),
        };
        file.write_all(&self.bytes[..decided])
            .map_err(|error| basalt_base::Error::io(FileAction::Write, &self.path, &error))?;
        self.bytes.drain(..decided);
        self.written = self.decided;
        Ok(())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if self.file.is_some() {
            // The merge failed; if this fails too, recovery empties the directory.
            let _ = self.storage.remove_file(&self.path);
        }
    }
}

impl RowSources {
    /// Reads from the first row on.
    pub(super) fn reader(&self) -> RowSourceReader<'_> {
        RowSourceReader { sources: self, offset: 0 }
    }

    fn file_bytes(&self) -> u64 {
        self.file.as_ref().map_or(0, |file| file.size())
    }
}

impl Drop for RowSources {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // As above.
            let _ = self.storage.remove_file(&self.path);
        }
    }
}

/// Reads the sources of a merge's rows.
pub(super) struct RowSourceReader<'a> {
    sources: &'a RowSources,
    /// Rows read so far.
    offset: u64,
}

impl RowSourceReader<'_> {
    /// Fills `bytes` with the sources of the next rows, at most `rows_max`; empty at the end.
    pub(super) fn read(&mut self, rows_max: usize, bytes: &mut Vec<u8>) -> Result<()> {
        bytes.clear();
        let in_file = self.sources.file_bytes();
        if let Some(file) = self.sources.file.as_ref().filter(|_| self.offset < in_file) {
            bytes.resize((in_file - self.offset).min(rows_max as u64) as usize, 0);
            file.read_at(self.offset, bytes)
                .map_err(|error| basalt_base::Error::io(FileAction::Read, &self.sources.path, &error))?;
        } else {
            let rest = &self.sources.bytes[(self.offset - in_file) as usize..];
            bytes.extend_from_slice(&rest[..rest.len().min(rows_max)]);
        }
        self.offset += bytes.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use basalt_base::fs::FaultyStorage;
    use proptest::prelude::*;

    use super::*;

    /// Records these inputs and fates in a log that holds `bytes_max` bytes in memory, and reads them back.
    fn check(rows: &[(u8, bool)], step: usize, bytes_max: usize) {
        let storage = Arc::new(FaultyStorage::new());
        storage.create_dir_all(Path::new("/t")).unwrap();
        let log = RowSourceLog::with_memory(
            Arc::clone(&storage) as Arc<dyn Storage>,
            PathBuf::from("/t/rows"),
            bytes_max,
        );
        for (batch, part) in rows.chunks(step).enumerate() {
            part.iter().for_each(|&(input, _)| log.push(usize::from(input), 1));
            let kept = part.iter().enumerate().filter(|(_, row)| row.1);
            let ordinals: Vec<u64> = kept.map(|(row, _)| (batch * step + row) as u64).collect();
            log.keep(&ordinals).unwrap();
        }
        let sources = log.finish().unwrap();
        drop(log);
        let mut reader = sources.reader();
        let mut found = Vec::new();
        let mut bytes = Vec::new();
        loop {
            reader.read(5, &mut bytes).unwrap();
            if bytes.is_empty() {
                break;
            }
            found.extend(bytes.iter().map(|&byte| (input_of(byte) as u8, is_kept(byte))));
        }
        assert_eq!(found, rows);
        drop(sources);
        assert!(storage.list(Path::new("/t")).unwrap().is_empty(), "the file is gone");
    }

    proptest! {
        #[test]
        fn rows_are_told_as_they_were_noted(
            rows in prop::collection::vec((0..4_u8, prop::bool::weighted(0.7)), 0..200),
            step in 1..30_usize,
            bytes_max in 0..100_usize,
        ) {
            check(&rows, step, bytes_max);
        }
    }
}
