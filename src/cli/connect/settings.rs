//! The settings of another program: one entry in them is read, written and taken out, and everything else stays as it is.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use jsonc_parser::errors::ParseError;
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table, TableLike};

use crate::base::fs::{create_dir, write_new, write_over};

/// The name of our entry.
const NAME: &str = "vault";

const BYTE_ORDER_MARK: char = '\u{feff}';

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingsFormat {
    /// JSON, or JSON5.
    Json,
    /// TOML.
    Toml,
}

/// A file of settings.
#[derive(Debug)]
pub(super) struct SettingsFile {
    /// Where it is; the file itself where that is a link.
    pub(super) path: PathBuf,
    format: SettingsFormat,
    /// Where the entry stands.
    keys: Vec<&'static str>,
}

impl SettingsFile {
    pub(super) fn new(path: PathBuf, format: SettingsFormat, servers: &[&'static str]) -> Self {
        let keys = servers.iter().copied().chain([NAME]).collect();
        Self { path: path.canonicalize().unwrap_or(path), format, keys }
    }

    /// Its text; empty where it is not there.
    pub(super) fn read(&self) -> anyhow::Result<String> {
        if self.path.is_symlink() {
            bail!("{} is a link to a file that is not there", self.path.display());
        }
        match std::fs::read_to_string(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
            read => read.with_context(|| format!("cannot read {}", self.path.display())),
        }
    }

    /// Refuses a file that somebody has made read-only, as programs do that make settings by themselves.
    ///
    /// # Errors
    /// When it is.
    pub(super) fn is_writable(&self) -> anyhow::Result<()> {
        if self.path.metadata().is_ok_and(|meta| meta.permissions().readonly()) {
            bail!("{} is read-only", self.path.display());
        }
        Ok(())
    }

    /// The entry that a text has.
    ///
    /// # Errors
    /// When the text is not of its format.
    pub(super) fn entry(&self, text: &str) -> anyhow::Result<Option<Value>> {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let all: Value = match self.format {
            SettingsFormat::Json => {
                let tree = tree(text).map_err(|error| self.unreadable("JSON or JSON5", &error))?;
                tree.to_serde_value().unwrap_or_default()
            }
            SettingsFormat::Toml => toml::from_str(text).map_err(|error| self.unreadable("TOML", &error))?,
        };
        Ok(self.keys.iter().try_fold(&all, |value, key| value.get(key)).cloned())
    }

    /// A text with another entry, or without one.
    ///
    /// # Errors
    /// When the text is not of its format, or something else stands where the entry belongs.
    pub(super) fn with_entry(&self, text: &str, entry: Option<&Value>) -> anyhow::Result<String> {
        if self.entry(text)?.as_ref() == entry {
            // As whoever wrote it has laid it out.
            return Ok(text.to_owned());
        }
        let changed = as_written(text, |text| self.with_parts(text, entry));
        let changed = changed.with_context(|| self.path.display().to_string())?;
        // As where a name stands there twice.
        if self.entry(&changed)?.as_ref() != entry {
            bail!("{} cannot be edited", self.path.display());
        }
        Ok(changed)
    }

    /// A text with another entry: where there is one, what is the same in both stays as it is laid out.
    fn with_parts(&self, text: &str, entry: Option<&Value>) -> anyhow::Result<String> {
        let set = match self.format {
            SettingsFormat::Json => with_member,
            SettingsFormat::Toml => with_item,
        };
        let there = self.entry(text)?;
        let (Some(Value::Object(before)), Some(Value::Object(after))) = (&there, entry) else {
            return set(text, &self.keys, entry);
        };
        let mut text = text.to_owned();
        for key in before.keys().chain(after.keys().filter(|key| !before.contains_key(*key))) {
            if before.get(key) != after.get(key) {
                let keys: Vec<&str> = self.keys.iter().copied().chain([key.as_str()]).collect();
                text = set(&text, &keys, after.get(key))?;
            }
        }
        Ok(text)
    }

    /// Writes over what the file has, or makes it.
    ///
    /// # Errors
    /// When somebody else has written it meanwhile, or the disk refuses.
    pub(super) fn write(&self, before: &str, after: &str) -> anyhow::Result<()> {
        if !self.path.exists() {
            create_dir(self.path.parent().unwrap_or(Path::new("/")))?;
            return Ok(write_new(&self.path, after.as_bytes())?);
        }
        if !write_over(&self.path, before.as_bytes(), after.as_bytes())? {
            bail!("{} was changed by another program just now; try again", self.path.display());
        }
        Ok(())
    }

    fn unreadable(&self, what: &str, error: &dyn std::error::Error) -> anyhow::Error {
        anyhow::anyhow!("{} is not {what}: {}", self.path.display(), error.to_string().trim_end())
    }
}

/// Changes a text that begins with a byte order mark, or whose lines end as those of Windows do: it still does, and they.
fn as_written(text: &str, change: impl FnOnce(&str) -> anyhow::Result<String>) -> anyhow::Result<String> {
    let rest = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mark = &text[..text.len() - rest.len()];
    let line_ends = rest.matches('\n').count();
    if line_ends == 0 || rest.matches("\r\n").count() != line_ends {
        return Ok(format!("{mark}{}", change(rest)?));
    }
    Ok(format!("{mark}{}", change(&rest.replace("\r\n", "\n"))?.replace('\n', "\r\n")))
}

/// A TOML text with another value, or without one, at a path of keys; what is missing on the way is made.
fn with_item(text: &str, keys: &[&str], value: Option<&Value>) -> anyhow::Result<String> {
    let mut document: DocumentMut = text.parse()?;
    let (name, above) = keys.split_last().context("the entry has no name")?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for key in above {
        if !table.contains_key(key) && value.is_none() {
            return Ok(text.to_owned());
        }
        let mut made = Table::new();
        made.set_implicit(true);
        let item = table.entry(key).or_insert(Item::Table(made));
        table = item.as_table_like_mut().with_context(|| format!("`{key}` is not a table"))?;
    }
    match value {
        None => drop(table.remove(name)),
        Some(value) => {
            let mut item = toml_item(value);
            // What is said of it behind it stays.
            if let (Some(before), Some(now)) = (table.get(name).and_then(Item::as_value), item.as_value_mut()) {
                *now.decor_mut() = before.decor().clone();
            }
            table.insert(name, item);
        }
    }
    Ok(document.to_string())
}

/// A text, a list of texts, or a table of those, as our entries have them.
fn toml_item(value: &Value) -> Item {
    match value {
        Value::Object(object) => {
            Item::Table(object.iter().map(|(key, value)| (key.as_str(), toml_item(value))).collect())
        }
        Value::Array(list) => toml_edit::value(list.iter().filter_map(Value::as_str).collect::<toml_edit::Array>()),
        other => toml_edit::value(other.as_str().unwrap_or_default()),
    }
}

/// A text as JSON or as JSON5.
fn tree(text: &str) -> Result<CstRootNode, ParseError> {
    // The one thing that not even JSON5 leaves out.
    CstRootNode::parse(text, &ParseOptions { allow_missing_commas: false, ..ParseOptions::default() })
}

/// A text of JSON with another value, or without one, at a path of names; what is missing on the way is made.
fn with_member(text: &str, keys: &[&str], value: Option<&Value>) -> anyhow::Result<String> {
    let tree = tree(text)?;
    let (name, above) = keys.split_last().context("the entry has no name")?;
    let no_object = |key: &str| format!("`{key}` is not an object");
    let mut object = tree.object_value_or_create().with_context(|| no_object(keys[0]))?;
    for (key, within) in above.iter().zip(&keys[1..]) {
        if value.is_none() && object.get(key).is_none() {
            return Ok(text.to_owned());
        }
        object = object.object_value_or_create(key).with_context(|| no_object(within))?;
    }
    match (object.get(name), value) {
        (Some(there), Some(value)) => there.set_value(input(value)),
        (Some(there), None) => there.remove(),
        (None, Some(value)) => drop(object.append(name, input(value))),
        (None, None) => {}
    }
    Ok(tree.to_string())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(truth) => CstInputValue::Bool(*truth),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(object) => {
            CstInputValue::Object(object.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn file(format: SettingsFormat, servers: &[&'static str]) -> SettingsFile {
        SettingsFile { path: "/nowhere/settings".into(), format, keys: servers.iter().copied().chain([NAME]).collect() }
    }

    #[test]
    fn an_entry_comes_and_goes_and_the_rest_stays_to_the_byte() {
        let entry = json!({ "command": "/usr/bin/vault", "args": ["mcp", "--vault", "/home/maya/my \"vault\""] });
        let json = file(SettingsFormat::Json, &["mcp", "servers"]);
        let toml = file(SettingsFormat::Toml, &["mcp", "servers"]);
        let jsons = [
            "",
            "{}",
            "{ \"a\": 1.50e3 }\n",
            "{\n\t\"a\": [1, {\"b\": \"}\\\"\"}],\n\t\"mcp\": {}\n}\n",
            "{\n  \"mcp\": {\n    \"servers\": {\n      \"other\": { \"command\": \"x\" }\n    },\n    \"z\": 12345678901234567890123\n  }\n}",
            "{\"mcp\": {\"servers\": {}}, \"b\": null}",
        ];
        let tomls = [
            "",
            "# mine\nmodel = \"x\" # here\n",
            "[mcp]\nrequest_timeout_secs = 30\n\n[mcp.servers.other]\ncommand = \"x\"\n# the end\n",
            "mcp = { servers = { other = { command = \"x\" } } }\n",
        ];
        for (file, texts) in [(&json, &jsons[..]), (&toml, &tomls[..])] {
            for text in texts {
                let with = file.with_entry(text, Some(&entry)).unwrap();
                assert_eq!(file.entry(&with).unwrap().as_ref(), Some(&entry), "{with}");
                // All that was there is there, in its order.
                let mut rest = with.as_str();
                for word in
                    text.split_whitespace().flat_map(|word| word.split(['{', '}', ','])).filter(|word| !word.is_empty())
                {
                    let at = rest.find(word).unwrap_or_else(|| panic!("{word} of {text} in {with}"));
                    rest = &rest[at + word.len()..];
                }
                assert_eq!(file.with_entry(&with, Some(&entry)).unwrap(), with);
                assert_eq!(file.entry(&file.with_entry(&with, None).unwrap()).unwrap(), None);
            }
        }
        let added = json.with_entry(jsons[4], Some(&json!({ "command": "v" }))).unwrap();
        let expected = "      \"other\": { \"command\": \"x\" },\n      \"vault\": {\n        \"command\": \"v\"\n      }\n    },\n    \"z\": 12345678901234567890123\n";
        assert!(added.contains(expected), "{added}");
        assert_eq!(json.with_entry(&added, None).unwrap(), jsons[4]);
        let twice = "{\"mcp\": {\"servers\": {\"other\": {}}}, \"mcp\": {\"servers\": {\"vault\": {}}}}";
        assert!(json.with_entry(twice, None).is_err(), "a server of another went");
    }

    #[test]
    fn comments_and_trailing_commas_stay_where_they_are() {
        let entry = json!({ "command": "v", "args": ["mcp", "//", "/* no comment */"] });
        let file = file(SettingsFormat::Json, &["mcp", "servers"]);
        let wrap = |servers: &str| {
            format!(
                "// Mine\n{{\n\t\"z\": \"a // b \\\" /* c\", // last\n\t\"mcp\": {{ \"servers\": {servers} }}, // end\n}} // all\n"
            )
        };
        for servers in [
            "{}",
            "{ /* none */ }",
            "{\n\t\t// none yet\n\t}",
            "{ \"a\": 1 /* one */ }",
            "{\n\t\t\"a\": [1, 2, ], // one\n\t}",
            "{\n\t\t\"a\": 1 // one\n\t\t// two\n\t}",
            "{\n\t\t\"a\": 1, /* one\n\t\tgoes on */ \"b\": 2,\n\t\t/* two\n\t\t*/\n\t}",
            "{\n\t\t\"a\": 1,\n\t}",
        ] {
            for text in [wrap(servers), format!("\u{feff}{}", wrap(servers)), wrap(servers).replace('\n', "\r\n")] {
                let with = file.with_entry(&text, Some(&entry)).unwrap();
                assert_eq!(file.entry(&with).unwrap().as_ref(), Some(&entry), "{with}");
                assert_eq!(with.contains("\r\n"), text.contains("\r\n"));
                assert_eq!(with.matches('\n').count() == with.matches("\r\n").count(), text.contains('\r'), "{with:?}");
                let others = |text: &str| text.matches("// one").count() + text.matches("goes on").count();
                assert_eq!(others(&with), others(&text));
                // What stood behind a value stands behind it still.
                for line in text.lines().filter(|line| line.contains("1, // one") || line.contains("], // one")) {
                    assert!(with.contains(line), "{with}");
                }
                // Whoever has changed something else since gets that back without ours.
                let changed = with.replace("a // b", "a // x");
                let without = file.with_entry(&changed, None).unwrap();
                let squeezed =
                    |text: &str| text.split_whitespace().collect::<String>().replace(",}", "}").replace(",//", "//");
                assert_eq!(squeezed(&without), squeezed(&text.replace("a // b", "a // x")), "{without}");
                for comment in [
                    "// Mine", "// last", "// all", "// end", "// two", "/* one", "/* two", "// none yet", "/* none */",
                ] {
                    assert_eq!(without.matches(comment).count(), text.matches(comment).count(), "{comment}: {without}");
                }
            }
        }
        assert_eq!(file.entry("// nothing yet\n").unwrap(), None);
        let made = file.with_entry("// nothing yet\n", Some(&entry)).unwrap();
        assert!(made.starts_with("// nothing yet\n{\n") && file.entry(&made).unwrap().is_some(), "{made}");
    }

    #[test]
    fn bare_names_and_single_quotes_were_no_settings() {
        let entry = json!({ "command": "v", "args": ["mcp"] });
        let file = file(SettingsFormat::Json, &["mcp", "servers"]);
        let text = "// Mine\n{\n  gateway: { port: +18789, mode: 'local', at: .5, mask: 0xFF },\n  'say': 'it\\'s \\\n on',\n  \
                    mcp: {\n    servers: {\n      other: { command: 'x' }, // one\n    },\n  },\n}\n";
        let with = file.with_entry(text, Some(&entry)).unwrap();
        assert_eq!(file.entry(&with).unwrap().as_ref(), Some(&entry), "{with}");
        let ours =
            with.lines().skip_while(|line| !line.contains("vault")).take_while(|line| !line.starts_with("    },"));
        let ours: String = ours.map(|line| format!("{line}\n")).collect();
        assert_eq!(with.replacen(&ours, "", 1), text, "{ours}");
        assert_eq!(file.with_entry(&with, None).unwrap(), text);
        let bare = "{ mcp: { servers: { vault: { command: 'w', env: { A: 'b' } } } } }\n";
        let changed = file.with_entry(bare, Some(&json!({ "command": "v", "env": { "A": "b" } }))).unwrap();
        assert_eq!(changed, bare.replace("'w'", "\"v\""));
    }

    #[test]
    fn what_is_not_understood_is_not_written() {
        let entry = json!({ "command": "v" });
        for text in [
            "{ /* mine\n}", "{,}", "{ mcp {} }", "{ mcp: 'a }", "{ a: 1 b: 2 }", "{\"a\": 1,,}", "{} {}", "[]",
            "{\"mcp\": 1}", "{\"mcp\": {\"servers\": []}}",
        ] {
            assert!(file(SettingsFormat::Json, &["mcp", "servers"]).with_entry(text, Some(&entry)).is_err(), "{text}");
        }
        for text in ["[mcp", "mcp = 1", "mcp.servers = []"] {
            assert!(file(SettingsFormat::Toml, &["mcp", "servers"]).with_entry(text, Some(&entry)).is_err(), "{text}");
        }
    }
}
