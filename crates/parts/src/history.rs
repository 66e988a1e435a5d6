//! The history of a table's column names, through which older parts are read under the current names.
//!
//! A part's metadata names its columns as they were called when it was written. Renaming or dropping a column
//! touches no part: the table's definition records the changes with numbers, and every part records the last change
//! before it was written. When a part is opened, later changes are applied in memory. So a change of names only
//! changes the definition, which is one file, and is atomic.

use std::sync::Arc;

use crate::part::meta::PartMeta;

/// One change of the names of the columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameChange {
    Renamed {
        from: String,
        to: String,
        /// Skip indexes of expressions over the column: their [text](crate::SkipIndex::text) before and after.
        texts: Vec<(String, String)>,
    },
    /// A later column of this name is another column.
    Dropped { name: String },
}

/// The changes of a table's column names in order. The first change ever has the number 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnHistory {
    /// The number of earlier changes, which no part needs any more.
    forgotten: u64,
    changes: Arc<[NameChange]>,
}

impl ColumnHistory {
    /// `changes`, preceded by `forgotten` others.
    pub fn new(forgotten: u64, changes: Vec<NameChange>) -> ColumnHistory {
        ColumnHistory { forgotten, changes: changes.into() }
    }

    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    pub fn changes(&self) -> &[NameChange] {
        &self.changes
    }

    /// The history with `more` changes, and without those up to the number `unneeded`.
    pub fn followed_by(&self, more: &[NameChange], unneeded: u64) -> ColumnHistory {
        let gone = unneeded.clamp(self.forgotten, self.version()) - self.forgotten;
        let kept = self.changes[gone as usize..].iter().chain(more);
        ColumnHistory::new(self.forgotten + gone, kept.cloned().collect())
    }

    /// The number of the last change.
    pub(crate) fn version(&self) -> u64 {
        self.forgotten + self.changes.len() as u64
    }

    /// Applies the changes that the metadata has not seen; `false` if there are none.
    pub(crate) fn apply(&self, meta: &mut PartMeta) -> bool {
        // A part from another table may have seen changes that the definition does not know.
        let seen = meta.names_version.clamp(self.forgotten, self.version());
        for change in &self.changes[(seen - self.forgotten) as usize..] {
            change.apply(meta);
        }
        let is_changed = meta.names_version != self.version();
        meta.names_version = self.version();
        is_changed
    }
}

impl NameChange {
    fn apply(&self, meta: &mut PartMeta) {
        match self {
            NameChange::Renamed { from, to, texts } => {
                let names = meta.columns.iter_mut().map(|column| &mut column.name);
                names.filter(|name| *name == from).for_each(|name| name.clone_from(to));
                meta.skip_indexes.retain_mut(|index| match texts.iter().find(|(old, _)| *old == index.of) {
                    Some((_, new)) => {
                        index.of.clone_from(new);
                        true
                    }
                    None => {
                        index.of = renamed(&index.of, from, to);
                        !mentions(&index.of, from)
                    }
                });
                meta.ttl.retain(|bounds| !mentions(&bounds.name, from));
            }
            NameChange::Dropped { name } => {
                meta.columns.retain(|column| column.name != *name);
                // A later index of a column of that name is another index.
                meta.skip_indexes.retain(|index| !mentions(&index.of, name));
                meta.ttl.retain(|bounds| !mentions(&bounds.name, name));
            }
        }
    }
}

/// The renamed elements of an index, if they are columns. An expression without an entry in the change keeps its
/// text: the table no longer has its index.
fn renamed(of: &str, from: &str, to: &str) -> String {
    let columns: Vec<&str> = of.split(", ").map(|name| if name == from { to } else { name }).collect();
    columns.join(", ")
}

/// Whether the text of an expression may mention the column called `name`.
fn mentions(text: &str, name: &str) -> bool {
    let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut words = text.split(|letter| !is_of_word(letter));
    // A quoted name is not one word.
    if name.chars().all(is_of_word) { words.any(|word| word == name) } else { text.contains(name) }
}
