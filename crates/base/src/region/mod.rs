//! Large blocks of memory straight from the system: zeroed and on huge pages, or the pages of a file.
//!
//! Random access to a table of many megabytes spends as long on address translation as on the table itself. With
//! pages of 2 MB it does not. A region asks for them (`madvise`), and the system gives them if it can. Pages that
//! were never written take no memory.
//!
//! # Concurrency
//!
//! One owner writes a region, and then shares it as [`Section`]s, which are only read.
//!
//! - [`advice`](PageAdvice): how the pages of a mapped file will be used.
//! - [`checks`](BlockChecks): checksums of a mapped file, which are compared when a block is first touched.
//! - [`growing`](GrowingBytes): a region that is added to.
//! - [`numbers`](RegionNumbers): a region of numbers.
//! - [`recycling`](RecyclingRegion): a region on pages of another one.
//!
//! # Not here
//!
//! A mapped file must not change while it is mapped. Basalt writes files once and replaces them by renames, in a
//! directory that one process has locked. If a file becomes shorter all the same, or its disk fails, that is an error
//! ([`Region::check_present`]) and does not end the process.

mod advice;
mod checks;
mod faults;
mod growing;
mod numbers;
mod recycling;

pub use advice::PageAdvice;
pub use checks::{BlockChecks, BlockSource, CHECK_BLOCK_BYTES};
use faults::Watched;
pub use growing::GrowingBytes;
pub use numbers::RegionNumbers;
pub use recycling::RecyclingRegion;

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut, Range};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow::buffer::Buffer;

use crate::{Error, ErrorCode, Result};

/// Regions of at least one huge page are aligned to huge pages.
const HUGE_PAGE_BYTES: usize = 2 << 20;
const PAGE_BYTES: usize = 4096;
/// Not reserved: writers ask for the most that they may need, and free the rest.
const PRIVATE: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

/// Memory in a mapping of its own.
pub struct Region {
    start: NonNull<u8>,
    bytes: usize,
    pages: Pages,
    /// The checksums of the bytes, if they have any.
    checks: Option<Box<BlockChecks>>,
    /// Set for a mapped file: detects that the file has become shorter.
    watched: Option<Watched>,
    /// The last bytes of a mapped file when it was mapped.
    end: u64,
}

/// The kind of pages.
#[derive(Debug)]
enum Pages {
    Own,
    /// Pages of a file, which are only read.
    File(File),
}

impl Region {
    /// `bytes` of zeroes.
    pub fn zeroed(bytes: usize) -> Result<Region> {
        if bytes == 0 {
            return Ok(Region {
                start: NonNull::dangling(),
                bytes,
                pages: Pages::Own,
                checks: None,
                watched: None,
                end: 0,
            });
        }
        if bytes >= HUGE_PAGE_BYTES {
            return Region::zeroed_aligned(bytes);
        }
        let start = map(bytes, libc::PROT_READ | libc::PROT_WRITE, PRIVATE, -1)
            .map_err(|error| no_memory(bytes, &error))?;
        Ok(Region { start, bytes, pages: Pages::Own, checks: None, watched: None, end: 0 })
    }

    /// `bytes` of zeroes, at least one, which begin at a huge page.
    fn zeroed_aligned(bytes: usize) -> Result<Region> {
        let Some(mapped) = bytes.checked_add(HUGE_PAGE_BYTES) else {
            return Err(no_memory(bytes, &io::Error::from(io::ErrorKind::OutOfMemory)));
        };
        let start = map(mapped, libc::PROT_READ | libc::PROT_WRITE, PRIVATE, -1)
            .map_err(|error| no_memory(bytes, &error))?;
        let start = align_to_huge_pages(start, bytes);
        Ok(Region { start, bytes, pages: Pages::Own, checks: None, watched: None, end: 0 })
    }

    /// The bytes of `file`, which the system reads when they are first used.
    pub fn of_file(file: File) -> io::Result<Region> {
        let bytes = usize::try_from(file.metadata()?.len())
            .map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        if bytes == 0 {
            let pages = Pages::File(file);
            return Ok(Region {
                start: NonNull::dangling(),
                bytes,
                pages,
                checks: None,
                watched: None,
                end: 0,
            });
        }
        let start = map(bytes, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd())?;
        let watched = Watched::of(start, bytes);
        let mut region = Region { start, bytes, pages: Pages::File(file), checks: None, watched, end: 0 };
        region.end = region.last_word().unwrap_or_default();
        Ok(region)
    }

