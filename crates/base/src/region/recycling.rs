//! A region that is written from front to back, on pages of another region.
//!
//! The system clears a page before it gives it to a process, and on a virtual machine the host may have to find one
//! first. Together that can take longer than to fill the page. A reader of one region that writes another one has
//! pages to reuse.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

use super::{HUGE_PAGE_BYTES, Region};
use crate::Result;

/// The least bytes that are made ready at once.
const STRETCH_BYTES: usize = 64 << 10;
/// Each page that is moved into a region is a mapping of its own, and the system allows a process 65,530 of them. So
/// a region takes a gigabyte of pages at most.
const PLACED_MAX: usize = 512 * HUGE_PAGE_BYTES;

/// Zeroes up to where [`RecyclingRegion::ready`] was called; the bytes after that are undefined.
#[derive(Debug)]
pub struct RecyclingRegion {
    region: Region,
    ready: usize,
    /// Up to here pages were moved in, or there were none.
    placed: usize,
    /// The bytes of pages that were taken over.
    taken: usize,
    spare: VecDeque<Region>,
}

impl RecyclingRegion {
    /// A region of `bytes` bytes.
    pub fn new(bytes: usize) -> Result<RecyclingRegion> {
        let region = Region::zeroed(bytes)?;
        Ok(RecyclingRegion { region, ready: 0, placed: 0, taken: 0, spare: VecDeque::new() })
    }

    /// Offers memory that is not needed any more. Regions of the size of a huge page are taken over.
    pub fn give(&mut self, memory: Region) {
        if memory.len() == HUGE_PAGE_BYTES && self.placed < self.region.len() && self.taken < PLACED_MAX {
            self.taken += memory.len();
            self.spare.push_back(memory);
        }
    }

    /// Zeroes the bytes before `end` and makes them writable, if they are not yet.
    #[inline(always)]
    pub fn ready(&mut self, end: usize) {
        if end > self.ready {
            self.make_ready(end.saturating_add(STRETCH_BYTES).min(self.region.len()));
        }
    }

    #[cold]
    fn make_ready(&mut self, end: usize) {
        while self.ready < end {
            let is_recycled = match self.ready.is_multiple_of(HUGE_PAGE_BYTES) {
                true => self.place(),
                false => self.placed > self.ready,
            };
            let page_end = (self.ready + 1).next_multiple_of(HUGE_PAGE_BYTES);
            let until = page_end.min(end);
            if is_recycled {
                self.region[self.ready..until].fill(0);
            }
            self.ready = until;
        }
    }

    /// Moves a spare page to where the next one is needed, if there is one.
    fn place(&mut self) -> bool {
        let end = self.ready + HUGE_PAGE_BYTES;
        if end > self.region.len() {
            return false;
        }
        let Some(memory) = self.spare.pop_front() else { return false };
        let is_placed = self.region.put_pages(self.ready, memory).is_ok();
        match is_placed {
            true => self.placed = end,
            // The next ones would fail as well.
            false => self.spare.clear(),
        }
        is_placed
    }

    /// The region, after all of it was made ready.
    pub fn finish(mut self) -> Region {
        self.make_ready(self.region.len());
        self.region
    }
}

impl Deref for RecyclingRegion {
    type Target = Region;

    #[inline(always)]
    fn deref(&self) -> &Region {
        &self.region
    }
}

impl DerefMut for RecyclingRegion {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Region {
        &mut self.region
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: usize = 5;

    fn used(byte: u8) -> Region {
        let mut region = Region::zeroed(HUGE_PAGE_BYTES).expect("memory");
        region.fill(byte);
        region
    }

    #[test]
    fn what_is_ready_is_zero_whatever_the_pages_had() {
        for given in 0..=PAGES + 1 {
            for step in [1000, 256 << 10, 3 << 20] {
                let bytes = PAGES * HUGE_PAGE_BYTES - 5000;
                let mut region = RecyclingRegion::new(bytes).expect("memory");
                (0..given).for_each(|_| region.give(used(9)));
                for at in (0..bytes).step_by(step) {
                    let end = (at + step).min(bytes);
                    region.ready(end);
                    assert!(
                        region[at..end].iter().all(|&byte| byte == 0),
                        "{given} pages, {step} bytes, at {at}"
                    );
                    region[at..end].fill(7);
                }
                assert!(region.finish().iter().all(|&byte| byte == 7), "{given} pages, {step} bytes");
            }
        }
    }

    #[test]
    fn what_was_not_asked_for_is_ready_in_the_end() {
        let mut region = RecyclingRegion::new(2 * HUGE_PAGE_BYTES + 1).expect("memory");
        region.give(used(9));
        region.give(used(8));
        region.ready(5);
        assert_eq!(region.finish()[..], vec![0; 2 * HUGE_PAGE_BYTES + 1]);
    }

    #[test]
    fn no_more_pages_are_taken_than_mappings_are_to_spare() {
        let mut region = RecyclingRegion::new(PLACED_MAX + 3 * HUGE_PAGE_BYTES).expect("memory");
        // Never touched, so that they take no memory.
        (0..PLACED_MAX / HUGE_PAGE_BYTES + 2)
            .for_each(|_| region.give(Region::zeroed(HUGE_PAGE_BYTES).expect("memory")));
        assert_eq!(region.spare.len(), PLACED_MAX / HUGE_PAGE_BYTES);
    }

    #[test]
    fn memory_of_other_sizes_goes_back_to_the_system() {
        let mut region = RecyclingRegion::new(HUGE_PAGE_BYTES).expect("memory");
        region.give(Region::zeroed(HUGE_PAGE_BYTES / 2).expect("memory"));
        assert!(region.spare.is_empty());
        assert_eq!(region.finish()[..], vec![0; HUGE_PAGE_BYTES]);
    }
}
