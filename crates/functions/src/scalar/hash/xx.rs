//! xxHash in 32 and 64 bits with seed 0 (Yann Collet).

const P32: [u32; 5] = [2_654_435_761, 2_246_822_519, 3_266_489_917, 668_265_263, 374_761_393];
const P64: [u64; 5] = [
    11_400_714_785_074_694_791,
    14_029_467_366_897_019_727,
    1_609_587_929_392_839_161,
    9_650_029_242_287_828_579,
    2_870_177_450_012_600_261,
];

pub(super) fn xx_hash64(bytes: &[u8]) -> u64 {
    let (stripes, mut rest) = bytes.as_chunks::<32>();
    let mut hash = if stripes.is_empty() { P64[4] } else { fold_stripes64(stripes) };
    hash = hash.wrapping_add(bytes.len() as u64);
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        hash ^= round64(0, u64::from_le_bytes(*word));
        hash = hash.rotate_left(27).wrapping_mul(P64[0]).wrapping_add(P64[3]);
        rest = tail;
    }
    if let Some((word, tail)) = rest.split_first_chunk::<4>() {
        hash ^= u64::from(u32::from_le_bytes(*word)).wrapping_mul(P64[0]);
        hash = hash.rotate_left(23).wrapping_mul(P64[1]).wrapping_add(P64[2]);
        rest = tail;
    }
    for &byte in rest {
        hash ^= u64::from(byte).wrapping_mul(P64[4]);
        hash = hash.rotate_left(11).wrapping_mul(P64[0]);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(P64[1]);
    hash = (hash ^ (hash >> 29)).wrapping_mul(P64[2]);
    hash ^ (hash >> 32)
}

fn round64(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(P64[1])).rotate_left(31).wrapping_mul(P64[0])
}

fn fold_stripes64(stripes: &[[u8; 32]]) -> u64 {
    let mut lanes = [P64[0].wrapping_add(P64[1]), P64[1], 0, 0_u64.wrapping_sub(P64[0])];
    for stripe in stripes {
        for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0) {
            *lane = round64(*lane, u64::from_le_bytes(*word));
        }
    }
    let [a, b, c, d] = lanes;
    let sum = a.rotate_left(1).wrapping_add(b.rotate_left(7));
    let sum = sum.wrapping_add(c.rotate_left(12)).wrapping_add(d.rotate_left(18));
    lanes.iter().fold(sum, |hash, &lane| (hash ^ round64(0, lane)).wrapping_mul(P64[0]).wrapping_add(P64[3]))
}

pub(super) fn xx_hash32(bytes: &[u8]) -> u32 {
    let (stripes, mut rest) = bytes.as_chunks::<16>();
    let mut hash = if stripes.is_empty() { P32[4] } else { fold_stripes32(stripes) };
    hash = hash.wrapping_add(bytes.len() as u32);
    while let Some((word, tail)) = rest.split_first_chunk::<4>() {
        hash = hash.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(P32[2]));
        hash = hash.rotate_left(17).wrapping_mul(P32[3]);
        rest = tail;
    }
    for &byte in rest {
        hash = hash.wrapping_add(u32::from(byte).wrapping_mul(P32[4]));
        hash = hash.rotate_left(11).wrapping_mul(P32[0]);
    }
    hash = (hash ^ (hash >> 15)).wrapping_mul(P32[1]);
    hash = (hash ^ (hash >> 13)).wrapping_mul(P32[2]);
    hash ^ (hash >> 16)
}

fn fold_stripes32(stripes: &[[u8; 16]]) -> u32 {
    let mut lanes = [P32[0].wrapping_add(P32[1]), P32[1], 0, 0_u32.wrapping_sub(P32[0])];
    for stripe in stripes {
        for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<4>().0) {
            let sum = lane.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(P32[1]));
            *lane = sum.rotate_left(13).wrapping_mul(P32[0]);
        }
    }
    let [a, b, c, d] = lanes;
    let sum = a.rotate_left(1).wrapping_add(b.rotate_left(7));
    sum.wrapping_add(c.rotate_left(12)).wrapping_add(d.rotate_left(18))
}
