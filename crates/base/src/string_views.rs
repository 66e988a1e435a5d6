//! Builds arrays of Arrow's string views without checking each view again.
//!
//! # The view layout of Arrow
//!
//! Sixteen bytes: the length u32, then the string itself if it has at most twelve bytes; else its first
//! four bytes, the number of its buffer u32 and its offset in it u32.

use arrow::array::BinaryViewArray;
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};

/// A string of at most this many bytes lies inside its view.
pub const INLINE_BYTES_MAX: usize = 12;

/// Masks for the first 0 to 12 bytes.
const HEADS: [u128; INLINE_BYTES_MAX + 1] = heads();

const fn heads() -> [u128; INLINE_BYTES_MAX + 1] {
    let mut masks = [0; INLINE_BYTES_MAX + 1];
    let mut bytes = 1;
    while bytes <= INLINE_BYTES_MAX {
        masks[bytes] = (1 << (8 * bytes)) - 1;
        bytes += 1;
    }
    masks
}

/// A string array that grows by whole buffers of concatenated strings.
#[derive(Debug, Default)]
pub struct StringViews {
    // Every view refers to a string inside one of `buffers`, or inside `copied`, which becomes the next buffer.
    // `finish` relies on this.
    views: Vec<u128>,
    buffers: Vec<Buffer>,
    copied: Vec<u8>,
}

impl StringViews {
    /// Empty, with room for the views of `rows` strings.
    pub fn with_capacity(rows: usize) -> StringViews {
        StringViews { views: Vec::with_capacity(rows), ..StringViews::default() }
    }

    /// Appends strings of these lengths, which are concatenated in `bytes` from `start` on.
    ///
    /// # Panics
    ///
    /// If `bytes` ends before the strings do, or is longer than an offset reaches.
    pub fn append(&mut self, bytes: Vec<u8>, start: usize, lengths: &[u32]) {
        let all: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        assert!(start as u64 + all <= bytes.len() as u64, "the strings lie inside their bytes");
        assert!(u32::try_from(bytes.len()).is_ok(), "an offset has four bytes");
        self.seal();
        push_views(&bytes, start, lengths, self.next_buffer(), &mut self.views);
        self.buffers.push(Buffer::from_vec(bytes));
    }

    /// Appends strings of these lengths, which are concatenated at the front of `bytes`. Copies the bytes unless
    /// all strings are inline.
    ///
    /// # Panics
    ///
    /// As for [`StringViews::append`].
    #[inline(always)]
    pub fn append_copy(&mut self, bytes: &[u8], lengths: &[u32]) {
        let (mut all, mut longest) = (0, 0);
        for &length in lengths {
            all += u64::from(length);
            longest = longest.max(length);
        }
        assert!(all <= bytes.len() as u64, "the strings lie inside their bytes");
        if longest as usize <= INLINE_BYTES_MAX {
            return push_views(bytes, 0, lengths, 0, &mut self.views);
        }
        assert!(u32::try_from(all).is_ok(), "an offset has four bytes");
        if self.copied.len() as u64 + all > u64::from(u32::MAX) {
            self.seal();
        }
        let start = self.copied.len();
        self.copied.extend_from_slice(&bytes[..all as usize]);
        push_views(&self.copied, start, lengths, self.next_buffer(), &mut self.views);
    }

    /// Appends the strings at the front of `bytes`, at most `rows` of them; each follows its length as a varint
    /// (LEB128). Stops in front of a string that is not whole, or whose length takes more than five bytes. Returns how
    /// many strings and how many bytes were taken. Copies the bytes at once, unless all strings are inline.
    pub fn append_prefixed(&mut self, bytes: &[u8], rows: usize) -> (usize, usize) {
        let bytes = &bytes[..bytes.len().min(u32::MAX as usize)];
        if self.copied.len() + bytes.len() > u32::MAX as usize {
            self.seal();
        }
        let (buffer, base, before) = (self.next_buffer(), self.copied.len(), self.views.len());
        self.views.reserve(rows.min(bytes.len()));
        let (mut at, mut longest) = (0, 0);
        for _ in 0..rows {
            let Some((length, start)) = prefix(bytes, at) else { break };
            let end = start + length as usize;
            if end > bytes.len() {
                break;
            }
            let head = head(bytes, start);
            self.views.push(view(head, length, buffer, base + start));
            longest = longest.max(length);
            at = end;
        }
        if longest as usize > INLINE_BYTES_MAX {
            self.copied.extend_from_slice(&bytes[..at]);
        }
        (self.views.len() - before, at)
    }

