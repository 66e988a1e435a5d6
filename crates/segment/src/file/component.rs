//! A component on its way into a file, and out of it.

use basalt_base::Result;
use basalt_base::region::Section;

use super::bytes::Bytes;
use super::directory::Component;
use super::spool::Spool;
use crate::Place;

/// What a builder made: the directory entry, and the bytes of its sections.
#[derive(Debug, Default)]
pub struct PendingComponent {
    pub name: String,
    pub encoding: String,
    pub reason: String,
    pub raw_bytes: u64,
    pub numbers: Vec<u64>,
    pub sections: Vec<Spool>,
}

impl PendingComponent {
    pub fn new(name: impl Into<String>, encoding: &str) -> PendingComponent {
        PendingComponent { name: name.into(), encoding: encoding.to_owned(), ..Default::default() }
    }

    pub fn number(&mut self, number: u64) {
        self.numbers.push(number);
    }

    pub fn section(&mut self, section: Spool) {
        self.sections.push(section);
    }

    /// The bytes of all sections.
    pub fn stored_bytes(&self) -> u64 {
        self.sections.iter().map(Spool::len).sum()
    }
}

/// Reads the numbers and sections of a component in the order in which they were added. Every value is checked: a
/// damaged or foreign file gives an error.
pub struct ComponentReader<'a> {
    component: &'a Component,
    place: Place,
    numbers: &'a [u64],
    sections: std::vec::IntoIter<Bytes>,
}

impl<'a> ComponentReader<'a> {
    pub(super) fn new(component: &'a Component, place: Place, sections: Vec<Bytes>) -> ComponentReader<'a> {
        ComponentReader { component, place, numbers: &component.numbers, sections: sections.into_iter() }
    }

    pub fn encoding(&self) -> &str {
        &self.component.encoding
    }

    pub fn component(&self) -> &Component {
        self.component
    }

    /// Names the component in errors.
    pub fn place(&self) -> &Place {
        &self.place
    }

    pub fn number(&mut self) -> Result<u64> {
        let (&number, rest) =
            self.numbers.split_first().ok_or_else(|| self.place.corrupt("a number is missing"))?;
        self.numbers = rest;
        Ok(number)
    }

    /// A number that is at most `limit`.
    pub fn number_to(&mut self, limit: u64) -> Result<u64> {
        match self.number()? {
            number if number <= limit => Ok(number),
            number => Err(self.place.corrupt(format!("{number} is more than {limit}"))),
        }
    }

    /// The next section, whose bytes are read when they are used, in any order: values.
    pub fn bytes(&mut self) -> Result<Bytes> {
        self.next_section().map(Bytes::values)
    }

    fn next_section(&mut self) -> Result<Bytes> {
        self.sections.next().ok_or_else(|| self.place.corrupt("a section is missing"))
    }

    /// The next section as memory, with its checksums compared; for structures that every lookup uses.
    pub fn resident(&mut self) -> Result<Section> {
        self.next_section()?.resident()
    }

    /// [`ComponentReader::resident`] of exactly `bytes` bytes.
    pub fn resident_of(&mut self, bytes: u64) -> Result<Section> {
        let section = self.resident()?;
        match section.len() as u64 == bytes {
            true => Ok(section),
            false => Err(self.place.corrupt(format!("a section has {} bytes, not {bytes}", section.len()))),
        }
    }

    /// An error if numbers or sections are left.
    pub fn finish(self) -> Result<()> {
        match (self.numbers, self.sections.len()) {
            ([], 0) => Ok(()),
            _ => Err(self.place.corrupt("it has more numbers or sections than its encoding")),
        }
    }
}
