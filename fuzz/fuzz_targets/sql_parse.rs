//! [`basalt_harness::sql_parse`] under the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| basalt_harness::sql_parse::run(bytes));
