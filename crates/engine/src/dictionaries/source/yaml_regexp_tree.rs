//! The source YAMLREGEXPTREE: a file with the nested nodes of a REGEXP_TREE dictionary.
//!
//! ```yaml
//! - regexp: 'Windows NT (\d+)'
//!   name: 'Windows'
//!   version: '\1'
//!   versions:                 # any name that is no attribute: the nodes below
//!     - regexp: 'NT 10'
//!       version: '10'
//! ```
//!
//! The expression is under the name of the dictionary's key. A list is child nodes; anything else that is no
//! attribute is ignored. Nodes get their identifiers in the order of the file.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use arrow::array::builder::{BinaryViewBuilder, ListBuilder};
use arrow::array::{ArrayRef, BinaryViewArray, UInt64Array};
use arrow::datatypes::{DataType, Field};
use basalt_base::{Error, FileAction, Result, bail};
use basalt_dict::{DictionarySpec, LayoutKind};

use super::file::revision_of;
use super::parameters::Parameters;
use super::yaml::Node;
use super::{Blocks, LoadRequest, RowRange, RowSource, yaml};

/// The most nodes of a file; nodes that an alias repeats count again.
const NODES_MAX: usize = 1 << 20;
const FILE_BYTES_MAX: u64 = 256 << 20;

pub(super) struct YamlRegexpTreeSource {
    path: String,
    /// The name of a node's expression.
    key: String,
}

/// The columns that a REGEXP_TREE dictionary is loaded from.
#[derive(Default)]
struct Tree {
    ids: Vec<u64>,
    parents: Vec<u64>,
    regexps: Vec<String>,
    /// The attributes and values of each node.
    values: Vec<Vec<(String, String)>>,
}

impl YamlRegexpTreeSource {
    pub(super) fn parse(parameters: &Parameters<'_>, spec: &DictionarySpec) -> Result<YamlRegexpTreeSource> {
        if spec.layout.kind != LayoutKind::RegexpTree {
            bail!(
                IncorrectDictionaryDefinition,
                "dictionary source YAMLRegExpTree is for LAYOUT(REGEXP_TREE), not {}",
                spec.layout.kind.name()
            );
        }
        let path = parameters.required("path")?;
        parameters.finish(&["path"])?;
        let key = spec.key_columns.iter().next().map_or("regexp", |column| &column.name).to_owned();
        Ok(YamlRegexpTreeSource { path, key })
    }
}

impl RowSource for YamlRegexpTreeSource {
    fn describe(&self, _database: &str) -> String {
        format!("YAMLRegExpTree: {}", self.path)
    }

    fn rows(&self, load: &LoadRequest, _range: RowRange) -> Result<Blocks> {
        let path = load.host.user_file(&self.path)?;
        let mut text = String::new();
        File::open(&path)
            .and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text))
            .map_err(|error| Error::io(FileAction::Read, &path, &error))?;
        let block = block_of(&text, &self.key).map_err(|error| error.within(path.display()))?;
        Ok(Box::new(std::iter::once(Ok(block))))
    }

    fn revision(&self, load: &LoadRequest) -> Result<Option<String>> {
        revision_of(&load.host.user_file(&self.path)?)
    }
}

/// The nodes of `text`, as columns.
fn block_of(text: &str, key: &str) -> Result<Vec<ArrayRef>> {
    let mut tree = Tree::default();
    let root = yaml::read(text)?;
    let Node::List(nodes) = &*root else {
        bail!(InvalidConfigParameter, "the file has to be a list of nodes");
    };
    tree.add(0, nodes, key)?;
    Ok(tree.into_block())
}

