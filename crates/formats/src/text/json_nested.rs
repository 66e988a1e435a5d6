//! Parses JSON arrays, maps and tuples into the builders of their parts.

use basalt_base::{Result, SqlType};

use super::builder::ColumnBuilder;
use super::json::JsonScanner;

pub(super) fn parse_json_array(element: &mut ColumnBuilder, scanner: &mut JsonScanner<'_>) -> Result<()> {
    scanner.expect(b'[')?;
    if scanner.eat(b']') {
        return Ok(());
    }
    loop {
        element.parse_json(scanner)?;
        if !scanner.eat(b',') {
            return scanner.expect(b']');
        }
    }
}

pub(super) fn parse_json_map(
    key: &mut ColumnBuilder,
    value: &mut ColumnBuilder,
    scanner: &mut JsonScanner<'_>,
) -> Result<()> {
    scanner.expect(b'{')?;
    if scanner.eat(b'}') {
        return Ok(());
    }
    let mut scratch = Vec::new();
    loop {
        key.parse_raw(scanner.string(&mut scratch)?)?;
        scanner.expect(b':')?;
        value.parse_json(scanner)?;
        if !scanner.eat(b',') {
            return scanner.expect(b'}');
        }
    }
}

pub(super) fn parse_json_tuple(elements: &mut [ColumnBuilder], scanner: &mut JsonScanner<'_>) -> Result<()> {
    scanner.expect(b'[')?;
    for (at, element) in elements.iter_mut().enumerate() {
        if at > 0 {
            scanner.expect(b',')?;
        }
        element.parse_json(scanner)?;
    }
    scanner.expect(b']')
}

/// Parses a tuple by the names of its elements, or their numbers; missing ones get their default.
pub(super) fn parse_json_object(
    ty: &SqlType,
    elements: &mut [ColumnBuilder],
    scanner: &mut JsonScanner<'_>,
) -> Result<()> {
    let SqlType::Tuple(declared) = ty.stripped() else { return Ok(()) };
    let rows = elements.iter().map(ColumnBuilder::len).max().unwrap_or(0);
    let mut scratch = Vec::new();
    scanner.expect(b'{')?;
    let mut open = !scanner.eat(b'}');
    while open {
        let name = scanner.string(&mut scratch)?;
        let position = declared.iter().enumerate().position(|(at, element)| match &element.name {
            Some(declared) => declared.as_bytes() == name,
            None => (at + 1).to_string().as_bytes() == name,
        });
        scanner.expect(b':')?;
        match position {
            Some(at) if elements[at].len() == rows => drop(elements[at].parse_json(scanner)?),
            _ => drop(scanner.skip_value()?),
        }
        open = scanner.eat(b',');
        if !open {
            scanner.expect(b'}')?;
        }
    }
    for element in elements.iter_mut().filter(|element| element.len() == rows) {
        element.append_default();
    }
    Ok(())
}
