//! A YAML document as a tree.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use basalt_base::{Error, ErrorCode, Result};
use saphyr_parser::{Event, Parser, ScalarStyle};

/// The deepest nesting of lists and maps.
const DEPTH_MAX: usize = 200;

/// A value of the document.
#[derive(Debug, PartialEq)]
pub(super) enum Node {
    /// Any scalar but NULL.
    Text(String),
    Null,
    List(Vec<Arc<Node>>),
    /// In the order of the document; the last one of equal keys.
    Map(Vec<(String, Arc<Node>)>),
}

/// A list or a map that is being read.
enum Open {
    List(Vec<Arc<Node>>),
    /// Entries, and the key whose value is next.
    Map(Vec<(String, Arc<Node>)>, Option<String>),
}

/// The first document of `text`; an empty text is NULL.
pub(super) fn read(text: &str) -> Result<Arc<Node>> {
    let (mut open, mut anchors) = (Vec::<(Open, usize)>::new(), HashMap::new());
    for event in Parser::new_from_str(text) {
        let (event, place) = event.map_err(|error| wrong(&error))?;
        let (node, anchor) = match event {
            Event::SequenceStart(anchor, _) => {
                open.push((Open::List(Vec::new()), anchor));
                (None, 0)
            }
            Event::MappingStart(anchor, _) => {
                open.push((Open::Map(Vec::new(), None), anchor));
                (None, 0)
            }
            Event::Scalar(text, style, anchor, _) => (Some(scalar(&text, style)), anchor),
            Event::SequenceEnd | Event::MappingEnd => closed(open.pop()),
            Event::Alias(anchor) => {
                let known = anchors.get(&anchor).map(Arc::clone);
                (Some(known.ok_or_else(|| wrong(&"an alias inside of what it names"))?), 0)
            }
            Event::StreamEnd => break,
            _ => (None, 0),
        };
        if open.len() > DEPTH_MAX {
            return Err(wrong(&format_args!("more than {DEPTH_MAX} lists and maps one in the other")));
        }
        let Some(node) = node else { continue };
        if anchor > 0 {
            anchors.insert(anchor, Arc::clone(&node));
        }
        match open.last_mut() {
            None => return Ok(node),
            Some((Open::List(nodes), _)) => nodes.push(node),
            Some((Open::Map(entries, key), _)) => match (key.take(), &*node) {
                (Some(key), _) => entries.push((key, node)),
                (None, Node::Text(text)) => *key = Some(text.clone()),
                (None, _) => {
                    let line = place.start.line();
                    return Err(wrong(&format_args!("a key in line {line} is no text")));
                }
            },
        }
    }
    Ok(Arc::new(Node::Null))
}

fn closed(open: Option<(Open, usize)>) -> (Option<Arc<Node>>, usize) {
    match open {
        Some((Open::List(nodes), anchor)) => (Some(Arc::new(Node::List(nodes))), anchor),
        Some((Open::Map(entries, _), anchor)) => {
            (Some(Arc::new(Node::Map(last_of_each_key(entries)))), anchor)
        }
        None => (None, 0),
    }
}

fn last_of_each_key(entries: Vec<(String, Arc<Node>)>) -> Vec<(String, Arc<Node>)> {
    let mut seen = HashSet::new();
    let last = entries.iter().rev().map(|(key, _)| seen.insert(key.clone())).collect::<Vec<_>>();
    entries
        .into_iter()
        .zip(last.into_iter().rev())
        .filter_map(|(entry, is_last)| is_last.then_some(entry))
        .collect()
}

fn scalar(text: &str, style: ScalarStyle) -> Arc<Node> {
    let is_null = style == ScalarStyle::Plain && matches!(text, "" | "~" | "null" | "Null" | "NULL");
    Arc::new(if is_null { Node::Null } else { Node::Text(text.to_owned()) })
}

fn wrong(reason: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorCode::CannotParseYaml, format!("the file is not the YAML that is understood: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_limited_and_an_alias_repeats_a_value() {
        assert!(read(&"[".repeat(100_000)).is_err());
        assert!(read(&format!("{}{}", "[".repeat(DEPTH_MAX), "]".repeat(DEPTH_MAX))).is_ok());
        assert!(read("&a [*a]").is_err());
        let text = |text: &str| Arc::new(Node::Text(text.to_owned()));
        assert_eq!(read("[&a x, *a]").ok(), Some(Arc::new(Node::List(vec![text("x"), text("x")]))));
        let map = Node::Map(vec![("a".to_owned(), text("2"))]);
        assert_eq!(read("{a: 1, a: 2}\n---\nb: 3").ok(), Some(Arc::new(map)));
    }
}
