//! The tree of privileges, from a file that `scripts/clickhouse-privileges` writes.

use std::collections::HashMap;
use std::ops::{BitAnd, BitOr, BitOrAssign, Not};
use std::sync::LazyLock;

/// 64-bit words of a set; enough for all lines of the file.
const WORDS: usize = 4;

/// A line of the file.
#[derive(Debug)]
pub struct Privilege {
    pub name: &'static str,
    pub aliases: Vec<&'static str>,
    /// `None` for a name that only stands for others.
    pub level: Option<Level>,
    pub parent: Option<&'static str>,
    /// The privilege itself unless it only stands for others, and all below it.
    set: PrivilegeSet,
}

/// What a privilege may be granted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Global,
    Database,
    Table,
    View,
    Dictionary,
    Column,
    UserName,
    Definer,
    TableEngine,
    NamedCollection,
    Source,
}

/// A set of privileges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrivilegeSet([u64; WORDS]);

struct Tree {
    privileges: Vec<Privilege>,
    by_name: HashMap<&'static str, usize>,
}

static TREE: LazyLock<Tree> = LazyLock::new(|| Tree::parse(include_str!("privileges.txt")));

impl Level {
    const NAMES: &'static [(&'static str, Level)] = &[
        ("GLOBAL", Level::Global),
        ("DATABASE", Level::Database),
        ("TABLE", Level::Table),
        ("VIEW", Level::View),
        ("DICTIONARY", Level::Dictionary),
        ("COLUMN", Level::Column),
        ("USER_NAME", Level::UserName),
        ("DEFINER", Level::Definer),
        ("TABLE_ENGINE", Level::TableEngine),
        ("NAMED_COLLECTION", Level::NamedCollection),
        ("SOURCE", Level::Source),
    ];

    /// ClickHouse's name.
    pub fn name(self) -> &'static str {
        Level::NAMES.iter().find(|(_, level)| *level == self).map_or("", |(name, _)| name)
    }

    /// Whether a privilege of this level may be granted on a path of `names` names.
    fn reaches(self, names: usize) -> bool {
        match names {
            0 => true,
            1 => matches!(
                self,
                Level::Database | Level::Table | Level::View | Level::Dictionary | Level::Column
            ),
            2 => matches!(self, Level::Table | Level::View | Level::Dictionary | Level::Column),
            _ => self == Level::Column,
        }
    }
}

impl Tree {
    fn parse(text: &'static str) -> Tree {
        let mut tree = Tree { privileges: Vec::new(), by_name: HashMap::new() };
        for (index, line) in text.lines().enumerate() {
            let mut fields = line.split('\t');
            let mut field = || fields.next().unwrap_or_default();
            let (name, aliases, level, parent) = (field(), field(), field(), field());
            let level = Level::NAMES.iter().find(|(known, _)| *known == level).map(|&(_, level)| level);
            let set = if level.is_some() { PrivilegeSet::single(index) } else { PrivilegeSet::default() };
            let aliases: Vec<&str> = aliases.split(',').filter(|alias| !alias.is_empty()).collect();
            for alias in &aliases {
                tree.by_name.entry(alias).or_insert(index);
            }
            tree.by_name.insert(name, index);
            let parent = Some(parent).filter(|parent| !parent.is_empty());
            tree.privileges.push(Privilege { name, aliases, level, parent, set });
        }
        for index in 0..tree.privileges.len() {
            let set = tree.privileges[index].set;
            let mut parent = tree.privileges[index].parent;
            while let Some(above) = parent.and_then(|name| tree.by_name.get(name).copied()) {
                tree.privileges[above].set |= set;
                parent = tree.privileges[above].parent;
            }
        }
        tree
    }
}

/// All privileges in ClickHouse's order.
pub fn privileges() -> &'static [Privilege] {
    &TREE.privileges
}

impl PrivilegeSet {
    pub const NONE: PrivilegeSet = PrivilegeSet([0; WORDS]);

    fn single(index: usize) -> PrivilegeSet {
        let mut words = [0; WORDS];
        words[index / 64] = 1 << (index % 64);
        PrivilegeSet(words)
    }

