//! [`basalt_harness::redis_commands`] under the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| basalt_harness::redis_commands::run(bytes));
