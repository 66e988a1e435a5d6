//! Table functions: `numbers(10)`, `file('a.csv')`, `dictionary('d')` in FROM.

mod arguments;
mod dictionary;
mod file;
mod format;
mod generate_random;
mod null;
mod numbers;
mod registry;
mod remote;
mod values;

pub(crate) use dictionary::dictionary_table;
pub(crate) use numbers::{numbers_table, zeros_table};
pub(crate) use registry::{NAMES, table};
