//! [`basalt_harness::segment_file`] under the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| basalt_harness::segment_file::run(bytes));
