//! A hash table of heads with buckets of two: tokens of three and four bytes, and the lengths of longer tokens.
//!
//! A lookup compares both heads of a bucket without a branch on which one matches.

use super::sizes::TOKEN_BYTES_MAX;

/// The longest head.
pub(super) const HEAD_BYTES: usize = 4;
/// The bytes of a short head.
const SHORT_BYTES: usize = 3;

const BUCKETS_MIN: usize = 32;
/// The slots for each head, at least.
const SLOTS_A_HEAD: usize = 4;

/// A flag of the last slot of a bucket: some entries of the bucket are in the next one.
const GOES_ON: u64 = 1;
const CODE_BIT: u32 = 1;
const LENGTHS_BIT: u32 = CODE_BIT + u16::BITS;
/// The bits above it are the key.
const KEY_BIT: u32 = LENGTHS_BIT + (TOKEN_BYTES_MAX - HEAD_BYTES + 1) as u32;

/// The table.
pub(super) struct Heads {
    /// 0 in an empty slot. The first slot of a bucket is filled first.
    buckets: Vec<[u64; 2]>,
    taken: usize,
    shift: u32,
}

/// A slot, from the lowest bit on: [`GOES_ON`], a code, one bit for each length of a token, the key. 0 if it is empty.
#[derive(Clone, Copy)]
pub(super) struct Head(u64);

/// The tokens that fit into the rest of a text.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    /// The bits of a head.
    key: u64,
    /// 1 if a head has less than four bytes.
    is_short: u64,
    /// Bit n if a token of n bytes more than the head fits.
    lengths: u32,
    /// The bytes of a head.
    bytes: u32,
}

const REACHES: [Reach; TOKEN_BYTES_MAX + 1] = reaches();

const fn reaches() -> [Reach; TOKEN_BYTES_MAX + 1] {
    let mut all = [Reach { key: 0, is_short: 1, lengths: 0, bytes: 0 }; _];
    let mut rest = 1;
    while rest <= TOKEN_BYTES_MAX {
        let head = if rest < HEAD_BYTES { rest } else { HEAD_BYTES };
        let key = (u32::MAX >> (u32::BITS - 8 * head as u32)) as u64;
        let lengths = if rest < SHORT_BYTES { 0 } else { (2 << (rest - head)) - 1 };
        all[rest] = Reach { key, is_short: (head < HEAD_BYTES) as u64, lengths, bytes: head as u32 };
        rest += 1;
    }
    all
}

impl Head {
    #[inline(always)]
    pub(super) fn code(self) -> u16 {
        (self.0 >> CODE_BIT) as u16
    }

    /// Bit 0 is set if the head is a token, bit n if a token has n bytes more.
    #[inline(always)]
    pub(super) fn lengths(self, reach: Reach) -> u32 {
        (self.0 >> LENGTHS_BIT) as u32 & reach.lengths
    }
}

impl Reach {
    #[inline(always)]
    pub(super) fn of(rest: usize) -> Reach {
        REACHES[rest.min(TOKEN_BYTES_MAX)]
    }

    /// Bytes of a head.
    #[inline(always)]
    pub(super) fn bytes(self) -> usize {
        self.bytes as usize
    }

    #[inline(always)]
    fn key(self, word: u32) -> u64 {
        (u64::from(word) & self.key) << 1 | self.is_short
    }
}

impl Heads {
    pub(super) fn new() -> Heads {
        Heads::of_buckets(BUCKETS_MIN)
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.buckets.len() * size_of::<[u64; 2]>()
    }

    fn of_buckets(buckets: usize) -> Heads {
        Heads { buckets: vec![[0; 2]; buckets], taken: 0, shift: u64::BITS - buckets.trailing_zeros() }
    }

    /// Enters a token of `length` bytes, at least three, that begins with the head.
    pub(super) fn add(&mut self, word: u32, length: usize, code: u16) {
        if self.taken * SLOTS_A_HEAD >= self.buckets.len() * 2 {
            self.grow();
        }
        let reach = Reach::of(length.min(HEAD_BYTES));
        let head = self.entry(reach.key(word));
        *head |= 1 << (LENGTHS_BIT + length as u32 - reach.bytes);
        if length <= HEAD_BYTES {
            *head = *head & !(u64::from(u16::MAX) << CODE_BIT) | u64::from(code) << CODE_BIT;
        }
    }

    fn entry(&mut self, key: u64) -> &mut u64 {
        let (mut at, mask) = (self.bucket(key), self.buckets.len() - 1);
        loop {
            let known = self.buckets[at].iter().position(|&head| head == 0 || head >> KEY_BIT == key);
            if let Some(place) = known {
                let head = &mut self.buckets[at][place];
                self.taken += usize::from(*head == 0);
                *head |= key << KEY_BIT;
                return head;
            }
            self.buckets[at][1] |= GOES_ON;
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let grown = Heads::of_buckets(self.buckets.len() * 2);
        let old = std::mem::replace(self, grown);
        old.buckets
            .as_flattened()
            .iter()
            .filter(|&&head| head != 0)
            .for_each(|&head| *self.entry(head >> KEY_BIT) |= head & !GOES_ON);
    }

    #[inline(always)]
    pub(super) fn get(&self, word: u32, reach: Reach) -> Head {
        let key = reach.key(word);
        let mut at = self.bucket(key);
        loop {
            let [one, other] = self.buckets[at];
            // Arithmetic, because the compiler would make a branch of a choice.
            let own = |head: u64| head & u64::from(head >> KEY_BIT == key).wrapping_neg();
            let found = own(one) | own(other);
            if (found != 0) | (other & GOES_ON == 0) {
                return Head(found);
            }
            at = (at + 1) & (self.buckets.len() - 1);
        }
    }

    #[inline(always)]
    fn bucket(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize & (self.buckets.len() - 1)
    }
}
