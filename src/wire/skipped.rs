//! What could not be read, or written, and why.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Something that could not be indexed, or kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Skipped {
    /// Where it is.
    pub path: String,
    /// Why.
    pub reason: String,
}
