//! Strings that are no longer added to, in as few bytes as they need: compressed with OnPair where that pays.
//!
//! Each string is compressed alone, by tokens that are found in a sample of all strings.

use basalt_base::prefetch::prefetch_read;
use basalt_base::region::{Region, Section};
use basalt_base::{Error, ErrorCode, Result};
use basalt_codec::{TokenMatcher, Tokens};

use super::StringArena;
use super::arena::{BYTES_AHEAD, ENDS_AHEAD};
use super::packed_ends::{BLOCK_STRINGS, PackedEnds, Stretch};
use crate::image::{ImageReader, ImageWriter};
use crate::table::bits::{PADDING_BYTES, get_short, low_bits, put};
use crate::table::in_parallel;

/// Strings that one thread packs at a time: whole blocks of [`PackedEnds`].
const STRETCH_STRINGS: usize = 1 << 16;
const _: () = assert!(STRETCH_STRINGS.is_multiple_of(BLOCK_STRINGS));
/// Strings that tokens are found in, and others that say whether they are of use.
const SAMPLE_BYTES: usize = 2 << 20;
const TRIAL_BYTES: usize = 1 << 18;
/// Codes of so many bits are tried: their tokens fit the processor's first cache, its second, or its third.
const CODE_BITS: [u32; 3] = [9, 12, 16];
/// Compressed strings take longer to read; they have to take this part less.
const GAIN_MIN: f64 = 0.1;
/// Codes that end at a byte, whatever their bits.
const EVEN_CODES: usize = 8;

/// Strings by row number.
#[derive(Debug)]
pub(super) struct PackedStrings {
    bytes: Section,
    ends: PackedEnds,
    /// Of compressed strings; their ends then count codes.
    tokens: Option<Tokens>,
}

/// Packed strings that follow each other.
struct Packed {
    bytes: Vec<u8>,
    lengths: Vec<u32>,
}

impl PackedStrings {
    /// The strings of the rows `rows` of `arena`, in that order.
    pub(super) fn new(arena: &StringArena, rows: &[u32]) -> Result<PackedStrings> {
        let tokens = choose_tokens(arena, rows);
        let matcher = tokens.as_ref().map(|tokens| (TokenMatcher::new(tokens), tokens.bits()));
        let parts: Vec<&[u32]> = rows.chunks(STRETCH_STRINGS).collect();
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(parts.len());
        let packed = in_parallel(0..threads, |thread| {
            let own = parts.iter().skip(thread).step_by(threads);
            own.map(|rows| Packed::new(arena, rows, matcher.as_ref())).collect::<Result<Vec<_>>>()
        });
        let mut packed = packed.into_iter().map(|own| own.map(Vec::into_iter)).collect::<Result<Vec<_>>>()?;
        let in_order = (0..parts.len()).filter_map(|part| packed[part % threads].next()).collect();
        PackedStrings::of_parts(in_order, tokens)
    }

    fn of_parts(parts: Vec<Packed>, tokens: Option<Tokens>) -> Result<PackedStrings> {
        let bits = tokens.as_ref().map_or(u64::from(u8::BITS), |tokens| u64::from(tokens.bits()));
        let mut bytes =
            Region::zeroed(parts.iter().map(|part| part.bytes.len()).sum::<usize>() + PADDING_BYTES)?;
        let (mut at, mut stretches) = (0, Vec::with_capacity(parts.len()));
        for part in parts {
            bytes[at..at + part.bytes.len()].copy_from_slice(&part.bytes);
            stretches.push(Stretch { start: at as u64 * u64::from(u8::BITS) / bits, lengths: part.lengths });
            at += part.bytes.len();
        }
        let ends = PackedEnds::new(|| stretches.iter())?;
        Ok(PackedStrings { bytes: bytes.into(), ends, tokens })
    }

