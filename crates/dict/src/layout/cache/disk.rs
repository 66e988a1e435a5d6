//! The rows of an SSD_CACHE: appended to files. The oldest file is removed when there are too many.
//!
//! # Layout
//!
//! ```text
//! <path>/LOCK                held while there is a cache; holds the number of the process
//! <path>/<cache>_<n>.cache:  records
//! record:                    crc32c u32 little-endian of the row, the row
//! ```
//! Only memory knows where a row is and when it expires. The files are of no use to another process, so they are
//! removed when the cache is built and when it is dropped, and are never synced. A directory belongs to one
//! dictionary, whose versions share the lock.

use std::collections::VecDeque;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use basalt_base::checksum::crc32c;
use basalt_base::fs::{DirectoryLock, LOCK_FILE, RandomAccess, Storage, WritableFile};
use basalt_base::{Error, FileAction, Result, bail};

use super::spec::{LockDirectory, SsdSpec};

const CRC_BYTES: usize = size_of::<u32>();
const SUFFIX: &str = ".cache";

/// Numbers the caches of this process, so that the versions of a dictionary use different file names.
static CACHES: AtomicU64 = AtomicU64::new(0);

pub(super) struct DiskRows {
    storage: Arc<dyn Storage>,
    spec: SsdSpec,
    cache: u64,
    /// The oldest one first; the last one is being written.
    files: VecDeque<File>,
    /// The number of the oldest file.
    first: u64,
    /// Released after the files are removed.
    _lock: Option<Arc<DirectoryLock>>,
}

struct File {
    path: PathBuf,
    writer: Box<dyn WritableFile>,
    /// Reads the part of the file that was written; `None` before the first write.
    reader: Option<Arc<dyn RandomAccess>>,
    written: u64,
    /// Records that follow and are not written yet.
    buffer: Vec<u8>,
}

/// Where a row is.
#[derive(Clone, Copy, Debug)]
pub(super) struct DiskPlace {
    file: u64,
    at: u64,
    row_bytes: u32,
}

impl DiskPlace {
    pub(super) const BYTES: usize = 2 * size_of::<u64>() + size_of::<u32>();

