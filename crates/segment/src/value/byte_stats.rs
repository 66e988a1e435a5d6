//! The first pass over a column of strings: a sample of them, and figures.

use super::distinct::Distinct;
use super::share::Share;

/// Bytes of a sampled string; the rest is cut off.
const STRING_BYTES_MAX: usize = 1 << 20;
/// Bytes of the bounds.
const BOUND_BYTES_MAX: usize = 64;
/// Bytes that a string takes in the sample besides its own.
const ENTRY_BYTES: usize = 2 * size_of::<u64>();

/// Figures of strings. But for the sample, they are exact.
#[derive(Debug)]
pub(super) struct ByteStats {
    count: u64,
    bytes: u64,
    longest: u64,
    low: Vec<u8>,
    high: Vec<u8>,
    distinct: Distinct<Box<[u8]>>,
    sample: StringSample,
}

#[derive(Debug)]
struct StringSample {
    share: Share,
    bytes_max: usize,
    /// The position of each string in the column, and its end in `bytes`.
    entries: Vec<(u64, usize)>,
    bytes: Vec<u8>,
}

impl ByteStats {
    /// The sample takes at most `sample_bytes`.
    pub(super) fn new(sample_bytes: usize) -> ByteStats {
        ByteStats {
            count: 0,
            bytes: 0,
            longest: 0,
            low: Vec::new(),
            high: Vec::new(),
            distinct: Distinct::default(),
            sample: StringSample {
                share: Share::default(),
                bytes_max: sample_bytes,
                entries: Vec::new(),
                bytes: Vec::new(),
            },
        }
    }

    pub(super) fn add(&mut self, string: &[u8]) {
        let bound = &string[..string.len().min(BOUND_BYTES_MAX)];
        if self.count == 0 || bound < &self.low[..] {
            self.low = bound.to_vec();
        }
        if bound > &self.high[..] {
            self.high = bound.to_vec();
        }
        self.distinct.add(string, string.len());
        self.sample.add(self.count, string);
        self.count += 1;
        self.bytes += string.len() as u64;
        self.longest = self.longest.max(string.len() as u64);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn longest(&self) -> u64 {
        self.longest
    }

    /// The least and the greatest string, cut to their first bytes; `None` if there is none.
    pub(super) fn bounds(&self) -> Option<(&[u8], &[u8])> {
        (self.count > 0).then_some((&self.low[..], &self.high[..]))
    }

    pub(super) fn distinct(&self) -> &Distinct<Box<[u8]>> {
        &self.distinct
    }

    pub(super) fn sample(&self) -> impl Iterator<Item = &[u8]> {
        let ends = self.sample.entries.iter().map(|&(_, end)| end);
        let starts = std::iter::once(0).chain(ends.clone());
        starts.zip(ends).map(|(start, end)| &self.sample.bytes[start..end])
    }
}

impl StringSample {
    fn add(&mut self, position: u64, string: &[u8]) {
        if !self.share.has(position) {
            return;
        }
        let string = &string[..string.len().min(STRING_BYTES_MAX)];
        self.bytes.extend_from_slice(string);
        self.entries.push((position, self.bytes.len()));
        while self.bytes.len() + self.entries.len() * ENTRY_BYTES > self.bytes_max && !self.entries.is_empty()
        {
            self.halve();
        }
    }

    fn halve(&mut self) {
        self.share.halve();
        let (mut start, mut kept) = (0, 0);
        let (bytes, share) = (&mut self.bytes, self.share);
        self.entries.retain_mut(|(position, end)| {
            let string = start..*end;
            start = *end;
            if !share.has(*position) {
                return false;
            }
            let length = string.len();
            bytes.copy_within(string, kept);
            kept += length;
            *end = kept;
            true
        });
        bytes.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_has_whole_strings_and_a_limit() {
        for bytes_max in [100, 10_000, 1 << 20] {
            let mut stats = ByteStats::new(bytes_max);
            (0..10_000_u32).for_each(|at| stats.add(format!("string {at}").as_bytes()));
            let sample: Vec<&[u8]> = stats.sample().collect();
            assert!(sample.is_sorted_by_key(|string| {
                std::str::from_utf8(&string[7..]).expect("digits").parse::<u32>().expect("a number")
            }));
            let bytes: usize = sample.iter().map(|string| string.len() + ENTRY_BYTES).sum();
            assert!(bytes <= bytes_max && bytes * 5 > bytes_max.min(118_890), "{bytes} of {bytes_max}");
            assert_eq!(stats.bounds(), Some((&b"string 0"[..], &b"string 9999"[..])));
            assert_eq!((stats.bytes(), stats.longest()), (108_890, 11));
            assert_eq!(stats.distinct().len(), Some(10_000));
        }
    }
}
