//! A column of numbers: an encoding of their images, and the Arrow type that they come back in.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::fmt;
use std::ops::Range;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use basalt_base::{Error, Result, query};

use super::image::{append_image, append_images, image_array};
use super::store::{ColumnStore, StoreBuilder};
use crate::Rank;
use crate::file::PendingComponent;

/// Images that are read at a time; a stretch of a scan ends at a multiple of it.
pub(super) const STRETCH: u32 = 1024;
/// Images of a scan that the system reads together.
const AHEAD_RANKS: u32 = 64 * STRETCH;
/// Rows between checks of the query.
const CHECKED_ROWS: usize = 64 << 10;

/// Images by rank.
pub(super) trait Images: Send + Sync + fmt::Debug {
    fn len(&self) -> u32;

    /// Appends the images of `ranks`.
    fn take(&self, ranks: &[Rank], out: &mut Vec<u64>) -> Result<()>;

    /// Lets the system read the images of `ranks` in the background.
    fn read_ahead(&self, ranks: Range<Rank>);

    /// Fills `out` with the images from `first` on. All are in the same block of [`STRETCH`] ranks. `buffer` is for
    /// bytes that are read.
    fn scan(&self, first: Rank, out: &mut [u64], buffer: &mut Vec<u8>) -> Result<()>;

    fn stored_bytes(&self) -> u64;
}

/// Takes images in the order of ranks.
pub(super) trait ImagesBuilder: Send {
    fn push(&mut self, images: &[u64]) -> Result<()>;

    /// Adds numbers and sections.
    fn finish(self: Box<Self>, component: &mut PendingComponent) -> Result<()>;
}

pub(super) struct NumbersBuilder {
    component: PendingComponent,
    encoder: Box<dyn ImagesBuilder>,
    images: Vec<u64>,
    /// The image that stands for NULLs before the first value.
    filler: u64,
    value_bytes: u64,
}

impl NumbersBuilder {
    /// `filler` is the image of a value of the column; it takes the place of NULLs that no value precedes.
    pub(super) fn new(
        component: PendingComponent,
        encoder: Box<dyn ImagesBuilder>,
        data_type: &DataType,
        filler: u64,
    ) -> NumbersBuilder {
        let value_bytes = data_type.primitive_width().unwrap_or(1) as u64;
        NumbersBuilder { component, encoder, images: Vec::new(), filler, value_bytes }
    }
}

impl StoreBuilder for NumbersBuilder {
    fn push(&mut self, values: &ArrayRef) -> Result<()> {
        for start in (0..values.len()).step_by(CHECKED_ROWS) {
            query::checkpoint()?;
            self.images.clear();
            let rows = values.slice(start, (values.len() - start).min(CHECKED_ROWS));
            if !append_images(&rows, self.filler, &mut self.images)? {
                return Err(Error::logical("a decimal is larger than those of the sample"));
            }
            self.filler = self.images.last().copied().unwrap_or(self.filler);
            self.encoder.push(&self.images)?;
        }
        self.component.raw_bytes += values.len() as u64 * self.value_bytes;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<PendingComponent>> {
        let mut component = self.component;
        self.encoder.finish(&mut component)?;
        Ok(vec![component])
    }
}

/// Numbers by rank.
#[derive(Debug)]
pub(super) struct NumberStore<I> {
    images: I,
    data_type: DataType,
}

impl<I: Images> NumberStore<I> {
    pub(super) fn new(images: I, data_type: &DataType) -> NumberStore<I> {
        NumberStore { images, data_type: data_type.clone() }
    }
}

impl<I: Images> ColumnStore for NumberStore<I> {
    fn len(&self) -> u32 {
        self.images.len()
    }

    fn take(&self, ranks: &[Rank]) -> Result<ArrayRef> {
        let mut array = image_array(&self.data_type, ranks.len())?;
        let mut images = Vec::with_capacity(ranks.len().min(STRETCH as usize));
        for (count, ranks) in ranks.chunks(STRETCH as usize).enumerate() {
            if count % 64 == 0 {
                query::checkpoint()?;
            }
            images.clear();
            self.images.take(ranks, &mut images)?;
            array.push(&images);
        }
        Ok(array.finish(&self.data_type))
    }

    fn scan(&self, ranks: Range<Rank>) -> Result<ArrayRef> {
        if ranks.start > ranks.end || ranks.end > self.len() {
            return Err(no_value(ranks.end, self.len()));
        }
        let mut array = image_array(&self.data_type, ranks.len())?;
        let (mut images, mut buffer) = ([0; STRETCH as usize], Vec::new());
        let mut at = ranks.start;
        while at < ranks.end {
            if at == ranks.start || at.is_multiple_of(AHEAD_RANKS) {
                query::checkpoint()?;
                self.images.read_ahead(at..ranks.end.min((at / AHEAD_RANKS + 1).saturating_mul(AHEAD_RANKS)));
            }
            let count = (ranks.end - at).min(STRETCH - at % STRETCH);
            let images = &mut images[..count as usize];
            self.images.scan(at, images, &mut buffer)?;
            array.push(images);
            at += count;
        }
        Ok(array.finish(&self.data_type))
    }

    fn append_value(&self, rank: Rank, out: &mut Vec<u8>) -> Result<bool> {
        let mut images = Vec::with_capacity(1);
        self.images.take(&[rank], &mut images)?;
        images.iter().try_for_each(|&image| append_image(&self.data_type, image, out))?;
        Ok(true)
    }

    fn stored_bytes(&self) -> u64 {
        self.images.stored_bytes()
    }
}

/// The error for a rank that a store does not have.
#[cold]
pub(super) fn no_value(rank: Rank, len: u32) -> Error {
    Error::new(
        basalt_base::ErrorCode::CorruptedData,
        format!("value {rank} of a column of {len} values of a segment was referred to"),
    )
}
