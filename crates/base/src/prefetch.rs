//! Asks the processor to fetch memory that will be read soon.
//!
//! A probe of a table larger than the caches waits about 100 ns for its line. Code that probes a
//! block of keys first asks for all lines and then reads them, so the waits overlap.

/// Starts fetching the cache line of `slice[index]`; does nothing when `index` is out of range or the
/// processor has no such instruction.
#[inline(always)]
pub fn prefetch_read<T>(slice: &[T], index: usize) {
    if let Some(item) = slice.get(index) {
        prefetch_line(std::ptr::from_ref(item).cast());
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch_line(line: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

    // SAFETY: a prefetch is a hint: it reads nothing that the program sees and never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn prefetch_line(line: *const u8) {
    // SAFETY: a prefetch is a hint: it reads nothing that the program sees and never faults.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{line}]", line = in(reg) line, options(nostack, preserves_flags, readonly));
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn prefetch_line(_line: *const u8) {}

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
}
