//! [`basalt_harness::native_packets`] under the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| basalt_harness::native_packets::run(bytes));
