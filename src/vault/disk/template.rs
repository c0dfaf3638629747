//! Makes a folder a vault.

use std::fs;
use std::path::Path;

use include_dir::{Dir, include_dir};

use super::home::{Home, HomeError};
use crate::base::config::{FILE_NAME, STARTER};
use crate::base::fs::{Context, FsError, crash, create_dir, write_new};
use crate::base::path::VaultPath;

static TEMPLATE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/vault-template");

/// Makes a new vault from the template in a folder that is empty or not there yet.
///
/// # Errors
/// When the folder holds anything, or cannot be written to.
pub(crate) fn init(folder: &Path) -> Result<Home, HomeError> {
    if folder.join(FILE_NAME).exists() {
        return Err(HomeError::AlreadyAVault(folder.to_owned()));
    }
    if folder.exists() && fs::read_dir(folder).on("list", folder)?.next().is_some() {
        return Err(HomeError::NotEmpty(folder.to_owned()));
    }
    create_dir(folder)?;
    write_below(&TEMPLATE, folder)?;
    // Last, as it is what makes the folder a vault: a start that was cut short is not taken for one.
    write_new(&folder.join(FILE_NAME), STARTER.as_bytes())?;
    Home::open(folder)
}

/// Whether a note is one that a new vault starts with, and nobody has edited it.
pub(crate) fn is_starter(path: &VaultPath, text: &str) -> bool {
    TEMPLATE.get_file(path.as_str()).is_some_and(|file| file.contents() == text.as_bytes())
}

fn write_below(dir: &Dir<'_>, folder: &Path) -> Result<(), FsError> {
    for file in dir.files().filter(|file| file.path() != Path::new(FILE_NAME)) {
        write_new(&folder.join(file.path()), file.contents())?;
        crash::point("template-note-written");
    }
    for below in dir.dirs() {
        create_dir(&folder.join(below.path()))?;
        write_below(below, folder)?;
    }
    Ok(())
}

/// Makes an existing folder a vault: adds `memory.toml` and `.vault/`, and touches nothing that is there.
///
/// # Errors
/// When there is no such folder, it is a vault already, or cannot be written to.
pub(crate) fn adopt(folder: &Path) -> Result<Home, HomeError> {
    if !folder.is_dir() {
        return Err(HomeError::NothingToAdopt(folder.to_owned()));
    }
    let config = folder.join(FILE_NAME);
    if config.exists() {
        return Err(HomeError::AlreadyAVault(folder.to_owned()));
    }
    write_new(&config, adopted().as_bytes())?;
    Home::open(folder)
}

/// The configuration of a folder that somebody else's files are in: nothing is written there that nobody asked for.
fn adopted() -> String {
    STARTER.replace("history = true ", "history = false").replace("enabled = true ", "enabled = false")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::Config;

    #[test]
    fn init_writes_the_template_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("new/vault");
        init(&root).unwrap();
        assert!(root.join("notes").is_dir() && root.join(".gitignore").is_file() && root.join("README.md").is_file());
        assert_eq!(fs::read_to_string(root.join(FILE_NAME)).unwrap(), STARTER);
        assert!(matches!(init(&root), Err(HomeError::AlreadyAVault(_))));
    }

    #[test]
    fn init_refuses_what_is_not_empty_and_adopt_adds_two_names() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mine.md"), "mine").unwrap();
        assert!(matches!(init(folder.path()), Err(HomeError::NotEmpty(_))));
        adopt(folder.path()).unwrap();
        let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [".vault", "memory.toml", "mine.md"]);
        assert_eq!(fs::read_to_string(folder.path().join("mine.md")).unwrap(), "mine");
        let config = Config::load(folder.path()).unwrap();
        assert!(!config.facts.history && !config.memory.enabled, "nothing is written unasked");
        assert_eq!(
            Config { facts: Config::default().facts, memory: Config::default().memory, ..config },
            Config::default()
        );
        assert!(matches!(adopt(folder.path()), Err(HomeError::AlreadyAVault(_))));
        assert!(matches!(adopt(&folder.path().join("nothing")), Err(HomeError::NothingToAdopt(_))));
    }
}
