//! Opens a store of strings of any encoding: the list of encodings.

use std::sync::Arc;

use basalt_base::Result;

use super::archive::{self, ArchiveDecoder};
use super::decoded::DecodedStrings;
use super::folding::{self, FoldedStrings};
use super::long_match::{self, LongMatchDecoder};
use super::onpair::{self, OnPairStrings};
use crate::file::{ComponentReader, SegmentFile};
use crate::value::ColumnStore;
use crate::value::plain_strings::{self, PlainStrings};

/// Whether [`open`] knows the encoding of this name.
pub fn is_encoding(encoding: &str) -> bool {
    [onpair::ENCODING, archive::ENCODING, long_match::ENCODING, folding::ENCODING].contains(&encoding)
}

/// The strings in the component `name` of `file` and in those nested in it.
pub fn open(file: &SegmentFile, name: &str) -> Result<Arc<dyn ColumnStore>> {
    let component = file.component(name)?;
    if component.encoding() != folding::ENCODING {
        return open_records(component);
    }
    let distinct = file.component(&folding::distinct_name(name))?;
    Ok(Arc::new(match distinct.encoding() {
        onpair::ENCODING => FoldedStrings::of_codes(component, OnPairStrings::open(distinct)?)?,
        _ => FoldedStrings::open(component, open_records(distinct)?)?,
    }))
}

/// A store that consists of one component.
fn open_records(mut component: ComponentReader<'_>) -> Result<Arc<dyn ColumnStore>> {
    Ok(match component.encoding() {
        plain_strings::ENCODING => {
            let store = PlainStrings::open(&mut component)?;
            component.finish()?;
            Arc::new(store)
        }
        onpair::ENCODING => Arc::new(OnPairStrings::open(component)?),
        archive::ENCODING => {
            let decoder = ArchiveDecoder::open(&mut component)?;
            Arc::new(DecodedStrings::open(decoder, component)?)
        }
        long_match::ENCODING => {
            let decoder = LongMatchDecoder::open(&mut component)?;
            Arc::new(DecodedStrings::open(decoder, component)?)
        }
        other => return Err(component.place().corrupt(format!("`{other}` is no encoding of strings"))),
    })
}