    /// Adds checksums, which are compared when blocks are first used.
    #[must_use]
    pub fn with_checks(mut self, checks: BlockChecks) -> Region {
        self.checks = Some(Box::new(checks));
        self
    }

    /// Compares all checksums, if there are any; an error is a damaged file.
    pub fn check_all(&self) -> Result<()> {
        self.check_present()?;
        self.checks.as_ref().map_or(Ok(()), |checks| checks.check_all(&self.source()))
    }

    /// Whether [`Section::check`] has nothing left to compare.
    pub fn is_checked(&self) -> bool {
        self.checks.as_ref().is_none_or(|checks| checks.is_done())
    }

    /// Whether a checksum did not match, or a page could not be read.
    pub fn is_damaged(&self) -> bool {
        self.checks.as_ref().is_some_and(|checks| checks.is_damaged())
            || self.watched.as_ref().is_some_and(Watched::is_lost)
    }

    /// An error if the file became shorter, or its disk did not give a page. It must be called after bytes of a
    /// mapped file were used, and before the result is.
    pub fn check_present(&self) -> Result<()> {
        let Some(watched) = &self.watched else { return Ok(()) };
        if self.is_shorter() {
            watched.lose();
        }
        if watched.is_lost() {
            let name = self.checks.as_ref().map_or("a mapped file", |checks| checks.name());
            return Err(Error::new(
                ErrorCode::CannotReadFromFile,
                format!("{name} became shorter while it was in use, or its disk does not give it"),
            ));
        }
        Ok(())
    }

    /// Whether the file became shorter within its last page, which then ends in zeroes. Other pages are gone: to touch
    /// them is a fault.
    fn is_shorter(&self) -> bool {
        match (&self.pages, self.last_word()) {
            // The end is as it was, which takes no system call to see.
            (_, Some(word)) if word != 0 && word == self.end => false,
            (Pages::File(file), _) => file.metadata().is_ok_and(|now| now.len() < self.bytes as u64),
            (Pages::Own, _) => false,
        }
    }

    /// The last bytes as they are in the file now.
    fn last_word(&self) -> Option<u64> {
        let at = self.bytes.checked_sub(size_of::<u64>())?;
        // SAFETY: the word is inside the mapping. It is volatile because the system may clear the bytes.
        Some(u64::from_le_bytes(unsafe { self.start.as_ptr().add(at).cast::<[u8; 8]>().read_volatile() }))
    }

    /// Whether its pages are a file's.
    pub fn is_of_file(&self) -> bool {
        matches!(self.pages, Pages::File(_))
    }

    /// A copy in memory of the process, on huge pages if the system has them. It is read from the file, so a failing
    /// disk is an error.
    pub fn read_into_memory(&self) -> Result<Region> {
        let mut own = Region::zeroed(self.bytes)?;
        let read = match &self.pages {
            Pages::File(file) => file.read_exact_at(&mut own, 0),
            Pages::Own => {
                own.copy_from_slice(self);
                Ok(())
            }
        };
        read.map_err(|error| {
            Error::new(ErrorCode::CannotReadFromFile, format!("a file in use cannot be read: {error}"))
        })?;
        Ok(own)
    }

