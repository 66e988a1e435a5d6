//! Byte strings that are added and removed, each in a slot of a chunk.
//!
//! All slots of a chunk have the same size, as in a slab allocator (Bonwick, "The Slab Allocator", USENIX Summer
//! 1994, section 3.2), so a free slot serves any string of about its size. A chunk without strings is freed. The
//! memory is exactly what is reported: no allocator adds a header to each string, or rounds its size up.

use std::collections::BTreeMap;

/// The bytes of a chunk, unless one slot is longer: a few bytes less than a power of two, for the header of the
/// allocator.
const CHUNK_BYTES: usize = (1 << 16) - 64;
/// The smallest slot; the sizes of short slots are its multiples.
const STEP_BYTES: usize = 8;
/// Up to this length, slot sizes are multiples of [`STEP_BYTES`].
const FINE_MAX: usize = 512;
/// The number of sizes of longer slots between a power of two and the next one.
const COARSE_STEPS: usize = 16;
/// Ends a list of free slots.
const NO_SLOT: u16 = u16::MAX;

#[derive(Default)]
pub(super) struct Slots {
    chunks: Vec<Chunk>,
    /// Chunks that have a free slot, by the bytes of their slots.
    with_room: BTreeMap<usize, Vec<u32>>,
    /// Places in `chunks` whose chunk was freed.
    vacant: Vec<u32>,
    /// The bytes of all chunks.
    chunk_bytes: usize,
}

/// Where a string is. Packed, because every cell has one.
#[derive(Clone, Copy)]
#[repr(Rust, packed(2))]
pub(super) struct Slot {
    chunk: u32,
    number: u16,
}

#[derive(Default)]
struct Chunk {
    bytes: Box<[u8]>,
    slot_bytes: usize,
    /// The first free slot. Each free slot begins with the number of the next one.
    first_free: u16,
    /// Slots from here on were never used, so their pages may not exist yet.
    fresh: u16,
    used: u16,
    /// Its place among the chunks with free slots, if it has some.
    room_at: u32,
}

impl Slots {
    /// Stores the concatenation of `parts`.
    pub(super) fn put(&mut self, parts: [&[u8]; 2]) -> Slot {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        let slot_bytes = slot_bytes(bytes);
        let at = match self.with_room.get(&slot_bytes).and_then(|chunks| chunks.last()) {
            Some(&at) => at,
            None => self.add_chunk(slot_bytes),
        };
        let chunk = &mut self.chunks[at as usize];
        let number = chunk.take();
        let (first, second) = chunk.slot_mut(number)[..bytes].split_at_mut(parts[0].len());
        first.copy_from_slice(parts[0]);
        second.copy_from_slice(parts[1]);
        if chunk.is_full() {
            self.forget_room(at);
        }
        Slot { chunk: at, number }
    }

    /// The first `bytes` of `slot`.
    pub(super) fn get(&self, slot: Slot, bytes: usize) -> &[u8] {
        &self.chunks[slot.chunk as usize].slot(slot.number)[..bytes]
    }

    /// Frees `slot`.
    pub(super) fn free(&mut self, slot: Slot) {
        let chunk = &mut self.chunks[slot.chunk as usize];
        let was_full = chunk.is_full();
        chunk.give_back(slot.number);
        if was_full {
            self.add_room(slot.chunk);
        }
        if self.chunks[slot.chunk as usize].used == 0 {
            self.forget_room(slot.chunk);
            let freed = std::mem::take(&mut self.chunks[slot.chunk as usize]);
            self.chunk_bytes -= freed.bytes.len();
            self.vacant.push(slot.chunk);
        }
    }

    fn add_chunk(&mut self, slot_bytes: usize) -> u32 {
        let chunk = Chunk::new(slot_bytes);
        self.chunk_bytes += chunk.bytes.len();
        let at = match self.vacant.pop() {
            Some(at) => at,
            None => {
                self.chunks.push(Chunk::default());
                self.chunks.len() as u32 - 1
            }
        };
        self.chunks[at as usize] = chunk;
        self.add_room(at);
        at
    }

    fn add_room(&mut self, at: u32) {
        let chunk = &mut self.chunks[at as usize];
        let chunks = self.with_room.entry(chunk.slot_bytes).or_default();
        chunk.room_at = chunks.len() as u32;
        chunks.push(at);
    }

