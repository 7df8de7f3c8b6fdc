//! Fuzzes `it::env_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| it::env_file(bytes));
