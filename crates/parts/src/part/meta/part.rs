//! The file `part.meta`, and the metadata of the whole part.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::path::Path;

use super::column::{COLUMN_BYTES_MIN, ColumnMeta, TAGGED_SINCE};
use super::skip_index::SkipIndexMeta;
use crate::error::{Damage, Error};
use crate::fields::{FieldReader, FieldWriter, Magic, OPTIONAL, TaggedWriter};
use crate::limits::GRANULE_ROWS_MAX;
use crate::ttl::bounds::TtlBounds;

/// The name of the file.
pub(crate) const META_FILE: &str = "part.meta";

/// A larger file is invalid.
pub(crate) const META_BYTES_MAX: u64 = 64 << 20;

const MAGIC: &Magic = b"BSLTPRT1";
const FORMAT_VERSION: u32 = 2;

/// Tags of the part's fields.
mod tag {
    use super::OPTIONAL;

    pub(super) const DATA_FILE: u32 = 1;
    pub(super) const PARTITION: u32 = 2;
    pub(super) const DELETED: u32 = 16;
    pub(super) const NAMES: u32 = 17;
    pub(super) const MADE_BY: u32 = OPTIONAL | 1;
    pub(super) const ZONES_FILE: u32 = OPTIONAL | 2;
    pub(super) const SKIP_INDEXES: u32 = OPTIONAL | 3;
    pub(super) const VALUE_BYTES: u32 = OPTIONAL | 8;
    pub(super) const TTL: u32 = OPTIONAL | 9;
}

/// More rows than any disk has; below this limit no sum of rows overflows.
const ROW_COUNT_MAX: u64 = 1 << 48;

/// Why the metadata cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MetaError {
    Damaged(Damage),
    /// A newer build wrote it.
    Newer {
        version: u32,
    },
}

impl From<Damage> for MetaError {
    fn from(damage: Damage) -> MetaError {
        MetaError::Damaged(damage)
    }
}

impl MetaError {
    pub(crate) fn in_file(self, path: &Path) -> Error {
        match self {
            MetaError::Damaged(damage) => damage.in_file(path),
            MetaError::Newer { version } => {
                Error::NewerFormat { path: path.to_owned(), version, known: FORMAT_VERSION }
            }
        }
    }
}

/// The contents of `part.meta`.
#[derive(Clone, Debug)]
pub(crate) struct PartMeta {
    pub(crate) row_count: u64,
    /// Bytes of the values in memory; 0 if unknown.
    pub(crate) value_bytes: u64,
    /// Rows masked by `deleted.rows`.
    pub(crate) deleted_count: u64,
    pub(crate) granule_rows: u32,
    /// See [`ColumnHistory`](crate::ColumnHistory).
    pub(crate) names_version: u64,
    pub(crate) made_at_us: u64,
    /// Version of the build that wrote the part; empty in version 1.
    pub(crate) made_by: String,
    pub(crate) primary_file_bytes: u64,
    /// 0 if there is no such file.
    pub(crate) zones_file_bytes: u64,
    /// Only in a compact part.
    pub(crate) data_file: Option<DataFile>,
    pub(crate) skip_indexes: Vec<SkipIndexMeta>,
    /// Names of the primary key's columns.
    pub(crate) primary_key: Vec<String>,
    pub(crate) columns: Vec<ColumnMeta>,
    /// The sections of each element of the partition key; decoding requires the types.
    pub(crate) partition: Vec<Vec<u8>>,
    /// When the rows expire, by the rules that the table had when the part was written.
    pub(crate) ttl: Vec<TtlBounds>,
}

/// The file with the columns and indexes of a compact part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataFile {
    pub(crate) file_bytes: u64,
    pub(crate) zones_offset: u64,
    pub(crate) primary_offset: u64,
}

impl PartMeta {
    pub(crate) fn mark_count(&self) -> usize {
        let marks = self.row_count.div_ceil(u64::from(self.granule_rows));
        usize::try_from(marks).expect("a part has at most 2^48 rows")
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = FieldWriter::of_file(MAGIC);
        out.u32(FORMAT_VERSION);
        out.u64(self.row_count);
        out.u32(self.granule_rows);
        out.u64(self.made_at_us);
        out.u64(self.primary_file_bytes);
        out.count(self.primary_key.len());
        for name in &self.primary_key {
            out.bytes(name.as_bytes());
        }
        out.count(self.columns.len());
        for column in &self.columns {
            column.encode(&mut out);
        }
        out.tagged(&self.tagged());
        out.sealed()
    }

