//! Any bytes decode through any chain or are refused; what a chain encodes, it decodes to the same.
//!
//! The input is the chain's form on disk, the length of the output (two bytes), and what to decode.
#![no_main]

use basalt_codec::{CHAIN_BYTES, CodecChain, Scratch};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((chain, rest)) = bytes.split_first_chunk::<CHAIN_BYTES>() else { return };
    let Some((length, input)) = rest.split_first_chunk::<2>() else { return };
    let Ok(chain) = CodecChain::from_bytes(chain) else { return };
    let mut scratch = Scratch::default();
    let mut out = vec![0; usize::from(u16::from_le_bytes(*length))];
    let _ = chain.decode(input, &mut out, &mut scratch);

    let mut encoded = Vec::new();
    if chain.encode(input, &mut encoded, &mut scratch).is_ok() {
        let mut decoded = vec![0; input.len()];
        chain.decode(&encoded, &mut decoded, &mut scratch).expect("what the chain encoded");
        assert_eq!(decoded, input, "{chain}");
    }
});
