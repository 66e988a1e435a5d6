//! Any chain decodes or refuses any bytes. A chain decodes what it encoded to the same bytes.
//!
//! The input is, in order: the number of links (a byte), the links (two bytes each; the first one selects a codec), the
//! length of the output (two bytes), a change of the encoded bytes (position, two bytes, and value), and the bytes to
//! decode and to encode.

use basalt_codec::{CHAIN_BYTES, CodecChain, Scratch};

/// The numbers of the codecs in files; for ZSTD with a window, the smallest and the largest.
const CODECS: [u8; 17] =
    [0x02, 0x82, 0x83, 0x90, 0x92, 0x93, 0x94, 0x95, 0x98, 0x9a, 0x9c, 0xa3, 0xa4, 0xa5, 0xca, 0xd4, 0xdf];

/// Panics if the promise is broken.
pub fn run(bytes: &[u8]) {
    let Some((chain, rest)) = chain(bytes) else { return };
    let Some(([length @ .., at0, at1, value], input)) = rest.split_first_chunk::<5>() else { return };
    let mut scratch = Scratch::default();
    let mut out = vec![0; usize::from(u16::from_le_bytes(*length))];
    let _ = chain.decode(input, &mut out, &mut scratch);

    let mut encoded = Vec::new();
    if chain.encode(input, &mut encoded, &mut scratch).is_err() {
        return;
    }
    let mut decoded = vec![0; input.len()];
    chain.decode(&encoded, &mut decoded, &mut scratch).expect("what the chain encoded");
    assert_eq!(decoded, input, "{chain}");

    let at = usize::from(u16::from_le_bytes([*at0, *at1]));
    let length = encoded.len().max(1);
    if let Some(byte) = encoded.get_mut(at % length) {
        *byte ^= value;
    }
    let _ = chain.decode(&encoded, &mut decoded, &mut scratch);
}

/// The chain that the bytes begin with, and the rest.
fn chain(bytes: &[u8]) -> Option<(CodecChain, &[u8])> {
    let (count, rest) = bytes.split_first()?;
    let (links, rest) = rest.split_at_checked(2 * (1 + usize::from(count % 3)))?;
    let mut chain = [0; CHAIN_BYTES];
    for (slot, link) in chain.as_chunks_mut::<2>().0.iter_mut().zip(links.as_chunks::<2>().0) {
        *slot = [CODECS[usize::from(link[0]) % CODECS.len()], link[1]];
    }
    Some((CodecChain::from_bytes(&chain).ok()?, rest))
}
