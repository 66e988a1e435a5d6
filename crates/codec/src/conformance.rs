//! The contract of [`Codec`], as one function that every implementation passes.

use crate::Codec;

/// Round trips over inputs of every shape, then truncations and bit flips of a short encoding.
pub(crate) fn check(codec: &dyn Codec) {
    for input in inputs() {
        let encoded = encode(codec, &input);
        let mut decoded = vec![0xaa; input.len()];
        codec.decode(&encoded, &mut decoded).unwrap();
        assert_eq!(decoded, input, "{} bytes came back changed", input.len());
        check_alternative(codec, &input);
    }
    for input in inputs().into_iter().filter(|input| input.len() < 300) {
        check_damage(codec, &input);
    }
}

fn check_alternative(codec: &dyn Codec, input: &[u8]) {
    let mut encoded = Vec::new();
    if codec.encode_alternative(input, &mut encoded).unwrap() {
        assert!(encoded.len() <= codec.encoded_bytes_max(input.len()), "the bound holds");
        let mut decoded = vec![0xaa; input.len()];
        codec.decode(&encoded, &mut decoded).unwrap();
        assert_eq!(decoded, input, "the alternative of {} bytes came back changed", input.len());
    }
}

fn encode(codec: &dyn Codec, input: &[u8]) -> Vec<u8> {
    let mut encoded = b"before".to_vec();
    codec.encode(input, &mut encoded).unwrap();
    assert!(encoded.starts_with(b"before"), "encode appends");
    let encoded = encoded.split_off(b"before".len());
    let (bytes, bytes_max) = (encoded.len(), codec.encoded_bytes_max(input.len()));
    assert!(bytes <= bytes_max, "the bound of {bytes_max} bytes holds, found {bytes} for {}", input.len());
    encoded
}

/// Damaged bytes may decode to other values (files have checksums), but no damage panics, and no truncation decodes
/// to the original input.
fn check_damage(codec: &dyn Codec, input: &[u8]) {
    let encoded = encode(codec, input);
    let mut decoded = vec![0; input.len()];
    assert_eq!(encoded.is_empty(), input.is_empty(), "no bytes encode to no bytes, and nothing else does");
    for end in 0..encoded.len() {
        assert!(codec.decode(&encoded[..end], &mut decoded).is_err(), "truncation to {end} bytes unnoticed");
    }
    for bit in 0..encoded.len() * 8 {
        let mut flipped = encoded.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let _ = codec.decode(&flipped, &mut decoded);
    }
    for wrong in [input.len() / 2, input.len() + 1, input.len() * 2 + 9] {
        let _ = codec.decode(&encoded, &mut vec![0; wrong]);
    }
}

/// Empty input, single bytes, constants, counters of each width, time series, decimals, roots, text and noise, with
/// lengths that are no multiple of a width.
fn inputs() -> Vec<Vec<u8>> {
    let mut inputs = vec![vec![], vec![7], vec![0; 5], vec![1; 1000]];
    for count in [3_u64, 33, 5000] {
        inputs.push((0..count).map(|i| i as u8).collect());
        inputs.push((0..count).flat_map(|i| (i as u16 * 3).to_le_bytes()).collect());
        inputs.push((0..count).flat_map(|i| (i as u32 * 10 + 7).to_le_bytes()).collect());
        inputs.push((0..count).flat_map(|i| (u64::MAX - i * i).to_le_bytes()).collect());
        inputs.push((0..count).map(|i| b"the quick brown fox "[i as usize % 20]).collect());
        inputs.push(noise(count).map(|word| word as u8).collect());
        inputs.push(noise(count).flat_map(|word| (word >> (word % 64)).to_le_bytes()).collect());
        inputs.push((0..count).flat_map(|i| (i as f64 * 0.25 - 3.5).to_le_bytes()).collect());
        inputs.push((0..count).flat_map(|i| ((i * 37 % 1000) as f32 / 10.0).to_le_bytes()).collect());
        inputs.push((0..count).flat_map(|i| ((i + 9) as f64).sqrt().to_le_bytes()).collect());
        inputs.push((0..count).flat_map(|i| ((i + 9) as f32).sqrt().to_le_bytes()).collect());
        inputs.push(noise(count).zip(0..).flat_map(|(w, i)| (i * 1000 + w % 9).to_le_bytes()).collect());
    }
    inputs
}

/// A fixed sequence of pseudo-random words (splitmix64).
fn noise(count: u64) -> impl Iterator<Item = u64> {
    (1..=count).map(|i| {
        let mut word = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    })
}
