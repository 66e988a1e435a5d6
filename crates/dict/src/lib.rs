//! I have ten thousand keys: give me their attributes, now.
//!
//! A dictionary is two things: a *layout* that maps keys to payloads, and *attributes*: columns indexed
//! by row number, or values so narrow that the payload holds them. [`Dictionary`] is all that a caller
//! sees of either.
//!
//! # Loading
//!
//! [`build`] takes a [`DictionarySpec`] and the source's blocks, as they come. [`build_direct`] makes a
//! dictionary that holds nothing and asks its [`DirectSource`] at every lookup, [`build_cache`] one that
//! keeps what it was asked for. [`load_image`] loads into a file, in memory that does not grow with the rows.
//! [`update`] makes one of a loaded dictionary and of what changed since.
//!
//! # Where to look
//!
//! - [`layout`]: one file a layout; to add one, add its file and its line in [`LayoutKind`].
//! - [`table`]: the hash table under all hashed layouts.
//! - [`values`]: attribute columns.
//! - [`image`]: a loaded dictionary as a file.
//!
//! # Not here
//!
//! Where the rows come from (a table, a file, another server) is the engine's business: it hands
//! blocks to the builder, and implements [`DirectSource`] for dictionaries that hold nothing.

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
mod layout;
mod layout_kind;
mod layout_spec;
mod loaded;
mod overlay;
mod payloads;
mod piles;
mod row_stream;
mod scan_columns;
mod schema;
mod spec;
mod stats;
mod table;
mod tombstones;
mod values;

pub use attribute::Attribute;
pub use block_cut::source_block_rows;
pub use dictionary::{Dictionaries, Dictionary, DirectSource, Located, VisitRows};
pub use image::{ImageWriter, open as open_image, save as save_image};
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