    /// Where blocks are read from to compare checksums.
    fn source(&self) -> BlockSource<'_> {
        match &self.pages {
            Pages::File(file) => BlockSource::File(file),
            Pages::Own => BlockSource::Memory(self),
        }
    }

    /// Keeps the first `bytes`, and frees the others.
    pub fn truncate(&mut self, bytes: usize) {
        assert!(bytes <= self.bytes, "{bytes} of {} bytes", self.bytes);
        let kept = bytes.next_multiple_of(PAGE_BYTES);
        let end = self.bytes.next_multiple_of(PAGE_BYTES);
        if kept < end {
            // SAFETY: `kept` is below the end of the mapping.
            unmap(unsafe { self.start.add(kept) }, end - kept);
        }
        self.bytes = bytes;
    }

    /// Moves the pages of `other` to `at`. Both begin at a page. After an error, nothing has changed and `other` is
    /// freed.
    fn put_pages(&mut self, at: usize, other: Region) -> io::Result<()> {
        assert!(at.is_multiple_of(PAGE_BYTES), "pages are replaced whole");
        assert!(other.bytes > 0 && at + other.bytes <= self.bytes, "pages of the region");
        #[cfg(target_os = "linux")]
        {
            // SAFETY: the target is inside the mapping of `self`, and `&mut self` is the only reference to it.
            unsafe { move_pages(other, self.start.add(at)) }.map_err(|(_, error)| error)
        }
        #[cfg(not(target_os = "linux"))]
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The same bytes followed by zeroes, `bytes` in all; itself if the system has no memory. Pages are moved, not
    /// copied, if the system can.
    fn grown(self, bytes: usize) -> std::result::Result<Region, Region> {
        assert!(bytes >= self.bytes, "{bytes} of {} bytes", self.bytes);
        let Ok(mut grown) = Region::zeroed(bytes) else { return Err(self) };
        #[cfg(target_os = "linux")]
        if self.bytes > 0 {
            // SAFETY: no one has seen the target, which has at least as many pages.
            return unsafe { move_pages(self, grown.start) }.map(|()| grown).map_err(|(region, _)| region);
        }
        grown[..self.bytes].copy_from_slice(&self);
        Ok(grown)
    }

    /// The bytes that the process holds for it once all of it was touched: whole pages.
    pub fn resident_bytes(&self) -> usize {
        self.bytes.next_multiple_of(PAGE_BYTES)
    }
}

