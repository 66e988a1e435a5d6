//! [`basalt_harness::part_meta`] under the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| basalt_harness::part_meta::run(bytes));
