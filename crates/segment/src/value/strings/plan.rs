//! How the strings of a column will be stored: the encoding, what was trained for it, and why.

use basalt_base::Result;
use basalt_codec::Tokens;

use super::archive::ArchiveEncoder;
use super::builder::StringsBuilder;
use super::folding::{FoldingBuilder, distinct_name};
use super::long_match::LongMatchEncoder;
use super::onpair::OnPairEncoder;
use crate::file::{PendingComponent, SpoolPlace};
use crate::value::StoreBuilder;
use crate::value::plain_strings::{self, PlainStringsBuilder};

/// What [`super::choose()`] decided.
#[derive(Debug)]
pub struct StringPlan {
    pub(super) trained: Trained,
    pub(super) is_folded: bool,
    pub(super) reason: String,
}

/// An encoding with what was trained for it.
#[derive(Debug)]
pub(super) enum Trained {
    Plain,
    OnPair(Tokens),
    Archive { dictionary: Vec<u8> },
    LongMatch { dictionary: Vec<u8>, tokens: Tokens },
}

impl StringPlan {
    /// The reason, with sizes on the sample.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Builds the component `name`, and nested ones if it needs them.
    pub fn builder(self, name: &str, place: &SpoolPlace) -> Result<Box<dyn StoreBuilder>> {
        if !self.is_folded {
            return self.trained.builder(name, &self.reason, place);
        }
        let distinct = self.trained.builder(&distinct_name(name), &self.reason, place)?;
        Ok(Box::new(FoldingBuilder::new(name, &self.reason, distinct, place)))
    }
}

impl Trained {
    fn builder(self, name: &str, reason: &str, place: &SpoolPlace) -> Result<Box<dyn StoreBuilder>> {
        Ok(match self {
            Trained::Plain => {
                let component = PendingComponent::new(name, plain_strings::ENCODING);
                let component = PendingComponent { reason: reason.to_owned(), ..component };
                Box::new(PlainStringsBuilder::new(component, place))
            }
            Trained::OnPair(tokens) => {
                Box::new(StringsBuilder::new(name, reason, OnPairEncoder::new(tokens, place), place))
            }
            Trained::Archive { dictionary } => {
                Box::new(StringsBuilder::new(name, reason, ArchiveEncoder::new(dictionary, place)?, place))
            }
            Trained::LongMatch { dictionary, tokens } => {
                let encoder = LongMatchEncoder::new(dictionary, tokens, place);
                Box::new(StringsBuilder::new(name, reason, encoder, place))
            }
        })
    }
}
