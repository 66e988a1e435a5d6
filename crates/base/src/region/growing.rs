//! Bytes that grow, and are never copied once they are many.
//!
//! A `Vec` is copied when it grows, and the allocator keeps its old memory for a while. From the size of a huge page
//! on, these bytes are in a region, whose pages move into a larger one.

use std::ops::{Deref, DerefMut};

use super::{HUGE_PAGE_BYTES, PAGE_BYTES, Region};

/// A list of bytes.
#[derive(Debug)]
pub enum GrowingBytes {
    /// Fewer bytes than a huge page, or more if the system gives no region.
    Few(Vec<u8>),
    /// A region, and how many of its bytes are used.
    Many(Region, usize),
}

impl GrowingBytes {
    pub fn with_capacity(bytes: usize) -> GrowingBytes {
        if bytes >= HUGE_PAGE_BYTES
            && let Ok(region) = Region::zeroed(bytes)
        {
            return GrowingBytes::Many(region, 0);
        }
        GrowingBytes::Few(Vec::with_capacity(bytes))
    }

    pub fn zeroes(bytes: usize) -> GrowingBytes {
        match GrowingBytes::with_capacity(bytes) {
            GrowingBytes::Many(region, _) => GrowingBytes::Many(region, bytes),
            GrowingBytes::Few(_) => GrowingBytes::Few(vec![0; bytes]),
        }
    }

    pub fn push(&mut self, byte: u8) {
        self.extend_from_slice(&[byte]);
    }

    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        if self.len() + bytes.len() > self.room() {
            self.grow(self.len() + bytes.len());
        }
        match self {
            GrowingBytes::Few(few) => few.extend_from_slice(bytes),
            GrowingBytes::Many(region, len) => {
                region[*len..*len + bytes.len()].copy_from_slice(bytes);
                *len += bytes.len();
            }
        }
    }

    /// Lets `write` fill `room` bytes after the last one, which may have any contents, and keeps as many of them as
    /// it returns.
    #[inline]
    pub fn extend_with(&mut self, room: usize, write: impl FnOnce(&mut [u8]) -> usize) {
        if self.len() + room > self.room() {
            self.grow(self.len() + room);
        }
        match self {
            GrowingBytes::Few(few) => {
                let start = few.len();
                few.resize(start + room, 0);
                let used = write(&mut few[start..]);
                few.truncate(start + used);
            }
            GrowingBytes::Many(region, len) => {
                let used = write(&mut region[*len..*len + room]);
                *len += used.min(room);
            }
        }
    }

    /// Keeps the first `len` bytes, and frees whole pages after them.
    pub fn truncate(&mut self, len: usize) {
        match self {
            GrowingBytes::Few(few) => few.truncate(len),
            GrowingBytes::Many(region, used) => {
                *used = len.min(*used);
                region.truncate(*used);
            }
        }
    }

    /// Frees the memory after the last byte.
    pub fn shrink(&mut self) {
        match self {
            GrowingBytes::Few(few) => few.shrink_to_fit(),
            GrowingBytes::Many(region, len) => region.truncate(*len),
        }
    }

    /// The bytes that the process holds for it: of a region, the pages that were touched.
    pub fn resident_bytes(&self) -> usize {
        match self {
            GrowingBytes::Few(few) => few.capacity(),
            GrowingBytes::Many(_, len) => len.next_multiple_of(PAGE_BYTES),
        }
    }

    /// How many bytes fit without growing.
    fn room(&self) -> usize {
        match self {
            GrowingBytes::Few(few) => few.capacity(),
            GrowingBytes::Many(region, _) => region.len(),
        }
    }

    /// Makes room for twice `bytes`: pages that are not written take no memory.
    #[cold]
    fn grow(&mut self, bytes: usize) {
        let (room, len) = (bytes.saturating_mul(2), self.len());
        match std::mem::take(self) {
            GrowingBytes::Few(mut few) => {
                if bytes >= HUGE_PAGE_BYTES
                    && let Ok(mut region) = Region::zeroed(room)
                {
                    region[..len].copy_from_slice(&few);
                    *self = GrowingBytes::Many(region, len);
                } else {
                    few.reserve(bytes - len);
                    *self = GrowingBytes::Few(few);
                }
            }
            GrowingBytes::Many(region, _) => {
                *self = match region.grown(room) {
                    Ok(region) => GrowingBytes::Many(region, len),
                    Err(region) => GrowingBytes::Few(region[..len].to_vec()),
                }
            }
        }
    }
}

impl Default for GrowingBytes {
    fn default() -> GrowingBytes {
        GrowingBytes::Few(Vec::new())
    }
}

impl From<Vec<u8>> for GrowingBytes {
    fn from(bytes: Vec<u8>) -> GrowingBytes {
        GrowingBytes::Few(bytes)
    }
}

impl Deref for GrowingBytes {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        match self {
            GrowingBytes::Few(few) => few,
            GrowingBytes::Many(region, len) => &region[..*len],
        }
    }
}

impl DerefMut for GrowingBytes {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            GrowingBytes::Few(few) => few,
            GrowingBytes::Many(region, len) => &mut region[..*len],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_a_vec_whatever_their_number() {
        for piece in [1, 1000, 70_000, 3 << 20] {
            let (mut growing, mut expected) = (GrowingBytes::default(), Vec::new());
            for at in 0..(9_usize << 20).div_ceil(piece).min(100_000) {
                let bytes = vec![(at % 251) as u8; piece];
                if at % 2 == 0 {
                    growing.extend_from_slice(&bytes);
                } else {
                    growing.extend_with(piece + 5, |place| {
                        place.fill(1);
                        place[..piece].copy_from_slice(&bytes);
                        piece
                    });
                }
                expected.extend_from_slice(&bytes);
            }
            growing.push(7);
            expected.push(7);
            assert!(growing[..] == expected[..], "{piece}");
            growing.shrink();
            assert!(growing[..] == expected[..], "{piece}");
            assert!(growing.resident_bytes() <= expected.len().next_multiple_of(PAGE_BYTES), "{piece}");
            growing[0] = 3;
            growing.push(9);
            assert_eq!((growing[0], growing.last(), growing.len()), (3, Some(&9), expected.len() + 1));
            expected[0] = 3;
            expected.push(9);
            for len in [expected.len() + 5, expected.len() / 2, 1, 0] {
                growing.truncate(len);
                expected.truncate(len);
                assert!(growing[..] == expected[..], "{piece}");
            }
            growing.push(4);
            assert_eq!(growing[..], [4]);
        }
    }

    #[test]
    fn zeroes_and_room_are_what_they_say() {
        for bytes in [0, 100, HUGE_PAGE_BYTES, 5 * HUGE_PAGE_BYTES + 3] {
            assert!(GrowingBytes::zeroes(bytes)[..] == vec![0; bytes][..]);
            assert!(GrowingBytes::with_capacity(bytes).is_empty());
        }
    }
}