    /// The privileges that a name stands for, in any case of letters.
    pub fn named(name: &str) -> Option<PrivilegeSet> {
        let exact = TREE.by_name.get(name);
        let index = exact.or_else(|| {
            TREE.by_name.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, index)| index)
        })?;
        Some(TREE.privileges[*index].set)
    }

    /// The privileges called `name`, which this program names; none if there is no such name.
    pub fn of(name: &'static str) -> PrivilegeSet {
        let set = PrivilegeSet::named(name);
        debug_assert!(set.is_some(), "{name}");
        set.unwrap_or_default()
    }

    pub fn all() -> PrivilegeSet {
        PrivilegeSet::of("ALL")
    }

    /// Each privilege of the set alone.
    pub fn each(self) -> impl Iterator<Item = PrivilegeSet> {
        let single = (0..TREE.privileges.len()).map(PrivilegeSet::single);
        single.filter(move |one| self.contains(*one))
    }

    /// Those that may be granted on a path of `names` names: nothing, a database, a table, a column.
    pub fn grantable_on(names: usize) -> PrivilegeSet {
        let reach = |(index, privilege): (usize, &Privilege)| {
            privilege.level.filter(|level| level.reaches(names)).map(|_| PrivilegeSet::single(index))
        };
        TREE.privileges.iter().enumerate().filter_map(reach).fold(PrivilegeSet::NONE, |all, one| all | one)
    }

    pub fn is_empty(self) -> bool {
        self == PrivilegeSet::NONE
    }

    pub fn contains(self, other: PrivilegeSet) -> bool {
        other & self == other
    }

    #[must_use]
    pub fn without(self, other: PrivilegeSet) -> PrivilegeSet {
        self & !other
    }

    /// The fewest names for the set: a name stands for all below it. In ClickHouse's order.
    pub fn names(self) -> Vec<&'static str> {
        let covers = |privilege: &Privilege| !privilege.set.is_empty() && self.contains(privilege.set);
        let is_below_a_name = |privilege: &Privilege| {
            let parent = privilege.parent.and_then(|parent| TREE.by_name.get(parent));
            parent.is_some_and(|&parent| covers(&TREE.privileges[parent]))
        };
        let named =
            TREE.privileges.iter().filter(|privilege| covers(privilege) && !is_below_a_name(privilege));
        named.map(|privilege| privilege.name).collect()
    }
}

impl BitAnd for PrivilegeSet {
    type Output = PrivilegeSet;

    fn bitand(self, other: PrivilegeSet) -> PrivilegeSet {
        PrivilegeSet(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }
}

impl BitOr for PrivilegeSet {
    type Output = PrivilegeSet;

    fn bitor(self, other: PrivilegeSet) -> PrivilegeSet {
        PrivilegeSet(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }
}

impl BitOrAssign for PrivilegeSet {
    fn bitor_assign(&mut self, other: PrivilegeSet) {
        *self = *self | other;
    }
}

impl Not for PrivilegeSet {
    type Output = PrivilegeSet;

    fn not(self) -> PrivilegeSet {
        PrivilegeSet(std::array::from_fn(|word| !self.0[word]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_all_below_it() {
        assert_eq!(PrivilegeSet::all().names(), ["ALL"]);
        let show = PrivilegeSet::of("SHOW TABLES") | PrivilegeSet::of("SHOW DATABASES");
        assert_eq!(show.names(), ["SHOW DATABASES", "SHOW TABLES"]);
        let show = show | PrivilegeSet::of("SHOW COLUMNS") | PrivilegeSet::of("SHOW DICTIONARIES");
        assert_eq!(show.names(), ["SHOW"]);
        assert!(PrivilegeSet::of("ALTER").contains(PrivilegeSet::of("ALTER ADD COLUMN")));
        assert_eq!(PrivilegeSet::named("alter update"), PrivilegeSet::named("UPDATE"));
        assert_eq!(PrivilegeSet::named("FLY"), None);
    }

    #[test]
    fn levels_restrict_where_a_privilege_is_granted() {
        let kill = PrivilegeSet::of("KILL QUERY");
        assert!(PrivilegeSet::grantable_on(0).contains(PrivilegeSet::all()));
        assert!((PrivilegeSet::grantable_on(1) & kill).is_empty());
        let on_columns = PrivilegeSet::grantable_on(3);
        assert!(on_columns.contains(PrivilegeSet::of("SELECT")));
        assert!((on_columns & PrivilegeSet::of("TRUNCATE")).is_empty());
    }

    #[test]
    fn every_parent_is_there_and_the_set_is_large_enough() {
        assert!(privileges().len() <= WORDS * 64);
        for privilege in privileges() {
            assert!(privilege.parent.is_none_or(|parent| TREE.by_name.contains_key(parent)), "{privilege:?}");
        }
    }
}
