//! [`basalt_harness::regular_expression`] under the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| basalt_harness::regular_expression::run(bytes));
