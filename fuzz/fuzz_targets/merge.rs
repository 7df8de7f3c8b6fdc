//! Fuzzes `it::merge`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| it::merge(bytes));
