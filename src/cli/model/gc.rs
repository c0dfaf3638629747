//! `vault model gc`

use std::path::Path;

use super::super::backend::Backend;
use super::super::outcome::Outcome;
use super::super::output::count;
use super::super::terminal::{say, stdout};

pub(super) fn run(vault: Option<&Path>, json: bool) -> anyhow::Result<Outcome> {
    let mut backend = Backend::open(vault, |_| {})?;
    backend.catch_up(true)?;
    let dropped = backend.drop_kept_vectors()?;
    if json {
        stdout().json(&dropped)?;
    } else if dropped.dropped == 0 {
        say!("nothing is kept of other models")?;
    } else {
        say!("dropped {} of other models", count(dropped.dropped, "vector"))?;
    }
    Ok(Outcome::Done)
}
