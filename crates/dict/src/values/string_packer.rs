//! Packs the strings of an arena: finds tokens that make them smaller, and encodes them on all cores.

use basalt_base::region::Region;
use basalt_base::{Error, ErrorCode, Result, processor};
use basalt_codec::{TokenMatcher, Tokens};

use super::StringArena;
use super::arena::{ArenaView, BYTES_AHEAD, ENDS_AHEAD};
use crate::table::bits::{BitWriter, PADDING_BYTES};
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
const WORD_BYTES: usize = size_of::<u64>();

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
    /// What the lengths add up to.
    count: u64,
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
    join(in_order, tokens, threads)
}

/// Puts stretches one behind the other, by so many threads.
fn join(stretches: Vec<Stretch>, tokens: Option<Tokens>, threads: usize) -> Result<Packed> {
    let bits = u64::from(tokens.as_ref().map_or(u8::BITS, Tokens::bits));
    let all: u64 = stretches.iter().map(|stretch| stretch.count).sum();
    let mut bytes = Region::zeroed((all * bits).div_ceil(u64::from(u8::BITS)) as usize + PADDING_BYTES)?;
    let mut lengths = vec![0; stretches.iter().map(|stretch| stretch.lengths.len()).sum()];
    let (mut places, mut end) = (Vec::with_capacity(stretches.len()), 0);
    let (mut bytes_left, mut lengths_left) = (&mut bytes[..], lengths.as_mut_slice());
    for stretch in stretches {
        let start = end;
        end += stretch.count * bits;
        let (bytes, behind) = bytes_left.split_at_mut((end / 8 - start / 8) as usize);
        let (lengths, lengths_behind) = lengths_left.split_at_mut(stretch.lengths.len());
        (bytes_left, lengths_left) = (behind, lengths_behind);
        places.push((stretch, bytes, lengths, start, end));
    }
    let mut hands: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
    places.into_iter().enumerate().for_each(|(at, place)| hands[at % threads].push(place));
    let behind = in_parallel(hands.into_iter(), |hand| {
        let put = hand.into_iter().map(|(stretch, bytes, lengths, start, end)| {
            lengths.copy_from_slice(&stretch.lengths);
            ((end / 8) as usize, put_bytes(bytes, (start % 8) as u32, &stretch.bytes))
        });
        put.collect::<Vec<_>>()
    });
    // Two stretches share a byte where one ends inside of it.
    behind.into_iter().flatten().for_each(|(at, byte)| bytes[at] |= byte);
    Ok(Packed { bytes, lengths, tokens })
}

/// Puts `bytes` at bit `at`, less than 8, of `out`, where all is zero, and returns what belongs into the byte behind.
fn put_bytes(out: &mut [u8], at: u32, bytes: &[u8]) -> u8 {
    let (out_words, out_rest) = out.as_chunks_mut::<WORD_BYTES>();
    let (words, _) = bytes.as_chunks::<WORD_BYTES>();
    let mut carry = 0;
    for (out, &word) in out_words.iter_mut().zip(words) {
        let word = u64::from_le_bytes(word);
        *out = (word << at | carry).to_le_bytes();
        carry = word.checked_shr(u64::BITS - at).unwrap_or(0);
    }
    // Whole words of `out` have words of `bytes`: these have all bits that belong there.
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
    fn new(arena: &StringArena, rows: &[u32], matcher: Option<&(TokenMatcher, u32)>) -> Result<Stretch> {
        let Some((matcher, bits)) = matcher else { return Stretch::plain(arena.view(), rows) };
        let (view, mut codes) = (arena.view(), Vec::new());
        let mut lengths = Vec::with_capacity(rows.len());
        processor::run(
            #[inline(always)]
            || {
                for_each_ahead(view, rows, |row| {
                    let before = codes.len();
                    matcher.encode(view.bytes(), view.range(row), &mut codes);
                    // A string that is compressed has at most `COMPRESSED_BYTES_MAX` codes.
                    lengths.push((codes.len() - before) as u32);
                });
            },
        );
        Ok(Stretch { bytes: packed_codes(&codes, *bits), lengths, count: codes.len() as u64 })
    }

    fn plain(view: ArenaView<'_>, rows: &[u32]) -> Result<Stretch> {
        let (mut bytes, mut lengths) = (Vec::new(), Vec::with_capacity(rows.len()));
        for_each_ahead(view, rows, |row| {
            let string = view.get(row);
            bytes.extend_from_slice(string);
            lengths.push(string.len());
        });
        let lengths = lengths.into_iter().map(|length| u32::try_from(length).map_err(|_| too_long()));
        let (count, lengths) = (bytes.len() as u64, lengths.collect::<Result<_>>()?);
        bytes.shrink_to_fit();
        Ok(Stretch { bytes, lengths, count })
    }
}

/// Visits `rows` in their order, and asks for the strings of those that follow.
#[inline(always)]
fn for_each_ahead(view: ArenaView<'_>, rows: &[u32], mut visit: impl FnMut(usize)) {
    for (index, &row) in rows.iter().enumerate() {
        if let Some(&ahead) = rows.get(index + ENDS_AHEAD) {
            view.prefetch_end(ahead as usize);
        }
        if let Some(&ahead) = rows.get(index + BYTES_AHEAD) {
            view.prefetch_bytes(ahead as usize);
        }
        visit(row as usize);
    }
}

fn packed_codes(codes: &[u16], bits: u32) -> Vec<u8> {
    let mut bytes = vec![0; packed_bytes(codes.len(), bits) + PADDING_BYTES];
    if bits == u16::BITS {
        bytes.as_chunks_mut().0.iter_mut().zip(codes).for_each(|(to, code)| *to = code.to_le_bytes());
    } else {
        let mut writer = BitWriter::default();
        codes.iter().for_each(|&code| writer.push(&mut bytes, code.into(), bits));
        writer.finish(&mut bytes);
    }
    bytes.truncate(packed_bytes(codes.len(), bits));
    bytes
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
    let chosen: Vec<u32> = rows.iter().copied().skip(offset.min(step - 1)).step_by(step).collect();
    let (mut strings, mut bytes) = (Vec::with_capacity(chosen.len()), 0);
    for_each_ahead(view, &chosen, |row| {
        let string = view.get(row);
        let string = &string[..string.len().min(bytes_max)];
        if bytes < bytes_max {
            bytes += string.len();
            strings.push(string);
        }
    });
    strings
}

fn too_long() -> Error {
    Error::new(ErrorCode::ArgumentOutOfBound, "a string of a dictionary has four gigabytes or more")
}
