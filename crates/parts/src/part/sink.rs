//! The destination of a column's bytes: memory, until it is certain that the part is wide.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use basalt_base::fs::WritableFile;

/// The bytes of one column. Clones share them.
#[derive(Clone)]
pub(crate) struct Sink(Arc<Mutex<Target>>);

enum Target {
    Memory(Vec<u8>),
    File(Box<dyn WritableFile>),
    /// The file is complete and closed: a part may have more columns than files can be open.
    Closed,
}

impl Sink {
    /// Collects the written bytes in memory.
    pub(crate) fn in_memory() -> Sink {
        Sink(Arc::new(Mutex::new(Target::Memory(Vec::new()))))
    }

    /// Moves the written bytes to `file`, and sends all further ones there.
    pub(crate) fn move_to(&self, mut file: Box<dyn WritableFile>) -> io::Result<()> {
        let mut target = self.target();
        if let Target::Memory(bytes) = &*target {
            file.write_all(bytes)?;
        }
        *target = Target::File(file);
        Ok(())
    }

    /// The bytes in memory; empty if they went into a file.
    pub(crate) fn take_memory(&self) -> Vec<u8> {
        match &mut *self.target() {
            Target::Memory(bytes) => std::mem::take(bytes),
            Target::File(_) | Target::Closed => Vec::new(),
        }
    }

    /// Closes the file, if there is one. The part's directory is synced later.
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
    /// Bytes in memory become durable with the file that they are written into later.
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