    fn forget_room(&mut self, at: u32) {
        let chunk = &self.chunks[at as usize];
        let Some(chunks) = self.with_room.get_mut(&chunk.slot_bytes) else { return };
        let room_at = chunk.room_at;
        chunks.swap_remove(room_at as usize);
        if let Some(&moved) = chunks.get(room_at as usize) {
            self.chunks[moved as usize].room_at = room_at;
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let listed: usize = self.with_room.values().map(Vec::capacity).sum();
        self.chunk_bytes
            + self.chunks.capacity() * size_of::<Chunk>()
            + (listed + self.vacant.capacity()) * size_of::<u32>()
    }
}

impl Chunk {
    fn new(slot_bytes: usize) -> Chunk {
        let slots = (CHUNK_BYTES / slot_bytes).max(1);
        Chunk {
            bytes: vec![0; slots * slot_bytes].into_boxed_slice(),
            slot_bytes,
            first_free: NO_SLOT,
            ..Chunk::default()
        }
    }

    fn is_full(&self) -> bool {
        usize::from(self.used) * self.slot_bytes == self.bytes.len()
    }

    /// A free slot of a chunk.
    fn take(&mut self) -> u16 {
        self.used += 1;
        if self.first_free == NO_SLOT {
            self.fresh += 1;
            return self.fresh - 1;
        }
        let number = self.first_free;
        let slot = self.slot(number);
        self.first_free = u16::from_le_bytes([slot[0], slot[1]]);
        number
    }

    fn give_back(&mut self, number: u16) {
        let next = self.first_free.to_le_bytes();
        self.slot_mut(number)[..next.len()].copy_from_slice(&next);
        self.first_free = number;
        self.used -= 1;
    }

    fn slot(&self, number: u16) -> &[u8] {
        let at = usize::from(number) * self.slot_bytes;
        &self.bytes[at..at + self.slot_bytes]
    }

    fn slot_mut(&mut self, number: u16) -> &mut [u8] {
        let at = usize::from(number) * self.slot_bytes;
        &mut self.bytes[at..at + self.slot_bytes]
    }
}

/// The size of a slot that holds `bytes`.
fn slot_bytes(bytes: usize) -> usize {
    let step = if bytes <= FINE_MAX { STEP_BYTES } else { bytes.next_power_of_two() / (2 * COARSE_STEPS) };
    bytes.max(1).next_multiple_of(step)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn slots_are_hardly_longer_than_what_they_hold() {
        for bytes in (0..5000).chain([65_472, 65_473, 1_000_000]) {
            let slot = slot_bytes(bytes);
            assert!(
                slot >= bytes && slot <= bytes + (bytes / COARSE_STEPS).max(STEP_BYTES),
                "{bytes}: {slot}"
            );
            let chunk = Chunk::new(slot);
            let slots = chunk.bytes.len() / slot;
            assert!(slots >= 1 && slots < usize::from(NO_SLOT), "{bytes}");
        }
    }

    #[test]
    fn what_is_freed_goes_back() {
        let mut slots = Slots::default();
        for round in 0..3 {
            let kept: Vec<Slot> =
                (0..20_000_u32).map(|at| slots.put([&at.to_le_bytes(), b"a row"])).collect();
            let full = slots.heap_bytes();
            assert!(full < 20_000 * 17, "round {round}: {full}");
            // One chunk stays: that of the first string.
            kept[1..].iter().for_each(|&slot| slots.free(slot));
            assert!(slots.heap_bytes() < full / 3, "round {round}: {}", slots.heap_bytes());
            slots.free(kept[0]);
            assert_eq!(slots.chunk_bytes, 0);
        }
    }

    proptest! {
        /// Strings of many lengths are added and removed in any order, and the others do not change.
        #[test]
        fn keeps_what_is_put(steps in prop::collection::vec((any::<prop::sample::Index>(), 0..3, 1..1500_usize), 1..600)) {
            let mut slots = Slots::default();
            let mut model: Vec<(Slot, Vec<u8>)> = Vec::new();
            for (step, (which, what, bytes)) in steps.into_iter().enumerate() {
                if what == 0 && !model.is_empty() {
                    let (slot, _) = model.swap_remove(which.index(model.len()));
                    slots.free(slot);
                } else {
                    let bytes = if what == 1 { bytes % 40 + 1 } else { bytes * 50 };
                    let string = vec![step as u8; bytes];
                    let slot = slots.put([&string[..bytes / 3], &string[bytes / 3..]]);
                    model.push((slot, string));
                }
                prop_assert!(model.iter().all(|(slot, string)| slots.get(*slot, string.len()) == string));
            }
            model.iter().for_each(|(slot, _)| slots.free(*slot));
            prop_assert_eq!(slots.chunk_bytes, 0);
            prop_assert!(slots.with_room.values().all(Vec::is_empty));
        }
    }
}
