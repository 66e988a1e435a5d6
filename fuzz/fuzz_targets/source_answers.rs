//! [`basalt_harness::source_answers`] under the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| basalt_harness::source_answers::run(bytes));
