#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| memory_vault_fuzz::document(data));
