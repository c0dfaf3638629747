//! The model that a vault uses, as it is changed while the vault is served.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Another model is being loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelReloaded {
    /// What `embed.model` names; `status` tells how far it is.
    pub model: String,
}

/// What was kept of models that are not in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeptVectors {
    /// How many vectors were dropped.
    pub dropped: usize,
}
