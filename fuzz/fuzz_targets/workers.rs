//! Fuzzes `it::workers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| it::workers(bytes));
