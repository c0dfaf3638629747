//! What the tests stand on.

mod answers;
mod app;
mod daemon;
mod endpoint;
mod files;
mod http;
mod mcp;
mod namespace;
mod notes;
#[cfg(feature = "postgres")]
pub mod postgres;
mod provider;
mod rebuilt;
mod screen;
mod upstream;
mod vault;
mod victim;

use std::io::Write;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use proptest::test_runner::{Config as ProptestConfig, RngSeed};
use serde_json::Value;

pub use answers::{Answers, assert_same, difference};
pub use app::{by_meaning, embedded, serve, serve_model, status};
pub use daemon::{Daemon, READS, Ran, assert_hidden, encode, git, git_command, seen_by_ada, vault_command};
pub use endpoint::{Asked, Endpoint, Fault};
pub use files::{Folder, contents, files_with, has_text, notes_of, set_time, write_file};
pub use http::{Connection, Reply, Request, send_raw};
pub use mcp::{Mcp, VERSION, hello};
pub use namespace::in_own_namespaces;
pub use notes::{Notes, QUERIES, Random};
pub use provider::{Back, Key, Provider, Twist};
pub use rebuilt::assert_as_rebuilt;
pub use screen::{At, Shown, at_terminal};
pub use upstream::{Upstream, respond};
pub use vault::{TestVault, search_request};
pub use victim::{Victim, Work, assert_once, sent_under_kills};

/// What nearly every test uses.
pub mod prelude {
    pub use std::collections::{BTreeMap, BTreeSet};
    pub use std::fs;
    pub use std::os::unix::fs::PermissionsExt;
    pub use std::path::{Path, PathBuf};
    pub use std::process::{Command, Stdio};
    pub use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    pub use std::sync::{Arc, Mutex};
    pub use std::time::{Duration, Instant, SystemTime};

    pub use memory_vault::base::config::{Config, Mode};
    pub use memory_vault::base::path::VaultPath;
    pub use memory_vault::serve::app::App;
    pub use memory_vault::serve::wire::SearchQuery;
    pub use memory_vault::vault::notes;
    pub use serde_json::{Value, json};
    pub use tempfile::TempDir;

    pub use super::*;
}

/// How long a test waits for what should be there in a moment. Generous: a slow machine is no failure.
pub const PATIENCE: Duration = Duration::from_secs(180);

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

/// Waits until something is so.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    eventually(what, || is_so().then_some(()));
}

/// The texts that rows have in a column.
#[track_caller]
pub fn column(rows: &Value, name: &str) -> Vec<String> {
    let rows = rows.as_array().unwrap_or_else(|| panic!("no rows: {rows}"));
    rows.iter().map(|row| row[name].as_str().unwrap_or_else(|| panic!("no `{name}`: {row}")).to_owned()).collect()
}

/// Runs a command that must succeed.
#[track_caller]
pub fn run_ok(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Tells what goes on beside a test that the test is over.
#[derive(Default)]
pub struct Over(AtomicBool);

impl Over {
    pub fn is(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// What is dropped when the test is over, or fails: then too nothing may go on for ever.
    #[must_use]
    pub fn at_end(&self) -> impl Drop + '_ {
        struct End<'a>(&'a Over);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.0.store(true, Ordering::Relaxed);
            }
        }
        End(self)
    }
}

/// Says that a test cannot be had on this machine, past the harness, which hides what passing tests print.
pub fn skipped(reason: &str) {
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "SKIPPED {name}: {reason}");
}

/// The number that a variable of the environment is, if there is one.
pub fn number<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok().map(|told| told.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// Where random numbers start: `SOAK_SEED`, else another one each time. It is printed, so that a failure can be had again.
pub fn seed() -> u64 {
    let seed = number("SOAK_SEED").unwrap_or_else(|| std::time::UNIX_EPOCH.elapsed().unwrap().as_secs());
    println!("SOAK_SEED={seed}");
    seed
}

/// How long a soak is to take, when this is one. Tests that can go on for longer do so then.
pub fn soak_minutes() -> Option<f64> {
    number("SOAK_MINUTES")
}

/// How a property is tried: on the [`cases`], which begin at the [`seed`].
pub fn proptest_config(usual: u32) -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(seed()), ..ProptestConfig::with_cases(cases(usual)) }
}

/// How many cases a property is tried on: `PROPTEST_CASES`, else `usual`.
pub fn cases(usual: u32) -> u32 {
    number("PROPTEST_CASES").unwrap_or(usual)
}
