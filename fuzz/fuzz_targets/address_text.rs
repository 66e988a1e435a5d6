//! [`basalt_harness::address_text`] under the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| basalt_harness::address_text::run(bytes));
