//! The contract between a layout and the dictionary over it.

use arrow::array::ArrayRef;
use basalt_base::Result;

use crate::image::ImageWriter;
use crate::payloads::Payloads;
use crate::table::Hits;
use crate::values::Values;

/// Called with each block of a scan: the key columns and the payloads of its rows.
pub(crate) type VisitBlock<'a> = dyn FnMut(Vec<ArrayRef>, Vec<u64>) -> Result<()> + 'a;

/// The loaded keys. They never change after the load, so readers take no lock.
pub(crate) trait Layout: Send + Sync {
    /// The payload of each key. The caller has checked the number, types and lengths of the keys, and that none is
    /// NULL.
    fn find(&self, keys: &[ArrayRef]) -> Result<Hits>;

    /// Compares the checksums of all that [`Layout::find`] reads.
    fn check(&self, keys: &[ArrayRef]) -> Result<()>;

    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()>;

    /// Visits every entry once, in blocks.
    fn visit(&self, visit: &mut VisitBlock<'_>) -> Result<()>;

    fn len(&self) -> usize;

    fn heap_bytes(&self) -> usize;

    /// Filled slots over all slots.
    fn load_factor(&self) -> f64;

    /// The layout's name, if the definition leaves the choice to the load.
    fn name(&self) -> Option<&'static str> {
        None
    }
}

/// Takes the keys of a source block by block.
pub(crate) trait LayoutBuilder {
    fn push(&mut self, keys: &[ArrayRef], payloads: Payloads) -> Result<()>;

    /// Ends the load. A key that came twice has its last row; `values` drops the rows before it.
    fn finish(self: Box<Self>, values: &mut Values) -> Result<Box<dyn Layout>>;
}
