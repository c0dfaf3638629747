//! Whether agents may see a note. When in doubt they may not.

use super::frontmatter::Frontmatter;
use super::metadata::has_private_key;
use super::tags::is_private;
use super::{PrivateReason, Visibility};

/// Decides from the frontmatter, the note's tags, and what may be meant as one where none counts.
pub(super) fn decide(frontmatter: &Frontmatter, tags: &[String], doubtful: &[String]) -> Visibility {
    let reason = if frontmatter.broken {
        PrivateReason::BrokenFrontmatter
    } else if has_private_key(&frontmatter.metadata) {
        PrivateReason::Property
    } else if tags.iter().any(|tag| is_private(tag)) {
        PrivateReason::Tag
    } else if frontmatter.misplaced_private || doubtful.iter().any(|tag| is_private(tag)) {
        PrivateReason::Ambiguous
    } else {
        return Visibility::Public;
    };
    Visibility::Private(reason)
}
