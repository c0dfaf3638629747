//! What of an index programs may see: what the page of its agent gives, as its searches have it.

use std::fs;
use std::path::Path;

use super::error::QmdError;
use super::settings::{AGENT, page_of};
use crate::access::{Globs, Grant, Policy, Session, Subject, may_read};
use crate::config::Config;
use crate::note::Note;
use crate::path::VaultPath;
use crate::vault::globs;

/// The rules by which notes of an index are given.
#[derive(Clone)]
pub(super) struct QmdSight {
    /// `None` where nothing is.
    grant: Option<Grant>,
    /// Private by their place.
    private: Globs,
    /// Another, where any rule is another.
    pub(super) digest: String,
}

impl QmdSight {
    /// The rules as they are now. A page that cannot be read gives nothing.
    ///
    /// # Errors
    /// When a glob cannot be read.
    pub(super) fn of(folder: &Path, config: &Config) -> Result<Self, QmdError> {
        let private = globs("access.private", &config.access.private);
        let private = private.map_err(|error| QmdError::Collection(error.to_string()))?;
        let page = fs::read_to_string(page_of(folder)).unwrap_or_default();
        let policy = Policy::parse(&Note::parse(&page, AGENT).metadata);
        let counts = !policy.is_expired(jiff::Timestamp::now()) && may_read(&config.scope, &Session::direct());
        let index = &config.index;
        let rules = format!("{counts} {page} {:?} {:?} {}", config.access.private, index.exclude, index.max_file_bytes);
        let grant = policy.with_folders(&config.collections).grant.filter(|_| counts);
        Ok(Self { grant, private, digest: blake3::hash(rules.as_bytes()).to_hex().to_string() })
    }

    /// Whether a note is given, whatever it was made of.
    pub(super) fn gives(&self, path: &VaultPath, note: &Note) -> bool {
        let private = note.is_private() || self.private.is_match(path.as_str());
        let subject = Subject { path: path.as_str(), tags: &note.tags, doubtful: &note.doubtful, private };
        self.grant.as_ref().is_some_and(|grant| grant.refusal(&subject).is_none())
    }
}
