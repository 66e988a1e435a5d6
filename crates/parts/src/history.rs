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
    },
    /// What is called so from now on is another column.
    Dropped {
        name: String,
    },
}

/// All changes of the names of a table's columns in their order; the first has number 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnHistory(Arc<[NameChange]>);

impl ColumnHistory {
    pub fn new(changes: Vec<NameChange>) -> ColumnHistory {
        ColumnHistory(changes.into())
    }

    pub fn changes(&self) -> &[NameChange] {
        &self.0
    }

    /// The number of the last change.
    pub(crate) fn version(&self) -> u64 {
        self.0.len() as u64
    }

    /// Makes the changes that the metadata has not seen; `false` if it has seen all of them.
    pub(crate) fn apply(&self, meta: &mut PartMeta) -> bool {
        // What a part saw that the definition does not know is a part from elsewhere.
        let seen = meta.names_version.min(self.version());
        for change in &self.0[seen as usize..] {
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
            NameChange::Renamed { from, to } => {
                let names = meta.columns.iter_mut().map(|column| &mut column.name);
                names.filter(|name| *name == from).for_each(|name| name.clone_from(to));
                meta.skip_indexes.iter_mut().for_each(|index| index.of = renamed(&index.of, from, to));
                meta.skip_indexes.retain(|index| !mentions(&index.of, from));
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

/// What an index is of, if that is a list of columns. An expression keeps its text, and an index of it is of
/// no more use to the part.
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
