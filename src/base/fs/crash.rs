//! Named points of the write path at which the program can be told to die as by `kill -9`, so that tests see what the
//! next start makes of what was left.
//!
//! `VAULT_CRASH_AT=words-committed:3` ends it at the third passing of that point. Builds without debug assertions have
//! none of it.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

static ARMED: LazyLock<Option<Armed>> = LazyLock::new(|| {
    let text = std::env::var("VAULT_CRASH_AT").ok()?;
    let (point, passing) = text.split_once(':')?;
    Some(Armed { point: point.to_owned(), left: AtomicUsize::new(passing.parse().ok()?) })
});

struct Armed {
    point: String,
    /// Passings before the process ends, that one included.
    left: AtomicUsize,
}

/// Passes a point. In a released program this does nothing.
#[inline]
pub(crate) fn point(name: &str) {
    if cfg!(debug_assertions)
        && let Some(armed) = ARMED.as_ref().filter(|armed| armed.point == name)
        && armed.left.fetch_sub(1, Ordering::Relaxed) == 1
    {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        std::process::abort();
    }
}
