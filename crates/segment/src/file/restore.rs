//! Checksums of a file that was changed on purpose: tests change what is below them.

use basalt_base::checksum::crc32c;
use basalt_base::region::CHECK_BLOCK_BYTES;

use super::format::{FOOTER_BYTES, HEADER_BYTES};

const SUM_BYTES: usize = size_of::<u32>();

/// Makes the checksums of header, sections, directory and footer those of the bytes, as far as the file still has
/// these parts. It is for tests and fuzzers.
pub fn restore_checksums(file: &mut [u8]) {
    if file.len() < HEADER_BYTES + FOOTER_BYTES {
        return;
    }
    let footer = file.len() - FOOTER_BYTES;
    put_sum(file, 0..HEADER_BYTES - SUM_BYTES, HEADER_BYTES - SUM_BYTES);
    if let Some(offset) = directory_of(file, footer) {
        let pages = offset.div_ceil(CHECK_BLOCK_BYTES);
        if let Some(sums) = footer.checked_sub(pages * SUM_BYTES).filter(|&sums| sums >= offset) {
            for page in 0..pages {
                let start = page * CHECK_BLOCK_BYTES;
                put_sum(file, start..offset.min(start + CHECK_BLOCK_BYTES), sums + page * SUM_BYTES);
            }
        }
        put_sum(file, offset..footer, footer + 16);
    }
    put_sum(file, footer..footer + 24, footer + 24);
}

/// Where the directory begins, if it ends at the footer.
fn directory_of(file: &[u8], footer: usize) -> Option<usize> {
    let number = |at: usize| {
        let bytes = file.get(at..)?.first_chunk()?;
        usize::try_from(u64::from_le_bytes(*bytes)).ok()
    };
    let (offset, bytes) = (number(footer)?, number(footer + 8)?);
    (offset.checked_add(bytes) == Some(footer)).then_some(offset)
}

fn put_sum(file: &mut [u8], of: std::ops::Range<usize>, at: usize) {
    let sum = crc32c(&file[of]);
    file[at..at + SUM_BYTES].copy_from_slice(&sum.to_le_bytes());
}
