//! Small segment files for tests, and damaged ones whose checksums are right.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use basalt_base::fs::{FaultyStorage, PendingFile, Storage};

use super::*;

/// A directory in memory.
pub(crate) struct TestDir {
    storage: Arc<dyn Storage>,
    place: SpoolPlace,
    next: AtomicUsize,
}

/// A component in memory, which may be damaged.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) name: String,
    pub(crate) encoding: String,
    pub(crate) numbers: Vec<u64>,
    pub(crate) sections: Vec<Vec<u8>>,
}

impl TestDir {
    pub(crate) fn new() -> TestDir {
        let storage: Arc<dyn Storage> = Arc::new(FaultyStorage::new());
        storage.create_dir_all(Path::new("/spools")).expect("a directory");
        let place = SpoolPlace::new(Arc::clone(&storage), "/spools".into());
        TestDir { storage, place, next: AtomicUsize::new(0) }
    }

    pub(crate) fn place(&self) -> &SpoolPlace {
        &self.place
    }

    /// A file of these components, opened.
    pub(crate) fn file(&self, components: &[Parts], access: Access) -> SegmentFile {
        self.file_of_rows(components, 0, access)
    }

    pub(crate) fn file_of_rows(&self, components: &[Parts], rows: u64, access: Access) -> SegmentFile {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = PathBuf::from(format!("/spools/{number}.seg"));
        let pending = PendingFile::write_with(self.storage.as_ref(), &path, |out| {
            let mut writer = SegmentWriter::begin(out, 1, Features::default())?;
            for parts in components {
                let mut component = PendingComponent::new(parts.name.clone(), &parts.encoding);
                component.numbers.clone_from(&parts.numbers);
                for section in &parts.sections {
                    component.section(self.place.spool_of(section)?);
                }
                writer.add(component)?;
            }
            writer.finish(rows, 0).map(drop)
        });
        pending.and_then(|pending| pending.publish(self.storage.as_ref())).expect("a file");
        let file = SegmentFile::open(self.storage.as_ref(), &path, access).expect("a segment");
        // The open file keeps its bytes.
        self.storage.remove_file(&path).expect("it is there");
        file
    }
}

impl Parts {
    pub(crate) fn of(component: PendingComponent) -> Parts {
        let section = |spool: Spool| {
            let mut bytes = Vec::new();
            let drained = spool.drain(|piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            });
            drained.expect("a spool");
            bytes
        };
        Parts {
            name: component.name,
            encoding: component.encoding,
            numbers: component.numbers,
            sections: component.sections.into_iter().map(section).collect(),
        }
    }

    /// Calls `check` with copies: each has a flipped bit, or a section that was cut.
    pub(crate) fn each_damage(&self, mut check: impl FnMut(&Parts)) {
        for (index, number) in self.numbers.iter().enumerate() {
            for bit in 0..u64::BITS {
                let mut damaged = self.clone();
                damaged.numbers[index] = number ^ 1 << bit;
                check(&damaged);
            }
        }
        for (index, section) in self.sections.iter().enumerate() {
            let mut damaged = self.clone();
            for bit in 0..section.len() * 8 {
                damaged.sections[index][bit / 8] ^= 1 << (bit % 8);
                check(&damaged);
                damaged.sections[index][bit / 8] ^= 1 << (bit % 8);
            }
            for bytes in 0..section.len() {
                damaged.sections[index].truncate(section.len() - 1 - bytes);
                check(&damaged);
            }
        }
    }
}

/// Calls `check` with copies of all components, one of which is damaged.
pub(crate) fn each_damage(components: &[Parts], mut check: impl FnMut(&[Parts])) {
    for (index, component) in components.iter().enumerate() {
        let mut all = components.to_vec();
        component.each_damage(|damaged| {
            all[index] = damaged.clone();
            check(&all);
        });
    }
}
