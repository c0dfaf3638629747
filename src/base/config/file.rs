//! The file `memory.toml`: read and checked, edited as a person would, and followed for the sections that count at once.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::memory_kinds::{collections_violation, sessions_violation};
use super::sections::{CaptureConfig, Config, EmbedConfig, FILE_NAME, Rerank, RetentionConfig, SearchConfig};
use crate::base::fs::{Context, FsError, write_over};

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
        match config.violation() {
            Some(message) => Err(ConfigError::Range { path: path(), message }),
            None => Ok(config),
        }
    }

    /// Finds the first value that is out of its range, or does not go with another, as a sentence that names the key.
    fn violation(&self) -> Option<String> {
        let Self { server, index, embed, search, chat, access: _, scope: _, agents, capture, .. } = self;
        let Self { retention, traces, backup, facts, memory, upstream, remote, collections, sessions, .. } = self;
        let numbers = [
            server.out_of_range("server").or_else(|| server.violation()),
            index.out_of_range("index"),
            embed.out_of_range("embed"),
            search.violation(),
            chat.out_of_range("chat"),
            agents.out_of_range("agents"),
            capture.out_of_range("capture"),
            traces.out_of_range("traces"),
            facts.out_of_range("facts"),
            memory.out_of_range("memory"),
            upstream.out_of_range("upstream"),
            remote.out_of_range("remote"),
        ];
        let nowhere = || {
            let is_nowhere = !memory.model.is_empty() && memory.endpoint.is_empty() && chat.endpoint.is_empty();
            is_nowhere.then(|| "`memory.model` needs `memory.endpoint` or `chat.endpoint`".into())
        };
        numbers
            .into_iter()
            .flatten()
            .next()
            .or_else(|| self.bad_service())
            .or_else(|| retention.violation())
            .or_else(|| backup.violation())
            .or_else(|| collections_violation(collections))
            .or_else(|| sessions_violation(sessions))
            .or_else(|| self.lacks_a_chat_model())
            .or_else(nowhere)
    }

    /// An endpoint without its model, or what is not the name of its key's variable.
    fn bad_service(&self) -> Option<String> {
        let Self { embed, chat, memory, upstream, .. } = self;
        if !embed.endpoint.is_empty() && ["", "bundled"].contains(&embed.model.as_str()) {
            return Some(
                "`embed.endpoint` needs `embed.model`, the model's name at that service; or \"none\" to search by words only".into(),
            );
        }
        let models = [("chat", &chat.endpoint, &chat.model), ("memory", &memory.endpoint, &memory.model)];
        if let Some((section, ..)) = models.iter().find(|(_, endpoint, model)| !endpoint.is_empty() && model.is_empty())
        {
            return Some(format!("`{section}.endpoint` needs `{section}.model`, the model's name at that service"));
        }
        let keys = [
            ("embed", &embed.api_key_env),
            ("chat", &chat.api_key_env),
            ("memory", &memory.api_key_env),
            ("upstream", &upstream.api_key_env),
        ];
        if !is_variable_name(&self.remote.password_env) {
            return Some("`remote.password_env` is not the name of an environment variable; put the password into such a variable, and its name here".into());
        }
        // It may be the key itself, so it is not said.
        let (section, _) = keys.into_iter().find(|(_, name)| !is_variable_name(name))?;
        Some(format!(
            "`{section}.api_key_env` is not the name of an environment variable; put the key into such a variable, and its name here"
        ))
    }

    /// What of a search is left to a chat model that is not named.
    fn lacks_a_chat_model(&self) -> Option<String> {
        let lacks = self.search.rerank == Rerank::Chat && self.chat.endpoint.is_empty();
        lacks.then(|| "`search.rerank = \"chat\"` needs `chat.endpoint` and `chat.model`".into())
    }
}

