//! Files of a data directory, described and verified without opening the database. They are only read, and no lock is
//! taken: a server may have them in use.
//!
//! - [`file`]: finds out what a path is, and has it described.
//! - [`segment`], [`part`], [`dictionary`]: a module for each kind of file.
//! - [`report`]: lines and aligned tables of text.

mod dictionary;
mod file;
mod part;
mod report;
mod segment;

pub use file::inspect;
pub use report::Inspection;
