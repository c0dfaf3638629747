//! What can be wrong with the stores, and how they are made fit to be opened again.
//!
//! Damage in one store costs that store alone. The keyword index is built again from the catalog. The catalog is built again
//! from the notes, embeddings and all. An embedding is computed again, and a graph is saved again.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::catalog::CatalogError;
use super::keyword::KeywordError;
use super::recovery::MARKER;
use super::store::Store;
use super::vectors::VectorError;
use crate::base::fs::{Context, FsError, crash};
use crate::index::engine::{Damage, EngineError};

/// The index failed.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The catalog did.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The keyword index did.
    #[error(transparent)]
    Keyword(#[from] KeywordError),
    /// The vectors did.
    #[error(transparent)]
    Vector(#[from] VectorError),
    /// A file operation did.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// There is none yet, and only its writer makes one.
    #[error("{} has no index yet: the process that writes it has just started. Try again in a moment", .0.display())]
    Absent(PathBuf),
}

impl IndexError {
    /// What is damaged, when the content of a store is at fault, and not the disk, rights or another process.
    pub(crate) fn damage(&self) -> Option<Damage> {
        match self {
            Self::Catalog(error) if error.is_damage() => Some(Damage::Catalog(error.to_string())),
            Self::Keyword(error) if error.is_damage() => Some(Damage::Words(error.to_string())),
            _ => None,
        }
    }
}

impl From<IndexError> for EngineError {
    fn from(error: IndexError) -> Self {
        match error.damage() {
            Some(damage) => Self::damaged(error, damage),
            None => Self::other(error),
        }
    }
}

impl From<CatalogError> for EngineError {
    fn from(error: CatalogError) -> Self {
        IndexError::from(error).into()
    }
}

impl From<KeywordError> for EngineError {
    fn from(error: KeywordError) -> Self {
        IndexError::from(error).into()
    }
}

impl From<VectorError> for EngineError {
    fn from(error: VectorError) -> Self {
        Self::other(error)
    }
}

/// What the stores are in their folder, and whether it is a folder itself.
const STORES: [(&str, bool); 6] = [
    ("catalog.db", false),
    ("catalog.db-wal", false),
    ("catalog.db-shm", false),
    ("tantivy", true),
    ("graph", true),
    (MARKER, false),
];

impl Store {
    /// Removes the stores in a folder, so that they are built from nothing. Only what is ours is touched.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn erase(folder: &Path) -> Result<(), FsError> {
        STORES.iter().try_for_each(|(name, _)| {
            crash::point("erasing");
            remove(&folder.join(name))
        })
    }

    /// Makes closed stores with damage fit to be opened: what cannot be used is removed. Nothing is done for what is mended
    /// while the stores are open.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn clear_damage(folder: &Path, damage: &Damage) -> Result<(), FsError> {
        match damage {
            Damage::Catalog(_) => {
                let built_anew = STORES.iter().filter(|(name, _)| *name != MARKER);
                built_anew.into_iter().try_for_each(|(name, _)| remove(&folder.join(name)))
            }
            Damage::Words(_) => remove(&folder.join("tantivy")),
            Damage::Graph(_) | Damage::Embeddings(_) => Ok(()),
        }
    }

    /// Removes folders that stand where files should, and the reverse; gives those whose loss says nothing by itself.
    pub(super) fn remove_misplaced(folder: &Path) -> Result<Vec<String>, FsError> {
        let mut misplaced = Vec::new();
        for (name, is_folder) in STORES {
            let path = folder.join(name);
            if fs::metadata(&path).is_ok_and(|found| found.is_dir() != is_folder) {
                remove(&path)?;
                if !["catalog.db", "tantivy"].contains(&name) {
                    let (is, not) = if is_folder { ("a file", "a folder") } else { ("a folder", "a file") };
                    misplaced.push(format!("{} was {is}, not {not}, and is made again", path.display()));
                }
            }
        }
        Ok(misplaced)
    }
}

/// Removes a file or a folder, if it is there.
pub(super) fn remove(path: &Path) -> Result<(), FsError> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).on("remove", path),
        _ => Ok(()),
    }
}
