//! Cursors of SCAN: numbers for places in the order of keys.
//!
//! A cursor of Redis is a number, our place is a key. The last [`CURSORS_MAX`] places are remembered. Each cursor may be
//! used again and by any connection, until newer ones displace it.

use std::collections::VecDeque;

use parking_lot::Mutex;

const CURSORS_MAX: usize = 16_384;
const BYTES_MAX: usize = 64 << 20;

#[derive(Default)]
pub(crate) struct Cursors(Mutex<Places>);

#[derive(Default)]
struct Places {
    places: VecDeque<Vec<u8>>,
    bytes: usize,
    /// The cursor of the first place, less one.
    before: u64,
}

impl Cursors {
    /// A cursor for `place`.
    pub(crate) fn add(&self, place: Vec<u8>) -> u64 {
        let mut kept = self.0.lock();
        kept.bytes += place.len();
        kept.places.push_back(place);
        while kept.places.len() > CURSORS_MAX || kept.bytes > BYTES_MAX && kept.places.len() > 1 {
            let oldest = kept.places.pop_front().unwrap_or_default();
            kept.bytes -= oldest.len();
            kept.before += 1;
        }
        kept.before + kept.places.len() as u64
    }

    /// The place of a cursor, if it is still remembered.
    pub(crate) fn get(&self, cursor: u64) -> Option<Vec<u8>> {
        let kept = self.0.lock();
        let at = cursor.checked_sub(kept.before)?.checked_sub(1)?;
        kept.places.get(usize::try_from(at).ok()?).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_cursors_are_remembered() {
        let cursors = Cursors::default();
        for number in 1..=CURSORS_MAX as u64 + 5 {
            assert_eq!(cursors.add(number.to_be_bytes().to_vec()), number);
        }
        assert_eq!(cursors.get(5), None);
        assert_eq!(cursors.get(0), None);
        assert_eq!(cursors.get(6), Some(6_u64.to_be_bytes().to_vec()));
        assert_eq!(cursors.get(CURSORS_MAX as u64 + 6), None);
    }
}
