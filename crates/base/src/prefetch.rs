//! Prefetches memory that will be read soon.
//!
//! A probe of a table larger than the caches waits about 100 ns for its cache line. Code that probes a block of
//! keys prefetches all lines first and then reads them, so that the waits overlap.
//!
//! The number of overlapping waits is limited by the line fill buffers of a core. An EPYC of the fourth generation
//! fetches up to 24 lines at a time into L1, 90 million random lines a second, and 140 to 260 million a second into
//! L2. So the prefetch goes to L2; the reads then wait a few cycles for L1, and these waits overlap too. The
//! processor may drop a prefetch (Wang et al., The Hitchhiker's Guide to Programming and Optimizing CXL-Based
//! Heterogeneous Systems, arXiv 2411.02814, "CPU Prefetching on CXL Memory"). A second prefetch into L1, shortly
//! before the read, gained nothing.

const LINE_BYTES: usize = 64;

/// Prefetches the cache line of `slice[index]`. Does nothing if `index` is out of range or the processor has no
/// prefetch instruction.
#[inline(always)]
pub fn prefetch_read<T>(slice: &[T], index: usize) {
    if let Some(item) = slice.get(index) {
        prefetch_line(std::ptr::from_ref(item).cast());
    }
}

/// Prefetches ahead of a reader that moves forward through memory in small steps, jumps, and continues in small
/// steps from there: a scan through the blocks of a cache that reads several places of each block.
///
/// Prefetches nothing where the reader read only one place before it jumped.
#[derive(Debug)]
pub struct PrefetchAhead {
    bytes: usize,
    last: usize,
    fetched_to: usize,
    /// Whether the reader took more than one step in this run, and in the one before.
    steps: bool,
    stepped: bool,
}

impl PrefetchAhead {
    /// A step is less than `bytes`; `bytes` bytes are fetched ahead of the reader.
    pub fn new(bytes: usize) -> PrefetchAhead {
        PrefetchAhead { bytes, last: 0, fetched_to: 0, steps: false, stepped: false }
    }

    /// Records that the reader is at the beginning of `slice`.
    #[inline]
    pub fn at(&mut self, slice: &[u8]) {
        let start = slice.as_ptr().addr();
        if start.wrapping_sub(self.last) < self.bytes {
            self.steps = true;
        } else {
            self.stepped = std::mem::take(&mut self.steps);
            self.fetched_to = start;
        }
        self.last = start;
        if self.steps || self.stepped {
            let from = self.fetched_to.max(start) - start;
            (from..self.bytes)
                .step_by(LINE_BYTES)
                .for_each(|at| prefetch_line(slice.as_ptr().wrapping_add(at)));
            self.fetched_to = start.saturating_add(self.bytes);
        }
    }
}

/// Prefetches the cache line at any address into L2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn prefetch_line(line: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};

    // SAFETY: a prefetch is a hint: it reads nothing that the program sees and never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(line.cast()) };
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn prefetch_line(line: *const u8) {
    // SAFETY: a prefetch is a hint: it reads nothing that the program sees and never faults.
    unsafe {
        std::arch::asm!("prfm pldl2keep, [{line}]", line = in(reg) line, options(nostack, preserves_flags, readonly));
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
pub(crate) fn prefetch_line(_line: *const u8) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_index_is_harmless() {
        let items = [1_u64, 2, 3];
        for index in [0, 2, 3, usize::MAX] {
            prefetch_read(&items, index);
        }
        prefetch_read::<u8>(&[], 0);
        assert_eq!(items, [1, 2, 3]);
    }

    #[test]
    fn what_lies_before_a_reader_is_fetched_once_he_takes_steps() {
        let bytes = [0_u8; 4096];
        let mut ahead = PrefetchAhead::new(256);
        let mut check = |place: usize, fetched_to: usize| {
            ahead.at(&bytes[place..]);
            assert_eq!(ahead.fetched_to, bytes.as_ptr().addr() + fetched_to, "at {place}");
        };
        check(0, 0);
        check(1000, 1000);
        check(1100, 1356);
        check(1100, 1356);
        check(3000, 3256);
        check(2000, 2000);
        check(1000, 1000);
        check(4095, 4095);
    }
}
