//! What the tests stand on.

mod answers;
mod daemon;
mod http;
mod vault;

use std::time::{Duration, Instant};

pub use answers::{Answers, assert_same, difference};
pub use daemon::{Daemon, Ran, encode, vault_command};
pub use http::{Connection, Request};
pub use vault::{TestVault, contents};

/// How long a test waits for what should be there in a moment. Generous: a slow machine is no failure.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `probe` has something to give.
#[track_caller]
pub fn eventually<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
