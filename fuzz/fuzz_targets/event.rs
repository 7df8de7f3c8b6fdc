//! Fuzzes `it::event`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| it::event(bytes));
