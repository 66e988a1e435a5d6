//! SipHash-2-4 with a zero key (Aumasson and Bernstein), in ClickHouse's form: names values that have no short text
//! of their own.
//!
//! ClickHouse's 128-bit form is not the reference SipHash-128: it is the two halves that SipHash-64 combines at its
//! end. No crate returns these halves.

/// The SipHash-128 of `bytes`.
pub fn sip_hash128(bytes: &[u8]) -> [u8; 16] {
    let (low, high) = halves(bytes);
    let mut hash = [0; 16];
    hash[..8].copy_from_slice(&low.to_le_bytes());
    hash[8..].copy_from_slice(&high.to_le_bytes());
    hash
}

/// The SipHash-64 of `bytes`: both halves of ClickHouse's 128 bits in one.
pub fn sip_hash64(bytes: &[u8]) -> u64 {
    let (low, high) = halves(bytes);
    low ^ high
}

fn halves(bytes: &[u8]) -> (u64, u64) {
    let mut state = State {
        v0: 0x736f_6d65_7073_6575,
        v1: 0x646f_7261_6e64_6f6d,
        v2: 0x6c79_6765_6e65_7261,
        v3: 0x7465_6462_7974_6573,
    };
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state.absorb(u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    // The highest byte of the last word is the length.
    last[7] = bytes.len() as u8;
    state.absorb(u64::from_le_bytes(last));
    state.finish()
}

struct State {
    v0: u64,
    v1: u64,
    v2: u64,
    v3: u64,
}

impl State {
    #[inline(always)]
    fn absorb(&mut self, word: u64) {
        self.v3 ^= word;
        self.round();
        self.round();
        self.v0 ^= word;
    }

    #[inline(always)]
    fn round(&mut self) {
        self.v0 = self.v0.wrapping_add(self.v1);
        self.v1 = self.v1.rotate_left(13) ^ self.v0;
        self.v0 = self.v0.rotate_left(32);
        self.v2 = self.v2.wrapping_add(self.v3);
        self.v3 = self.v3.rotate_left(16) ^ self.v2;
        self.v0 = self.v0.wrapping_add(self.v3);
        self.v3 = self.v3.rotate_left(21) ^ self.v0;
        self.v2 = self.v2.wrapping_add(self.v1);
        self.v1 = self.v1.rotate_left(17) ^ self.v2;
        self.v2 = self.v2.rotate_left(32);
    }

    fn finish(mut self) -> (u64, u64) {
        self.v2 ^= 0xff;
        for _ in 0..4 {
            self.round();
        }
        (self.v0 ^ self.v1, self.v2 ^ self.v3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `SELECT hex(sipHash128('abc'))` and of the empty string, as ClickHouse answers.
    #[test]
    fn hashes_are_those_of_clickhouse() {
        let hex = |text: &str| {
            sip_hash128(text.as_bytes()).iter().map(|byte| format!("{byte:02X}")).collect::<String>()
        };
        assert_eq!(hex("abc"), "B6B415A2DA966B6C685A65E54C12A353");
        assert_eq!(hex(""), "32B5C1DB56A683E9E5B5B6A8CBED11F7");
    }
}
