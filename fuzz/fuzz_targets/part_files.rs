//! [`basalt_harness::part_files`] under the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| basalt_harness::part_files::run(bytes));
