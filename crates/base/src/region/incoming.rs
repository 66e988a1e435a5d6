//! A mapped file that becomes memory of the process, in place, while others read it.
//!
//! Stretch by stretch, new pages are filled with what the file has there, and then put where the file's pages
//! were (`mremap`): addresses stay, and whoever reads meets the same bytes before and after. The pages of the
//! file leave the process as its own come, so there is never more than one stretch of both.
//!
//! Elsewhere than on Linux nothing can be put in the place of a mapping, and the bytes stay the file's.

use std::fs::File;
use std::sync::Arc;

use super::{Pages, Region};
use crate::Result;

/// Bytes that are there twice for a moment. A multiple of a huge page.
#[cfg(target_os = "linux")]
const STRETCH_BYTES: usize = 16 << 20;

/// What is to be brought into memory.
#[derive(Debug)]
#[must_use = "the bytes are the file's until it is run"]
pub struct Incoming {
    region: Arc<Region>,
    file: File,
}

impl Incoming {
    /// The region to be shared, and what brings it into memory; `None` if it is there.
    pub fn of(mut region: Region) -> (Arc<Region>, Option<Incoming>) {
        let file = match &mut region.pages {
            Pages::File(file) => file.take(),
            Pages::Own => None,
        };
        let region = Arc::new(region);
        let incoming = file.map(|file| Incoming { region: Arc::clone(&region), file });
        (region, incoming)
    }

    /// Brings all of it into memory, on huge pages where the system has them. After an error some of it is the
    /// file's, and as readable as before.
    #[cfg(target_os = "linux")]
    pub fn run(self) -> Result<()> {
        use std::os::unix::fs::FileExt;

        use crate::{Error, ErrorCode};

        let bytes = self.region.len();
        for at in (0..bytes).step_by(STRETCH_BYTES) {
            let mut own = Region::zeroed_aligned(STRETCH_BYTES.min(bytes - at))?;
            self.file.read_exact_at(&mut own, at as u64).map_err(|error| {
                Error::new(ErrorCode::CannotReadFromFile, format!("a file in use cannot be read: {error}"))
            })?;
            self.region.replace_pages(at, own).map_err(|error| {
                Error::new(ErrorCode::CannotAllocateMemory, format!("pages cannot be moved: {error}"))
            })?;
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    pub fn run(self) -> Result<()> {
        drop((self.region, self.file));
        Ok(())
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::checksum::crc32c;

    fn mapped(bytes: &[u8]) -> (tempfile::TempDir, Region) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), bytes).unwrap();
        let region = Region::of_file(File::open(dir.path().join("file")).unwrap()).unwrap();
        (dir, region)
    }

    /// Pages of the process alone among those of the region.
    fn own_bytes(region: &Region) -> usize {
        let (start, end) = (region.as_ptr() as usize, region.as_ptr() as usize + region.len());
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let (mut is_inside, mut own) = (false, 0);
        for line in maps.lines() {
            let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
            if let Some((first, _)) = range {
                let first = usize::from_str_radix(first, 16).unwrap();
                is_inside = (start..end).contains(&first);
            } else if is_inside && line.starts_with("Anonymous:") {
                own += line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10;
            }
        }
        own
    }

    #[test]
    fn bytes_stay_what_they_are_while_they_come_in() {
        for bytes in [0, 1, 4096, 5000, (2 << 20) + 1, 2 * STRETCH_BYTES + 12_345] {
            let contents: Vec<u8> = (0..bytes).map(|at| (at / 3) as u8).collect();
            let (_dir, region) = mapped(&contents);
            let (region, incoming) = Incoming::of(region);
            let (sum, is_over) = (crc32c(&contents), AtomicBool::new(false));
            std::thread::scope(|scope| {
                let readers = [(); 2].map(|()| {
                    scope.spawn(|| {
                        while !is_over.load(Ordering::Relaxed) {
                            assert_eq!(crc32c(&region), sum);
                        }
                    })
                });
                incoming.expect("a file").run().unwrap();
                is_over.store(true, Ordering::Relaxed);
                readers.into_iter().for_each(|reader| reader.join().unwrap());
            });
            assert_eq!(&region[..], &contents[..], "{bytes}");
            assert_eq!(own_bytes(&region), bytes.next_multiple_of(4096), "{bytes}");
        }
    }

    #[test]
    fn what_is_in_memory_stays_there() {
        let (region, incoming) = Incoming::of(Region::zeroed(100).unwrap());
        assert!(incoming.is_none());
        assert_eq!(&region[..], &[0; 100]);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error_and_stays_mapped() {
        let contents = vec![7; 3 * STRETCH_BYTES];
        let (dir, region) = mapped(&contents);
        let (region, incoming) = Incoming::of(region);
        let file = File::options().write(true).open(dir.path().join("file")).unwrap();
        file.set_len(2 * STRETCH_BYTES as u64).unwrap();
        assert!(incoming.expect("a file").run().is_err());
        assert!(region[..2 * STRETCH_BYTES].iter().all(|&byte| byte == 7));
    }
}
