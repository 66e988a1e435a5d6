//! Which encoding a column of numbers gets.

use arrow::datatypes::DataType;
use basalt_codec::DecimalScale;

use super::codes::code_bits;
use super::decimals::DecimalCost;
use super::image::FloatWidth;
use super::number_stats::NumberStats;
use super::packed::{BLOCK, Multiples};

/// An encoding must take this share of the plain bits: it costs time.
const SHARE_MAX: f64 = 0.9;
/// Codes must take so many bits less: they have a second place to read from.
const CODES_PENALTY: f64 = 1.0;
/// Above this share of exceptions, their search takes longer than their bits are worth.
const EXCEPTIONS_MAX: f64 = 0.1;

/// The encoding of a column of numbers.
#[derive(Debug)]
pub(super) enum NumberChoice {
    /// With all distinct images, in order.
    Codes(Vec<u64>),
    Packed(Multiples),
    Decimals(DecimalScale, FloatWidth),
    Plain,
}

/// An encoding, its estimated bits a value, and why it was chosen.
struct Candidate {
    choice: NumberChoice,
    bits: f64,
    reason: String,
}

/// The encoding with the fewest bits, and the reason.
pub(super) fn choose_numbers(stats: &NumberStats, data_type: &DataType) -> (NumberChoice, String) {
    let Some((low, high)) = stats.bounds() else {
        return (NumberChoice::Codes(vec![0]), "there are no values".to_owned());
    };
    if low == high {
        return (NumberChoice::Codes(vec![low]), "all values are equal".to_owned());
    }
    let candidates = [Some(packed(stats)), codes(stats), decimals(stats, data_type)];
    let shortest = candidates.into_iter().flatten().min_by(|left, right| left.bits.total_cmp(&right.bits));
    let plain_bits = data_type.primitive_width().map(|bytes| 8.0 * bytes as f64);
    match (shortest, plain_bits) {
        (Some(candidate), Some(plain)) if candidate.bits > SHARE_MAX * plain => {
            let bits = candidate.bits;
            (NumberChoice::Plain, format!("{plain} bits a value: no encoding takes less than {bits:.1}"))
        }
        (Some(candidate), _) => (candidate.choice, candidate.reason),
        (None, _) => (NumberChoice::Plain, "no encoding fits".to_owned()),
    }
}

fn packed(stats: &NumberStats) -> Candidate {
    let multiples = stats.multiples();
    let bits = (stats.packed_bits() - (multiples.scale as f64).log2().floor()).max(0.0);
    let mut reason = format!("{bits:.1} bits a value, in blocks of {BLOCK} with a base and a slope");
    if multiples.scale > 1 {
        reason += &format!("; all are multiples of {}", multiples.scale);
    }
    if stats.is_sorted() {
        reason += "; they are sorted";
    }
    Candidate { choice: NumberChoice::Packed(multiples), bits, reason }
}

fn codes(stats: &NumberStats) -> Option<Candidate> {
    let images = stats.distinct().sorted()?;
    let code = code_bits(images.len());
    let bits = f64::from(code) + (8 * stats.distinct().bytes()) as f64 / stats.count() as f64;
    let reason = format!("codes of {code} bits: {} distinct values", images.len());
    Some(Candidate { choice: NumberChoice::Codes(images), bits: bits + CODES_PENALTY, reason })
}

fn decimals(stats: &NumberStats, data_type: &DataType) -> Option<Candidate> {
    let width = FloatWidth::of(data_type)?;
    let DecimalCost { scale, bits, exceptions } =
        DecimalCost::of(&stats.sample(), width).filter(|cost| cost.exceptions <= EXCEPTIONS_MAX)?;
    let reason = format!(
        "at most {bits:.1} bits a value: {:.1}% are decimals with {} digits after the point",
        100.0 * (1.0 - exceptions),
        scale.exponent() - scale.factor(),
    );
    Some(Candidate { choice: NumberChoice::Decimals(scale, width), bits, reason })
}
