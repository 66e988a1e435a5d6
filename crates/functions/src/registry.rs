//! Finds a function by its name.

use std::collections::HashMap;
use std::sync::LazyLock;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Error, ErrorCode, Result};

use crate::aggregate::{self, AggregateFunction};
use crate::scalar::{self, ScalarFunction};

/// The scalar function with the SQL name `name`.
pub fn scalar(name: &str) -> Option<&'static dyn ScalarFunction> {
    let found = SCALARS.get(name).or_else(|| {
        SCALARS.get(name.to_ascii_lowercase().as_str()).filter(|function| function.case_insensitive())
    });
    found.copied()
}

/// The aggregate function with the SQL name `name`, without combinators.
pub fn aggregate(name: &str) -> Option<&'static dyn AggregateFunction> {
    let found = AGGREGATES.get(name).or_else(|| {
        AGGREGATES.get(name.to_ascii_lowercase().as_str()).filter(|function| function.case_insensitive())
    });
    found.copied()
}

/// UNKNOWN_FUNCTION for `name`, with the nearest known name.
pub fn unknown_function(name: &str) -> Error {
    let known = SCALARS.keys().chain(AGGREGATES.keys()).copied();
    Error::new(
        ErrorCode::UnknownFunction,
        format!("function `{name}` does not exist{}", did_you_mean(name, known)),
    )
}

/// [`scalar`], or an error with the nearest known name.
pub fn expect_scalar(name: &str) -> Result<&'static dyn ScalarFunction> {
    scalar(name).ok_or_else(|| unknown_function(name))
}

/// One row of `system.functions`.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    pub name: &'static str,
    pub is_aggregate: bool,
    pub case_insensitive: bool,
    /// The function that this name is an alias of; empty if it is not an alias.
    pub alias_to: &'static str,
}

/// All names of functions, in alphabetical order.
pub fn list() -> Vec<Listed> {
    let mut listed = Vec::new();
    for function in scalar::all() {
        let (name, case_insensitive) = (function.name(), function.case_insensitive());
        list_names(&mut listed, name, function.aliases(), case_insensitive, false);
    }
    for function in aggregate::all() {
        let (name, case_insensitive) = (function.name(), function.case_insensitive());
        list_names(&mut listed, name, function.aliases(), case_insensitive, true);
    }
    listed.sort_by_key(|line| line.name);
    listed
}

fn list_names(
    listed: &mut Vec<Listed>,
    name: &'static str,
    aliases: &'static [&'static str],
    case_insensitive: bool,
    is_aggregate: bool,
) {
    listed.push(Listed { name, is_aggregate, case_insensitive, alias_to: "" });
    listed.extend(aliases.iter().map(|alias| Listed {
        name: alias,
        is_aggregate,
        case_insensitive,
        alias_to: name,
    }));
}

static SCALARS: LazyLock<HashMap<&'static str, &'static dyn ScalarFunction>> = LazyLock::new(|| {
    let mut names = HashMap::new();
    for &function in scalar::all() {
        index_names(&mut names, function.name(), function.aliases(), function.case_insensitive(), function);
    }
    names
});

static AGGREGATES: LazyLock<HashMap<&'static str, &'static dyn AggregateFunction>> = LazyLock::new(|| {
    let mut names = HashMap::new();
    for &function in aggregate::all() {
        index_names(&mut names, function.name(), function.aliases(), function.case_insensitive(), function);
    }
    names
});

/// Adds a function under all its names. A case-insensitive name is also added in lower case.
fn index_names<F: Copy>(
    names: &mut HashMap<&'static str, F>,
    name: &'static str,
    aliases: &'static [&'static str],
    case_insensitive: bool,
    function: F,
) {
    for name in std::iter::once(&name).chain(aliases) {
        let previous = names.insert(name, function);
        assert!(previous.is_none(), "function `{name}` is registered twice");
        if case_insensitive {
            // Leaked once per process: the table lives as long as the process.
            names.entry(String::leak(name.to_ascii_lowercase())).or_insert(function);
        }
    }
}
