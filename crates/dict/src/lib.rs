//! I have ten thousand keys: give me their attributes, now.
//!
//! A dictionary is two things: a *layout* that maps keys to row numbers, and *attributes*, which are
//! columns indexed by row number. [`Dictionary`] is all that a caller sees of either.
//!
//! # Not here
//!
//! Where the rows come from (a table, a file, another server) is the engine's business: it hands
//! blocks to the builder, and implements [`DirectSource`] for dictionaries that hold nothing.

mod dictionary;

pub use dictionary::{Attribute, Dictionaries, Dictionary, DictionaryStats, DirectSource};
