//! The columns of a table, and which of them are stored together, indexed or searched.

use std::sync::Arc;

use basalt_base::{Result, bail};
use basalt_kv::KvSpec;
use basalt_kv::encoding::KeyEncoder;
use basalt_segment::value::ColumnSample;
use basalt_segment::value::StringEncoding;
use basalt_segment::{ColumnSpec, SegmentSpec};

/// A sample of this size is never filled: only its type is checked.
const CHECKED_SAMPLE_BYTES: usize = 1;

/// The columns of a table. Columns outside the key may be added at the end.
#[derive(Clone, Debug)]
pub struct TableSpec {
    /// The columns, the key and the defaults, as the generations have them.
    pub rows: Arc<KvSpec>,
    /// Columns whose values lie together in segments.
    pub groups: Vec<ColumnGroup>,
    pub indexes: Vec<IndexSpec>,
    /// Positions of the columns whose trigrams are listed.
    pub trigrams: Vec<usize>,
    /// How the strings of each column are stored in segments; of the columns in groups, the first one's counts.
    pub strings: Vec<StringEncoding>,
}

/// Columns of which a segment stores whole records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnGroup {
    pub name: String,
    /// Positions of the columns, none of which is in another group. One that is in the key is in the records too.
    pub columns: Vec<usize>,
}

/// A secondary index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSpec {
    pub name: String,
    /// Positions of the columns, in the order of the index.
    pub columns: Vec<usize>,
}

/// Where the values of a column are in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnPlace {
    /// In the keys.
    Key,
    /// In the records of a group, by the group's position and the column's place in it.
    Group(usize, usize),
    /// In a column of its own, by its position in the segment's spec.
    Column(usize),
}

impl TableSpec {
    /// Columns without groups and indexes.
    pub fn new(rows: KvSpec) -> TableSpec {
        let strings = vec![StringEncoding::default(); rows.columns.len()];
        TableSpec {
            rows: Arc::new(rows),
            groups: Vec::new(),
            indexes: Vec::new(),
            trigrams: Vec::new(),
            strings,
        }
    }

    /// An error if the columns cannot be stored in this way.
    pub fn check(&self) -> Result<()> {
        self.rows.check()?;
        self.check_groups()?;
        self.check_indexes()?;
        for column in &self.segment().columns {
            ColumnSample::new(&column.data_type, CHECKED_SAMPLE_BYTES)?;
        }
        Ok(())
    }

    fn check_groups(&self) -> Result<()> {
        let columns = &self.rows.columns;
        let mut grouped = Vec::new();
        for group in &self.groups {
            if group.columns.is_empty() {
                bail!(BadArguments, "column group `{}` has no columns", group.name);
            }
            for &column in &group.columns {
                if grouped.contains(&column) {
                    bail!(BadArguments, "column `{}` is in two column groups", columns[column].name);
                }
                grouped.push(column);
            }
        }
        Ok(())
    }

    fn check_indexes(&self) -> Result<()> {
        let columns = &self.rows.columns;
        for index in &self.indexes {
            let name = &index.name;
            if index.columns.is_empty() {
                bail!(BadArguments, "index `{name}` has no columns");
            }
            for (at, column) in index.columns.iter().enumerate() {
                if index.columns[..at].contains(column) {
                    bail!(BadArguments, "column `{}` is twice in index `{name}`", columns[*column].name);
                }
                let ty = &columns[*column].ty;
                if KeyEncoder::new([ty].into_iter()).is_err() {
                    bail!(NotImplemented, "index `{name}` over type {ty} is not implemented");
                }
            }
        }
        for (at, &column) in self.trigrams.iter().enumerate() {
            if self.trigrams[..at].contains(&column) {
                bail!(BadArguments, "column `{}` has two indexes of trigrams", columns[column].name);
            }
            if !matches!(self.place(column), ColumnPlace::Column(_)) {
                bail!(
                    BadArguments,
                    "column `{}` has trigrams, so it can be neither in the primary key nor in a column group",
                    columns[column].name
                );
            }
        }
        Ok(())
    }

    /// Whether these are the columns of `other`, followed by new columns.
    pub fn adds_columns_to(&self, other: &TableSpec) -> bool {
        self.rows.adds_columns_to(&other.rows)
            && self.groups == other.groups
            && self.indexes == other.indexes
            && self.trigrams == other.trigrams
    }

    /// What a segment of the table is made of: the groups, then the columns that are in none.
    pub fn segment(&self) -> SegmentSpec {
        let columns = &self.rows.columns;
        let groups = self.groups.iter().map(|group| ColumnSpec {
            strings: group.columns.first().map_or_else(StringEncoding::default, |&first| self.strings[first]),
            ..ColumnSpec::new(format!("group/{}", group.name), arrow::datatypes::DataType::BinaryView)
        });
        let single = self.single().into_iter().map(|column| ColumnSpec {
            strings: self.strings[column],
            has_trigrams: self.trigrams.contains(&column),
            ..ColumnSpec::new(&*columns[column].name, columns[column].ty.carrier())
        });
        SegmentSpec {
            columns: groups.chain(single).collect(),
            indexes: self.indexes.iter().map(|index| index.name.clone()).collect(),
        }
    }

    /// Positions of the columns that are neither in the key nor in a group.
    pub(crate) fn single(&self) -> Vec<usize> {
        let is_grouped = |column: &usize| self.groups.iter().any(|group| group.columns.contains(column));
        self.rows.value_positions().into_iter().filter(|column| !is_grouped(column)).collect()
    }

    /// Where the column at `column` is among the columns of a segment; a column of a group has the place of the group.
    /// `None` for the columns of the key.
    pub fn column_of_segment(&self, column: usize) -> Option<usize> {
        match self.place(column) {
            ColumnPlace::Key => None,
            ColumnPlace::Group(at, _) | ColumnPlace::Column(at) => Some(at),
        }
    }

    pub(crate) fn place(&self, column: usize) -> ColumnPlace {
        for (at, group) in self.groups.iter().enumerate() {
            if let Some(place) = group.columns.iter().position(|&other| other == column) {
                return ColumnPlace::Group(at, place);
            }
        }
        if self.rows.key.contains(&column) {
            return ColumnPlace::Key;
        }
        let before = self.single().into_iter().take_while(|&other| other != column).count();
        ColumnPlace::Column(self.groups.len() + before)
    }
}