/// Whether a text can name one; nothing names none.
fn is_variable_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_none_or(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Maximum size of a configuration file, in bytes. None that a person writes is longer.
pub(crate) const MAX_FILE_BYTES: u64 = 1 << 20;

impl Config {
    /// Sets keys of a section in the `memory.toml` of the vault at `root`, as a person would: the values alone, and every comment stays. Gives
    /// the configuration as it is then.
    ///
    /// # Errors
    /// When the file cannot be read or written, is not right as it is, or a value is out of its range; the file is then as it was.
    pub(crate) fn set_values(
        root: &Path,
        section: &str,
        values: &[(&str, toml_edit::Value)],
    ) -> Result<Self, ConfigError> {
        // A link to a file elsewhere stays one.
        let path = root.join(FILE_NAME).canonicalize().on("read", &root.join(FILE_NAME))?;
        for _ in 0..2 {
            let text = fs::read_to_string(&path).on("read", &path)?;
            let before = Self::parse(&text, &path)?;
            let edited = with_values(&text, section, values)
                .map_err(|error| ConfigError::Range { path: path.clone(), message: error.to_string() })?;
            let after = Self::parse(&edited, &path)?;
            // The person may be saving it at this very moment.
            if after == before || write_over(&path, text.as_bytes(), edited.as_bytes())? {
                return Ok(after);
            }
        }
        Err(io::Error::other("another program is writing it; try again")).on("write", &path)?
    }
}

fn with_values(text: &str, section: &str, values: &[(&str, toml_edit::Value)]) -> Result<String, toml_edit::TomlError> {
    let mut document: toml_edit::DocumentMut = text.parse()?;
    for (key, new) in values {
        let item = &mut document[section][key];
        match item.as_value_mut() {
            Some(value) => {
                let decor = value.decor().clone();
                *value = new.clone();
                *value.decor_mut() = decor;
            }
            None => *item = toml_edit::value(new.clone()),
        }
    }
    // A section that was made for the keys is a table of its own.
    if let Some(inline) = document.get(section).and_then(|item| item.as_inline_table()).cloned() {
        document[section] = toml_edit::Item::Table(inline.into_table());
    }
    Ok(document.to_string())
}

impl SearchConfig {
    /// The same with some of its keys set otherwise, as `key=value` with commas between them.
    ///
    /// # Errors
    /// When there is no such key, or it does not take the value.
    pub fn with(&self, settings: &str) -> Result<Self, String> {
        let mut search = toml::Table::try_from(self).map_err(|error| error.to_string())?;
        for setting in settings.split(',').map(str::trim).filter(|setting| !setting.is_empty()) {
            let (key, value) = setting.split_once('=').ok_or_else(|| format!("`{setting}` is not `key=value`"))?;
            // What is no number is a text, with quotes or without.
            let value: toml::Value = value.trim().parse().unwrap_or_else(|_| value.trim().into());
            search.insert(key.trim().to_owned(), value);
        }
        let search: Self = search.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        match search.violation() {
            Some(reason) => Err(reason),
            None => Ok(search),
        }
    }

    /// Finds the first value that is out of its range, as a sentence that names the key.
    fn violation(&self) -> Option<String> {
        let wrong = || self.weights.iter().find(|(_, weight)| !(0.0..=10.0).contains(*weight));
        self.out_of_range("search").or_else(|| {
            wrong().map(|(name, weight)| {
                format!("the weight of `{name}` in `search.weights` is {weight}; it takes 0.0 to 10.0")
            })
        })
    }
}

/// The sections of `memory.toml` that count at once. They are read again when the file's stamp has changed; while it cannot
/// be read, what it said before still holds.
pub struct Switches {
    root: PathBuf,
    now: Mutex<Now>,
}

struct Now {
    stamp: Option<ConfigStamp>,
    /// What the file said at first, where it could be read, with what of it has counted since.
    first: Option<Config>,
    /// What it says now, or said when it could be read last.
    latest: Config,
    failure: Option<String>,
}

/// Size, time of change, and the file's number, as an editor may put a new file in its place.
type ConfigStamp = (u64, Option<SystemTime>, u64);

impl Switches {
    /// Begins with a configuration that was read, for the vault at `root`.
    pub fn new(root: &Path, config: &Config) -> Self {
        // Not that configuration, in which a command may have put its own words.
        let first = Config::load(root).ok();
        let latest = first.clone().unwrap_or_else(|| config.clone());
        Self { root: root.to_owned(), now: Mutex::new(Now { stamp: None, first, latest, failure: None }) }
    }

    /// What is captured.
    pub fn capture(&self) -> CaptureConfig {
        self.look().latest.capture.clone()
    }

    /// How long it is kept.
    pub fn retention(&self) -> RetentionConfig {
        self.look().latest.retention.clone()
    }

    /// Why `memory.toml` cannot be read, while it cannot, in one line.
    pub fn failure(&self) -> Option<String> {
        self.look().failure.clone()
    }

    /// Whether `memory.toml` says something that counts after a restart alone. While it cannot be read, as before.
    pub fn wait_for_a_restart(&self) -> bool {
        let now = self.look();
        now.first.as_ref().is_some_and(|first| {
            let (capture, retention) = (now.latest.capture.clone(), now.latest.retention.clone());
            Config { capture, retention, ..first.clone() } != now.latest
        })
    }

    /// Says that another model is taken without a restart, as that section names it.
    pub fn took_model(&self, embed: &EmbedConfig) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.first.iter_mut().for_each(|first| first.embed = embed.clone());
    }

    /// Turns switches of `[capture]` on or off, in the file and from now on.
    ///
    /// # Errors
    /// When the file cannot be read or written, or is not right as it is.
    pub fn set(&self, switches: &[(&str, bool)]) -> Result<CaptureConfig, ConfigError> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let switches: Vec<_> = switches.iter().map(|(key, on)| (*key, (*on).into())).collect();
        let config = Config::set_values(&self.root, "capture", &switches)?;
        now.stamp = stamp(&self.root);
        (now.latest, now.failure) = (config, None);
        Ok(now.latest.capture.clone())
    }

    fn look(&self) -> MutexGuard<'_, Now> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = stamp(&self.root);
        // A file that is away, with all of the vault, says nothing new.
        if stamp.is_some() && stamp != now.stamp {
            now.stamp = stamp;
            match Config::load(&self.root) {
                Ok(config) => (now.latest, now.failure) = (config, None),
                Err(error) => {
                    tracing::warn!("{error}; what was captured before still is");
                    now.failure = Some(error.reason());
                }
            }
        }
        now
    }
}

