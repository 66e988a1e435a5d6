//! Trains tokens in one pass over a sample: two tokens that are often adjacent become one.

use super::Tokens;
use super::matcher::TokenMatcher;
use super::sizes::{BYTES, TOKEN_BYTES_MAX};

/// The number of counters of pairs, as a power of two. A frequent pair evicts a rare one.
const COUNTED_BITS: u32 = 17;
/// The occurrences after which a pair becomes a token: the lowest and the highest threshold.
const SEEN_MIN: f64 = 2.0;
const SEEN_MAX: f64 = 1000.0;

/// Two adjacent tokens, and how often they were seen.
#[derive(Clone, Copy, Default)]
struct Counted {
    pair: u32,
    seen: u32,
}

/// See [`Tokens::train`].
pub(super) fn train(sample: &[&[u8]], bits: u32) -> Tokens {
    let mut tokens = Tokens::single_bytes(bits);
    let mut matcher = TokenMatcher::empty();
    let mut counts = vec![Counted::default(); 1 << COUNTED_BITS];
    let bytes_in_all = sample.iter().map(|string| string.len()).sum::<usize>().max(1);
    let free = (tokens.texts.len() - BYTES) as f64;
    let (mut done, mut enough) = (0, SEEN_MIN);
    for string in sample {
        if tokens.is_full() {
            break;
        }
        add_pairs_of(string, enough as u32, &mut tokens, &mut matcher, &mut counts);
        done += string.len();
        // The codes have to last for the whole sample: if they are used up too fast, the threshold rises.
        let given = (tokens.count - BYTES) as f64 / free;
        let step = if given > done as f64 / bytes_in_all as f64 { 1.002 } else { 0.998 };
        enough = (enough * step).clamp(SEEN_MIN, SEEN_MAX);
    }
    tokens
}

fn add_pairs_of(
    string: &[u8],
    enough: u32,
    tokens: &mut Tokens,
    matcher: &mut TokenMatcher,
    counts: &mut [Counted],
) {
    let (mut at, mut before) = (0, None);
    while at < string.len() && !tokens.is_full() {
        let (code, length) = matcher.longest(string, at, string.len() - at);
        at += length;
        before = match before {
            Some((first, first_bytes)) if first_bytes + length <= TOKEN_BYTES_MAX => {
                let pair = u32::from(first) << 16 | u32::from(code);
                if count(counts, pair) < enough {
                    Some((code, length))
                } else {
                    let text = &string[at - length - first_bytes..at];
                    matcher.add(tokens.count as u16, text);
                    tokens.add(text);
                    Some(((tokens.count - 1) as u16, text.len()))
                }
            }
            _ => Some((code, length)),
        };
    }
}

/// The occurrences of the pair, including this one.
fn count(counts: &mut [Counted], pair: u32) -> u32 {
    let place = pair.wrapping_mul(0x9e37_79b1) >> (u32::BITS - COUNTED_BITS);
    let counted = &mut counts[place as usize];
    if counted.pair == pair {
        counted.seen += 1;
    } else if counted.seen > 1 {
        counted.seen -= 1;
        return 1;
    } else {
        *counted = Counted { pair, seen: 1 };
    }
    counted.seen
}
