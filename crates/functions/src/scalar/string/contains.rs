//! Finds which strings of an array contain a literal, with one search over the bytes of many strings.
//!
//! The strings of a part are contiguous in the buffer that they were decoded to. Searching the buffer and mapping a
//! hit to its string costs less than starting a search for each string.

use arrow::array::{Array, BinaryViewArray, ByteView};
use memchr::memmem::Finder;

/// Strings per search.
const STRINGS_MAX: usize = 4096;
/// The gap between two strings that a search may cross; a larger gap ends the run.
const GAP_BYTES_MAX: usize = 64;
/// Longer strings are stored outside of their view.
const INLINE_BYTES_MAX: u32 = 12;

/// Whether each string contains the needle of `finder`, which is not empty.
pub(super) fn contains(strings: &BinaryViewArray, finder: &Finder<'_>) -> Vec<bool> {
    let mut found = vec![false; strings.len()];
    let mut stretch = Stretch::default();
    for (row, &view) in strings.views().iter().enumerate() {
        let length = view as u32;
        if (length as usize) < finder.needle().len() {
            continue;
        }
        if length <= INLINE_BYTES_MAX {
            found[row] = finder.find(strings.value(row)).is_some();
            continue;
        }
        let view = ByteView::from(view);
        let (start, end) = (view.offset as usize, view.offset as usize + length as usize);
        if !stretch.continues(view.buffer_index, start) {
            stretch.search(strings, finder, &mut found);
            stretch.buffer = view.buffer_index;
        }
        stretch.strings.push((row, start, end));
    }
    stretch.search(strings, finder, &mut found);
    found
}

/// Strings that are consecutive in one buffer.
#[derive(Default)]
struct Stretch {
    buffer: u32,
    /// Row, start and end in the buffer.
    strings: Vec<(usize, usize, usize)>,
}

impl Stretch {
    fn continues(&self, buffer: u32, start: usize) -> bool {
        self.strings.len() < STRINGS_MAX
            && self.buffer == buffer
            && self.strings.last().is_some_and(|&(_, _, end)| (end..=end + GAP_BYTES_MAX).contains(&start))
    }

    /// Marks the strings with a hit, and starts a new run.
    fn search(&mut self, strings: &BinaryViewArray, finder: &Finder<'_>, found: &mut [bool]) {
        let (Some(&(_, first, _)), Some(&(_, _, end))) = (self.strings.first(), self.strings.last()) else {
            return;
        };
        let bytes = &strings.data_buffers()[self.buffer as usize].as_slice()[..end];
        let length = finder.needle().len();
        let mut from = first;
        let mut rest = self.strings.iter().peekable();
        while let Some(hit) = finder.find(&bytes[from..]) {
            let hit = from + hit;
            while rest.next_if(|&&(_, _, end)| end <= hit).is_some() {}
            let Some(&&(row, start, end)) = rest.peek() else { break };
            // A hit across the bounds of a string does not count.
            let is_inside = hit >= start && hit + length <= end;
            found[row] |= is_inside;
            from = if is_inside { end } else { hit + 1 };
        }
        self.strings.clear();
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, UInt32Array};
    use arrow::compute::take;

    use super::*;

    fn check(strings: &BinaryViewArray, needle: &str) {
        let expected: Vec<bool> = strings
            .iter()
            .map(|text| memchr::memmem::find(text.unwrap(), needle.as_bytes()).is_some())
            .collect();
        assert_eq!(contains(strings, &Finder::new(needle)), expected, "{needle} in {strings:?}");
    }

    #[test]
    fn every_string_is_searched_alone() {
        // Strings of every length around the inline limit, over two letters.
        let text =
            |at: usize| (0..at % 31).map(move |place| if (at >> (place % 5)) & 1 == 0 { 'a' } else { 'b' });
        let strings = BinaryViewArray::from_iter_values((0..500).map(|at| text(at).collect::<String>()));
        let order: UInt32Array = (0..500).map(|at| at * 7 % 500).collect::<Vec<u32>>().into();
        let shuffled = take(&strings, &order, None).unwrap();
        for needle in ["a", "ab", "bba", "abababab", "aaaaaaaaaaaaaaa"] {
            check(&strings, needle);
            check(&strings.slice(100, 333), needle);
            check(shuffled.as_binary_view(), needle);
        }
    }

    #[test]
    fn a_hit_over_the_end_of_a_string_is_none() {
        let strings =
            BinaryViewArray::from_iter_values(["this is long enough: goo", "gle, and this is long too"]);
        assert_eq!(contains(&strings, &Finder::new("google")), [false, false]);
    }
}
