//! Packs the strings of an arena: finds tokens that make them smaller, encodes them, and puts their codes into the
//! order of rows, on all cores.

use basalt_base::region::{Region, RegionNumbers};
use basalt_base::{Error, ErrorCode, Result};
use basalt_codec::{TokenMatcher, Tokens};

use super::StringArena;
use super::arena::ArenaView;
use super::cores::on_all_cores;
use super::row_order::{RowStretch, for_each_stretch};
use super::string_codes::StringCodes;
use crate::table::bits::PADDING_BYTES;
use crate::table::in_parallel;

/// The widths of codes that are tried: their tokens fit into the L1 or L2 cache of the processor. The sample has too
/// few tokens for 16 bits.
pub(super) const CODE_BITS: [u32; 3] = [9, 12, 14];
/// Strings in which tokens are found, for each token and at most, and other strings that test them.
const SAMPLE_BYTES_A_TOKEN: usize = 1 << 7;
const SAMPLE_BYTES: usize = 2 << 20;
const TRIAL_BYTES: usize = 1 << 18;
/// Rows whose strings are prefetched together.
const SAMPLE_ROWS_AT_ONCE: usize = 1 << 10;
/// Compressed strings are slower to read, so they must be smaller by this part.
const GAIN_MIN: f64 = 0.1;
/// All strings are encoded if at least one in this many is needed.
const ENCODED_SHARE: usize = 2;
/// Longer strings are not compressed, to bound the buffers of readers.
const COMPRESSED_BYTES_MAX: usize = 1 << 28;
const WORD_BYTES: usize = size_of::<u64>();

/// Strings without padding, in order of their rows.
pub(super) struct Packed {
    pub(super) bytes: Region,
    /// The ends of the strings, in bytes or in codes.
    pub(super) lengths: RegionNumbers,
    pub(super) tokens: Option<Tokens>,
}

/// A piece: adjacent strings.
struct Stretch {
    bytes: Vec<u8>,
    /// The sum of their lengths.
    count: u64,
}

/// The strings of the rows `rows` of `arena`, in that order. They are compressed if there are `tokens`.
pub(super) fn pack(arena: StringArena, rows: Vec<RowStretch<'_>>, tokens: Option<Tokens>) -> Result<Packed> {
    let count = rows.iter().map(RowStretch::len).sum();
    let mut lengths = RegionNumbers::zeroed(count)?;
    let stretches = match &tokens {
        None => {
            for_each_stretch(rows, &mut lengths, |rows, lengths| Stretch::plain(arena.view(), rows, lengths))
        }
        // If only a few strings are needed, most codes would be in vain.
        Some(tokens) if count < arena.len() / ENCODED_SHARE => {
            let mut listed = vec![0; count];
            for_each_stretch(rows, &mut listed, |rows, places| places.copy_from_slice(rows));
            let codes = StringCodes::of_rows(&arena, &listed, tokens)?;
            drop(arena);
            let own: Vec<u32> = (0..count as u32).collect();
            for_each_stretch(RowStretch::of_list(&own), &mut lengths, |numbers, lengths| {
                Ok(Stretch::compressed(&codes, numbers, lengths))
            })
        }
        Some(tokens) => {
            let codes = StringCodes::of_all(arena, tokens)?;
            for_each_stretch(rows, &mut lengths, |numbers, lengths| {
                Ok(Stretch::compressed(&codes, numbers, lengths))
            })
        }
    };
    join(stretches.into_iter().collect::<Result<_>>()?, lengths, tokens)
}

/// Concatenates pieces.
fn join(stretches: Vec<Stretch>, lengths: RegionNumbers, tokens: Option<Tokens>) -> Result<Packed> {
    let bits = u64::from(tokens.as_ref().map_or(u8::BITS, Tokens::bits));
    let all: u64 = stretches.iter().map(|stretch| stretch.count).sum();
    let mut bytes = Region::zeroed((all * bits).div_ceil(u64::from(u8::BITS)) as usize + PADDING_BYTES)?;
    let (mut places, mut end) = (Vec::with_capacity(stretches.len()), 0);
    let mut bytes_left = &mut bytes[..];
    for stretch in stretches {
        let start = end;
        end += stretch.count * bits;
        let (bytes, after) = bytes_left.split_at_mut((end / 8 - start / 8) as usize);
        bytes_left = after;
        places.push((stretch, bytes, start, end));
    }
    let last_bytes = on_all_cores(places.into_iter(), |(stretch, bytes, start, end)| {
        ((end / 8) as usize, put_bytes(bytes, (start % 8) as u32, &stretch.bytes))
    });
    // Two pieces share a byte if one ends inside of it.
    last_bytes.into_iter().for_each(|(at, byte)| bytes[at] |= byte);
    Ok(Packed { bytes, lengths, tokens })
}

/// Puts `bytes` at bit `at`, less than 8, of `out`, where all bits are zero. Returns the bits of the byte after them.
fn put_bytes(out: &mut [u8], at: u32, bytes: &[u8]) -> u8 {
    let (out_words, out_rest) = out.as_chunks_mut::<WORD_BYTES>();
    let (words, _) = bytes.as_chunks::<WORD_BYTES>();
    let mut carry = 0;
    for (out, &word) in out_words.iter_mut().zip(words) {
        let word = u64::from_le_bytes(word);
        *out = (word << at | carry).to_le_bytes();
        carry = word.checked_shr(u64::BITS - at).unwrap_or(0);
    }
    // Whole words of `out` get words of `bytes`, which have all bits of them.
    let done = out_words.len() * WORD_BYTES;
    let rest = bytes[done..].iter().map(|&byte| u64::from(byte)).chain([0; 2]);
    let mut rest = rest.map(|byte| {
        let shifted = byte << at | carry;
        carry = shifted >> u8::BITS;
        shifted as u8
    });
    out_rest.iter_mut().zip(&mut rest).for_each(|(out, byte)| *out = byte);
    rest.next().unwrap_or(0)
}