    fn next_buffer(&self) -> u32 {
        u32::try_from(self.buffers.len()).expect("a buffer's number has four bytes")
    }

    /// Makes a buffer of the copied bytes.
    fn seal(&mut self) {
        if !self.copied.is_empty() {
            self.buffers.push(Buffer::from_vec(std::mem::take(&mut self.copied)));
        }
    }

    /// The array; `nulls` has one bit per string.
    ///
    /// # Panics
    ///
    /// If `nulls` has another length than the array.
    pub fn finish(mut self, nulls: Option<NullBuffer>) -> BinaryViewArray {
        self.seal();
        assert!(nulls.as_ref().is_none_or(|nulls| nulls.len() == self.views.len()), "a bit a string");
        // SAFETY: every view was made here of a string inside the buffer of that number, or of one that it holds
        // itself.
        unsafe { BinaryViewArray::new_unchecked(ScalarBuffer::from(self.views), self.buffers, nulls) }
    }
}

/// The strings of `values` at the positions `keys`, over the same buffers.
///
/// # Panics
///
/// If a key is out of range, or `nulls` has another length than `keys`.
pub fn gather(values: &BinaryViewArray, keys: &[u32], nulls: Option<NullBuffer>) -> BinaryViewArray {
    assert!(nulls.as_ref().is_none_or(|nulls| nulls.len() == keys.len()), "a bit a key");
    let views = &**values.views();
    let gathered: Vec<u128> = keys.iter().map(|&key| views[key as usize]).collect();
    let (_, buffers, _) = values.clone().into_parts();
    // SAFETY: the views are those of a valid array, over its buffers.
    unsafe { BinaryViewArray::new_unchecked(ScalarBuffer::from(gathered), buffers, nulls) }
}

#[inline(always)]
fn push_views(bytes: &[u8], start: usize, lengths: &[u32], buffer: u32, views: &mut Vec<u128>) {
    let mut at = start;
    views.extend(lengths.iter().map(|&length| {
        let view = view(head(bytes, at), length, buffer, at);
        at += length as usize;
        view
    }));
}

/// The length at `at`, and the place of the string that follows it.
#[inline(always)]
fn prefix(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let first = *bytes.get(at)?;
    if first < 0x80 {
        return Some((u32::from(first), at + 1));
    }
    let mut length = u64::from(first & 0x7f);
    for (index, &byte) in bytes.get(at + 1..)?.iter().take(4).enumerate() {
        length |= u64::from(byte & 0x7f) << (7 * (index + 1));
        if byte < 0x80 {
            return Some((u32::try_from(length).ok()?, at + 2 + index));
        }
    }
    None
}

/// The sixteen bytes from `at` on, padded with zeroes at the end.
#[inline(always)]
fn head(bytes: &[u8], at: usize) -> u128 {
    // A load of fixed size and a mask are faster than a copy of unknown length.
    match bytes[at..].first_chunk() {
        Some(window) => u128::from_le_bytes(*window),
        None => {
            let mut window = [0; 16];
            window[..bytes.len() - at].copy_from_slice(&bytes[at..]);
            u128::from_le_bytes(window)
        }
    }
}

#[inline(always)]
fn view(head: u128, length: u32, buffer: u32, at: usize) -> u128 {
    let inside = (head & HEADS[(length as usize).min(INLINE_BYTES_MAX)]) << 32;
    let outside = (u128::from(head as u32) << 32) | (u128::from(buffer) << 64) | ((at as u128) << 96);
    u128::from(length) | if length as usize <= INLINE_BYTES_MAX { inside } else { outside }
}

