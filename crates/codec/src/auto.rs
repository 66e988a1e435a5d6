//! `AUTO`: chooses the chain for some values by a trial on a sample.
//!
//! # Choice
//!
//! The chain with the least cost, in bytes:
//!
//! ```text
//! cost = encoded bytes + BYTES_A_NANOSECOND * decoding time in nanoseconds
//! decoding time = for each link, its time to start + the bytes that it gives / its speed
//! ```
//!
//! The speeds were measured by `cargo bench -p basalt-codec` on a core of an AMD EPYC of 2025. They are constants,
//! so the same values get the same chain on every machine.
//!
//! # Trial
//!
//! Each transform that suits the values is applied to the sample, alone and followed by `LZ4`. `ZSTD` is tried
//! after the [`ZSTD_TRIALS`] transforms that give the shortest output with `LZ4`. Values that do not get shorter
//! get `NONE`.
//!
//! # Cost
//!
//! The sample is [`SAMPLE_RUNS`] runs of values, [`SAMPLE_NUMBERS`] of them or [`SAMPLE_BYTES`] of text, so that a
//! choice takes a fraction of a millisecond for a column of any size.

use crate::{AlpScheme, CodecChain, CodecSpec, Planes, Scratch};

/// Bytes that a nanosecond of decoding may cost: what a fast disk reads in that time.
const BYTES_A_NANOSECOND: f64 = 0.2;

/// A run keeps neighbours together, because most transforms compare them.
const SAMPLE_RUNS: usize = 4;
const SAMPLE_NUMBERS: usize = 4096;
const SAMPLE_BYTES: usize = 32 << 10;

const ZSTD_TRIALS: usize = 2;

/// A sample with fewer bytes decides nothing.
const SAMPLE_BYTES_MIN: usize = 64;

