//! `memory.toml`, read and checked.

use std::fs;
use std::path::{Path, PathBuf};

use super::chat::Rerank;
use super::ranges::first_violation;
use super::sections::{Config, FILE_NAME};
use crate::base::fs::{Context, FsError};

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The file is not TOML, or has a key or a value that is not known.
    #[error("{}: {source}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A value is out of its range.
    #[error("{}: {message}", path.display())]
    Range {
        /// The file.
        path: PathBuf,
        /// The key, its value and what it takes.
        message: String,
    },
}

impl ConfigError {
    /// What is wrong, in one line and without the file's name.
    pub fn reason(&self) -> String {
        match self {
            Self::Fs(error) => error.to_string(),
            Self::Range { message, .. } => message.clone(),
            Self::Syntax { source, .. } => {
                let told = source.to_string();
                let place = told.lines().next().and_then(|line| line.split_once(" at ")).map(|(_, place)| place);
                let message = source.message().replace('\n', ", ");
                place.map_or_else(|| message.clone(), |place| format!("{place}: {message}"))
            }
        }
    }
}

impl Config {
    /// Reads and checks the `memory.toml` of the vault at `root`.
    ///
    /// # Errors
    /// When the file cannot be read, is not TOML, has an unknown key or a value out of its range.
    pub fn load(root: &Path) -> Result<Self, ConfigError> {
        let path = root.join(FILE_NAME);
        let size = fs::metadata(&path).on("read", &path)?.len();
        if size > MAX_FILE_BYTES {
            let message = format!("it has {size} bytes; the limit is {MAX_FILE_BYTES}");
            return Err(ConfigError::Range { path, message });
        }
        let text = fs::read_to_string(&path).on("read", &path)?;
        Self::parse(&text, &path)
    }

    /// Checks a text that the errors call `path`.
    ///
    /// # Errors
    /// When it is not TOML, has an unknown key or a value out of its range.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let path = || path.to_owned();
        let config: Self =
            toml::from_str(text).map_err(|source| ConfigError::Syntax { path: path(), source: source.into() })?;
        match first_violation(&config).or_else(|| config.lacks_a_chat_model()).or_else(|| config.lacks_an_endpoint()) {
            Some(message) => Err(ConfigError::Range { path: path(), message }),
            None => Ok(config),
        }
    }
}

impl Config {
    /// What of a search is left to a chat model that is not named.
    fn lacks_a_chat_model(&self) -> Option<String> {
        let key = match (self.search.rerank, self.search.expand) {
            (Rerank::Chat, _) => "`search.rerank = \"chat\"`",
            (Rerank::Model, _) if self.search.rerank_model.is_empty() => {
                return Some("`search.rerank = \"model\"` needs `search.rerank_model`, a GGUF file".into());
            }
            (Rerank::Off | Rerank::Model, true) => "`search.expand = true`",
            (Rerank::Off | Rerank::Model, false) => return None,
        };
        self.chat.endpoint.is_empty().then(|| format!("{key} needs `chat.endpoint` and `chat.model`"))
    }
}

impl Config {
    /// A model that extracts, and is nowhere.
    fn lacks_an_endpoint(&self) -> Option<String> {
        let is_nowhere =
            !self.memory.model.is_empty() && self.memory.endpoint.is_empty() && self.chat.endpoint.is_empty();
        is_nowhere.then(|| "`memory.model` needs `memory.endpoint` or `chat.endpoint`".into())
    }
}