    /// The string of a row, which may be put together in `scratch`; anything where a file says what cannot be.
    #[inline]
    pub(super) fn get<'a>(&'a self, row: usize, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        let range = self.ends.get(row);
        let bytes: &[u8] = &self.bytes;
        let Some(tokens) = &self.tokens else {
            return bytes.get(range).unwrap_or_default();
        };
        let bits = u64::from(tokens.bits());
        let there = (bytes.len() as u64 * u64::from(u8::BITS) / bits) as usize;
        let mask = low_bits(tokens.bits());
        let codes =
            (range.start..range.end.min(there)).map(|at| get_short(bytes, at as u64 * bits, mask) as u16);
        tokens.decode(codes, scratch)
    }

    #[inline(always)]
    pub(super) fn prefetch_end(&self, row: usize) {
        self.ends.prefetch(row);
    }

    #[inline(always)]
    pub(super) fn prefetch_bytes(&self, row: usize) {
        prefetch_read(&self.bytes, self.first_byte(self.ends.get(row).start));
    }

    /// The byte at which a place of [`PackedEnds`] is.
    #[inline(always)]
    fn first_byte(&self, place: usize) -> usize {
        match &self.tokens {
            None => place,
            Some(tokens) => {
                (place as u64).wrapping_mul(u64::from(tokens.bits())) as usize / u8::BITS as usize
            }
        }
    }

    /// Makes sure that string `row` is what was written.
    pub(super) fn check(&self, row: usize) -> Result<()> {
        self.ends.check(row)?;
        let range = self.ends.get(row);
        let end = self.first_byte(range.end).saturating_add(PADDING_BYTES);
        self.bytes.check(self.first_byte(range.start)..end)
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let tokens = self.tokens.as_ref().map_or(0, Tokens::heap_bytes);
        self.bytes.resident_bytes() + self.ends.heap_bytes() + tokens
    }

    pub(super) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        image.flag(self.tokens.is_some());
        if let Some(tokens) = &self.tokens {
            let mut written = Vec::new();
            tokens.write(&mut written);
            image.section(&written)?;
        }
        self.ends.save(image)?;
        image.section(&self.bytes)
    }

    pub(super) fn open(image: &mut ImageReader<'_>) -> Result<PackedStrings> {
        let tokens = if image.flag()? { Some(read_tokens(&image.section()?)?) } else { None };
        let ends = PackedEnds::open(image)?;
        Ok(PackedStrings { bytes: image.section()?, ends, tokens })
    }
}

/// The tokens of a file are read at once: any string may need any of them.
fn read_tokens(written: &Section) -> Result<Tokens> {
    written.check(0..written.len())?;
    Tokens::read(written).map_err(|_| ImageReader::unfit())
}

impl Packed {
    fn new(arena: &StringArena, rows: &[u32], matcher: Option<&(TokenMatcher, u32)>) -> Result<Packed> {
        let mut packed = Packed { bytes: Vec::new(), lengths: Vec::with_capacity(rows.len()) };
        let (view, mut codes, mut count) = (arena.view(), Vec::new(), 0);
        for (index, &row) in rows.iter().enumerate() {
            if let Some(&ahead) = rows.get(index + ENDS_AHEAD) {
                view.prefetch_end(ahead as usize);
            }
            if let Some(&ahead) = rows.get(index + BYTES_AHEAD) {
                view.prefetch_bytes(ahead as usize);
            }
            let string = view.get(row as usize);
            let length = match matcher {
                None => {
                    packed.bytes.extend_from_slice(string);
                    string.len()
                }
                Some((matcher, bits)) => {
                    codes.clear();
                    matcher.encode(string, &mut codes);
                    put_codes(&codes, count, *bits, &mut packed.bytes);
                    codes.len()
                }
            };
            count += length;
            packed.lengths.push(u32::try_from(length).map_err(|_| too_long())?);
        }
        if let Some((_, bits)) = matcher {
            packed.bytes.truncate(count.div_ceil(EVEN_CODES) * *bits as usize);
        }
        packed.bytes.shrink_to_fit();
        Ok(packed)
    }
}

fn put_codes(codes: &[u16], before: usize, bits: u32, out: &mut Vec<u8>) {
    let groups = (before + codes.len()).div_ceil(EVEN_CODES);
    out.resize(groups * bits as usize + PADDING_BYTES, 0);
    for (at, &code) in (before as u64..).zip(codes) {
        put(out, at * u64::from(bits), u64::from(code));
    }
}

