//! Every integration test, in one binary.

mod acceptance;
mod corruption;
mod detaching;
mod dictionary_bad_input;
mod dictionary_files;
mod dictionary_memory;
mod dictionary_programs;
mod dictionary_reloads;
mod dictionary_sources;
mod dictionary_ssd_cache;
mod dictionary_tls;
mod dictionary_types;
mod dropping;
mod durability;
mod full_disk;
mod http;
mod limits;
mod locking;
mod mutations;
mod openflights;
mod program;
mod shell;
mod sql;
mod versions;
