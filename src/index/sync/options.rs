//! What the writer is given, and what it refuses.

use std::path::PathBuf;
use std::sync::Arc;

use super::batch::BatchRecords;
use crate::base::clock::Clock;
use crate::base::config::IndexConfig;
use crate::index::engine::Engine;
use crate::models::{ModelChoice, ModelInUse};
use crate::vault::attachments::AttachmentReader;
use crate::vault::disk::{CookieFolder, Lock, NoteRules};

/// What the writer needs.
pub struct SyncOptions {
    /// The vault's root.
    pub root: PathBuf,
    /// The stores.
    pub(crate) engine: Box<dyn Engine>,
    /// `[index]`.
    pub index: IndexConfig,
    /// What belongs to the vault.
    pub rules: NoteRules,
    /// Who reads what is no note.
    pub(crate) attachments: Arc<AttachmentReader>,
    /// The model, if there is to be one.
    pub(crate) model: Option<ModelChoice>,
    /// Where it is written which model's vectors serve.
    pub(crate) in_use: ModelInUse,
    /// What is known of texts that were handed over in batches.
    pub(crate) batches: BatchRecords,
    /// Whether to watch for changes, or to compare with the disk once.
    pub watch: bool,
    /// Where cookies are made, to learn that the watcher has told all.
    pub cookies: Arc<CookieFolder>,
    /// When files are read.
    pub clock: Clock,
    /// The right to write the stores.
    pub lock: Arc<Lock>,
}

/// What was asked for was refused.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct RefusedError(pub(super) String);