    fn tagged(&self) -> TaggedWriter {
        let mut list = TaggedWriter::default();
        if let Some(data) = &self.data_file {
            list.put(tag::DATA_FILE, |out| {
                out.u64(data.file_bytes);
                out.u64(data.zones_offset);
                out.u64(data.primary_offset);
            });
        }
        if !self.partition.is_empty() {
            list.put(tag::PARTITION, |out| {
                out.count(self.partition.len());
                self.partition.iter().for_each(|value| out.bytes(value));
            });
        }
        if self.deleted_count > 0 {
            list.put(tag::DELETED, |out| out.u64(self.deleted_count));
        }
        if self.names_version > 0 {
            list.put(tag::NAMES, |out| out.u64(self.names_version));
        }
        list.put(tag::MADE_BY, |out| out.raw(self.made_by.as_bytes()));
        if self.zones_file_bytes > 0 {
            list.put(tag::ZONES_FILE, |out| out.u64(self.zones_file_bytes));
        }
        if !self.skip_indexes.is_empty() {
            list.put(tag::SKIP_INDEXES, |out| {
                out.count(self.skip_indexes.len());
                self.skip_indexes.iter().for_each(|index| index.encode(out));
            });
        }
        if self.value_bytes > 0 {
            list.put(tag::VALUE_BYTES, |out| out.u64(self.value_bytes));
        }
        if !self.ttl.is_empty() {
            list.put(tag::TTL, |out| {
                out.count(self.ttl.len());
                self.ttl.iter().for_each(|bounds| bounds.encode(out));
            });
        }
        list
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<PartMeta, MetaError> {
        let mut fields = FieldReader::of_file(bytes, MAGIC, "the metadata of a part")?;
        let version = fields.u32()?;
        if version > FORMAT_VERSION {
            return Err(MetaError::Newer { version });
        }
        if version == 0 {
            return Err(Damage::new(MAGIC.len(), "format version 0").into());
        }
        let mut meta = PartMeta::decode_body(&mut fields, bytes.len(), version)?;
        if version >= TAGGED_SINCE {
            meta.decode_tagged(&mut fields)?;
            meta.check_offsets()?;
        }
        fields.finish()?;
        Ok(meta)
    }

    fn decode_body(fields: &mut FieldReader<'_>, bytes: usize, version: u32) -> Result<PartMeta, Damage> {
        let row_count = fields.u64()?;
        let granule_rows = fields.u32()?;
        if !usize::try_from(granule_rows).is_ok_and(|rows| (1..=GRANULE_ROWS_MAX).contains(&rows)) {
            return Err(Damage::new(fields.at(), format!("granules of {granule_rows} rows")));
        }
        if row_count > ROW_COUNT_MAX {
            return Err(Damage::new(fields.at(), format!("{row_count} rows")));
        }
        let made_at_us = fields.u64()?;
        let primary_file_bytes = fields.u64()?;
        let key_count = fields.count()?;
        let mut primary_key = Vec::new();
        for _ in 0..key_count {
            primary_key.push(fields.text()?);
        }
        let column_count = fields.count()?;
        if column_count > bytes / COLUMN_BYTES_MIN {
            return Err(Damage::new(fields.at(), format!("{column_count} columns do not fit the file")));
        }
        let columns =
            (0..column_count).map(|_| ColumnMeta::decode(fields, version)).collect::<Result<_, _>>()?;
        let (made_by, zones_file_bytes, data_file) = (String::new(), 0, None);
        let (partition, skip_indexes) = (Vec::new(), Vec::new());
        Ok(PartMeta {
            zones_file_bytes,
            data_file,
            skip_indexes,
            row_count,
            value_bytes: 0,
            deleted_count: 0,
            granule_rows,
            names_version: 0,
            made_at_us,
            made_by,
            primary_file_bytes,
            primary_key,
            columns,
            partition,
            ttl: Vec::new(),
        })
    }

    /// Checks that either all columns have offsets in a data file, or none.
    fn check_offsets(&self) -> Result<(), Damage> {
        let is_compact = self.data_file.is_some();
        if self.columns.iter().all(|column| column.offset.is_some() == is_compact) {
            return Ok(());
        }
        Err(Damage::new(0, "some columns are in the data file and some are not"))
    }

    fn decode_tagged(&mut self, fields: &mut FieldReader<'_>) -> Result<(), Damage> {
        for (tag, mut field) in fields.tagged()? {
            match tag {
                tag::DATA_FILE => {
                    self.data_file = Some(DataFile {
                        file_bytes: field.u64()?,
                        zones_offset: field.u64()?,
                        primary_offset: field.u64()?,
                    });
                }
                tag::DELETED => {
                    self.deleted_count = field.u64()?;
                    if self.deleted_count > self.row_count {
                        let what = format!("{} rows of {} are deleted", self.deleted_count, self.row_count);
                        return Err(Damage::new(field.at(), what));
                    }
                }
                tag::NAMES => self.names_version = field.u64()?,
                tag::MADE_BY => self.made_by = field.rest_as_text()?,
                tag::PARTITION => self.partition = decode_list(&mut field)?,
                tag::VALUE_BYTES => self.value_bytes = field.u64()?,
                tag::ZONES_FILE => self.zones_file_bytes = field.u64()?,
                tag::SKIP_INDEXES => {
                    for _ in 0..field.u32()? {
                        self.skip_indexes.push(SkipIndexMeta::decode(&mut field)?);
                    }
                }
                tag::TTL => {
                    for _ in 0..field.u32()? {
                        self.ttl.push(TtlBounds::decode(&mut field)?);
                    }
                }
                unknown => {
                    field.skip(unknown)?;
                    continue;
                }
            }
            field.finish()?;
        }
        Ok(())
    }
}

/// A count and that many *bytes*. Allocates only for bytes that the file has.
fn decode_list(fields: &mut FieldReader<'_>) -> Result<Vec<Vec<u8>>, Damage> {
    let mut list = Vec::new();
    for _ in 0..fields.u32()? {
        list.push(fields.bytes()?.to_vec());
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use basalt_base::checksum::crc32c;

    use super::*;

    fn meta() -> PartMeta {
        PartMeta {
            deleted_count: 0,
            value_bytes: 80,
            row_count: 10,
            granule_rows: 4,
            names_version: 3,
            made_at_us: 7,
            made_by: "0.0.0".to_owned(),
            primary_file_bytes: 0,
            zones_file_bytes: 0,
            data_file: None,
            skip_indexes: Vec::new(),
            primary_key: Vec::new(),
            columns: Vec::new(),
            partition: vec![vec![1, 2]],
            ttl: vec![TtlBounds::new("d")],
        }
    }

    /// The encoded metadata with a change and a correct checksum.
    fn resealed(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut bytes = meta().encode();
        bytes.truncate(bytes.len() - 4);
        change(&mut bytes);
        let crc = crc32c(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }

    #[test]
    fn newer_version_is_not_taken_for_damage() {
        let bytes = resealed(|bytes| bytes[MAGIC.len()] = 3);
        assert_eq!(PartMeta::decode(&bytes).unwrap_err(), MetaError::Newer { version: 3 });
        let error = MetaError::Newer { version: 3 }.in_file(Path::new("/t/all_1_1_0/part.meta"));
        assert!(error.to_string().contains("format version 3, this build reads up to 2"), "{error}");
    }

    #[test]
    fn unknown_field_is_refused_unless_it_is_optional() {
        let mut list = meta().tagged();
        list.put(tag::MADE_BY + 99, |out| out.u32(5));
        let mut tail = FieldWriter::default();
        tail.tagged(&meta().tagged());
        let replaced = |list: &TaggedWriter| {
            let mut out = FieldWriter::default();
            out.tagged(list);
            resealed(|bytes| {
                bytes.truncate(bytes.len() - tail.bytes.len());
                bytes.extend_from_slice(&out.bytes);
            })
        };
        assert_eq!(PartMeta::decode(&replaced(&list)).unwrap().made_by, "0.0.0");
        let mut required = TaggedWriter::default();
        required.put(99, |out| out.u32(5));
        let error = PartMeta::decode(&replaced(&required)).unwrap_err();
        assert!(format!("{error:?}").contains("a newer one wrote it"), "{error:?}");
    }
}
