//! Where a column's bytes go while a part is written: memory, until it is known that the part is wide.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use basalt_base::fs::WritableFile;

/// The bytes of one column. Its clones are the same.
#[derive(Clone)]
pub(crate) struct Sink(Arc<Mutex<Target>>);

enum Target {
    Memory(Vec<u8>),
    File(Box<dyn WritableFile>),
    /// All was written, and the file is closed: a part may have more columns than files can be open.
    Closed,
}

impl Sink {
    /// Keeps what is written in memory.
    pub(crate) fn in_memory() -> Sink {
        Sink(Arc::new(Mutex::new(Target::Memory(Vec::new()))))
    }

    /// What was written goes into `file`, as does all that follows.
    pub(crate) fn move_to(&self, mut file: Box<dyn WritableFile>) -> io::Result<()> {
        let mut target = self.target();
        if let Target::Memory(bytes) = &*target {
            file.write_all(bytes)?;
        }
        *target = Target::File(file);
        Ok(())
    }

    /// What is in memory; nothing if it went into a file.
    pub(crate) fn take_memory(&self) -> Vec<u8> {
        match &mut *self.target() {
            Target::Memory(bytes) => std::mem::take(bytes),
            Target::File(_) | Target::Closed => Vec::new(),
        }
    }

    /// Nothing follows: the file is closed, if there is one. The part's directory is synced later.
    pub(crate) fn close(&self) -> io::Result<()> {
        let mut target = self.target();
        if let Target::File(file) = &mut *target {
            file.flush()?;
            *target = Target::Closed;
        }
        Ok(())
    }

    fn target(&self) -> MutexGuard<'_, Target> {
        // A panic while it was held leaves a part that is never published.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *self.target() {
            Target::Memory(memory) => memory.write(bytes),
            Target::File(file) => file.write(bytes),
            Target::Closed => Err(closed()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut *self.target() {
            Target::Memory(_) | Target::Closed => Ok(()),
            Target::File(file) => file.flush(),
        }
    }
}

impl WritableFile for Sink {
    /// Memory becomes durable with the file that it is written into.
    fn sync(&mut self) -> io::Result<()> {
        match &mut *self.target() {
            Target::Memory(_) => Ok(()),
            Target::File(file) => file.sync(),
            Target::Closed => Err(closed()),
        }
    }
}

fn closed() -> io::Error {
    io::Error::other("the file of the column is closed")
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let target = self.target();
        match &*target {
            Target::Memory(bytes) => write!(f, "Sink({} bytes in memory)", bytes.len()),
            Target::File(_) => write!(f, "Sink(file)"),
            Target::Closed => write!(f, "Sink(closed file)"),
        }
    }
}
