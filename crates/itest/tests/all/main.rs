//! Every integration test, in one binary.

mod acceptance;
mod corruption;
mod dictionary_files;
mod dictionary_sources;
mod dropping;
mod durability;
mod http;
mod limits;
mod locking;
mod openflights;
mod program;
mod shell;
mod sql;
