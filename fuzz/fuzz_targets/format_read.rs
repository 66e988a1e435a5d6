//! [`basalt_harness::format_read`] under the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| basalt_harness::format_read::run(bytes));
