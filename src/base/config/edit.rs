//! Changes `memory.toml` as a person would: the value alone, and every comment stays.

use std::io;
use std::path::Path;

use super::load::ConfigError;
use super::sections::{Config, FILE_NAME};
use crate::base::fs::{Context, write_over};

impl Config {
    /// Sets switches of a section in the `memory.toml` of the vault at `root`, and gives the configuration as it is then.
    ///
    /// # Errors
    /// When the file cannot be read or written, or is not right as it is.
    pub fn set_switches(root: &Path, section: &str, switches: &[(&str, bool)]) -> Result<Self, ConfigError> {
        let values: Vec<_> = switches.iter().map(|(key, on)| (*key, NewValue::Switch(*on))).collect();
        Self::set_values(root, section, &values)
    }

    /// The same with any values.
    ///
    /// # Errors
    /// As for [`Config::set_switches`], and when a value is out of its range; the file is then as it was.
    pub(crate) fn set_values(root: &Path, section: &str, values: &[(&str, NewValue<'_>)]) -> Result<Self, ConfigError> {
        // A link to a file elsewhere stays one.
        let path = root.join(FILE_NAME).canonicalize().on("read", &root.join(FILE_NAME))?;
        for _ in 0..2 {
            let text = std::fs::read_to_string(&path).on("read", &path)?;
            let before = Self::parse(&text, &path)?;
            let edited = with_values(&text, section, values)
                .map_err(|error| ConfigError::Range { path: path.clone(), message: error.to_string() })?;
            let after = Self::parse(&edited, &path)?;
            // The person may be saving it at this very moment.
            if after == before || write_over(&path, text.as_bytes(), edited.as_bytes(), mode(&path))? {
                return Ok(after);
            }
        }
        Err(io::Error::other("another program is writing it; try again")).on("write", &path)?
    }
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().map_or(0o644, |meta| meta.permissions().mode() & 0o777)
}

/// What a key is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewValue<'a> {
    /// On or off.
    Switch(bool),
    /// A text.
    Text(&'a str),
}

impl From<NewValue<'_>> for toml_edit::Value {
    fn from(value: NewValue<'_>) -> Self {
        match value {
            NewValue::Switch(on) => on.into(),
            NewValue::Text(text) => text.into(),
        }
    }
}

fn with_values(text: &str, section: &str, values: &[(&str, NewValue<'_>)]) -> Result<String, toml_edit::TomlError> {
    let mut document: toml_edit::DocumentMut = text.parse()?;
    for (key, new) in values {
        let item = &mut document[section][key];
        match item.as_value_mut() {
            Some(value) => {
                let decor = value.decor().clone();
                *value = (*new).into();
                *value.decor_mut() = decor;
            }
            None => *item = toml_edit::value(*new),
        }
    }
    // A section that was made for the keys is a table of its own.
    if let Some(inline) = document.get(section).and_then(|item| item.as_inline_table()).cloned() {
        document[section] = toml_edit::Item::Table(inline.into_table());
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn with_switches(text: &str, section: &str, switches: &[(&str, bool)]) -> Result<String, toml_edit::TomlError> {
        let values: Vec<_> = switches.iter().map(|(key, on)| (*key, NewValue::Switch(*on))).collect();
        with_values(text, section, &values)
    }

    #[test]
    fn a_text_is_quoted_and_its_comment_stays() {
        let text = "[embed]\nmodel = \"bundled\" # small\n";
        let edited = with_values(text, "embed", &[("model", NewValue::Text("a \"b\".gguf"))]).unwrap();
        assert_eq!(edited, "[embed]\nmodel = 'a \"b\".gguf' # small\n");
    }

    #[test]
    fn comments_and_order_stay() {
        let text = "# mine\n[capture]\n# why\nsearches = false # for now\nfiles = true\n\n[search]\nlimit = 3\n";
        assert_eq!(
            with_switches(text, "capture", &[("searches", true)]).unwrap(),
            "# mine\n[capture]\n# why\nsearches = true # for now\nfiles = true\n\n[search]\nlimit = 3\n"
        );
        assert_eq!(with_switches("", "capture", &[]).unwrap(), "");
        for text in ["", "[search]\nlimit = 3\n", "capture = { files = true }\n"] {
            let edited = with_switches(text, "capture", &[("searches", true), ("files", false)]).unwrap();
            let config = Config::parse(&edited, Path::new("memory.toml")).unwrap();
            assert!(config.capture.searches && !config.capture.files, "{edited}");
        }
    }

    #[test]
    fn a_file_that_is_not_right_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        fs::write(&path, "[capture]\nfils = true\n").unwrap();
        assert!(Config::set_switches(folder.path(), "capture", &[("files", false)]).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "[capture]\nfils = true\n");
    }
}
