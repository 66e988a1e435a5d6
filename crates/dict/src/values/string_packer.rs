//! Packs the strings of an arena: finds tokens that make them smaller, and encodes them on all cores.

use basalt_base::region::Region;
use basalt_base::{Error, ErrorCode, Result};
use basalt_codec::{TokenMatcher, Tokens};

use super::StringArena;
use super::arena::{BYTES_AHEAD, ENDS_AHEAD};
use crate::table::bits::{BitWriter, PADDING_BYTES, put};
use crate::table::in_parallel;

/// Codes of so many bits are tried: their tokens fit the processor's first cache, its second, or its third.
pub(super) const CODE_BITS: [u32; 3] = [9, 12, 16];
/// Strings that one thread packs at a time.
const STRETCH_STRINGS: usize = 1 << 16;
/// Strings that tokens are found in, and others that say whether they are of use.
const SAMPLE_BYTES: usize = 2 << 20;
const TRIAL_BYTES: usize = 1 << 18;
/// Compressed strings take longer to read; they have to take this part less.
const GAIN_MIN: f64 = 0.1;
/// Longer strings are not compressed: what a reader puts together has an end.
const COMPRESSED_BYTES_MAX: usize = 1 << 28;

/// Strings back to back, in order of their rows.
pub(super) struct Packed {
    pub(super) bytes: Region,
    /// In bytes, or in codes.
    pub(super) lengths: Vec<u32>,
    pub(super) tokens: Option<Tokens>,
}

/// Strings that follow each other, some of all.
struct Stretch {
    bytes: Vec<u8>,
    lengths: Vec<u32>,
}

/// The strings of the rows `rows` of `arena`, in that order.
pub(super) fn pack(arena: &StringArena, rows: &[u32]) -> Result<Packed> {
    let may_compress = arena.longest() <= COMPRESSED_BYTES_MAX;
    let tokens = if may_compress { choose_tokens(arena, rows) } else { None };
    let matcher = tokens.as_ref().map(|tokens| (TokenMatcher::new(tokens), tokens.bits()));
    let parts: Vec<&[u32]> = rows.chunks(STRETCH_STRINGS).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(parts.len());
    let packed = in_parallel(0..threads, |thread| {
        let own = parts.iter().skip(thread).step_by(threads);
        own.map(|rows| Stretch::new(arena, rows, matcher.as_ref())).collect::<Result<Vec<_>>>()
    });
    let mut packed = packed.into_iter().map(|own| own.map(Vec::into_iter)).collect::<Result<Vec<_>>>()?;
    let in_order = (0..parts.len()).filter_map(|part| packed[part % threads].next()).collect();
    join(in_order, tokens)
}

fn join(stretches: Vec<Stretch>, tokens: Option<Tokens>) -> Result<Packed> {
    let bits = tokens.as_ref().map_or(u8::BITS, Tokens::bits);
    let count = |stretch: &Stretch| stretch.lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
    let all: u64 = stretches.iter().map(count).sum();
    let mut bytes =
        Region::zeroed((all * u64::from(bits)).div_ceil(u64::from(u8::BITS)) as usize + PADDING_BYTES)?;
    let mut lengths = Vec::with_capacity(stretches.iter().map(|stretch| stretch.lengths.len()).sum());
    let mut at = 0;
    for stretch in stretches {
        put_bytes(&mut bytes, at, &stretch.bytes);
        at += count(&stretch) * u64::from(bits);
        lengths.extend_from_slice(&stretch.lengths);
    }
    Ok(Packed { bytes, lengths, tokens })
}

/// Puts bytes at bit `at` of `out`, where all is zero.
fn put_bytes(out: &mut [u8], at: u64, bytes: &[u8]) {
    if at.is_multiple_of(u64::from(u8::BITS)) {
        return out[(at / 8) as usize..][..bytes.len()].copy_from_slice(bytes);
    }
    let (words, rest) = bytes.as_chunks();
    let bits = (at..).step_by(u64::BITS as usize);
    bits.zip(words).for_each(|(at, &word)| put(out, at, u64::from_le_bytes(word)));
    let behind = (at..).step_by(u8::BITS as usize).skip(words.len() * size_of::<u64>());
    behind.zip(rest).for_each(|(at, &byte)| put(out, at, u64::from(byte)));
}

impl Stretch {
    fn new(arena: &StringArena, rows: &[u32], matcher: Option<&(TokenMatcher, u32)>) -> Result<Stretch> {
        let mut stretch = Stretch { bytes: Vec::new(), lengths: Vec::with_capacity(rows.len()) };
        let (view, mut codes, mut count) = (arena.view(), Vec::new(), 0);
        let mut writer = BitWriter::default();
        for (index, &row) in rows.iter().enumerate() {
            if let Some(&ahead) = rows.get(index + ENDS_AHEAD) {
                view.prefetch_end(ahead as usize);
            }
            if let Some(&ahead) = rows.get(index + BYTES_AHEAD) {
                view.prefetch_bytes(ahead as usize);
            }
            let length = match matcher {
                None => {
                    let string = view.get(row as usize);
                    stretch.bytes.extend_from_slice(string);
                    string.len()
                }
                Some((matcher, bits)) => {
                    codes.clear();
                    matcher.encode(view.bytes(), view.range(row as usize), &mut codes);
                    count += codes.len();
                    let room = packed_bytes(count, *bits) + PADDING_BYTES;
                    if stretch.bytes.len() < room {
                        stretch.bytes.resize(2 * room, 0);
                    }
                    codes.iter().for_each(|&code| writer.push(&mut stretch.bytes, code.into(), *bits));
                    codes.len()
                }
            };
            stretch.lengths.push(u32::try_from(length).map_err(|_| too_long())?);
        }
        if let Some((_, bits)) = matcher {
            stretch.bytes.resize(packed_bytes(count, *bits) + PADDING_BYTES, 0);
            writer.finish(&mut stretch.bytes);
            stretch.bytes.truncate(packed_bytes(count, *bits));
        }
        stretch.bytes.shrink_to_fit();
        Ok(stretch)
    }
}

fn packed_bytes(codes: usize, bits: u32) -> usize {
    (codes * bits as usize).div_ceil(u8::BITS as usize)
}

/// The tokens by which the strings take the least; `None` if none make them much smaller.
fn choose_tokens(arena: &StringArena, rows: &[u32]) -> Option<Tokens> {
    let sample = some_of(arena, rows, SAMPLE_BYTES, 0);
    let trial = some_of(arena, rows, TRIAL_BYTES, 1);
    let bytes = |strings: &[&[u8]]| strings.iter().map(|string| string.len()).sum::<usize>() as f64;
    let plain = bytes(&trial) / trial.len().max(1) as f64 * rows.len() as f64;
    let limit = plain * (1.0 - GAIN_MIN);
    let worth = CODE_BITS.into_iter().filter(|&bits| (Tokens::bytes_of(bits) as f64) < limit);
    let tried = in_parallel(worth.collect::<Vec<_>>().into_iter(), |bits| {
        let tokens = Tokens::train(&sample, bits);
        let (matcher, mut codes) = (TokenMatcher::new(&tokens), Vec::new());
        trial.iter().for_each(|string| matcher.encode(string, 0..string.len(), &mut codes));
        let a_string = codes.len() as f64 * f64::from(bits) / f64::from(u8::BITS) / trial.len().max(1) as f64;
        (a_string * rows.len() as f64 + tokens.heap_bytes() as f64, tokens)
    });
    let best = tried.into_iter().min_by(|one, other| one.0.total_cmp(&other.0));
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
