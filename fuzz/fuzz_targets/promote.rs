//! Fuzzes `it::promote`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| it::promote(bytes));