impl Tree {
    /// Adds `nodes` and their descendants. The depth of the YAML document is limited.
    fn add(&mut self, parent: u64, nodes: &[Arc<Node>], key: &str) -> Result<()> {
        for node in nodes {
            let id = self.ids.len() as u64 + 1;
            if self.ids.len() == NODES_MAX {
                bail!(InvalidConfigParameter, "the file has more than {NODES_MAX} nodes");
            }
            let Node::Map(entries) = &**node else {
                bail!(InvalidConfigParameter, "node {id} has to be a map with the key `{key}`");
            };
            let Some((_, regexp)) = entries.iter().find(|(name, _)| name == key) else {
                bail!(InvalidConfigParameter, "node {id} has no key `{key}`");
            };
            let Node::Text(regexp) = &**regexp else {
                bail!(InvalidConfigParameter, "`{key}` of node {id} has to be a text");
            };
            self.ids.push(id);
            self.parents.push(parent);
            self.regexps.push(regexp.clone());
            let texts = entries.iter().filter_map(|(name, value)| match &**value {
                Node::Text(value) if name != key => Some((name.clone(), value.clone())),
                _ => None,
            });
            self.values.push(texts.collect());
            for (_, below) in entries {
                if let Node::List(below) = &**below {
                    self.add(id, below, key)?;
                }
            }
        }
        Ok(())
    }

    fn into_block(self) -> Vec<ArrayRef> {
        let texts = |text: fn(&(String, String)) -> &String| -> ArrayRef {
            let field = Field::new_list_field(DataType::BinaryView, false);
            let mut lists = ListBuilder::new(BinaryViewBuilder::new()).with_field(field);
            for values in &self.values {
                values.iter().for_each(|value| lists.values().append_value(text(value)));
                lists.append(true);
            }
            Arc::new(lists.finish())
        };
        vec![
            Arc::new(UInt64Array::from_iter_values(self.ids.iter().copied())),
            Arc::new(UInt64Array::from_iter_values(self.parents.iter().copied())),
            Arc::new(BinaryViewArray::from_iter_values(&self.regexps)),
            texts(|(name, _)| name),
            texts(|(_, value)| value),
        ]
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::AsArray;
    use arrow::datatypes::UInt64Type;

    use super::*;

    /// The parents, expressions and values of the nodes, or the error.
    fn check(text: &str, expected: Result<&[(u64, &str, &str)], &str>) {
        let found = block_of(text, "regexp").map(|block| {
            let values = |column: &ArrayRef, row| {
                let list = column.as_list::<i32>().value(row);
                let texts = list.as_binary_view().iter().flatten();
                texts.map(|text| String::from_utf8_lossy(text).into_owned()).collect::<Vec<_>>()
            };
            let row = |row: usize| {
                let parent = block[1].as_primitive::<UInt64Type>().value(row);
                let regexp = String::from_utf8_lossy(block[2].as_binary_view().value(row)).into_owned();
                let pairs = values(&block[3], row).into_iter().zip(values(&block[4], row));
                let pairs = pairs.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
                (parent, regexp, pairs.join(" "))
            };
            (0..block[0].len()).map(row).collect::<Vec<_>>()
        });
        match (found, expected) {
            (Ok(found), Ok(expected)) => {
                let found: Vec<_> = found.iter().map(|(a, b, c)| (*a, b.as_str(), c.as_str())).collect();
                assert_eq!(found, expected, "{text}");
            }
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
            (found, expected) => panic!("{text}: {found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn nodes_are_numbered_in_the_order_of_the_file() {
        check(
            "- regexp: 'a(\\d)'\n  name: A\n  version: \"\\\\1\"\n  kids:\n    - regexp: b\n      \
             name: 7\n    - {regexp: c}\n- regexp: d\n  name: D\n",
            Ok(&[(0, "a(\\d)", "name=A version=\\1"), (1, "b", "name=7"), (1, "c", ""), (0, "d", "name=D")]),
        );
    }

    #[test]
    fn what_is_no_text_and_no_list_is_passed_over() {
        check("- regexp: a\n  kids: {regexp: b}\n  none: ~\n  nothing:\n", Ok(&[(0, "a", "")]));
        check(
            "- {regexp: a, name: &n long}\n- {regexp: b, name: *n}",
            Ok(&[(0, "a", "name=long"), (0, "b", "name=long")]),
        );
    }

    #[test]
    fn what_is_no_tree_is_an_error() {
        check("", Err("list of nodes"));
        check("regexp: a", Err("list of nodes"));
        check("- a", Err("node 1 has to be a map"));
        check("- name: a", Err("no key `regexp`"));
        check("- regexp: [a]", Err("has to be a text"));
        check("- regexp: a\n  kids: [b]", Err("node 2 has to be a map"));
        check("- regexp: 'a", Err("YAML"));
    }
}
