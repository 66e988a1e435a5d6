//! Privileges on databases, tables and columns.
//!
//! A tree: the root is for everything, below it databases, tables and columns, by name or by prefix. A node holds what
//! is granted on it, whatever its parents hold: a GRANT adds to a node and to all below it, a REVOKE takes away from
//! them. So a lookup needs the deepest node alone, and a partial REVOKE is a node with less than its parent. A node
//! equal to what it would inherit is removed.

use std::collections::BTreeMap;

use basalt_sql::ast::NamePattern;

use crate::privilege::PrivilegeSet;

/// Where privileges are granted: nothing for everything, or database, table and column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(pub Vec<NamePattern>);

/// Privileges on everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    pub(crate) root: Node,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) set: PrivilegeSet,
    pub(crate) children: BTreeMap<NamePattern, Node>,
}

impl Path {
    /// A path of exact names.
    pub fn of(names: &[&str]) -> Path {
        let pattern = |name: &&str| NamePattern { name: (*name).to_owned(), is_prefix: false };
        Path(names.iter().map(pattern).collect())
    }

    #[must_use]
    pub fn with(mut self, name: &str) -> Path {
        self.0.push(NamePattern { name: name.to_owned(), is_prefix: false });
        self
    }
}

impl Rights {
    /// All privileges on everything.
    pub fn all() -> Rights {
        Rights { root: Node { set: PrivilegeSet::all(), children: BTreeMap::new() } }
    }

    pub fn grant(&mut self, path: &Path, set: PrivilegeSet) {
        self.root.change(&path.0, &|held| held | set);
    }

    pub fn revoke(&mut self, path: &Path, set: PrivilegeSet) {
        self.root.change(&path.0, &|held| held.without(set));
    }

    /// Whether all of `set` is granted on all that the path stands for: a table has all of its columns.
    pub fn has(&self, path: &Path, set: PrivilegeSet) -> bool {
        self.root.has(&path.0, set)
    }

    /// Whether any privilege that `of` has is granted on the path or on anything below it.
    pub fn has_any(&self, path: &Path, of: PrivilegeSet) -> bool {
        let (node, is_exact) = self.root.find(&path.0);
        !(node.set & of).is_empty() || (is_exact && node.any_below(of))
    }

    /// Adds all that `other` grants.
    pub fn add(&mut self, other: &Rights) {
        self.root.add(&other.root);
    }

    pub fn is_empty(&self) -> bool {
        self.root.set.is_empty() && self.root.children.is_empty()
    }

    /// Whether there is nothing that is not granted.
    pub fn is_all(&self) -> bool {
        self.root.children.is_empty() && self.root.set.contains(PrivilegeSet::all())
    }
}

impl Node {
    fn change(&mut self, path: &[NamePattern], apply: &dyn Fn(PrivilegeSet) -> PrivilegeSet) {
        let Some((name, rest)) = path.split_first() else {
            self.set = apply(self.set);
            for child in self.children.values_mut() {
                child.change(&[], apply);
            }
            self.prune();
            return;
        };
        if !self.children.contains_key(name) {
            let child = self.inherited(name);
            self.children.insert(name.clone(), child);
        }
        for (_, child) in self.children.iter_mut().filter(|(child, _)| name.covers(child)) {
            child.change(rest, apply);
        }
        self.prune();
    }

    /// What a child called `name` would be if it did not exist: the nearest pattern that covers it, or this node.
    pub(crate) fn inherited(&self, name: &NamePattern) -> Node {
        match self.covering(name) {
            Some(child) => child.clone(),
            None => Node { set: self.set, children: BTreeMap::new() },
        }
    }

    /// The privileges that a child called `name` would inherit.
    pub(crate) fn inherited_set(&self, name: &NamePattern) -> PrivilegeSet {
        self.covering(name).map_or(self.set, |child| child.set)
    }

    /// The longest pattern but `name` itself that covers it.
    fn covering(&self, name: &NamePattern) -> Option<&Node> {
        let covers = |child: &NamePattern| child.is_prefix && child != name && child.covers(name);
        let longest = self.children.iter().filter(|(child, _)| covers(child));
        longest.max_by_key(|(child, _)| child.name.len()).map(|(_, node)| node)
    }

    /// Removes children that say nothing.
    fn prune(&mut self) {
        let names: Vec<NamePattern> = self.children.keys().cloned().collect();
        for name in names.iter().rev() {
            let inherited = self.inherited(name);
            if self.children.get(name) == Some(&inherited) {
                self.children.remove(name);
            }
        }
    }

    /// The deepest node for a path, and whether it is the path's own. The own node may be one of a covering pattern.
    fn find(&self, path: &[NamePattern]) -> (&Node, bool) {
        let Some((name, rest)) = path.split_first() else { return (self, true) };
        match self.children.get(name).or_else(|| self.covering(name)) {
            Some(child) => child.find(rest),
            None => (self, false),
        }
    }

    fn all_have(&self, set: PrivilegeSet) -> bool {
        self.set.contains(set) && self.children.values().all(|child| child.all_have(set))
    }

    fn any_below(&self, of: PrivilegeSet) -> bool {
        self.children.values().any(|child| !(child.set & of).is_empty() || child.any_below(of))
    }

    fn has(&self, path: &[NamePattern], set: PrivilegeSet) -> bool {
        let Some((name, rest)) = path.split_first() else { return self.all_have(set) };
        let nearest = self.children.get(name).or_else(|| self.covering(name));
        let has_nearest = nearest.map_or(self.set.contains(set), |child| child.has(rest, set));
        let mut narrower = self.children.iter().filter(|(child, _)| *child != name && name.covers(child));
        has_nearest && narrower.all(|(_, child)| child.has(rest, set))
    }

