//! Dictionaries of the catalog: defined by DDL, loaded at first use, reloaded when their LIFETIME runs out.
//!
//! - [`entry`]: one dictionary: its definition and its current version; [`entry_load`]: how it gets the next one.
//! - [`status`]: the state machine of its loads; [`progress`]: what `system.dictionaries` shows of a load that runs.
//! - [`lazy`]: a dictionary in a plan, loaded at its first lookup.
//! - [`definition`], [`structure`], [`settings`]: from the CREATE DICTIONARY statement to keys, attributes and layout.
//! - [`source`]: where the rows come from, one file for each source.
//! - [`load`]: one load, of all [`source_rows`] or of those that changed; [`built`]: the version that it makes.
//! - [`reload_via_file`]: a reload that never has two versions in memory.
//! - [`memory`]: what versions and loads take of the server's memory.
//! - [`persisted`]: the file of a loaded dictionary, which answers after a restart.
//! - [`schedule`], [`refresh`]: when dictionaries are loaded again, and the task that does it.
//! - [`cache_directories`]: which dictionary uses which directory for its SSD_CACHE.
//! - [`load_chain`]: loads that use other dictionaries. [`load_latch`]: one load at a time, and how queries wait for
//!   it.
//! - [`host`]: what loads need of the engine.

mod built;
mod cache_directories;
mod definition;
mod entry;
mod entry_load;
mod host;
mod lazy;
mod load;
mod load_chain;
mod load_latch;
mod memory;
mod persisted;
mod progress;
mod refresh;
mod reload_via_file;
mod schedule;
mod settings;
mod source;
mod source_rows;
mod status;
mod structure;

pub(crate) use cache_directories::CacheDirectories;
pub(crate) use entry::DictionaryEntry;
pub(crate) use host::{Blocks, LoadHost, SourcePolicy, SourceQuery};
pub(crate) use lazy::dictionary_for_plan;
pub(crate) use load_chain::{LoadChain, LoadWaitGraph};
pub(crate) use memory::{DictionaryMemory, MemoryBudget};
pub(crate) use refresh::{DictionaryList, load_all, refresh_forever};
pub(crate) use status::{DictionaryState, DictionaryStatus};
