//! A growing list of bits: which values are not NULL, which rows are alive.

#[derive(Clone, Debug, Default)]
pub(crate) struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    /// `len` bits that are all clear.
    pub(crate) fn zeroes(len: usize) -> Bitmap {
        Bitmap { words: vec![0; len.div_ceil(64)], len }
    }

    pub(crate) fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        self.len += 1;
        if bit {
            self.set(self.len - 1);
        }
    }

    pub(crate) fn set(&mut self, index: usize) {
        assert!(index < self.len, "bit {index} of {}", self.len);
        self.words[index / 64] |= 1 << (index % 64);
    }

    /// Whether bit `index` is set; bits behind the end are clear.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> bool {
        self.words.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The positions of the set bits.
    pub(crate) fn ones(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len).filter(|&index| self.get(index))
    }

    pub(crate) fn shrink(&mut self) {
        self.words.shrink_to_fit();
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_where_they_were_put() {
        let mut bits = Bitmap::default();
        (0..200).for_each(|index| bits.push(index % 3 == 0));
        assert_eq!(bits.ones().collect::<Vec<_>>(), (0..200).step_by(3).collect::<Vec<_>>());
        assert_eq!((bits.len(), bits.count(), bits.get(1000)), (200, 67, false));
    }
}
