//! A file that a statement names, read from its start. No kind of file blocks the query for ever.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use crate::query::checkpoint;
use crate::{Error, FileAction, Result};

/// The pause between two polls of an empty pipe.
const WAIT: Duration = Duration::from_millis(5);

/// An open file, pipe or device. A read that waits checks now and then whether the query of its thread must stop.
#[derive(Debug)]
pub struct InputFile {
    file: File,
    /// A named pipe that has had no writer yet: its end of file only means that nobody has opened it for writing.
    awaits_writer: bool,
}

impl InputFile {
    pub fn open(path: &Path) -> Result<InputFile> {
        // Without this flag the open of a named pipe blocks until it has a writer.
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        let file = opened.map_err(|error| Error::io(FileAction::Open, path, &error))?;
        // An unnamed pipe, such as the one at /dev/stdin, has had its writers.
        let named = std::fs::canonicalize(path).and_then(std::fs::metadata);
        let awaits_writer = named.is_ok_and(|named| named.file_type().is_fifo());
        Ok(InputFile { file, awaits_writer })
    }

    /// Whether it is a regular file, not a pipe or a device.
    pub fn is_regular(&self) -> bool {
        self.file.metadata().is_ok_and(|found| found.is_file())
    }

    /// Seeks back to the start, which only a regular file supports.
    pub fn rewind(&mut self) -> io::Result<()> {
        self.file.rewind()
    }
}

impl Read for InputFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.file.read(out) {
                Ok(0) if self.awaits_writer && !out.is_empty() => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.awaits_writer = false,
                done => {
                    self.awaits_writer = false;
                    return done;
                }
            }
            checkpoint().map_err(io::Error::other)?;
            std::thread::sleep(WAIT);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::Arc;
    use std::time::Instant;

    use super::*;
    use crate::ErrorCode;
    use crate::query::{MemoryTracker, QueryStatus, TimeLimit, enter};

    fn read(path: &Path) -> io::Result<String> {
        let mut text = String::new();
        InputFile::open(path).unwrap().read_to_string(&mut text).map(|_| text)
    }

    fn pipe(dir: &Path) -> std::path::PathBuf {
        let path = dir.join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }

    #[test]
    fn file_and_pipe_are_read_to_their_end() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "text").unwrap();
        assert_eq!(read(&file).unwrap(), "text");
        let path = pipe(dir.path());
        let to = path.clone();
        let writer = std::thread::spawn(move || std::fs::write(to, "later"));
        assert_eq!(read(&path).unwrap(), "later");
        writer.join().unwrap().unwrap();
        assert!(InputFile::open(&dir.path().join("none")).is_err());
    }

    #[test]
    fn pipe_without_a_writer_waits_until_the_query_ends() {
        let dir = tempfile::tempdir().unwrap();
        let path = pipe(dir.path());
        let time = TimeLimit::seconds(Instant::now(), 0.05);
        let query = QueryStatus::new("q", Arc::default(), time, MemoryTracker::default());
        let _entered = enter(Some(Arc::new(query)));
        let error = Error::of_reading(read(&path).unwrap_err());
        assert_eq!(error.code(), ErrorCode::TimeoutExceeded);
    }
}
