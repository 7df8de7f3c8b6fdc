//! Fuzzes `it::entries`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| it::entries(bytes));
