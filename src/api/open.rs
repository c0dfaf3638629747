//! What needs no token.

/// Whether a path is served without a token.
pub(super) fn is_open(path: &str) -> bool {
    path == "/" || path.starts_with("/page/")
}
