//! Do decoders survive bytes of others? One harness for each place where such bytes come in.
//!
//! A harness takes any bytes and panics if a promise is broken; `fuzz/README.md` lists the promises. Two drivers
//! call it: `tests/any_bytes.rs`, which changes the inputs of `fuzz/seeds` for some seconds in `cargo test`, and
//! the fuzzer (`fuzz/fuzz_targets/`), which needs a nightly compiler.

pub mod address_text;
pub mod codec_chain;
pub mod dict_layout;
pub mod format_read;
pub mod native_block;
pub mod native_packets;
pub mod part_files;
pub mod part_meta;
pub mod postgres_messages;
pub mod redis_commands;
pub mod regular_expression;
pub mod segment_file;
pub mod segment_samples;
pub mod source_answers;
pub mod sql_parse;

/// Harnesses compare the memory of their work with limits.
#[global_allocator]
static ALLOCATOR: basalt_base::allocator::TrackingAllocator<std::alloc::System> =
    basalt_base::allocator::TrackingAllocator(std::alloc::System);
