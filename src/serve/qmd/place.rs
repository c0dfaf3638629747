//! Which index a command means, and where it is.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::fs::{Context, FsError, create_dir, write_atomically, write_new};
use crate::vault::disk::state_dir;

/// The name of an index that is given none.
pub(crate) const DEFAULT_NAME: &str = "index";
/// Maximum length of a name, in bytes. None that a person gives is longer.
const MAX_NAME_BYTES: usize = 100;

/// The folder in which a project has an index of its own.
const PROJECT_DIR: &str = ".qmd";

/// What of the environment says which index is meant.
#[derive(Debug, Clone, Default)]
pub(crate) struct IndexVariables {
    /// `XDG_CACHE_HOME`.
    pub cache: Option<OsString>,
    /// `XDG_CONFIG_HOME`.
    pub config: Option<OsString>,
    /// `QMD_CONFIG_DIR`.
    pub qmd_config: Option<OsString>,
    /// The folder `.qmd` of the project that the command is called in.
    pub project: Option<PathBuf>,
}

impl IndexVariables {
    /// Those of this process.
    pub(crate) fn of_process() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
        Self {
            cache: variable("XDG_CACHE_HOME"),
            config: variable("XDG_CONFIG_HOME"),
            qmd_config: variable("QMD_CONFIG_DIR"),
            project: std::env::current_dir().ok().and_then(|current| project_of(&current, home.as_deref())),
        }
    }

    /// Whether one of the variables is set: each of them names an index, and no project's counts beside it. A program that sets them opens
    /// the database there itself.
    pub(crate) fn name_one(&self) -> bool {
        [&self.cache, &self.config, &self.qmd_config].iter().any(|variable| variable.is_some())
    }
}

/// The folder of a project's own index: in the nearest folder at or above one, and below the home folder where that is above it. Only a
/// folder of this user's own is it, no link and none that somebody else has put there, and only where it has a configuration.
fn project_of(current: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let is_it = |folder: &PathBuf| is_own_folder(folder) && configuration_in(folder).is_some_and(|file| file.is_file());
    let above = current.ancestors().take_while(|above| Some(*above) != home);
    above.map(|above| above.join(PROJECT_DIR)).find(is_it)
}

/// Whether there is a folder at a path, and no link to one, that is this user's.
fn is_own_folder(folder: &Path) -> bool {
    let meta = folder.symlink_metadata();
    meta.is_ok_and(|meta| meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw())
}

/// The configuration in a project's folder, as a QMD names it, where there is one.
fn configuration_in(folder: &Path) -> Option<PathBuf> {
    ["index.yaml", "index.yml"].map(|name| folder.join(name)).into_iter().find(|file| file.symlink_metadata().is_ok())
}

/// The file of an index that says for which place it is.
const PLACE: &str = "place.json";

/// An index and where it is: one for each name, cache folder and configuration folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IndexPaths {
    /// Its name.
    pub name: String,
    /// The private folder that is its vault.
    pub folder: PathBuf,
    /// The database in which other programs look its documents up.
    pub database: PathBuf,
    /// Where the configuration of a QMD that was there before would be.
    pub former: PathBuf,
}

impl IndexPaths {
    /// The index of a name; where none is said, and no variable names one, that of the project that the command is called in; else the usual
    /// one, as the environment has it.
    ///
    /// # Errors
    /// When the name is none, or there is no home folder.
    pub(crate) fn of(named: Option<&str>, variables: &IndexVariables) -> Result<Self, QmdError> {
        let name = named.unwrap_or(DEFAULT_NAME);
        let plain = |character: char| character.is_alphanumeric() || "-_.".contains(character);
        if name.is_empty() || name.len() > MAX_NAME_BYTES || name.starts_with('.') || !name.chars().all(plain) {
            let takes = "it takes letters, digits, `-`, `_` and `.`, and begins with no dot";
            return Err(QmdError::Refused(format!("{name:?} is no name of an index: {takes}")));
        }
        if let (None, false, Some(project)) = (named, variables.name_one(), &variables.project) {
            return Self::of_project(project);
        }
        let absolute = |folder: PathBuf| std::path::absolute(folder).map_err(|_| QmdError::Homeless);
        let below_home =
            |folder: &str| std::env::home_dir().ok_or(QmdError::Homeless).and_then(|home| absolute(home.join(folder)));
        let given = |folder: &OsString| absolute(folder.into());
        let cache = variables.cache.as_ref().map_or_else(|| below_home(".cache"), given)?.join("qmd");
        let config = match (&variables.qmd_config, &variables.config) {
            (Some(folder), _) => given(folder)?,
            (None, Some(folder)) => given(folder)?.join("qmd"),
            (None, None) => below_home(".config/qmd")?,
        };
        let folder = indexes_folder()?.join(key(&cache, &config, name));
        Ok(Self {
            name: name.to_owned(),
            folder,
            database: cache.join(format!("{name}.sqlite")),
            former: config.join(format!("{name}.yml")),
        })
    }

