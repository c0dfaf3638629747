use std::path::Path;

use memory_vault::base::config::Config;
use memory_vault::vault::disk::globs;

/// A configuration is refused with the file's name, or says the same when it is written down and read again.
pub fn config(data: &[u8]) {
    let path = Path::new("memory.toml");
    let config = match Config::parse(super::text(data), path) {
        Ok(config) => config,
        Err(error) => {
            assert!(error.to_string().starts_with("memory.toml: "), "{error}");
            return;
        }
    };
    let written = toml::to_string(&config).expect("a configuration is TOML");
    assert_eq!(Config::parse(&written, path).expect("what was written can be read"), config);
    for (key, patterns) in [("index.exclude", &config.index.exclude), ("access.private", &config.access.private)] {
        if let Err(error) = globs(key, patterns) {
            assert!(error.to_string().contains(key), "{error}");
        }
    }
}
