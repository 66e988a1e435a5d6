//! I have ten thousand keys: give me their attributes, now.
//!
//! A dictionary is a *layout*, which maps keys to payloads, and *attributes*: columns indexed by row number, or
//! values so narrow that they fit into the payload. Callers see it as a [`Dictionary`].
//!
//! # Loading
//!
//! [`build`] takes a [`DictionarySpec`] and the blocks of a source. [`load_image`] loads into a file, in memory that
//! does not grow with the rows. [`update`] combines a loaded dictionary with later changes. [`build_direct`] makes a
//! dictionary that stores nothing and asks its [`DirectSource`] at every lookup, [`build_cache`] one that stores the
//! rows of recent lookups.
//!
//! # Where to look
//!
//! - [`layout`]: one file for each layout. To add one, add its file and its line in [`LayoutKind`].
//! - [`table`]: the hash table under all hashed layouts.
//! - [`values`]: attribute columns.
//! - [`image`]: a loaded dictionary as a file.
//!
//! # Not here
//!
//! The origin of the rows (a table, a file, another server) is the business of the engine. It hands blocks to the
//! builder, and implements [`DirectSource`].

mod attribute;
mod block;
mod block_cut;
mod counters;
mod dictionary;
mod hash;
mod image;
mod image_load;
mod key_bytes;
mod key_numbers;
mod key_types;
mod layout;
mod layout_kind;
mod layout_spec;
mod loaded;
mod overlay;
mod payloads;
mod row_stream;
mod scan_columns;
mod schema;
mod spec;
mod spill;
mod stats;
mod table;
mod table_form;
mod tombstones;
mod values;

pub use attribute::Attribute;
pub use block_cut::source_block_rows;
pub use dictionary::{Dictionaries, Dictionary, DirectSource, Located, VisitRows};
pub use image::{
    DescribedImage, ImageDescription, ImageWriter, Storable, UnnamedVersion, open as open_image,
    save as save_image,
};
pub use image_load::{ImagePlace, LoadBounds, LoadedImage, PendingImage, load_image};
pub use layout::{
    CacheSpec, CacheSurroundings, LockDirectory, RangeLookup, ReadValues, RegexpFlags, SsdSpec, build_cache,
    build_direct,
};
pub use layout_kind::{KeyForm, LayoutKind};
pub use layout_spec::{LayoutParameter, LayoutSpec};
pub use loaded::build;
pub use overlay::{Updated, build_rows, update};
pub use row_stream::RowStream;
pub use schema::DictionarySchema;
pub use spec::{DictionarySpec, RangeSpec};
pub use stats::DictionaryStats;
pub use tombstones::RowForm;