    /// The own index of a project, given its folder `.qmd`.
    ///
    /// # Errors
    /// When there is no home folder.
    pub(super) fn of_project(project: &Path) -> Result<Self, QmdError> {
        Ok(Self {
            name: DEFAULT_NAME.to_owned(),
            folder: indexes_folder()?.join(key(project, project, DEFAULT_NAME)),
            database: project.join(format!("{DEFAULT_NAME}.sqlite")),
            former: configuration_in(project).unwrap_or_else(|| project.join("index.yml")),
        })
    }

    /// Makes the own index of a project in a folder: `.qmd` with a configuration that names no collection, which a repository may have, and
    /// what keeps the database out of it. What is there stays.
    ///
    /// # Errors
    /// When it cannot be made, or something else stands there.
    pub(crate) fn make_in(folder: &Path) -> Result<Self, QmdError> {
        let project = folder.join(PROJECT_DIR);
        create_dir(&project)?;
        if !is_own_folder(&project) {
            return Err(QmdError::Refused(format!("{} is no folder of yours, or a link", project.display())));
        }
        if configuration_in(&project).is_none() {
            write_new(&project.join("index.yml"), b"collections: {}\n")?;
        }
        let place = Self::of_project(&project)?;
        place.keep_from_repository()?;
        Ok(place)
    }

    /// Has a repository leave the database of a project out, where nothing says yet what it leaves out there. A clone may come with a
    /// configuration alone.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn keep_from_repository(&self) -> Result<(), FsError> {
        let Some(project) = self.project() else { return Ok(()) };
        let ignored = project.join(PROJECT_DIR).join(".gitignore");
        if ignored.symlink_metadata().is_ok() {
            return Ok(());
        }
        match write_new(&ignored, b"index.sqlite*\n") {
            // Another command was quicker.
            Err(error) if error.source.kind() == ErrorKind::AlreadyExists => Ok(()),
            written => written,
        }
    }

    /// The project whose own index it is.
    pub(crate) fn project(&self) -> Option<&Path> {
        let folder = self.database.parent()?;
        (folder.file_name()? == PROJECT_DIR && self.former.parent() == Some(folder)).then(|| folder.parent()).flatten()
    }

    /// The index whose folder this is; `None` where it is none.
    pub(crate) fn of_folder(folder: &Path) -> Option<Self> {
        let place: Self = serde_json::from_slice(&std::fs::read(folder.join(PLACE)).ok()?).ok()?;
        (place.folder == folder).then_some(place)
    }

    /// Writes down, in the folder of the index, for which place it is.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn remember(&self) -> Result<(), FsError> {
        let path = self.folder.join(PLACE);
        let text = serde_json::to_vec_pretty(self).map_err(std::io::Error::other).on("encode", &path)?;
        write_atomically(&path, &text, 0o600)
    }
}

/// The private folder in which each index has its own, and the process that answers for them its socket.
///
/// # Errors
/// When there is no home folder.
pub(crate) fn indexes_folder() -> Result<PathBuf, QmdError> {
    Ok(state_dir().ok_or(QmdError::Homeless)?.join("qmd"))
}

