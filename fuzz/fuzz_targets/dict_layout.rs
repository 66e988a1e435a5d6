//! [`basalt_harness::dict_layout`] under the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| basalt_harness::dict_layout::run(bytes));
