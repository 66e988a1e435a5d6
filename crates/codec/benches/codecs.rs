//! How small each codec makes typical columns, and how fast: gigabytes of values a second, on one thread.
//!
//! `cargo bench -p basalt-codec` prints a line for each series and chain. `-- out DIRECTORY` writes the
//! series as files of little-endian values too, for `bench/codecs`, which compares the sizes with
//! ClickHouse's. `-- text FILE...` has the bytes of files as series, with the codecs for text.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use basalt_codec::{AlpScheme, CodecChain, CodecSpec, Planes, Scratch};

/// Values of a series, and bytes that a column's block would have.
const VALUES: u64 = 1_000_000;
const BLOCK_BYTES: usize = 64 << 10;
const ROUNDS: usize = 5;

/// Pseudo-random, the same each time (splitmix64).
fn noise(at: u64) -> u64 {
    let mut word = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Noise in `-1.0..1.0`, the sum of two, so that small numbers are more likely.
fn jitter(at: u64) -> f64 {
    let unit = |word: u64| (word >> 11) as f64 / (1_u64 << 53) as f64;
    unit(noise(2 * at)) + unit(noise(2 * at + 1)) - 1.0
}

/// The parameters of a series.
struct Series {
    name: &'static str,
    width: usize,
    is_float: bool,
    bytes: Vec<u8>,
}

fn integers<const WIDTH: usize>(name: &'static str, value: impl Fn(u64) -> [u8; WIDTH]) -> Series {
    Series { name, width: WIDTH, is_float: false, bytes: (0..VALUES).flat_map(value).collect() }
}

fn floats<const WIDTH: usize>(name: &'static str, value: impl Fn(u64) -> [u8; WIDTH]) -> Series {
    Series { is_float: true, ..integers(name, value) }
}

/// A sum of steps.
fn walk(step: impl Fn(u64) -> f64) -> Vec<f64> {
    let mut at = 0.0;
    (0..VALUES)
        .map(|i| {
            at += step(i);
            at
        })
        .collect()
}

fn series() -> Vec<Series> {
    let events = walk(|i| (jitter(i) + 1.0).powi(4) * 60.0);
    let prices = walk(|i| jitter(i) * 0.5);
    let sensor = |i: u64| 20.0 + 5.0 * (i as f64 / 5000.0).sin() + jitter(i) * 0.2;
    let skewed = |i: u64| (((jitter(i).abs() * 12.0).exp2() - 1.0) * 10.0) as u32;
    vec![
        integers("counter_u32", |i| (i as u32).to_le_bytes()),
        integers("timestamps_u32", |i| ((1.6e9 + events[i as usize]) as u32).to_le_bytes()),
        integers("milliseconds_u64", |i| {
            (1_600_000_000_000 + i * 1000 + (jitter(i) * 20.0) as i64 as u64).to_le_bytes()
        }),
        integers("rounded_u64", |i| (noise(i) % 100_000 * 1_000_000).to_le_bytes()),
        integers("walk_i64", |i| ((prices[i as usize] * 1000.0) as i64).to_le_bytes()),
        integers("low_cardinality_u32", |i| (1000 + (jitter(i).abs() * 50.0) as u32).to_le_bytes()),
        integers("skewed_u32", |i| skewed(i).to_le_bytes()),
        integers("small_u16", |i| ((noise(i) % 300) as u16).to_le_bytes()),
        integers("flags_u8", |i| [u8::from(noise(i).is_multiple_of(20))]),
        integers("ids_u64", |i| noise(i).to_le_bytes()),
        floats("sensor_f64", |i| sensor(i).to_le_bytes()),
        floats("sensor_2digits_f64", |i| ((sensor(i) * 100.0).round() / 100.0).to_le_bytes()),
        floats("sensor_2digits_f32", |i| ((sensor(i) * 100.0).round() as f32 / 100.0).to_le_bytes()),
        floats("walk_3digits_f64", |i| ((prices[i as usize] * 1000.0).round() / 1000.0).to_le_bytes()),
        floats("walk_f64", |i| prices[i as usize].to_le_bytes()),
        floats("steps_f64", |i| ((i / 50) as f64 * 0.5).to_le_bytes()),
    ]
}

fn chains(series: &Series) -> Vec<CodecChain> {
    let width = series.width as u8;
    let delta = CodecSpec::Delta { width };
    let double_delta = CodecSpec::DoubleDelta { width };
    let gorilla = CodecSpec::Gorilla { width };
    let mut chains = vec![
        vec![CodecSpec::Lz4],
        vec![CodecSpec::Zstd { level: 1 }],
        vec![delta, CodecSpec::Lz4],
        vec![delta, CodecSpec::Zstd { level: 1 }],
        vec![double_delta],
        vec![double_delta, CodecSpec::Lz4],
        vec![double_delta, CodecSpec::Zstd { level: 1 }],
    ];
    if series.is_float {
        let fpc = CodecSpec::Fpc { level: 12, width };
        let alp = CodecSpec::Alp { scheme: AlpScheme::Shortest, width };
        chains.extend([vec![gorilla], vec![gorilla, CodecSpec::Lz4], vec![fpc], vec![alp]]);
        chains.push(vec![alp, CodecSpec::Zstd { level: 1 }]);
    } else {
        let bytes = CodecSpec::T64 { width, planes: Planes::Bytes };
        let bits = CodecSpec::T64 { width, planes: Planes::Bits };
        let gcd = CodecSpec::Gcd { width };
        chains.extend([vec![bytes], vec![bits], vec![bytes, CodecSpec::Lz4], vec![bits, CodecSpec::Lz4]]);
        chains.extend([
            vec![bits, CodecSpec::Zstd { level: 1 }],
            vec![delta, bytes],
            vec![gcd, CodecSpec::Lz4],
        ]);
        chains.push(vec![gcd, bytes]);
    }
    chains.into_iter().map(CodecChain::new).collect()
}

/// Encodes in blocks; returns the blocks and the time.
fn encode(chain: &CodecChain, bytes: &[u8]) -> (Vec<Vec<u8>>, Duration) {
    let started = Instant::now();
    let mut scratch = Scratch::default();
    let blocks = bytes.chunks(BLOCK_BYTES).map(|block| {
        let mut out = Vec::new();
        chain.encode(block, &mut out, &mut scratch).expect("a block is encoded");
        out
    });
    (blocks.collect(), started.elapsed())
}

fn decode(chain: &CodecChain, blocks: &[Vec<u8>], bytes: &mut [u8]) -> Duration {
    let started = Instant::now();
    let mut scratch = Scratch::default();
    for (block, out) in blocks.iter().zip(bytes.chunks_mut(BLOCK_BYTES)) {
        chain.decode(block, out, &mut scratch).expect("a block is decoded");
    }
    started.elapsed()
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let arguments: Vec<String> = std::env::args().collect();
    let directory = arguments.iter().position(|argument| argument == "out").map(|at| &arguments[at + 1]);
    let texts = arguments.iter().position(|argument| argument == "text").map(|at| &arguments[at + 1..]);
    if let Some(texts) = texts {
        let chains = text_chains();
        for path in texts {
            measure(path, &std::fs::read(path)?, &chains, &mut out)?;
        }
        return Ok(());
    }
    for series in series() {
        if let Some(directory) = directory {
            std::fs::write(Path::new(directory).join(series.name), &series.bytes)?;
        }
        measure(series.name, &series.bytes, &chains(&series), &mut out)?;
    }
    Ok(())
}

fn text_chains() -> Vec<CodecChain> {
    let fsst = CodecSpec::Fsst;
    let (lz4, zstd) = (CodecSpec::Lz4, CodecSpec::Zstd { level: 1 });
    [vec![lz4], vec![zstd], vec![fsst], vec![fsst, lz4], vec![fsst, zstd]].map(CodecChain::new).into()
}

/// Prints a line for each chain.
fn measure(name: &str, bytes: &[u8], chains: &[CodecChain], out: &mut impl Write) -> std::io::Result<()> {
    let mut decoded = vec![0; bytes.len()];
    for chain in chains {
        let (blocks, mut encoding) = encode(chain, bytes);
        let mut decoding = Duration::MAX;
        for _ in 0..ROUNDS {
            encoding = encoding.min(encode(chain, bytes).1);
            decoding = decoding.min(decode(chain, &blocks, &mut decoded));
        }
        assert_eq!(decoded, bytes, "{chain} gives the values back");
        let size: usize = blocks.iter().map(Vec::len).sum();
        let speed = |time: Duration| bytes.len() as f64 / 1e9 / time.as_secs_f64();
        let (encoding, decoding) = (speed(encoding), speed(decoding));
        writeln!(out, "{name}\t{chain}\t{size}\t{encoding:.2}\t{decoding:.2}")?;
    }
    Ok(())
}
