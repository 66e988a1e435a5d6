//! The list of components at the end of a file.

use std::ops::Range;

use crate::Corrupt;

/// A part of a segment: an index, a column, a filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Component {
    /// What it is, for example `key` or `column/score`. A nested one has its owner's name and a slash before its own.
    pub name: String,
    /// The name of the encoding, which decides what numbers and sections mean.
    pub encoding: String,
    /// Why the builder chose this encoding, for people.
    pub reason: String,
    /// The bytes of the values before they were encoded: without NULLs, and without the ends of strings and lists.
    pub raw_bytes: u64,
    pub numbers: Vec<u64>,
    /// Ranges of bytes of the file.
    pub sections: Vec<Range<u64>>,
}

/// The directory of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Directory {
    pub(super) rows: u64,
    pub(super) tombstones: u64,
    pub(super) components: Vec<Component>,
    /// The checksum of each page of what is before the directory.
    pub(super) sums: Vec<u32>,
}

impl Component {
    /// The bytes that it takes in the file.
    pub fn stored_bytes(&self) -> u64 {
        self.sections.iter().map(|section| section.end - section.start).sum()
    }
}

impl Directory {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        long(&mut out, self.rows);
        long(&mut out, self.tombstones);
        count(&mut out, self.components.len());
        for component in &self.components {
            for text in [&component.name, &component.encoding, &component.reason] {
                count(&mut out, text.len());
                out.extend_from_slice(text.as_bytes());
            }
            long(&mut out, component.raw_bytes);
            count(&mut out, component.numbers.len());
            component.numbers.iter().for_each(|&number| long(&mut out, number));
            count(&mut out, component.sections.len());
            for section in &component.sections {
                long(&mut out, section.start);
                long(&mut out, section.end - section.start);
            }
        }
        count(&mut out, self.sums.len());
        self.sums.iter().for_each(|sum| out.extend_from_slice(&sum.to_le_bytes()));
        out
    }

    /// Sections lie in the first `end` bytes of the file.
    pub(super) fn decode(bytes: &[u8], end: u64) -> Result<Directory, Corrupt> {
        let mut input = Input(bytes);
        let (rows, tombstones) = (input.long()?, input.long()?);
        let components = input.list(|input| input.component(end))?;
        let sums = input.list(Input::word)?;
        match input.0 {
            [] => Ok(Directory { rows, tombstones, components, sums }),
            _ => Err(Corrupt::Truncated),
        }
    }
}

/// The bytes that are left.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], Corrupt> {
        let (front, rest) = self.0.split_at_checked(bytes).ok_or(Corrupt::Truncated)?;
        self.0 = rest;
        Ok(front)
    }

    fn word(&mut self) -> Result<u32, Corrupt> {
        let (front, rest) = self.0.split_first_chunk().ok_or(Corrupt::Truncated)?;
        self.0 = rest;
        Ok(u32::from_le_bytes(*front))
    }

    fn long(&mut self) -> Result<u64, Corrupt> {
        let (front, rest) = self.0.split_first_chunk().ok_or(Corrupt::Truncated)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*front))
    }

    /// A count, and as many elements. Nothing is allocated for elements that are not there.
    fn list<T>(&mut self, read: impl Fn(&mut Self) -> Result<T, Corrupt>) -> Result<Vec<T>, Corrupt> {
        let count = self.word()?;
        (0..count).map(|_| read(self)).collect()
    }

    fn text(&mut self) -> Result<String, Corrupt> {
        let bytes = self.word()? as usize;
        String::from_utf8(self.take(bytes)?.to_vec()).map_err(|_| Corrupt::Truncated)
    }

    fn component(&mut self, end: u64) -> Result<Component, Corrupt> {
        let (name, encoding, reason) = (self.text()?, self.text()?, self.text()?);
        let raw_bytes = self.long()?;
        let numbers = self.list(Input::long)?;
        let section = |input: &mut Self| {
            let (start, bytes) = (input.long()?, input.long()?);
            let range = start.checked_add(bytes).filter(|&to| to <= end).map(|to| start..to);
            range.ok_or_else(|| Corrupt::Component {
                component: name.clone(),
                what: format!("{bytes} bytes at {start} are outside of the sections"),
            })
        };
        let sections = self.list(section)?;
        Ok(Component { name, encoding, reason, raw_bytes, numbers, sections })
    }
}

fn long(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// A builder makes far fewer elements than 2^32: pages of a file of 256 TiB, bytes of a name.
fn count(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(&(number as u32).to_le_bytes());
}