    fn add(&mut self, other: &Node) {
        let names = self.children.keys().chain(other.children.keys());
        let child = |name: &NamePattern| {
            let of = |node: &Node| node.children.get(name).cloned().unwrap_or_else(|| node.inherited(name));
            (name.clone(), of(self).joined(&of(other)))
        };
        self.children = names.map(child).collect();
        self.set |= other.set;
        self.prune();
    }

    fn joined(mut self, other: &Node) -> Node {
        self.add(other);
        self
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn select() -> PrivilegeSet {
        PrivilegeSet::of("SELECT")
    }

    #[test]
    fn a_partial_revoke_takes_part_of_a_grant() {
        let mut rights = Rights::default();
        rights.grant(&Path::default(), select());
        rights.revoke(&Path::of(&["d", "t", "secret"]), select());
        assert!(rights.has(&Path::of(&["d", "t", "a"]), select()));
        assert!(!rights.has(&Path::of(&["d", "t", "secret"]), select()));
        assert!(!rights.has(&Path::of(&["d", "t"]), select()), "the table has a column without it");
        assert!(!rights.has(&Path::default(), select()));
        assert!(rights.has(&Path::of(&["d", "other"]), select()));
        rights.grant(&Path::of(&["d"]), select());
        assert_eq!(rights.root.children.len(), 0, "nothing is left of the REVOKE");
    }

    #[test]
    fn patterns_cover_names_with_a_prefix() {
        let mut rights = Rights::default();
        let logs = NamePattern { name: "logs_".to_owned(), is_prefix: true };
        rights.grant(&Path(vec![logs]), select());
        assert!(rights.has(&Path::of(&["logs_2026", "t"]), select()));
        assert!(!rights.has(&Path::of(&["log", "t"]), select()));
        rights.revoke(&Path::of(&["logs_secret"]), select());
        assert!(!rights.has(&Path::of(&["logs_secret", "t"]), select()));
        assert!(rights.has_any(&Path::default(), select()));
        assert!(!rights.has_any(&Path::of(&["logs_secret"]), select()));
    }

    /// What every column of a small world has, the plain way.
    type Model = BTreeMap<(String, String, String), PrivilegeSet>;

    fn matching<'a>(model: &'a mut Model, path: &'a Path) -> impl Iterator<Item = &'a mut PrivilegeSet> {
        model.iter_mut().filter_map(move |((database, table, column), set)| {
            let names = [database, table, column];
            path.0.iter().zip(names).all(|(pattern, name)| pattern.matches(name)).then_some(set)
        })
    }

    fn every_column() -> Model {
        const NAMES: &[&str] = &["a", "b", "aa", "ab", "ba", "aab"];
        let mut model = Model::new();
        for database in NAMES {
            for table in NAMES {
                for column in NAMES {
                    let key = ((*database).to_owned(), (*table).to_owned(), (*column).to_owned());
                    model.insert(key, PrivilegeSet::NONE);
                }
            }
        }
        model
    }

    fn pattern() -> impl Strategy<Value = NamePattern> {
        ("[ab]{1,2}", any::<bool>()).prop_map(|(name, is_prefix)| NamePattern { name, is_prefix })
    }

    proptest! {
        #[test]
        fn rights_are_what_each_column_has(
            steps in prop::collection::vec(
                (prop::collection::vec(pattern(), 0..=3), any::<bool>(), any::<bool>(), any::<bool>()),
                0..12,
            ),
        ) {
            let mut model = every_column();
            let (mut first, mut second) = (Rights::default(), Rights::default());
            for (names, is_grant, is_select, is_first) in steps {
                let (path, set) = (Path(names), PrivilegeSet::of(if is_select { "SELECT" } else { "INSERT" }));
                let rights = if is_first { &mut first } else { &mut second };
                // REVOKE only of the first, so that the union is what the model has.
                if is_grant || !is_first {
                    rights.grant(&path, set);
                } else {
                    rights.revoke(&path, set);
                }
            }
            for ((database, table, column), set) in &mut model {
                let path = Path::of(&[database, table, column]);
                for one in ["SELECT", "INSERT"].map(PrivilegeSet::of) {
                    if first.has(&path, one) || second.has(&path, one) {
                        *set |= one;
                    }
                }
            }
            let mut both = first.clone();
            both.add(&second);
            for ((database, table, column), set) in &model {
                let path = Path::of(&[database, table, column]);
                for one in ["SELECT", "INSERT"].map(PrivilegeSet::of) {
                    prop_assert_eq!(both.has(&path, one), set.contains(one), "{:?}", path);
                }
            }
        }

        #[test]
        fn grants_and_revokes_reach_what_they_name(
            steps in prop::collection::vec((prop::collection::vec(pattern(), 0..=3), any::<bool>()), 0..12),
        ) {
            let mut model = every_column();
            let mut rights = Rights::default();
            for (names, is_grant) in steps {
                let path = Path(names);
                match is_grant {
                    true => rights.grant(&path, select()),
                    false => rights.revoke(&path, select()),
                }
                for set in matching(&mut model, &path) {
                    *set = if is_grant { *set | select() } else { set.without(select()) };
                }
            }
            for ((database, table, column), set) in &model {
                let path = Path::of(&[database, table, column]);
                prop_assert_eq!(rights.has(&path, select()), set.contains(select()), "{:?}", path);
            }
        }
    }
}
