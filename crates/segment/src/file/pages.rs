//! The pages of a file that have a checksum each, compared one by one: for a report on a damaged file.

use std::ops::Range;

use basalt_base::Result;
use basalt_base::region::CHECK_BLOCK_BYTES;

use super::reader::SegmentFile;

impl SegmentFile {
    /// The pages of the sections.
    pub fn page_count(&self) -> usize {
        self.section_bytes().div_ceil(CHECK_BLOCK_BYTES)
    }

    /// The bytes of the file that are in `page`, which exists.
    pub fn page_range(&self, page: usize) -> Range<u64> {
        let start = page * CHECK_BLOCK_BYTES;
        start as u64..self.section_bytes().min(start + CHECK_BLOCK_BYTES) as u64
    }

    /// The pages that have bytes of `section`.
    pub fn pages_of(section: &Range<u64>) -> Range<usize> {
        let page = CHECK_BLOCK_BYTES as u64;
        match section.is_empty() {
            true => 0..0,
            false => (section.start / page) as usize..section.end.div_ceil(page) as usize,
        }
    }

    /// Compares the checksum of `page`. The error names its bytes.
    pub fn check_page(&self, page: usize) -> Result<()> {
        let Range { start, end } = self.page_range(page);
        self.contents().check_range(start as usize..end as usize)
    }
}
