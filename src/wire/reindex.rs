//! Setting the indexer to work.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How to reindex.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReindexParams {
    /// Build everything from nothing, instead of comparing every note with the index.
    #[serde(default)]
    pub full: bool,
}

/// Reindexing has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reindexing {
    /// Always true; `status` tells how far it is.
    pub ok: bool,
}