fn stamp(root: &Path) -> Option<ConfigStamp> {
    let meta = root.join(FILE_NAME).metadata().ok()?;
    Some((meta.len(), meta.modified().ok(), meta.ino()))
}

#[cfg(test)]
mod tests {
    use super::super::sections::*;
    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(text, Path::new("memory.toml"))
    }

    #[test]
    fn the_shipped_file_is_the_default_and_names_every_key() {
        assert_eq!(parse(REFERENCE).unwrap(), Config::default());
        let shipped: toml::Table = toml::from_str(REFERENCE).unwrap();
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
        let out = parse("[memory]\ncalls_per_day = 100001").unwrap_err().to_string();
        assert_eq!(out, "memory.toml: `memory.calls_per_day` is 100001; it takes 0 to 100000");
        let alone = parse("[search]\nrerank = \"chat\"").unwrap_err().to_string();
        assert!(alone.contains("`search.rerank") && alone.contains("needs `chat.endpoint`"), "{alone}");
        let with = "[search]\nrerank = \"chat\"\n[chat]\nendpoint = \"localhost\"\nmodel = \"m\"";
        assert!(parse(with).is_ok());
        let wrong = parse("[search]\nrerank = \"best\"").unwrap_err().to_string();
        assert!(wrong.contains("expected \"off\" or \"chat\""), "{wrong}");
        let fraction = parse("[search]\nmin_score = 1.5").unwrap_err().to_string();
        assert!(fraction.contains("`search.min_score` is 1.5"), "{fraction}");
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

    fn with_switches(text: &str, section: &str, switches: &[(&str, bool)]) -> Result<String, toml_edit::TomlError> {
        let values: Vec<_> = switches.iter().map(|(key, on)| (*key, (*on).into())).collect();
        with_values(text, section, &values)
    }

    #[test]
    fn a_text_is_quoted_and_its_comment_stays() {
        let text = "[embed]\nmodel = \"bundled\" # small\n";
        let edited = with_values(text, "embed", &[("model", "a \"b\".gguf".into())]).unwrap();
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
        assert!(Config::set_values(folder.path(), "capture", &[("files", false.into())]).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "[capture]\nfils = true\n");
    }

    #[test]
    fn a_setting_is_a_key_of_the_section_and_nothing_else() {
        let config = SearchConfig::default();
        let set = config.with("mode=deep, per_file = 60,,min_score=0.5").unwrap();
        assert_eq!(set, SearchConfig { mode: Mode::Deep, per_file: 60, min_score: 0.5, ..config.clone() });
        assert_eq!(config.with("").unwrap(), config);
        for (settings, rerank) in
            [("rerank=true", Rerank::Chat), ("rerank=chat", Rerank::Chat), ("rerank=off", Rerank::Off)]
        {
            assert_eq!(config.with(settings).unwrap().rerank, rerank);
        }
        let on = SearchConfig { rerank: Rerank::Chat, ..config.clone() };
        assert_eq!(
            (on.with("limit=3").unwrap().rerank, on.with("rerank=false").unwrap()),
            (Rerank::Chat, config.clone())
        );
        for (settings, said) in [
            ("mode", "`mode` is not `key=value`"),
            ("moda=deep", "unknown field `moda`"),
            ("fusion=rrf", "unknown field `fusion`"),
            ("mode=\"best\"", "unknown variant `best`"),
            ("limit=0", "`search.limit` is 0; it takes 1 to 1000"),
            ("limit=-1", "invalid value"),
            ("min_score=nan", "`search.min_score` is NaN"),
        ] {
            let error = config.with(settings).unwrap_err();
            assert!(error.contains(said), "{settings}: {error}");
        }
    }

    #[test]
    fn an_edited_file_counts_at_once_and_a_broken_one_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        fs::write(&path, "").unwrap();
        let switches = Switches::new(folder.path(), &Config::default());
        assert!(switches.capture().files && !switches.capture().searches);
        fs::write(&path, "[capture]\nsearches = true\n").unwrap();
        assert!(switches.capture().searches);
        fs::write(&path, "[capture]\nsearches = perhaps\n").unwrap();
        assert!(switches.capture().searches && switches.failure().is_some());
        assert!(switches.set(&[("files", false)]).is_err());
        fs::write(&path, "[capture]\nsearches = true # yes\n").unwrap();
        assert!(!switches.set(&[("files", false)]).unwrap().files);
        assert_eq!(fs::read_to_string(&path).unwrap(), "[capture]\nsearches = true # yes\nfiles = false\n");
        assert!(switches.failure().is_none() && switches.capture().searches);
        assert!(!switches.wait_for_a_restart(), "all of that counts");
        fs::write(&path, "[search]\nlimit = 3\n").unwrap();
        assert!(switches.wait_for_a_restart());
        let usual = Config::default().search.limit;
        fs::write(&path, format!("[search]\nlimit = {usual} # as it is anyway\n")).unwrap();
        assert!(!switches.wait_for_a_restart());
        fs::write(&path, "[embed]\nmodel = \"none\"\n").unwrap();
        assert!(switches.wait_for_a_restart());
        switches.took_model(&Config::load(folder.path()).unwrap().embed);
        assert!(!switches.wait_for_a_restart(), "that model is in use");
    }
}