/// A short name for an index that no other on the machine has.
fn key(cache: &Path, config: &Path, name: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [cache.as_os_str().as_encoded_bytes(), config.as_os_str().as_encoded_bytes(), name.as_bytes()] {
        hasher.update(part).update(b"\0");
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// Why an index cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QmdError {
    /// A file operation failed.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// There is no home folder to keep anything in.
    #[error("you have no home folder to keep an index in; set XDG_CACHE_HOME, XDG_CONFIG_HOME and XDG_STATE_HOME")]
    Homeless,
    /// What is asked for cannot be, for this reason.
    #[error("{0}")]
    Refused(String),
    /// SQLite refused.
    #[error("cannot use {}: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
}

impl QmdError {
    /// There is no collection of a name.
    pub(crate) fn no_collection(name: &str) -> Self {
        Self::Refused(format!("Collection not found: {name}\nRun 'qmd collection list' to see those there are."))
    }

    /// Whether the file is no database that can be read, or not one with our tables.
    pub(super) fn is_damage(&self) -> bool {
        use rusqlite::Error as Sqlite;
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        let Self::Sqlite { source, .. } = self else { return false };
        match source {
            // What stands in a row is none of what is written there.
            Sqlite::FromSqlConversionFailure(..)
            | Sqlite::IntegralValueOutOfRange(..)
            | Sqlite::Utf8Error(..)
            | Sqlite::InvalidColumnType(..) => true,
            source => {
                let is_corrupt = matches!(source.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase));
                // The file was put aside, or replaced, since it was opened.
                let has_moved = source
                    .sqlite_error()
                    .is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_READONLY_DBMOVED);
                is_corrupt || has_moved || source.to_string().starts_with("no such ")
            }
        }
    }

    /// What SQLite said of a file.
    pub(super) fn of(path: &Path) -> impl Fn(rusqlite::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Sqlite { path: path.clone(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_cache_and_configuration_is_an_index_of_its_own() {
        let variables = |cache: &str, config: &str, qmd: Option<&str>| IndexVariables {
            cache: Some(cache.into()),
            config: Some(config.into()),
            qmd_config: qmd.map(Into::into),
            project: None,
        };
        let one = IndexPaths::of(None, &variables("/a/cache", "/a/config", None)).unwrap();
        assert_eq!(one.database, Path::new("/a/cache/qmd/index.sqlite"));
        assert_eq!(one.former, Path::new("/a/config/qmd/index.yml"));
        let same = IndexPaths::of(Some("index"), &variables("/a/cache", "/x", Some("/a/config/qmd"))).unwrap();
        assert_eq!(one, same, "however the folder is named");
        let others = [
            IndexPaths::of(Some("moltis"), &variables("/a/cache", "/a/config", None)).unwrap(),
            IndexPaths::of(None, &variables("/b/cache", "/a/config", None)).unwrap(),
            IndexPaths::of(None, &variables("/a/cache", "/b/config", None)).unwrap(),
        ];
        for other in others {
            assert_ne!(one.folder, other.folder);
        }
        // A project's own counts where nothing else is named.
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("a/b");
        std::fs::create_dir_all(&below).unwrap();
        let above = folder.path().parent();
        assert_eq!(project_of(&below, above), None);
        let own = IndexPaths::make_in(folder.path()).unwrap();
        assert_eq!((&own, own.project()), (&IndexPaths::make_in(folder.path()).unwrap(), Some(folder.path())));
        let project = project_of(&below, above);
        assert_eq!(project, Some(folder.path().join(".qmd")));
        assert_eq!(project_of(&below, Some(folder.path())), None, "the home folder is no project");
        let alone = IndexVariables { project: project.clone(), ..IndexVariables::default() };
        assert_eq!(IndexPaths::of(None, &alone).unwrap(), own);
        for variables in [
            IndexVariables { cache: Some("/a/cache".into()), ..alone.clone() },
            IndexVariables { config: Some("/a/config".into()), ..alone.clone() },
            IndexVariables { qmd_config: Some("/a/config/qmd".into()), ..alone.clone() },
        ] {
            assert_eq!(IndexPaths::of(None, &variables).unwrap().project(), None, "{variables:?}");
        }
        let with = |qmd| IndexVariables { project: project.clone(), ..variables("/a/cache", "/a/config", qmd) };
        assert_eq!(own.database, folder.path().join(".qmd/index.sqlite"));
        assert_eq!((IndexPaths::of(None, &with(Some("/a/config/qmd"))).unwrap(), one.project()), (one.clone(), None));
        assert_eq!(IndexPaths::of(Some("index"), &with(None)).unwrap(), one);
        std::os::unix::fs::symlink(folder.path().join(".qmd"), below.join(".qmd")).unwrap();
        assert_eq!(project_of(&below, above), Some(folder.path().join(".qmd")), "no link");
        assert!(IndexPaths::make_in(&below).is_err());
        for bad in ["", "..", ".x", "a/b", "../x", "a\0b", "a\nb", &"x".repeat(101)] {
            assert!(
                matches!(IndexPaths::of(Some(bad), &IndexVariables::default()), Err(QmdError::Refused(_))),
                "{bad:?}"
            );
        }
    }
}
