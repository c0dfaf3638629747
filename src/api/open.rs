//! What needs no token, and what has limits of its own.

/// Whether a path is served without a token.
pub(super) fn is_open(path: &str) -> bool {
    path == "/" || path.starts_with("/page/")
}

/// Whether requests to a path are passed on, and have limits of size and time of their own.
pub(super) fn is_passed_on(path: &str) -> bool {
    path.starts_with("/v1/")
}

/// Whether what agents tell of their work is sent there; it has limits of its own.
pub(super) fn is_trace(path: &str) -> bool {
    path == "/api/trace"
}