impl Deref for Region {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` is valid for `bytes` bytes until `drop`; a mapping is filled with zeroes or
        // with a file's bytes, which nobody changes (see the module), and no `&mut` exists meanwhile.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }
}

impl DerefMut for Region {
    /// Panics for a mapped file, which is only read.
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        assert!(matches!(self.pages, Pages::Own), "a mapped file is not written through memory");
        // SAFETY: as for `deref`, the mapping is writable, and `&mut self` makes this the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // The addresses may be mapped again for something else.
        self.watched = None;
        if self.bytes > 0 {
            unmap(self.start, self.bytes);
        }
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region").field("bytes", &self.bytes).field("pages", &self.pages).finish()
    }
}

// SAFETY: a region owns its mapping alone, like a `Box<[u8]>`; the mapping belongs to the process, not
// to a thread.
unsafe impl Send for Region {}
// SAFETY: through `&Region` its bytes are only read.
unsafe impl Sync for Region {}

/// A range of a shared region, which is not written any more.
#[derive(Clone, Debug)]
pub struct Section {
    region: Arc<Region>,
    range: Range<usize>,
}

impl Section {
    /// `range` of `region`; `None` if it exceeds the region.
    pub fn new(region: &Arc<Region>, range: Range<usize>) -> Option<Section> {
        region.get(range.clone())?;
        Some(Section { region: Arc::clone(region), range })
    }

    /// Compares the checksums of `range`, as far as it exists. It must be called before the bytes are used.
    #[inline]
    pub fn check(&self, range: Range<usize>) -> Result<()> {
        let Some(checks) = &self.region.checks else { return Ok(()) };
        let (start, end) = (range.start.min(self.range.len()), range.end.min(self.range.len()));
        checks.check(&self.region.source(), self.range.start + start..self.range.start + end)
    }

    /// The memory that it takes: whole pages if it is all of a region, else its own bytes.
    pub fn resident_bytes(&self) -> usize {
        match self.range.len() == self.region.len() && !self.region.is_of_file() {
            true => self.region.resident_bytes(),
            false => self.range.len(),
        }
    }
}

impl From<Region> for Section {
    fn from(region: Region) -> Section {
        let range = 0..region.bytes;
        Section { region: Arc::new(region), range }
    }
}

impl From<Section> for Buffer {
    /// The same bytes without a copy. The region lives as long as the buffer.
    fn from(section: Section) -> Buffer {
        let (start, bytes) = (NonNull::from(&*section).cast(), section.len());
        // SAFETY: the bytes are valid as long as the region, which the buffer shares, and no one writes a shared
        // region. They are in a mapping of their own, so they do not move when the section does.
        unsafe { Buffer::from_custom_allocation(start, bytes, Arc::new(section)) }
    }
}

impl Deref for Section {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        &self.region[self.range.clone()]
    }
}

fn no_memory(bytes: usize, error: &io::Error) -> Error {
    Error::new(
        ErrorCode::CannotAllocateMemory,
        format!("the system gives no {bytes} bytes of memory: {error}"),
    )
}

/// A new mapping at an address that the system chooses.
fn map(bytes: usize, protection: i32, flags: i32, file: i32) -> io::Result<NonNull<u8>> {
    // SAFETY: without MAP_FIXED the system chooses an address where nothing is.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, file, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable))
}

fn unmap(start: NonNull<u8>, bytes: usize) {
    // SAFETY: callers own this range of a mapping and keep no reference into it. It fails only for a
    // range that no mapping can have.
    unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
}

/// Moves the pages of `region` to `target`, or returns the region with the error.
///
/// # Safety
///
/// `target` begins a page of a mapping that has as many pages from there on, and readers of these pages may see the
/// bytes of `region`.
#[cfg(target_os = "linux")]
unsafe fn move_pages(region: Region, target: NonNull<u8>) -> std::result::Result<(), (Region, io::Error)> {
    let kept = region.bytes.next_multiple_of(PAGE_BYTES);
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: `region` is a whole mapping that no one uses any more; the caller promises the target.
    let moved = unsafe { libc::mremap(region.start.as_ptr().cast(), kept, kept, flags, target.as_ptr()) };
    if moved == libc::MAP_FAILED {
        return Err((region, io::Error::last_os_error()));
    }
    // The owner of the target owns its pages now.
    std::mem::forget(region);
    Ok(())
}

/// Cuts a mapping by [`cut_to_huge_pages`], and asks for huge pages.
fn align_to_huge_pages(start: NonNull<u8>, bytes: usize) -> NonNull<u8> {
    let aligned = cut_to_huge_pages(start, bytes);
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the range is a whole mapping of ours. The advice changes no contents, and a refusal only costs
        // speed.
        unsafe { libc::madvise(aligned.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
    }
    aligned
}

/// Cuts a mapping of `bytes` and one more huge page to `bytes` that begin at a huge page.
fn cut_to_huge_pages(start: NonNull<u8>, bytes: usize) -> NonNull<u8> {
    let front = start.as_ptr().align_offset(HUGE_PAGE_BYTES);
    let kept = bytes.next_multiple_of(PAGE_BYTES);
    let back = HUGE_PAGE_BYTES - front;
    // SAFETY: `front` is less than a huge page, which the mapping has beyond `bytes`.
    let aligned = unsafe { start.add(front) };
    if front > 0 {
        unmap(start, front);
    }
    if back > 0 {
        // SAFETY: `front + kept + back` bytes are the mapping.
        unmap(unsafe { aligned.add(kept) }, back);
    }
    aligned
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_region_is_zeroed_and_writable_at_every_byte() {
        for bytes in [0, 1, 4096, 5000, HUGE_PAGE_BYTES - 1, HUGE_PAGE_BYTES, 3 * HUGE_PAGE_BYTES + 17] {
            let mut region = Region::zeroed(bytes).unwrap();
            assert_eq!(region.len(), bytes);
            assert!(region.iter().all(|&byte| byte == 0), "{bytes}");
            region.fill(7);
            let section = Section::from(region);
            assert!(section.iter().all(|&byte| byte == 7), "{bytes}");
        }
    }

    #[test]
    fn a_cut_region_keeps_its_front() {
        let mut region = Region::zeroed(5 * HUGE_PAGE_BYTES).unwrap();
        region.fill(7);
        for bytes in [3 * HUGE_PAGE_BYTES + 5, 4097, 4096, 1, 0] {
            region.truncate(bytes);
            assert_eq!((region.len(), region.iter().all(|&byte| byte == 7)), (bytes, true));
        }
    }

    #[test]
    fn sections_stay_inside_their_region() {
        let region = Arc::new(Region::zeroed(100).unwrap());
        assert_eq!(Section::new(&region, 90..100).map(|section| section.len()), Some(10));
        assert!(Section::new(&region, 90..101).is_none());
    }

    #[test]
    fn a_buffer_keeps_the_bytes_of_its_section() {
        let mut region = Region::zeroed(5000).unwrap();
        region.fill(7);
        let region = Arc::new(region);
        for range in [0..0, 10..20, 4000..5000, 5000..5000] {
            let section = Section::new(&region, range.clone()).unwrap();
            let (at, buffer) = (section.as_ptr(), Buffer::from(section));
            assert_eq!((buffer.as_ptr(), buffer.as_slice()), (at, &region[range]));
        }
        let buffer = Buffer::from(Section::from(Arc::into_inner(region).unwrap()));
        assert!(buffer.len() == 5000 && buffer.iter().all(|&byte| byte == 7));
    }

    #[test]
    fn a_mapped_file_has_the_bytes_of_the_file_after_it_was_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        File::create(&path).unwrap().write_all(b"mapped").unwrap();
        let region = Region::of_file(File::open(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(&region[..], b"mapped");
    }

    #[test]
    fn a_file_is_copied_into_memory_or_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        for bytes in [0, 1, PAGE_BYTES + 5, HUGE_PAGE_BYTES + 9] {
            let contents: Vec<u8> = (0..bytes).map(|at| (at / 3) as u8).collect();
            std::fs::write(&path, &contents).unwrap();
            let region = Region::of_file(File::open(&path).unwrap()).unwrap();
            let own = region.read_into_memory().unwrap();
            assert!(!own.is_of_file() && own[..] == contents[..]);
            assert!(own.read_into_memory().unwrap()[..] == contents[..]);
            File::options().write(true).open(&path).unwrap().set_len(bytes as u64 / 2).unwrap();
            assert_eq!(region.read_into_memory().is_err(), bytes > 0);
        }
    }

    /// Reading through memory would end the process here.
    #[test]
    fn a_block_that_the_disk_does_not_give_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let bytes = vec![5; 3 * CHECK_BLOCK_BYTES];
        std::fs::write(&path, &bytes).unwrap();
        let sums = bytes.chunks(CHECK_BLOCK_BYTES).map(crate::checksum::crc32c).collect();
        let checks = BlockChecks::new("file".into(), bytes.len(), sums);
        let region = Arc::new(Region::of_file(File::open(&path).unwrap()).unwrap().with_checks(checks));
        File::options().write(true).open(&path).unwrap().set_len(CHECK_BLOCK_BYTES as u64).unwrap();
        let section = Section::new(&region, 0..bytes.len()).unwrap();
        assert!(section.check(0..CHECK_BLOCK_BYTES).is_ok());
        let error = section.check(2 * CHECK_BLOCK_BYTES..bytes.len()).expect_err("no such bytes");
        assert_eq!(error.code(), ErrorCode::CannotReadFromFile);
        assert!(region.is_damaged() && region.check_all().is_err());
    }

    #[test]
    fn a_file_that_is_cut_while_it_is_read_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        for bytes in [5 * PAGE_BYTES + 7, HUGE_PAGE_BYTES + 9] {
            for left in [0, 1, PAGE_BYTES, PAGE_BYTES + 5, bytes - 1] {
                std::fs::write(&path, vec![5; bytes]).unwrap();
                let region = Region::of_file(File::open(&path).unwrap()).unwrap();
                assert!(region.check_present().is_ok() && region[bytes - 1] == 5);
                File::options().write(true).open(&path).unwrap().set_len(left as u64).unwrap();
                assert!(region.iter().all(|&byte| byte == 5 || byte == 0));
                let error = region.check_present().expect_err("it was cut");
                assert_eq!(error.code(), ErrorCode::CannotReadFromFile);
                assert!(region.is_damaged() && region.check_all().is_err());
            }
        }
        std::fs::write(&path, [5; 10]).unwrap();
        assert!(Region::of_file(File::open(&path).unwrap()).unwrap().check_present().is_ok());
    }

    #[test]
    fn more_than_there_is_gives_an_error() {
        let error = Region::zeroed(usize::MAX - 5).expect_err("no machine has that");
        assert_eq!(error.code(), ErrorCode::CannotAllocateMemory);
        let error = Region::zeroed(1 << 60).expect_err("no machine has that");
        assert_eq!(error.code(), ErrorCode::CannotAllocateMemory);
    }
}