/// The tokens by which the strings take the least; `None` if none make them much smaller.
fn choose_tokens(arena: &StringArena, rows: &[u32]) -> Option<Tokens> {
    let sample = some_of(arena, rows, SAMPLE_BYTES, 0);
    let trial = some_of(arena, rows, TRIAL_BYTES, 1);
    let bytes = |strings: &[&[u8]]| strings.iter().map(|string| string.len()).sum::<usize>() as f64;
    let plain = bytes(&trial) / trial.len().max(1) as f64 * rows.len() as f64;
    let limit = plain * (1.0 - GAIN_MIN);
    let worth = CODE_BITS.into_iter().filter(|&bits| (Tokens::bytes_of(bits) as f64) < limit);
    let tried = worth.map(|bits| {
        let tokens = Tokens::train(&sample, bits);
        let (matcher, mut codes) = (TokenMatcher::new(&tokens), Vec::new());
        trial.iter().for_each(|string| matcher.encode(string, &mut codes));
        let a_string = codes.len() as f64 * f64::from(bits) / f64::from(u8::BITS) / trial.len().max(1) as f64;
        (a_string * rows.len() as f64 + tokens.heap_bytes() as f64, tokens)
    });
    let best = tried.min_by(|one, other| one.0.total_cmp(&other.0));
    best.filter(|(bytes, _)| *bytes < limit).map(|(_, tokens)| tokens)
}

/// Strings of about `bytes_max`, evenly from all rows; those of another `offset` are others if there are enough.
fn some_of<'a>(arena: &'a StringArena, rows: &[u32], bytes_max: usize, offset: usize) -> Vec<&'a [u8]> {
    let view = arena.view();
    // Strings of the same length throughout would need one row in so many.
    let first = rows.iter().take(STRETCH_STRINGS).map(|&row| view.get(row as usize).len()).sum::<usize>();
    let a_string = first / rows.len().clamp(1, STRETCH_STRINGS) + 1;
    let step = (rows.len() * a_string / bytes_max).max(1);
    let (mut strings, mut bytes) = (Vec::new(), 0);
    for &row in rows.iter().skip(offset.min(step - 1)).step_by(step) {
        let string = view.get(row as usize);
        let string = &string[..string.len().min(bytes_max)];
        bytes += string.len();
        strings.push(string);
        if bytes >= bytes_max {
            break;
        }
    }
    strings
}

fn too_long() -> Error {
    Error::new(ErrorCode::ArgumentOutOfBound, "a string of a dictionary has four gigabytes or more")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The strings of all rows, of each third one and of none come back, and take at most `part` of the bytes.
    fn check(strings: &[Vec<u8>], part: f64) {
        let mut arena = StringArena::default();
        strings.iter().for_each(|string| arena.push(string));
        let all: Vec<u32> = (0..strings.len() as u32).rev().collect();
        let some: Vec<u32> = all.iter().copied().step_by(3).collect();
        for rows in [&all, &some, &Vec::new()] {
            let (packed, mut scratch) = (PackedStrings::new(&arena, rows).expect("memory"), Vec::new());
            for (place, &row) in rows.iter().enumerate() {
                assert_eq!(packed.get(place, &mut scratch), strings[row as usize], "row {row}");
            }
        }
        let bytes: usize = strings.iter().map(Vec::len).sum();
        let packed = PackedStrings::new(&arena, &all).expect("memory");
        assert!(packed.heap_bytes() as f64 <= part * bytes as f64, "{} of {bytes}", packed.heap_bytes());
    }

    /// Numbers that look like random ones.
    fn mixed(number: usize) -> usize {
        (number ^ number >> 7).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
    }

    #[test]
    fn texts_take_less_than_half() {
        let text = |row| format!("https://example.com/shop/{}?page={}", mixed(row) % 1000, row % 7);
        check(&(0..150_000).map(|row| text(row).into_bytes()).collect::<Vec<_>>(), 0.45);
    }

    #[test]
    fn what_has_nothing_in_common_takes_little_more_than_its_bytes() {
        let random = |row: usize| (0..row % 50).flat_map(|at| mixed(row + 977 * at).to_le_bytes()).collect();
        check(&(0..5_000).map(random).collect::<Vec<_>>(), 1.03);
    }

    #[test]
    fn one_long_string_among_short_ones_comes_back() {
        let mut strings: Vec<Vec<u8>> = (0..1000_usize).map(|row| row.to_string().into_bytes()).collect();
        strings[500] = vec![b'x'; 300_000];
        strings[501] = Vec::new();
        check(&strings, 0.5);
    }
}
