//! Fuzzes `it::path`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| it::path(bytes));