    pub(super) fn to_bytes(self) -> [u8; DiskPlace::BYTES] {
        let mut bytes = [0; DiskPlace::BYTES];
        bytes[..8].copy_from_slice(&self.file.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.at.to_le_bytes());
        bytes[16..].copy_from_slice(&self.row_bytes.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<DiskPlace> {
        let broken = || Error::logical(format!("the place of a row in a file has {} bytes", bytes.len()));
        let (file, rest) = bytes.split_first_chunk().ok_or_else(broken)?;
        let (at, rest) = rest.split_first_chunk().ok_or_else(broken)?;
        let row_bytes = rest.try_into().map_err(|_| broken())?;
        Ok(DiskPlace {
            file: u64::from_le_bytes(*file),
            at: u64::from_le_bytes(*at),
            row_bytes: u32::from_le_bytes(row_bytes),
        })
    }
}

impl DiskRows {
    /// Takes the directory, which is created if it is missing, and removes the files of an earlier cache. Other files
    /// in it are an error. Without a `lock`, the directory must be unknown to others.
    pub(super) fn new(
        storage: Arc<dyn Storage>,
        spec: SsdSpec,
        lock: Option<&LockDirectory>,
    ) -> Result<DiskRows> {
        storage.create_dir_all(&spec.path)?;
        // Before the lock, which is a file as well: a directory with other files is not changed.
        former_files(storage.as_ref(), &spec)?;
        let lock = lock.map(|lock| lock(&spec.path)).transpose()?;
        for path in former_files(storage.as_ref(), &spec)? {
            storage.remove_file(&path)?;
        }
        let cache = CACHES.fetch_add(1, Ordering::Relaxed);
        Ok(DiskRows { storage, spec, cache, files: VecDeque::new(), first: 0, _lock: lock })
    }

    /// Where the row is now, and whether the oldest file was removed to make room.
    pub(super) fn append(&mut self, row: &[u8]) -> Result<(DiskPlace, bool)> {
        let record_bytes = (CRC_BYTES + row.len()) as u64;
        let Some(row_bytes) = u32::try_from(row.len()).ok().filter(|_| record_bytes <= self.spec.file_size)
        else {
            bail!(ArgumentOutOfBound, "a row of {} bytes does not fit into FILE_SIZE", row.len());
        };
        let mut dropped = false;
        if self.files.back().is_none_or(|file| file.end() + record_bytes > self.spec.file_size) {
            dropped = self.begin_file()?;
        }
        let file = self.files.back_mut().ok_or_else(|| Error::logical("a cache without a file"))?;
        let at = file.end();
        file.buffer.extend_from_slice(&crc32c(row).to_le_bytes());
        file.buffer.extend_from_slice(row);
        if file.buffer.len() as u64 >= self.spec.write_buffer_size {
            file.flush(self.storage.as_ref())?;
        }
        let number = self.first + self.files.len() as u64 - 1;
        Ok((DiskPlace { file: number, at, row_bytes }, dropped))
    }

    fn begin_file(&mut self) -> Result<bool> {
        if let Some(full) = self.files.back_mut() {
            full.flush(self.storage.as_ref())?;
        }
        let path = self.spec.path.join(self.file_name(self.first + self.files.len() as u64));
        let writer = self.storage.create(&path)?;
        self.files.push_back(File { path, writer, reader: None, written: 0, buffer: Vec::new() });
        if self.files.len() as u64 <= self.spec.max_partitions_count {
            return Ok(false);
        }
        if let Some(oldest) = self.files.pop_front() {
            self.first += 1;
            self.storage.remove_file(&oldest.path)?;
        }
        Ok(true)
    }

    fn file_name(&self, number: u64) -> String {
        format!("{}_{number}{SUFFIX}", self.cache)
    }

    pub(super) fn is_dropped(&self, place: DiskPlace) -> bool {
        place.file < self.first
    }

    /// The row; `None` if it was removed or is damaged.
    pub(super) fn read(&self, place: DiskPlace) -> Result<Option<Vec<u8>>> {
        let index = place.file.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        let Some(file) = index.and_then(|index| self.files.get(index)) else {
            return Ok(None);
        };
        let mut record = vec![0; CRC_BYTES + place.row_bytes as usize];
        if let Some(at) = place.at.checked_sub(file.written) {
            let at = at as usize;
            let end = at + record.len();
            record.copy_from_slice(&file.buffer[at..end]);
        } else if let Some(reader) = &file.reader {
            reader
                .read_at(place.at, &mut record)
                .map_err(|error| Error::io(FileAction::Read, &file.path, &error))?;
        } else {
            return Ok(None);
        }
        let (crc, row) = record.split_at(CRC_BYTES);
        Ok((crc == crc32c(row).to_le_bytes()).then(|| row.to_vec()))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.files.iter().map(|file| size_of::<File>() + file.buffer.capacity()).sum()
    }
}

/// The files that a cache left in its directory.
fn former_files(storage: &dyn Storage, spec: &SsdSpec) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in storage.list(&spec.path)? {
        if !entry.is_dir && entry.name.ends_with(SUFFIX) {
            files.push(spec.path.join(entry.name));
        } else if entry.is_dir || entry.name != LOCK_FILE {
            bail!(
                BadArguments,
                "PATH {} has `{}` in it; an SSD_CACHE needs a directory of its own",
                spec.path.display(),
                entry.name
            );
        }
    }
    Ok(files)
}

impl File {
    fn end(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    fn flush(&mut self, storage: &dyn Storage) -> Result<()> {
        let write = self.writer.write_all(&self.buffer).and_then(|()| self.writer.flush());
        write.map_err(|error| Error::io(FileAction::Write, &self.path, &error))?;
        self.written += self.buffer.len() as u64;
        self.buffer = Vec::new();
        // A newer cache may have emptied the directory. Then the row is requested again.
        self.reader = storage.open(&self.path).ok();
        Ok(())
    }
}

impl Drop for DiskRows {
    fn drop(&mut self) {
        for file in &self.files {
            // Files that are left are removed when the next cache is built here.
            let _ = self.storage.remove_file(&file.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use basalt_base::ErrorCode;
    use basalt_base::fs::FaultyStorage;

    use super::*;

    fn rows(storage: &Arc<FaultyStorage>) -> DiskRows {
        let spec = SsdSpec {
            path: "/cache".into(),
            block_size: 16,
            file_size: 64,
            write_buffer_size: 32,
            max_partitions_count: 2,
            ..SsdSpec::default()
        };
        DiskRows::new(Arc::clone(storage) as Arc<dyn Storage>, spec, None).expect("an empty directory")
    }

    fn in_use(_dir: &Path) -> Result<Arc<DirectoryLock>> {
        bail!(CannotOpenFile, "it is in use")
    }

    #[test]
    fn the_oldest_file_goes_first() {
        let storage = Arc::new(FaultyStorage::new());
        let mut disk = rows(&storage);
        let places: Vec<DiskPlace> = (0..10_u8).map(|row| disk.append(&[row; 26]).expect("room").0).collect();
        // Two rows fit into a file, and there are two files.
        for (row, &place) in places.iter().enumerate() {
            let expected = (row >= 6).then(|| vec![row as u8; 26]);
            assert_eq!(disk.read(place).expect("a healthy disk"), expected, "row {row}");
        }
        assert!(disk.append(&[0; 61]).is_err());
        drop(disk);
        assert_eq!(storage.list("/cache".as_ref()).expect("a directory"), []);
    }

    #[test]
    fn a_damaged_row_is_not_shown() {
        let storage = Arc::new(FaultyStorage::new());
        let mut disk = rows(&storage);
        let (place, _) = disk.append(&[7; 40]).expect("room");
        let path = disk.spec.path.join(disk.file_name(0));
        for bit in 0..44 * 8 {
            storage.damage(&path, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
            assert_eq!(disk.read(place).expect("a readable file"), None, "bit {bit}");
            storage.damage(&path, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
        }
        assert_eq!(disk.read(place).expect("a readable file"), Some(vec![7; 40]));
    }

    #[test]
    fn a_directory_of_others_is_left_alone() {
        let storage = Arc::new(FaultyStorage::new());
        storage.create_dir_all("/cache".as_ref()).expect("a new directory");
        storage.create("/cache/0_0.cache".as_ref()).expect("a new file");
        storage.create("/cache/mine.txt".as_ref()).expect("a new file");
        let spec = SsdSpec { path: "/cache".into(), ..SsdSpec::default() };
        let lock: LockDirectory = Arc::new(in_use);
        let kept = Arc::clone(&storage) as Arc<dyn Storage>;
        let refused = DiskRows::new(kept, spec, Some(&lock)).err().map(|error| error.code());
        assert_eq!(refused, Some(ErrorCode::BadArguments));
        assert_eq!(storage.list("/cache".as_ref()).expect("a directory").len(), 2);
    }

    #[test]
    fn a_cache_that_was_killed_leaves_nothing_that_counts() {
        let storage = Arc::new(FaultyStorage::new());
        storage.create_dir_all("/cache".as_ref()).expect("a new directory");
        storage.create("/cache/LOCK".as_ref()).expect("a new file");
        storage.create("/cache/7_0.cache".as_ref()).expect("a new file");
        drop(rows(&storage));
        let left = storage.list("/cache".as_ref()).expect("a directory");
        assert_eq!(left.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["LOCK"]);
    }

    #[test]
    fn a_directory_that_is_locked_is_left_alone() {
        let storage = Arc::new(FaultyStorage::new());
        storage.create_dir_all("/cache".as_ref()).expect("a new directory");
        storage.create("/cache/7_0.cache".as_ref()).expect("a new file");
        let spec = SsdSpec { path: "/cache".into(), ..SsdSpec::default() };
        let lock: LockDirectory = Arc::new(in_use);
        let kept = Arc::clone(&storage) as Arc<dyn Storage>;
        let refused = DiskRows::new(kept, spec, Some(&lock)).err().map(|error| error.code());
        assert_eq!(refused, Some(ErrorCode::CannotOpenFile));
        assert_eq!(storage.list("/cache".as_ref()).expect("a directory").len(), 1);
    }
}
