//! Opens a store of strings of any encoding: the list of encodings.

use basalt_base::Result;

use super::archive::{self, ArchiveDecoder};
use super::decoded::DecodedStrings;
use super::folding::{self, FoldedStrings};
use super::long_match::{self, LongMatchDecoder};
use super::onpair::{self, OnPairStrings};
use super::plain::{self, Plain};
use crate::file::{ComponentReader, SegmentFile};
use crate::value::ColumnStore;

/// Whether [`open`] knows the encoding of this name.
pub fn is_encoding(encoding: &str) -> bool {
    [plain::NAME, onpair::NAME, archive::NAME, long_match::NAME, folding::NAME].contains(&encoding)
}

/// The strings in the component `name` of `file` and in those nested in it.
pub fn open(file: &SegmentFile, name: &str) -> Result<Box<dyn ColumnStore>> {
    let component = file.component(name)?;
    if component.encoding() != folding::NAME {
        return open_records(component);
    }
    let distinct = file.component(&folding::distinct_name(name))?;
    Ok(Box::new(match distinct.encoding() {
        onpair::NAME => FoldedStrings::of_codes(component, OnPairStrings::open(distinct)?)?,
        _ => FoldedStrings::open(component, open_records(distinct)?)?,
    }))
}

/// A store that consists of one component.
fn open_records(mut component: ComponentReader<'_>) -> Result<Box<dyn ColumnStore>> {
    Ok(match component.encoding() {
        plain::NAME => Box::new(DecodedStrings::open(Plain, component)?),
        onpair::NAME => Box::new(OnPairStrings::open(component)?),
        archive::NAME => {
            let decoder = ArchiveDecoder::open(&mut component)?;
            Box::new(DecodedStrings::open(decoder, component)?)
        }
        long_match::NAME => {
            let decoder = LongMatchDecoder::open(&mut component)?;
            Box::new(DecodedStrings::open(decoder, component)?)
        }
        other => return Err(component.place().corrupt(format!("`{other}` is no encoding of strings"))),
    })
}
