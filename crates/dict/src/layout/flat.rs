//! FLAT: small `UInt64` keys as positions in an array.
//!
//! Attributes lie in order of key, with the default where a key is missing, and a bitmap says which keys
//! are there. Fast and small while keys are dense; a key beyond `MAX_ARRAY_SIZE` is an error, because
//! one such key would make the array as large as itself.

use arrow::array::ArrayRef;
use basalt_base::{Error, Result, bail};

use super::{Layout, LayoutBuilder, SCAN_BLOCK_ROWS, VisitBlock};
use crate::block::{integer_keys, key_column};
use crate::dictionary::Attribute;
use crate::image::{ImageReader, ImageWriter};
use crate::layout_spec::LayoutSpec;
use crate::table::Hits;
use crate::values::{Bitmap, ColumnStore, Values};

pub(crate) struct Flat {
    present: Bitmap,
    len: usize,
}

pub(crate) struct FlatBuilder {
    attributes: Vec<Attribute>,
    max_array_size: u64,
    /// The payload of each key, or `None` where it has not come yet.
    rows: Vec<Option<u32>>,
}

impl Flat {
    pub(crate) fn open(image: &mut ImageReader<'_>) -> Result<Flat> {
        Ok(Flat { len: image.count()?, present: Bitmap::open(image)? })
    }
}

impl FlatBuilder {
    pub(crate) fn new(attributes: &[Attribute], spec: &LayoutSpec) -> FlatBuilder {
        let initial = spec.initial_array_size.min(spec.max_array_size) as usize;
        FlatBuilder {
            attributes: attributes.to_vec(),
            max_array_size: spec.max_array_size,
            rows: vec![None; initial],
        }
    }
}

/// Refuses a key that would make the array too large.
pub(crate) fn check_flat_key(key: u64, max_array_size: u64) -> Result<()> {
    if key >= max_array_size {
        bail!(
            ArgumentOutOfBound,
            "FLAT: key {key} is beyond MAX_ARRAY_SIZE {max_array_size}; raise it or use the layout HASHED"
        );
    }
    Ok(())
}

impl LayoutBuilder for FlatBuilder {
    fn push(&mut self, keys: &[ArrayRef], payloads: Vec<u64>) -> Result<()> {
        for (key, row) in integer_keys(&keys[0])?.into_iter().zip(payloads) {
            check_flat_key(key, self.max_array_size)?;
            let at = key as usize;
            if at >= self.rows.len() {
                self.rows.resize(at + 1, None);
            }
            self.rows[at] = Some(row as u32);
        }
        Ok(())
    }

    fn finish(self: Box<Self>, values: &mut Values) -> Result<Box<dyn Layout>> {
        let Values::Rows(by_row) = values else {
            return Err(Error::logical("FLAT keeps its attributes in columns"));
        };
        by_row.shrink()?;
        let mut by_key = ColumnStore::new(&self.attributes);
        let mut present = Bitmap::default();
        for rows in self.rows.chunks(SCAN_BLOCK_ROWS) {
            let mut hits = Hits::with_capacity(rows.len());
            for row in rows {
                hits.push(row.map(u64::from));
                present.push(row.is_some());
            }
            let columns =
                (0..self.attributes.len()).map(|at| by_row.get(at, &hits)).collect::<Result<Vec<_>>>()?;
            by_key.push(&columns, rows.len())?;
        }
        present.shrink();
        *by_row = by_key;
        let len = present.count();
        Ok(Box::new(Flat { present, len }))
    }
}

impl Layout for Flat {
    fn find(&self, keys: &[ArrayRef]) -> Result<Hits> {
        let keys = integer_keys(&keys[0])?;
        let mut hits = Hits::with_capacity(keys.len());
        for key in keys {
            let is_there = usize::try_from(key).is_ok_and(|at| self.present.get(at));
            hits.push(is_there.then_some(key));
        }
        Ok(hits)
    }

    fn check(&self, keys: &[ArrayRef]) -> Result<()> {
        let places = integer_keys(&keys[0])?.into_iter().filter_map(|key| usize::try_from(key).ok());
        places.filter(|&at| at < self.present.len()).try_for_each(|at| self.present.check(at))
    }

    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        image.number(self.len as u64);
        self.present.save(image)
    }

    fn visit(&self, visit: &mut VisitBlock<'_>) -> Result<()> {
        let mut keys = self.present.ones().map(|at| at as u64).peekable();
        while keys.peek().is_some() {
            let block: Vec<u64> = keys.by_ref().take(SCAN_BLOCK_ROWS).collect();
            visit(vec![key_column(block.clone())], block)?;
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.len
    }

    fn heap_bytes(&self) -> usize {
        self.present.heap_bytes()
    }

    fn load_factor(&self) -> f64 {
        self.len as f64 / self.present.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use basalt_base::ErrorCode;

    use crate::layout::conformance;
    use crate::{LayoutKind, LayoutSpec};

    #[test]
    fn conforms() {
        conformance::check_dense(&LayoutSpec::new(LayoutKind::Flat));
    }

    #[test]
    fn a_key_beyond_the_array_is_an_error() {
        let spec = LayoutSpec { max_array_size: 100, ..LayoutSpec::new(LayoutKind::Flat) };
        let load = |key| conformance::load_keys(&spec, &[key]).map(|_| ()).map_err(|error| error.code());
        assert_eq!(load(99), Ok(()));
        assert_eq!(load(100), Err(ErrorCode::ArgumentOutOfBound));
        assert_eq!(load(u64::MAX), Err(ErrorCode::ArgumentOutOfBound));
    }
}