#[cfg(test)]
mod tests {
    use arrow::array::Array;

    use super::*;

    fn strings() -> Vec<Vec<u8>> {
        (0..100_u8).map(|length| (0..length / 2).map(|at| at.wrapping_mul(length)).collect()).collect()
    }

    fn array(strings: &[Vec<u8>]) -> BinaryViewArray {
        let lengths: Vec<u32> = strings.iter().map(|string| string.len() as u32).collect();
        let (first, second) = lengths.split_at(strings.len() / 3);
        let mut views = StringViews::with_capacity(strings.len());
        views.append(strings[..first.len()].concat(), 0, first);
        let before = b"in front".to_vec();
        let start = before.len();
        views.append([before, strings[first.len()..].concat()].concat(), start, second);
        views.finish(None)
    }

    /// Arrays built without checks pass Arrow's own validation.
    fn check(array: &BinaryViewArray, expected: &[Vec<u8>]) {
        array.to_data().validate_full().unwrap();
        assert_eq!(array, &BinaryViewArray::from_iter_values(expected));
    }

    #[test]
    fn views_are_those_of_arrow() {
        check(&array(&strings()), &strings());
        check(&StringViews::default().finish(None), &[]);
    }

    #[test]
    fn copied_views_are_those_of_arrow_and_short_strings_need_no_buffer() {
        let strings = strings();
        let mut views = StringViews::default();
        for some in strings.chunks(7) {
            let lengths: Vec<u32> = some.iter().map(|string| string.len() as u32).collect();
            views.append_copy(&[some.concat(), b"behind".to_vec()].concat(), &lengths);
            views.append(some.concat(), 0, &lengths);
        }
        let twice: Vec<_> = strings.chunks(7).flat_map(|some| [some, some].concat()).collect();
        check(&views.finish(None), &twice);
        let mut short = StringViews::default();
        short.append_copy(b"abc", &[1, 0, 2]);
        assert!(short.finish(None).data_buffers().is_empty());
    }

    fn prefixed(strings: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for string in strings {
            let mut length = string.len();
            while length >= 0x80 {
                bytes.push(length as u8 | 0x80);
                length >>= 7;
            }
            bytes.push(length as u8);
            bytes.extend_from_slice(string);
        }
        bytes
    }

    #[test]
    fn prefixed_strings_are_taken_up_to_one_that_is_cut_off() {
        let mut strings = strings();
        strings.extend([vec![7; 127], vec![8; 128], vec![9; 20_000], Vec::new()]);
        let bytes = prefixed(&strings);
        for cut in (0..bytes.len()).step_by(37).chain([bytes.len()]) {
            let mut views = StringViews::default();
            views.append_copy(b"a string of its own", &[19]);
            let (count, taken) = views.append_prefixed(&bytes[..cut], usize::MAX);
            assert_eq!(taken, prefixed(&strings[..count]).len());
            assert!(cut < bytes.len() || count == strings.len());
            let (others, _) = views.append_prefixed(&bytes[taken..], 3);
            assert_eq!(others, 3.min(strings.len() - count));
            let first = [b"a string of its own".to_vec()];
            check(&views.finish(None), &[&first, &strings[..count + others]].concat());
        }
        assert_eq!(StringViews::default().append_prefixed(&[0xff; 20], 9), (0, 0));
        assert_eq!(StringViews::default().append_prefixed(&[0xff, 0xff, 0xff, 0xff, 0x7f], 9), (0, 0));
    }

    #[test]
    fn gathered_strings_keep_their_buffers() {
        let values = array(&strings());
        let keys: Vec<u32> = (0..300).map(|row| row * 37 % 100).collect();
        let expected: Vec<_> = keys.iter().map(|&key| strings()[key as usize].clone()).collect();
        check(&gather(&values, &keys, None), &expected);
    }

    #[test]
    #[should_panic(expected = "inside their bytes")]
    fn strings_past_the_bytes_are_refused() {
        StringViews::default().append(vec![1, 2, 3], 1, &[3]);
    }
}
