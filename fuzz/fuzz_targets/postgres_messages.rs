//! [`basalt_harness::postgres_messages`] under the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| basalt_harness::postgres_messages::run(bytes));
