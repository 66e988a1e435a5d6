//! Tells the system how the pages of a mapped file will be used.
//!
//! The system reads a page when it is touched, and others around it, which it expects to be touched next. That is
//! right for a scan. Random reads of a file far above the memory read many times as much as they use.
//!
//! Advice changes no bytes. A refusal only costs speed, so there is no error.

use std::ops::Range;

use super::{PAGE_BYTES, Section};

/// The system may read no more than this at once, whatever it is asked for: the read-ahead of a disk by default.
const READ_BYTES: usize = 128 << 10;
/// Bytes whose pages are looked up at once. For pages that are there, a lookup takes a tenth of the time of advice.
const LOOKUP_BYTES: usize = 1 << 20;

/// How pages will be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageAdvice {
    /// In no order: a page is read alone. The pages of a range with this advice become a mapping of their own, of
    /// which a process has a limited number, so it is for large ranges.
    Random,
    /// Soon: they are read in the background.
    WillNeed,
}

impl Section {
    /// Gives advice for `range`, as far as it exists. Does nothing if its pages are no file's.
    pub fn advise(&self, range: Range<usize>, advice: PageAdvice) {
        if !self.region.is_of_file() {
            return;
        }
        let (start, end) = (range.start.min(self.range.len()), range.end.min(self.range.len()));
        let (start, end) = (self.range.start + start, self.range.start + end);
        match advice {
            PageAdvice::Random => {
                let pages = start.next_multiple_of(PAGE_BYTES)..end / PAGE_BYTES * PAGE_BYTES;
                self.madvise(pages, libc::MADV_RANDOM);
            }
            PageAdvice::WillNeed => {
                for first in (start / PAGE_BYTES * PAGE_BYTES..end).step_by(LOOKUP_BYTES) {
                    self.will_need(first..end.min(first + LOOKUP_BYTES));
                }
            }
        }
    }

    /// Advises pieces that are not all in memory. `pages` begins at a page and has at most [`LOOKUP_BYTES`].
    fn will_need(&self, pages: Range<usize>) {
        let present = self.present(pages.clone());
        let pieces = pages.clone().step_by(READ_BYTES).zip(present.chunks(READ_BYTES / PAGE_BYTES));
        for (start, present) in pieces {
            let piece = start..pages.end.min(start + READ_BYTES);
            if present[..piece.len().div_ceil(PAGE_BYTES)].iter().any(|flags| flags & 1 == 0) {
                self.madvise(piece, libc::MADV_WILLNEED);
            }
        }
    }

    /// For each page, flags whose lowest bit is set if it is in memory; 0 if that is unknown.
    fn present(&self, pages: Range<usize>) -> [u8; LOOKUP_BYTES / PAGE_BYTES] {
        let mut present = [0; LOOKUP_BYTES / PAGE_BYTES];
        if !pages.is_empty() && pages.end <= self.region.bytes && pages.len() <= LOOKUP_BYTES {
            // SAFETY: the range is inside of a mapping, and there is a byte for each of its pages.
            unsafe {
                let start = self.region.start.add(pages.start).as_ptr().cast();
                libc::mincore(start, pages.len(), present.as_mut_ptr().cast());
            }
        }
        present
    }

    /// `pages` begins at a page.
    fn madvise(&self, pages: Range<usize>, advice: i32) {
        if !pages.is_empty() && pages.end <= self.region.bytes {
            // SAFETY: the range is inside of a mapping of a file, and both kinds of advice change no bytes.
            unsafe { libc::madvise(self.region.start.add(pages.start).as_ptr().cast(), pages.len(), advice) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use super::super::Region;
    use super::*;

    #[test]
    fn any_range_of_a_file_or_of_memory_may_be_advised() {
        let bytes: Vec<u8> = (0..5 * PAGE_BYTES + 100).map(|at| at as u8).collect();
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&bytes).expect("room");
        let mut memory = Region::zeroed(bytes.len()).expect("memory");
        memory.copy_from_slice(&bytes);
        for region in [Region::of_file(file).expect("a mapping"), memory] {
            let region = Arc::new(region);
            let section = Section::new(&region, 50..bytes.len()).expect("inside");
            for advice in [PageAdvice::Random, PageAdvice::WillNeed] {
                for range in
                    [0..0, 0..10, 10..3 * PAGE_BYTES, 0..usize::MAX, usize::MAX..usize::MAX, 0..section.len()]
                {
                    section.advise(range, advice);
                    assert_eq!(&*section, &bytes[50..]);
                }
            }
        }
    }
}
