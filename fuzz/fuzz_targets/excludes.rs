//! Fuzzes `it::excludes`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| it::excludes(bytes));
