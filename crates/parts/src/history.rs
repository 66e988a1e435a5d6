//! What happened to the names of a table's columns, so that parts of before are read by today's names.
//!
//! A part's metadata names its columns as they were called when it was written. Renaming or dropping a column
//! touches no part: the table's definition keeps the changes, numbered, and every part says up to which one
//! its names are of. Where a part is opened, the later ones are made in memory. So a change of names is a
//! change of the definition alone, which is one file: it has happened or it has not.

use std::sync::Arc;

use crate::part::meta::PartMeta;

/// One change of the names of the columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameChange {
    Renamed {
        from: String,
        to: String,
        /// Skip indexes of expressions over the column: their [text](crate::SkipIndex::text) before, and since.
        texts: Vec<(String, String)>,
    },
    /// What is called so from now on is another column.
    Dropped { name: String },
}

/// The changes of the names of a table's columns in their order; the first there ever was has number 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnHistory {
    /// How many changes came before the others: no part needs them any more.
    forgotten: u64,
    changes: Arc<[NameChange]>,
}

impl ColumnHistory {
    /// `changes`, before which there were `forgotten` others.
    pub fn new(forgotten: u64, changes: Vec<NameChange>) -> ColumnHistory {
        ColumnHistory { forgotten, changes: changes.into() }
    }

    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    pub fn changes(&self) -> &[NameChange] {
        &self.changes
    }

    /// The same with `more` changes, and without those up to number `unneeded`.
    pub fn followed_by(&self, more: &[NameChange], unneeded: u64) -> ColumnHistory {
        let gone = unneeded.clamp(self.forgotten, self.version()) - self.forgotten;
        let kept = self.changes[gone as usize..].iter().chain(more);
        ColumnHistory::new(self.forgotten + gone, kept.cloned().collect())
    }

    /// The number of the last change.
    pub(crate) fn version(&self) -> u64 {
        self.forgotten + self.changes.len() as u64
    }

    /// Makes the changes that the metadata has not seen; `false` if it has seen all of them.
    pub(crate) fn apply(&self, meta: &mut PartMeta) -> bool {
        // What a part saw that the definition does not know, or knows no more, is a part from elsewhere.
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
                // An index of a column of that name that is added later is another one.
                meta.skip_indexes.retain(|index| !mentions(&index.of, name));
                meta.ttl.retain(|bounds| !mentions(&bounds.name, name));
            }
        }
    }
}

/// What an index is of, if that is a list of columns. An expression of which the change says nothing keeps its
/// text: the table has no such index any more.
fn renamed(of: &str, from: &str, to: &str) -> String {
    let columns: Vec<&str> = of.split(", ").map(|name| if name == from { to } else { name }).collect();
    columns.join(", ")
}

/// Whether the text of an expression may have the column called `name` in it.
fn mentions(text: &str, name: &str) -> bool {
    let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut words = text.split(|letter| !is_of_word(letter));
    // A name that is quoted is not one word.
    if name.chars().all(is_of_word) { words.any(|word| word == name) } else { text.contains(name) }
}
