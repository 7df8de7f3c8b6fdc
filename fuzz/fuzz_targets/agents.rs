//! Fuzzes `it::agents`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| it::agents(bytes));
