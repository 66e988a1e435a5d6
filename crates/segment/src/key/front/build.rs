//! Builds an index in one pass over the sorted keys.

use basalt_base::Result;
use basalt_codec::{TokenMatcher, Tokens};

use super::layout::{BLOCK_KEYS_MAX, ENCODING};
use super::level::LevelBuilder;
use crate::file::{PendingComponent, SpoolPlace};

/// Keys of a block. More take fewer bytes and more time.
const BLOCK_KEYS: usize = 64;

const _: () = assert!(BLOCK_KEYS <= BLOCK_KEYS_MAX);

/// Takes distinct keys in order. It holds a block of each level, and the tokens.
pub(in crate::key) struct FrontBuilder {
    component: PendingComponent,
    place: SpoolPlace,
    tokens: Tokens,
    matcher: TokenMatcher,
    levels: Vec<LevelBuilder>,
    count: u64,
    separator: Vec<u8>,
}

impl FrontBuilder {
    pub(in crate::key) fn new(name: &str, tokens: Tokens, place: &SpoolPlace) -> FrontBuilder {
        FrontBuilder {
            component: PendingComponent::new(name, ENCODING),
            place: place.clone(),
            matcher: TokenMatcher::new(&tokens),
            tokens,
            levels: vec![LevelBuilder::new(place, BLOCK_KEYS)],
            count: 0,
            separator: Vec::new(),
        }
    }

    pub(in crate::key) fn push(&mut self, key: &[u8]) -> Result<()> {
        self.count += 1;
        self.component.raw_bytes += key.len() as u64;
        let bits = self.tokens.bits();
        let Some(bytes) = self.levels[0].push(key, &self.matcher, bits)? else { return Ok(()) };
        self.separator.clear();
        self.separator.extend_from_slice(&key[..bytes]);
        for above in 1.. {
            if self.levels.len() == above {
                let mut level = LevelBuilder::new(&self.place, BLOCK_KEYS);
                // The first block has no key before it.
                level.push(b"", &self.matcher, bits)?;
                self.levels.push(level);
            }
            // It goes up whole: a shorter one would not separate the keys.
            if self.levels[above].push(&self.separator, &self.matcher, bits)?.is_none() {
                break;
            }
        }
        Ok(())
    }

    pub(in crate::key) fn finish(mut self) -> Result<PendingComponent> {
        self.component.number(self.count);
        self.component.number(BLOCK_KEYS as u64);
        self.component.number(self.levels.len() as u64);
        let mut tokens = Vec::new();
        self.tokens.write(&mut tokens);
        self.component.section(self.place.spool_of(&tokens)?);
        for level in self.levels {
            level.finish(self.tokens.bits(), &mut self.component)?;
        }
        Ok(self.component)
    }
}
