//! A part without its table: what its metadata says, and whether its files are intact. For people who have the
//! directory of a part and nothing else.
//!
//! # Not here
//!
//! The types of columns are text in the metadata; a caller who can parse them has the values checked. The types of key
//! expressions are in the table's definition only: of indexes, the checksums are compared.

use std::path::Path;
use std::sync::Arc;

use basalt_base::fs::Storage;
use basalt_base::{Column, Columns};

use super::meta::META_FILE;
use super::part_type::PartType;
use super::stored::StoredPart;
use super::view::Part;
use crate::error::Result;
use crate::index::skip_file;
use crate::key::primary;
use crate::name::PartName;
use crate::spec::PartSpec;

/// The directory of a part, opened to look at it.
pub struct InspectedPart(Arc<StoredPart>);

/// What the metadata of a part says.
#[derive(Clone, Debug)]
pub struct PartDescription {
    pub part_type: PartType,
    /// Rows in the files, with deleted ones.
    pub rows: u64,
    pub deleted_rows: u64,
    pub granule_rows: u32,
    /// Version of the build that wrote the part; empty in the oldest parts.
    pub made_by: String,
    pub primary_key: Vec<String>,
    pub primary_bytes: u64,
    pub columns: Vec<InspectedColumn>,
    pub indexes: Vec<InspectedIndex>,
}

/// A column of a part.
#[derive(Clone, Debug)]
pub struct InspectedColumn {
    pub name: String,
    /// The type as SQL text.
    pub type_text: String,
    pub codecs: String,
    pub null_count: u64,
    /// Bytes of the values before they were encoded.
    pub raw_bytes: u64,
    /// Bytes of the column's file, or of its section of the data file.
    pub stored_bytes: u64,
    /// Where the section begins; 0 for a file of its own.
    pub offset: u64,
}

/// A skip index of a part.
#[derive(Clone, Debug)]
pub struct InspectedIndex {
    pub name: String,
    pub bytes: u64,
}

impl InspectedPart {
    /// Whether the directory has the metadata of a part, intact or not.
    pub fn is_part(storage: &dyn Storage, directory: &Path) -> basalt_base::Result<bool> {
        storage.exists(&directory.join(META_FILE))
    }

    pub fn open(storage: Arc<dyn Storage>, directory: &Path) -> Result<InspectedPart> {
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = name.parse().unwrap_or_else(|_| PartName::inserted(name, 0));
        StoredPart::open(storage, directory.to_owned(), name).map(|stored| InspectedPart(Arc::new(stored)))
    }

    pub fn description(&self) -> PartDescription {
        let meta = &self.0.meta;
        let column = |column: &super::meta::ColumnMeta| InspectedColumn {
            name: column.name.clone(),
            type_text: column.ty.clone(),
            codecs: column.chain.to_string(),
            null_count: column.null_count,
            raw_bytes: column.size.decoded_bytes,
            stored_bytes: column.size.file_bytes,
            offset: column.offset.unwrap_or(0),
        };
        let indexes = meta.skip_indexes.iter();
        PartDescription {
            part_type: if meta.data_file.is_some() { PartType::Compact } else { PartType::Wide },
            rows: meta.row_count,
            deleted_rows: meta.deleted_count,
            granule_rows: meta.granule_rows,
            made_by: meta.made_by.clone(),
            primary_key: meta.primary_key.clone(),
            primary_bytes: meta.primary_file_bytes,
            columns: meta.columns.iter().map(column).collect(),
            indexes: indexes
                .map(|index| InspectedIndex { name: index.name.clone(), bytes: index.file_bytes })
                .collect(),
        }
    }

    /// Decodes every block of `column`, which has the name and the type of the metadata, and its zone map.
    pub fn check_column(&self, column: Column) -> Result<()> {
        let spec = PartSpec::new(Columns::new(vec![column]));
        Part::new(Arc::clone(&self.0), Arc::new(spec))?.check_column(0)
    }

    /// Compares the checksums of the primary index and of the list of deleted rows.
    pub fn check_keys(&self) -> Result<()> {
        self.0.deleted()?;
        let (span, bytes) = self.0.primary_bytes()?;
        primary::check_sum(&bytes).map_err(|damage| damage.in_file(&span))
    }

    /// Compares the checksum of the skip index at `position` of the description.
    pub fn check_index(&self, position: usize) -> Result<()> {
        let (span, bytes) = self.0.skip_index_bytes(position)?;
        skip_file::check_sum(&bytes).map_err(|damage| damage.in_file(&span))
    }
}
