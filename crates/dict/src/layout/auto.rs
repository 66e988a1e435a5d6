//! AUTO: the layout is chosen after the last key.
//!
//! | keys | layout |
//! |---|---|
//! | at least half of all numbers from the least to the greatest | an array from the least key on ([`DensePart`]) |
//! | else up to [`HASHED_KEYS_MAX`] | HASHED: such a table fits into the caches |
//! | more | COMPACT_HASHED |
//!
//! [`super::contract::Layout::name`] is the choice.

use arrow::array::ArrayRef;
use basalt_base::Result;

use super::auto_choice::AutoChoice;
use super::dense::DensePart;
use super::hashed::{Hashed, hashes};
use super::positions::Positions;
use super::{Layout, LayoutBuilder};
use crate::block::integer_keys;
use crate::image::ImageReader;
use crate::payloads::Payloads;
use crate::table::{TableBuilder, TableForm, TableShape};
use crate::values::Values;

/// More keys than this are packed.
const HASHED_KEYS_MAX: usize = 2_000_000;
/// An array has at most this many positions for each key.
const PLACES_A_KEY: u64 = 2;

pub(crate) struct AutoBuilder {
    table: TableBuilder,
    hashed: TableForm,
    keys: AutoKeys,
}

/// The properties of the keys on which the choice depends.
pub(crate) struct AutoKeys {
    least: u64,
    greatest: u64,
    /// The number of keys, or of rows until duplicates are known.
    count: usize,
}

impl Default for AutoKeys {
    fn default() -> AutoKeys {
        AutoKeys { least: u64::MAX, greatest: 0, count: 0 }
    }
}

impl AutoKeys {
    pub(crate) fn push(&mut self, keys: &[ArrayRef]) -> Result<()> {
        let keys = integer_keys(&keys[0])?;
        self.count += keys.len();
        for key in keys {
            self.least = self.least.min(key);
            self.greatest = self.greatest.max(key);
        }
        Ok(())
    }

    /// Whether an array is chosen.
    pub(crate) fn are_dense(&self) -> bool {
        let places = self.greatest.saturating_sub(self.least);
        self.count > 0 && places / PLACES_A_KEY < self.count as u64
    }

    /// The same keys; `count` of them are distinct.
    pub(crate) fn counted(self, count: usize) -> AutoKeys {
        AutoKeys { count, ..self }
    }

    /// The least key, and the number of positions from it to the greatest one.
    pub(crate) fn places(&self) -> (u64, u64) {
        match self.count {
            0 => (0, 0),
            _ => (self.least, (self.greatest - self.least).saturating_add(1)),
        }
    }

    /// Whether keys are packed if no array is chosen.
    pub(crate) fn are_many(&self) -> bool {
        self.count > HASHED_KEYS_MAX
    }

    /// The choice if it is no array.
    pub(crate) fn hashed_choice(&self) -> AutoChoice {
        if self.are_many() { AutoChoice::CompactHashed } else { AutoChoice::Hashed }
    }
}

/// The keys of the rows in `table` as an array of `places` positions from `least` on. The first row has the number
/// `first`.
pub(crate) fn dense_part(
    table: TableBuilder,
    least: u64,
    places: usize,
    first: u64,
    values: &mut Values,
) -> Result<DensePart> {
    DensePart::new(table.sort(|_, _| true)?, least, places, first, values)
}

impl AutoBuilder {
    /// `hashed` is the form of a HASHED table.
    pub(crate) fn new(shape: TableShape, hashed: TableForm) -> Result<AutoBuilder> {
        Ok(AutoBuilder { table: TableBuilder::new(shape)?, hashed, keys: AutoKeys::default() })
    }
}

impl LayoutBuilder for AutoBuilder {
    fn push(&mut self, keys: &[ArrayRef], payloads: Payloads) -> Result<()> {
        self.keys.push(keys)?;
        self.table.push(hashes(&keys[0])?, payloads)
    }

    fn finish(self: Box<Self>, values: &mut Values) -> Result<Box<dyn Layout>> {
        let sorted = self.table.sort(|_, _| true)?;
        let keys = self.keys.counted(sorted.len());
        if keys.are_dense() {
            let len = (keys.greatest - keys.least) as usize + 1;
            let part = DensePart::new(sorted, keys.least, len, 0, values)?;
            return Ok(Box::new(Positions::whole(keys.least, part)));
        }
        let hashed = match keys.are_many() {
            true => Hashed::packed(sorted, 0, values)?,
            false => Hashed::new(sorted, self.hashed, 0, values)?,
        };
        Ok(Box::new(hashed.chosen(keys.hashed_choice())))
    }
}

/// The layout that AUTO has chosen.
pub(crate) fn open_auto(image: &mut ImageReader<'_>) -> Result<Box<dyn Layout>> {
    Ok(match AutoChoice::open(image)? {
        AutoChoice::Flat => Box::new(Positions::<DensePart>::open(image)?),
        choice => Box::new(Hashed::open(image)?.chosen(choice)),
    })
}

#[cfg(test)]
mod tests {
    use crate::layout::conformance;
    use crate::{LayoutKind, LayoutSpec};

    #[test]
    fn conforms() {
        conformance::check_simple(&LayoutSpec::new(LayoutKind::Auto));
        conformance::check_dense(&LayoutSpec::new(LayoutKind::Auto));
    }

    #[test]
    fn the_keys_decide() {
        let chosen = |keys: &[u64]| {
            let dictionary = conformance::load_keys(&LayoutSpec::new(LayoutKind::Auto), keys);
            dictionary.expect("valid keys").layout()
        };
        let dense: Vec<u64> = (1_000_000..1_001_000).collect();
        assert_eq!(chosen(&dense), "AUTO_FLAT");
        let half: Vec<u64> = dense.iter().copied().filter(|key| key % 2 == 0).collect();
        assert_eq!(chosen(&half), "AUTO_FLAT");
        let third: Vec<u64> = dense.iter().copied().filter(|key| key % 3 == 0).collect();
        assert_eq!(chosen(&third), "AUTO_HASHED");
        assert_eq!(chosen(&[u64::MAX, u64::MAX - 1, u64::MAX - 2]), "AUTO_FLAT");
        assert_eq!(chosen(&[0, u64::MAX]), "AUTO_HASHED");
        assert_eq!(chosen(&[]), "AUTO_HASHED");
    }
}
