//! Writes and reads the small files of a part: sequences of little-endian fields.
//!
//! # Sealed files
//!
//! ```text
//! magic      8 bytes: the kind of file
//! fields
//! crc32c u32 of everything before it
//! ```
//!
//! # Tagged fields
//!
//! A file that has a list of tagged fields can grow without a new format version:
//!
//! ```text
//! fields u32, then for each: tag u32, bytes      tags ascend
//! ```
//!
//! A field with its default value is omitted. An unknown tag is refused, unless it has [`OPTIONAL`] set: such a
//! field only makes reading faster, and may be skipped.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use basalt_base::checksum::crc32c;

use crate::error::Damage;

/// A bit in the tag of fields that a reader may skip.
pub(crate) const OPTIONAL: u32 = 1 << 31;

/// The least bytes of a tagged field.
const TAGGED_BYTES_MIN: usize = 8;

/// Appends fields to bytes.
#[derive(Debug, Default)]
pub(crate) struct FieldWriter {
    pub(crate) bytes: Vec<u8>,
}

/// The first bytes of a file, which tell its kind.
pub(crate) type Magic = [u8; 8];

impl FieldWriter {
    /// Begins a sealed file.
    pub(crate) fn of_file(magic: &Magic) -> FieldWriter {
        FieldWriter { bytes: magic.to_vec() }
    }

    /// The complete sealed file.
    pub(crate) fn sealed(mut self) -> Vec<u8> {
        self.u32(crc32c(&self.bytes));
        self.bytes
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a count or a length.
    pub(crate) fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).expect("a count and the length of a field are far below 2^32"));
    }

    /// Appends a length and the bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.raw(bytes);
    }

    pub(crate) fn tagged(&mut self, list: &TaggedWriter) {
        self.count(list.fields.len());
        for (tag, bytes) in &list.fields {
            self.u32(*tag);
            self.bytes(bytes);
        }
    }
}

/// Collects tagged fields, in the order of their tags.
#[derive(Debug, Default)]
pub(crate) struct TaggedWriter {
    fields: Vec<(u32, Vec<u8>)>,
}

impl TaggedWriter {
    /// Adds the field `tag` with what `write` appends.
    pub(crate) fn put(&mut self, tag: u32, write: impl FnOnce(&mut FieldWriter)) {
        assert!(self.fields.last().is_none_or(|(last, _)| *last < tag), "tags ascend");
        let mut field = FieldWriter::default();
        write(&mut field);
        self.fields.push((tag, field.bytes));
    }
}

/// Reads the fields of a file in memory. Every read checks for the end.
#[derive(Debug)]
pub(crate) struct FieldReader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The offset of `bytes` in the file.
    origin: usize,
}

