//! [`basalt_harness::codec_chain`] under the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| basalt_harness::codec_chain::run(bytes));