/// Maximum size of a configuration file, in bytes. None that a person writes is longer.
pub(crate) const MAX_FILE_BYTES: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::super::sections::*;
    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(text, Path::new("memory.toml"))
    }

    #[test]
    fn the_shipped_file_is_the_default_and_names_every_key() {
        assert_eq!(parse(SHIPPED).unwrap(), Config::default());
        let shipped: toml::Table = toml::from_str(SHIPPED).unwrap();
        let default = toml::Table::try_from(Config::default()).unwrap();
        let keys = |table: &toml::Table| -> Vec<String> {
            let mut keys: Vec<String> = table
                .iter()
                .flat_map(|(name, section)| section.as_table().unwrap().keys().map(move |key| format!("{name}.{key}")))
                .collect();
            keys.sort();
            keys
        };
        assert_eq!(keys(&shipped), keys(&default));
    }

    #[test]
    fn errors_name_the_key() {
        let unknown = parse("[search]\nlimti = 3").unwrap_err().to_string();
        assert!(unknown.contains("limti") && unknown.contains("line 2"), "{unknown}");
        let range = parse("[search]\nlimit = 0").unwrap_err().to_string();
        assert_eq!(range, "memory.toml: `search.limit` is 0; it takes 1 to 1000");
        let nameless = parse("[embed]\nendpoint = \"localhost:11434\"").unwrap_err().to_string();
        assert!(nameless.contains("`embed.endpoint` needs `embed.model`"), "{nameless}");
        let pasted = parse("[embed]\napi_key_env = \"sk-proj-quokka\"").unwrap_err().to_string();
        assert!(pasted.contains("`embed.api_key_env`") && !pasted.contains("quokka"), "{pasted}");
        let pasted = parse("[chat]\napi_key_env = \"sk-proj-quokka\"").unwrap_err().to_string();
        assert!(pasted.contains("`chat.api_key_env`") && !pasted.contains("quokka"), "{pasted}");
        let nameless = parse("[chat]\nendpoint = \"localhost:11434\"").unwrap_err().to_string();
        assert!(nameless.contains("`chat.endpoint` needs `chat.model`"), "{nameless}");
        let nowhere = parse("[memory]\nmodel = \"m\"").unwrap_err().to_string();
        assert!(nowhere.contains("`memory.model` needs `memory.endpoint`"), "{nowhere}");
        assert!(parse("[memory]\nmodel = \"m\"\n[chat]\nendpoint = \"localhost\"\nmodel = \"m\"").is_ok());
        let out = parse("[memory]\ncontext_tokens = 49").unwrap_err().to_string();
        assert_eq!(out, "memory.toml: `memory.context_tokens` is 49; it takes 50 to 100000");
        assert!(parse("[memory]\naccept = [\"whim\"]").unwrap_err().to_string().contains("unknown variant `whim`"));
        for (wanted, key) in [("rerank = \"chat\"", "`search.rerank"), ("expand = true", "`search.expand")] {
            let alone = parse(&format!("[search]\n{wanted}")).unwrap_err().to_string();
            assert!(alone.contains(key) && alone.contains("needs `chat.endpoint`"), "{alone}");
            let with = format!("[search]\n{wanted}\n[chat]\nendpoint = \"localhost\"\nmodel = \"m\"");
            assert!(parse(&with).is_ok());
        }
        let wrong = parse("[search]\nrerank = \"best\"").unwrap_err().to_string();
        assert!(wrong.contains("expected \"off\", \"chat\" or \"model\""), "{wrong}");
        let fraction = parse("[search]\nsemantic_weight = 1.5").unwrap_err().to_string();
        assert!(fraction.contains("`search.semantic_weight` is 1.5"), "{fraction}");
    }

    #[test]
    fn a_reason_is_one_line() {
        let reason = |text: &str| parse(text).unwrap_err().reason();
        let out = reason("[server]\nport = 99999999");
        assert!(out.starts_with("line 2, column 8: ") && out.contains("99999999") && !out.contains('\n'), "{out}");
        assert!(reason("[search]\nlimti = 3").contains("limti"));
        assert_eq!(reason("[search]\nlimit = 0"), "`search.limit` is 0; it takes 1 to 1000");
    }

    #[test]
    fn a_file_that_would_take_all_room_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        let load = |text: &str| {
            fs::write(&path, text).unwrap();
            Config::load(folder.path()).unwrap_err().to_string()
        };
        let sparse = fs::File::create(&path).and_then(|file| file.set_len(1 << 40));
        sparse.unwrap();
        let said = Config::load(folder.path()).unwrap_err().to_string();
        assert!(said.contains("it has 1099511627776 bytes"), "{said}");
        for deep in ["x = ".to_owned() + &"[".repeat(500_000), "x = ".to_owned() + &"{x=".repeat(100_000)] {
            assert!(load(&deep).contains("line 1"));
        }
        let dotted = load(&format!("{}x = 1", "x.".repeat(400_000)));
        assert!(dotted.contains(FILE_NAME), "{dotted:.200}");
    }

    #[test]
    fn a_missing_key_has_its_default() {
        let config = parse("[server]\nport = 1").unwrap();
        assert_eq!((config.server.port, config.search), (1, SearchConfig::default()));
    }
}
