#![no_main]

use std::sync::LazyLock;

use memory_vault_fuzz::Vault;

static VAULT: LazyLock<Vault> = LazyLock::new(Vault::new);

libfuzzer_sys::fuzz_target!(|data: &[u8]| memory_vault_fuzz::api(&VAULT, data));
