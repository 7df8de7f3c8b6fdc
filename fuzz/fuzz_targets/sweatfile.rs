//! Fuzzes `it::sweatfile`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| it::sweatfile(bytes));