impl<'a> FieldReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> FieldReader<'a> {
        FieldReader { bytes, at: 0, origin: 0 }
    }

    /// The fields of a sealed file; `what` names it in errors, for example a primary index.
    pub(crate) fn of_file(bytes: &'a [u8], magic: &Magic, what: &str) -> Result<FieldReader<'a>, Damage> {
        let Some((body, crc)) = bytes.split_last_chunk::<4>() else {
            return Err(Damage::new(bytes.len(), "the file ends early"));
        };
        let (stored, computed) = (u32::from_le_bytes(*crc), crc32c(body));
        if stored != computed {
            let what = format!("checksum is {stored:#010x}, computed {computed:#010x}");
            return Err(Damage::new(body.len(), what));
        }
        let mut fields = FieldReader::new(body);
        if fields.array()? != *magic {
            return Err(Damage::new(0, format!("this is not {what}")));
        }
        Ok(fields)
    }

    /// The offset of the next field.
    pub(crate) fn at(&self) -> usize {
        self.origin + self.at
    }

    pub(crate) fn raw(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        let rest = &self.bytes[self.at..];
        let field = rest.get(..count).ok_or_else(|| Damage::new(self.at(), "the file ends early"))?;
        self.at += count;
        Ok(field)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        Ok(self.raw(N)?.try_into().expect("N bytes were read"))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Damage> {
        self.array().map(u32::from_le_bytes)
    }

    /// A count or a length.
    pub(crate) fn count(&mut self) -> Result<usize, Damage> {
        let at = self.at();
        Damage::size(at, u64::from(self.u32()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Damage> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Damage> {
        let count = self.count()?;
        self.raw(count)
    }

    pub(crate) fn text(&mut self) -> Result<String, Damage> {
        let at = self.at();
        let bytes = self.bytes()?.to_vec();
        String::from_utf8(bytes).map_err(|_| Damage::new(at, "a name is not UTF-8"))
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The rest as text.
    pub(crate) fn rest_as_text(&mut self) -> Result<String, Damage> {
        let (at, rest) = (self.at(), self.bytes.len() - self.at);
        let bytes = self.raw(rest)?.to_vec();
        String::from_utf8(bytes).map_err(|_| Damage::new(at, "a name is not UTF-8"))
    }

    /// The tagged fields of a list, each with a reader of its own.
    pub(crate) fn tagged(&mut self) -> Result<Vec<(u32, FieldReader<'a>)>, Damage> {
        let count = self.count()?;
        if count > self.bytes.len() / TAGGED_BYTES_MIN {
            return Err(Damage::new(self.at(), format!("{count} fields do not fit the file")));
        }
        let mut fields: Vec<(u32, FieldReader<'a>)> = Vec::with_capacity(count);
        for _ in 0..count {
            let (at, tag) = (self.at(), self.u32()?);
            if fields.last().is_some_and(|(last, _)| *last >= tag) {
                return Err(Damage::new(at, format!("field {tag:#x} is not in ascending order")));
            }
            let bytes = self.bytes()?;
            fields.push((tag, FieldReader { bytes, at: 0, origin: self.at() - bytes.len() }));
        }
        Ok(fields)
    }

    /// Handles an unknown tag: fails unless the field may be skipped.
    pub(crate) fn skip(&self, tag: u32) -> Result<(), Damage> {
        if tag & OPTIONAL == OPTIONAL {
            return Ok(());
        }
        Err(Damage::new(
            self.at(),
            format!("field {tag:#x} is not known to this build, a newer one wrote it"),
        ))
    }

    /// Fails unless every byte was read.
    pub(crate) fn finish(self) -> Result<(), Damage> {
        if self.is_at_end() { Ok(()) } else { Err(Damage::new(self.at(), "bytes after the end")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(fields: &[(u32, &[u8])]) -> Vec<u8> {
        let mut list = TaggedWriter::default();
        for (tag, bytes) in fields {
            list.put(*tag, |out| out.raw(bytes));
        }
        let mut out = FieldWriter::default();
        out.tagged(&list);
        out.bytes
    }

    #[test]
    fn tagged_fields_come_back_in_order_and_only_optional_ones_are_skipped() {
        let bytes = list(&[(1, b"ab"), (OPTIONAL | 1, b""), (OPTIONAL | 7, b"c")]);
        let mut reader = FieldReader::new(&bytes);
        let mut fields = reader.tagged().unwrap();
        assert_eq!(fields.iter().map(|(tag, _)| *tag).collect::<Vec<_>>(), [1, OPTIONAL | 1, OPTIONAL | 7]);
        assert_eq!(fields[0].1.at(), 4 + 8);
        assert!(fields[0].1.skip(1).unwrap_err().what.contains("a newer one wrote it"));
        fields[2].1.skip(OPTIONAL | 7).unwrap();
        assert_eq!(fields[2].1.raw(1).unwrap(), b"c");
        reader.finish().unwrap();
    }

    #[test]
    fn damaged_lists_are_refused() {
        let bytes = list(&[(1, b"ab"), (2, b"c")]);
        for end in 0..bytes.len() {
            FieldReader::new(&bytes[..end]).tagged().unwrap_err();
        }
        let mut twice = bytes.clone();
        twice[4] = 2;
        FieldReader::new(&twice).tagged().unwrap_err();
        let mut many = bytes;
        many[..4].copy_from_slice(&u32::MAX.to_le_bytes());
        FieldReader::new(&many).tagged().unwrap_err();
    }
}