impl Stretch {
    /// Strings by their numbers.
    fn compressed(codes: &StringCodes, numbers: &[u32], lengths: &mut [u32]) -> Stretch {
        let mut bytes = Vec::new();
        let count = codes.pack(numbers, &mut bytes, lengths);
        bytes.truncate((count * u64::from(codes.bits())).div_ceil(u8::BITS.into()) as usize);
        Stretch { bytes, count }
    }

    fn plain(view: ArenaView<'_>, rows: &[u32], lengths: &mut [u32]) -> Result<Stretch> {
        let (mut bytes, mut strings) = (Vec::new(), Vec::with_capacity(rows.len()));
        view.for_each_ahead(rows, |row| {
            let string = view.get(row);
            bytes.extend_from_slice(string);
            strings.push(string.len());
        });
        for (to, length) in lengths.iter_mut().zip(strings) {
            *to = u32::try_from(length).map_err(|_| too_long())?;
        }
        bytes.shrink_to_fit();
        Ok(Stretch { count: bytes.len() as u64, bytes })
    }
}

/// The tokens with which the strings of `rows`, or all strings, take the least; `None` if none make them much
/// smaller.
pub(super) fn choose_tokens(arena: &StringArena, rows: Option<&[u32]>) -> Option<Tokens> {
    if arena.longest() > COMPRESSED_BYTES_MAX {
        return None;
    }
    let count = rows.map_or(arena.len(), <[u32]>::len);
    let mut scattered = scattered(count).map(|at| rows.map_or(at as u32, |rows| rows[at]));
    let sample = next_of(arena, &mut scattered, SAMPLE_BYTES);
    let others = next_of(arena, &mut scattered, TRIAL_BYTES);
    // A small sample is not representative.
    let trial = if others.view().bytes().len() < TRIAL_BYTES { &sample } else { &others };
    let of_all = |trial_bytes: f64| trial_bytes / trial.len().max(1) as f64 * count as f64;
    let plain = of_all(trial.view().bytes().len() as f64);
    let limit = plain * (1.0 - GAIN_MIN);
    let worth = CODE_BITS.into_iter().filter(|&bits| (Tokens::bytes_of(bits) as f64) < limit);
    let tried = in_parallel(worth.collect::<Vec<_>>().into_iter(), |bits| {
        let tokens = Tokens::train(&front_of(&sample, SAMPLE_BYTES_A_TOKEN << bits), bits);
        let (matcher, view, mut codes) = (TokenMatcher::new(&tokens), trial.view(), 0);
        (0..trial.len()).for_each(|row| matcher.encode(view.bytes(), view.range(row), |_| codes += 1));
        let bytes = f64::from(codes) * f64::from(bits) / f64::from(u8::BITS);
        (of_all(bytes) + tokens.heap_bytes() as f64, tokens)
    });
    let best = tried.into_iter().min_by(|one, other| one.0.total_cmp(&other.0));
    best.filter(|(bytes, _)| *bytes < limit).map(|(_, tokens)| tokens)
}

/// All numbers below `count`, in an order whose beginnings are evenly spread.
fn scattered(count: usize) -> impl Iterator<Item = usize> {
    // Steps of the golden ratio, which never come near to earlier ones.
    let golden = (count as f64 * 0.618_033_988_75) as usize;
    let step = (golden.max(1)..).find(|&step| greatest_common_divisor(step, count) == 1).unwrap_or(1);
    let mut at = 0;
    (0..count).map(move |_| {
        at = (at + step) % count;
        at
    })
}

fn greatest_common_divisor(mut one: usize, mut other: usize) -> usize {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// Copies of about `bytes_max` of the strings of the next `rows`: they are adjacent, however often they are read.
fn next_of(arena: &StringArena, rows: &mut impl Iterator<Item = u32>, bytes_max: usize) -> StringArena {
    let (mut strings, mut bytes) = (StringArena::default(), 0);
    while bytes < bytes_max {
        let some: Vec<u32> = rows.take(SAMPLE_ROWS_AT_ONCE).collect();
        if some.is_empty() {
            break;
        }
        arena.view().for_each_ahead(&some, |row| {
            let string = arena.get(row);
            let string = &string[..string.len().min(bytes_max)];
            if bytes < bytes_max {
                bytes += string.len();
                strings.push(string);
            }
        });
    }
    strings
}

/// The first `strings`, of about `bytes_max`.
fn front_of(strings: &StringArena, bytes_max: usize) -> Vec<&[u8]> {
    let view = strings.view();
    (0..strings.len()).take_while(|&row| view.range(row).start < bytes_max).map(|row| view.get(row)).collect()
}

fn too_long() -> Error {
    Error::new(ErrorCode::ArgumentOutOfBound, "a string of a dictionary has four gigabytes or more")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scattered_numbers_are_all_and_the_first_ones_are_spread() {
        for count in [0, 1, 2, 3, 10, 97, 1000, 4096] {
            let mut numbers: Vec<usize> = scattered(count).collect();
            let front: Vec<usize> = numbers.iter().copied().take(count / 10).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..count).collect::<Vec<_>>());
            let below = |end: usize| front.iter().filter(|&&number| number < end).count();
            for tenth in 1..10 {
                assert!(
                    below(count * tenth / 10).abs_diff(front.len() * tenth / 10) <= 2 + front.len() / 10,
                    "{count}"
                );
            }
        }
    }
}
