//! CityHash64 of CityHash 1.0.2, the version that ClickHouse keeps for stable results.
//!
//! Strings of up to 16, 32 and 64 bytes have formulas of their own; longer ones are read in blocks of
//! 64 bytes. Every addition and multiplication wraps.

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;
const K3: u64 = 0xc949_d7c7_509e_6557;
const K_MUL: u64 = 0x9ddf_ea08_eb38_2d69;

pub(super) fn city_hash64(bytes: &[u8]) -> u64 {
    match bytes.len() {
        0..=16 => hash_to_16(bytes),
        17..=32 => hash_to_32(bytes),
        33..=64 => hash_to_64(bytes),
        _ => hash_long(bytes),
    }
}

/// Two hashes as one: CityHash's `Hash128to64`.
#[inline]
pub(super) fn hash_pair(low: u64, high: u64) -> u64 {
    let a = shift_mix((low ^ high).wrapping_mul(K_MUL));
    let b = shift_mix((high ^ a).wrapping_mul(K_MUL));
    b.wrapping_mul(K_MUL)
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[inline(always)]
fn half_word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u64::from(u32::from_le_bytes(word))
}

#[inline(always)]
fn shift_mix(value: u64) -> u64 {
    value ^ (value >> 47)
}

fn hash_to_16(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    match len {
        0 => K2,
        1..=3 => {
            let (first, middle, last) = (bytes[0], bytes[len >> 1], bytes[len - 1]);
            let y = u64::from(first).wrapping_add(u64::from(middle) << 8);
            let z = (len as u64).wrapping_add(u64::from(last) << 2);
            shift_mix(y.wrapping_mul(K2) ^ z.wrapping_mul(K3)).wrapping_mul(K2)
        }
        4..=8 => hash_pair((len as u64).wrapping_add(half_word(bytes, 0) << 3), half_word(bytes, len - 4)),
        _ => {
            let (a, b) = (word(bytes, 0), word(bytes, len - 8));
            hash_pair(a, b.wrapping_add(len as u64).rotate_right(len as u32)) ^ b
        }
    }
}

fn hash_to_32(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    let a = word(bytes, 0).wrapping_mul(K1);
    let b = word(bytes, 8);
    let c = word(bytes, len - 8).wrapping_mul(K2);
    let d = word(bytes, len - 16).wrapping_mul(K0);
    hash_pair(
        a.wrapping_sub(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d),
        a.wrapping_add((b ^ K3).rotate_right(20)).wrapping_sub(c).wrapping_add(len as u64),
    )
}

fn hash_to_64(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    let tail = word(bytes, len - 16).wrapping_add(len as u64).wrapping_mul(K0);
    let (v_first, v_second) =
        half_of_64(word(bytes, 0).wrapping_add(tail), word(bytes, 24), word(bytes, 8), word(bytes, 16));
    let (w_first, w_second) = half_of_64(
        word(bytes, 16).wrapping_add(word(bytes, len - 32)),
        word(bytes, len - 8),
        word(bytes, len - 24),
        word(bytes, len - 16),
    );
    let left = v_first.wrapping_add(w_second).wrapping_mul(K2);
    let right = w_first.wrapping_add(v_second).wrapping_mul(K0);
    let r = shift_mix(left.wrapping_add(right));
    shift_mix(r.wrapping_mul(K0).wrapping_add(v_second)).wrapping_mul(K2)
}

fn half_of_64(start: u64, z: u64, second: u64, third: u64) -> (u64, u64) {
    let mut a = start;
    let b = a.wrapping_add(z).rotate_right(52);
    let mut c = a.rotate_right(37);
    a = a.wrapping_add(second);
    c = c.wrapping_add(a.rotate_right(7));
    a = a.wrapping_add(third);
    (a.wrapping_add(z), b.wrapping_add(a.rotate_right(31)).wrapping_add(c))
}

/// A weak hash of 32 bytes.
fn weak_hash(bytes: &[u8], at: usize, a: u64, b: u64) -> (u64, u64) {
    let (w, x, y, z) = (word(bytes, at), word(bytes, at + 8), word(bytes, at + 16), word(bytes, at + 24));
    let start = a.wrapping_add(w);
    let b = b.wrapping_add(start).wrapping_add(z).rotate_right(21);
    let sum = start.wrapping_add(x).wrapping_add(y);
    (sum.wrapping_add(z), b.wrapping_add(sum.rotate_right(44)).wrapping_add(start))
}

fn hash_long(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    let mut x = word(bytes, 0);
    let mut y = word(bytes, len - 16) ^ K1;
    let mut z = word(bytes, len - 56) ^ K0;
    let mut v = weak_hash(bytes, len - 64, len as u64, y);
    let mut w = weak_hash(bytes, len - 32, (len as u64).wrapping_mul(K1), K0);
    z = z.wrapping_add(shift_mix(v.1).wrapping_mul(K1));
    x = z.wrapping_add(x).rotate_right(39).wrapping_mul(K1);
    y = y.rotate_right(33).wrapping_mul(K1);
    for at in (0..(len - 1) & !63).step_by(64) {
        let sum = x.wrapping_add(y).wrapping_add(v.0).wrapping_add(word(bytes, at + 16));
        x = sum.rotate_right(37).wrapping_mul(K1);
        let sum = y.wrapping_add(v.1).wrapping_add(word(bytes, at + 48));
        y = sum.rotate_right(42).wrapping_mul(K1);
        x ^= w.1;
        y ^= v.0;
        z = (z ^ w.0).rotate_right(33);
        v = weak_hash(bytes, at, v.1.wrapping_mul(K1), x.wrapping_add(w.0));
        w = weak_hash(bytes, at + 32, z.wrapping_add(w.1), y);
        std::mem::swap(&mut z, &mut x);
    }
    hash_pair(
        hash_pair(v.0, w.0).wrapping_add(shift_mix(y).wrapping_mul(K1)).wrapping_add(z),
        hash_pair(v.1, w.1).wrapping_add(x),
    )
}
