//! `vault model gc`

use std::path::Path;

use super::super::backend::Backend;
use super::super::exit::Outcome;
use super::super::terminal::{count, say, stdout};
use crate::api::endpoints;

pub(super) fn run(vault: Option<&Path>, json: bool) -> anyhow::Result<Outcome> {
    let mut backend = Backend::open(vault, |_| {})?;
    backend.catch_up(true)?;
    let dropped = backend.ask(&endpoints::routes::DROP_KEPT_VECTORS, &())?;
    if json {
        stdout().json(&dropped)?;
    } else if dropped.dropped == 0 {
        say!("nothing is kept of other models")?;
    } else {
        say!("dropped {} of other models", count(dropped.dropped, "vector"))?;
    }
    Ok(Outcome::Done)
}
