//! Little-endian fields in a row: how the small files of a part are written and read back.

use crate::error::Damage;

/// Appends fields to bytes.
#[derive(Debug, Default)]
pub(crate) struct FieldWriter {
    pub(crate) bytes: Vec<u8>,
}

impl FieldWriter {
    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// A length and that many bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.u32(u32::try_from(bytes.len()).expect("a field is far shorter than 4 GiB"));
        self.raw(bytes);
    }
}

/// Reads the fields of a file that is wholly in memory. Every read may find the end.
#[derive(Debug)]
pub(crate) struct FieldReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> FieldReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> FieldReader<'a> {
        FieldReader { bytes, at: 0 }
    }

    /// Where the next field begins.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn raw(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        let rest = &self.bytes[self.at..];
        let field = rest.get(..count).ok_or_else(|| Damage::new(self.at, "the file ends early"))?;
        self.at += count;
        Ok(field)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        Ok(self.raw(N)?.try_into().expect("N bytes were read"))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Damage> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Damage> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Damage> {
        let count = self.u32()? as usize;
        self.raw(count)
    }

    pub(crate) fn text(&mut self) -> Result<String, Damage> {
        let at = self.at;
        let bytes = self.bytes()?.to_vec();
        String::from_utf8(bytes).map_err(|_| Damage::new(at, "a name is not UTF-8"))
    }

    /// Fails unless every byte was read.
    pub(crate) fn finish(self) -> Result<(), Damage> {
        if self.at == self.bytes.len() { Ok(()) } else { Err(Damage::new(self.at, "bytes behind the end")) }
    }
}