/// The values of a column for which a chain is chosen.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// Integers, or types stored as integers, of `width` bytes each.
    Integers { bytes: &'a [u8], width: usize },
    /// Floats of `width` bytes each.
    Floats { bytes: &'a [u8], width: usize },
    /// The characters of strings.
    Text(&'a [u8]),
    /// Bitmaps and bytes of unknown kind.
    Bits(&'a [u8]),
}

impl CodecChain {
    /// The best chain for `values`; `LZ4` if the sample is too small.
    pub fn choose(values: Values<'_>) -> CodecChain {
        let (sample, width) = sample(values);
        if sample.len() < SAMPLE_BYTES_MIN {
            return CodecChain::default();
        }
        let is_text = matches!(values, Values::Text(_));
        let mut trials =
            Trials { sample: &sample, width, is_text, scratch: Scratch::default(), done: Vec::new() };
        trials.run(vec![CodecSpec::None]);
        for transforms in transforms(values, width) {
            if !transforms.is_empty() {
                trials.run(transforms.clone());
            }
            trials.run([transforms, vec![CodecSpec::Lz4]].concat());
        }
        for transforms in trials.shortest_with_lz4() {
            trials.run([transforms, vec![CodecSpec::Zstd { level: 1 }]].concat());
        }
        trials.best()
    }
}

/// The transforms to try; the first is no transform.
fn transforms(values: Values<'_>, width: usize) -> Vec<Vec<CodecSpec>> {
    let t64 = CodecSpec::T64 { width: 0, planes: Planes::Bytes };
    let delta = CodecSpec::Delta { width: 0 };
    let double_delta = CodecSpec::DoubleDelta { width: 0 };
    let mut transforms = vec![vec![]];
    match values {
        Values::Integers { .. } if matches!(width, 1 | 2 | 4 | 8) => {
            transforms.push(vec![t64]);
            if width > 1 {
                transforms.extend([vec![delta], vec![double_delta]]);
            }
            if width > 2 {
                transforms.push(vec![CodecSpec::Gcd { width: 0 }, t64]);
            }
        }
        Values::Integers { .. } if matches!(width, 16 | 32) => {
            transforms.push(vec![CodecSpec::Gcd { width: 0 }]);
        }
        Values::Floats { .. } if matches!(width, 4 | 8) => {
            transforms.extend([
                vec![CodecSpec::Alp { scheme: AlpScheme::Shortest, width: 0 }],
                vec![delta],
                vec![double_delta],
            ]);
        }
        Values::Text(_) => transforms.push(vec![CodecSpec::Fsst]),
        _ => {}
    }
    transforms
}

/// Some runs of the values, and the width of a value.
fn sample(values: Values<'_>) -> (Vec<u8>, usize) {
    let (bytes, width, wanted) = match values {
        Values::Integers { bytes, width } | Values::Floats { bytes, width } => {
            (bytes, width.max(1), SAMPLE_NUMBERS * width.clamp(1, size_of::<u64>()))
        }
        Values::Text(bytes) | Values::Bits(bytes) => (bytes, 1, SAMPLE_BYTES),
    };
    let whole = bytes.len() / width * width;
    if whole <= wanted {
        return (bytes[..whole].to_vec(), width);
    }
    let run = wanted / SAMPLE_RUNS / width * width;
    let distance = (whole - run) / (SAMPLE_RUNS - 1) / width * width;
    let runs = (0..SAMPLE_RUNS).flat_map(|at| &bytes[at * distance..at * distance + run]);
    (runs.copied().collect(), width)
}

/// Fixed decoding time of a link in nanoseconds, for a block of few bytes.
fn start_time(link: CodecSpec) -> f64 {
    if matches!(link, CodecSpec::Zstd { .. }) { 2000.0 } else { 300.0 }
}

/// Decoding speed of a link in gigabytes a second (bytes a nanosecond).
fn decode_speed(link: CodecSpec) -> f64 {
    match link {
        CodecSpec::None => 20.0,
        CodecSpec::Delta { .. } => 5.0,
        CodecSpec::Gcd { .. } => 8.0,
        CodecSpec::T64 { .. } => 4.0,
        CodecSpec::DoubleDelta { .. } => 2.5,
        CodecSpec::Alp { .. } => 5.0,
        CodecSpec::Fsst => 3.0,
        CodecSpec::Zstd { .. } => 0.9,
        _ => 2.5,
    }
}

/// The chains tried on a sample.
struct Trials<'a> {
    sample: &'a [u8],
    width: usize,
    /// Text: the width does not matter.
    is_text: bool,
    scratch: Scratch,
    done: Vec<Trial>,
}

struct Trial {
    links: Vec<CodecSpec>,
    bytes: usize,
    cost: f64,
}

impl Trials<'_> {
    fn run(&mut self, links: Vec<CodecSpec>) {
        let chain = CodecChain::new(links.clone());
        let chain = if self.is_text { chain } else { chain.for_width(self.width) };
        let mut encoded = Vec::new();
        // A chain that cannot encode the sample is not a candidate.
        if chain.encode(self.sample, &mut encoded, &mut self.scratch).is_err() {
            return;
        }
        let given = std::iter::once(self.sample.len()).chain(chain.link_bytes(&encoded));
        let times = given
            .zip(chain.links())
            .map(|(bytes, &link)| start_time(link) + bytes as f64 / decode_speed(link));
        let bytes = encoded.len();
        let cost = bytes as f64 + BYTES_A_NANOSECOND * times.sum::<f64>();
        self.done.push(Trial { links, bytes, cost });
    }

    /// The transforms with which `LZ4` gave the fewest bytes.
    fn shortest_with_lz4(&self) -> Vec<Vec<CodecSpec>> {
        let split = self.done.iter().filter_map(|trial| match trial.links.split_last() {
            Some((CodecSpec::Lz4, transforms)) => Some((trial.bytes, transforms.to_vec())),
            _ => None,
        });
        let mut split: Vec<_> = split.collect();
        split.sort_by_key(|(bytes, _)| *bytes);
        split.into_iter().take(ZSTD_TRIALS).map(|(_, transforms)| transforms).collect()
    }

    fn best(self) -> CodecChain {
        let best = self.done.into_iter().min_by(|left, right| left.cost.total_cmp(&right.cost));
        best.map_or_else(CodecChain::default, |trial| CodecChain::new(trial.links))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen<const WIDTH: usize>(values: impl Iterator<Item = [u8; WIDTH]>) -> String {
        let bytes: Vec<u8> = values.flatten().collect();
        CodecChain::choose(Values::Integers { bytes: &bytes, width: WIDTH }).to_string()
    }

    fn noise(at: u64) -> u64 {
        let mut word = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    #[test]
    fn every_kind_of_values_gets_what_suits_it() {
        assert_eq!(chosen((0..100_000).map(|i| noise(i).to_le_bytes())), "NONE");
        assert_eq!(chosen((0..100_000_u32).map(|i| (i * 10).to_le_bytes())), "DoubleDelta");
        assert_eq!(chosen((0..100_000).map(|i| (noise(i) % 1000 + 5_000_000_000).to_le_bytes())), "T64");
        assert_eq!(chosen((0..100_000).map(|i| (noise(i) % 1000 * 1_000_000).to_le_bytes())), "GCD, T64");
        assert_eq!(chosen((0..100_000).map(|_| 77_u16.to_le_bytes())), "T64");
    }

    #[test]
    fn floats_that_were_decimals_get_alp() {
        let prices = (0..100_000).map(|i| (noise(i) % 10_000) as f64 / 100.0);
        let bytes: Vec<u8> = prices.flat_map(f64::to_le_bytes).collect();
        let chain = CodecChain::choose(Values::Floats { bytes: &bytes, width: 8 });
        assert_eq!(chain.to_string(), "ALP");
    }

    #[test]
    fn text_is_shortened_if_it_repeats() {
        let text: Vec<u8> = (0..10_000)
            .flat_map(|i| format!("https://example.com/{}/", noise(i) % 100).into_bytes())
            .collect();
        assert_ne!(CodecChain::choose(Values::Text(&text)), CodecChain::from(CodecSpec::None));
        assert!(CodecChain::choose(Values::Bits(&text)).links()[0].is_compressor());
        let noise: Vec<u8> = (0..10_000).flat_map(|i| noise(i).to_le_bytes()).collect();
        assert_eq!(CodecChain::choose(Values::Text(&noise)), CodecChain::from(CodecSpec::None));
    }

    #[test]
    fn few_values_get_the_default() {
        assert_eq!(chosen(std::iter::empty::<[u8; 8]>()), "LZ4");
        assert_eq!(chosen([[1, 2, 3, 4]].into_iter()), "LZ4");
    }
}
