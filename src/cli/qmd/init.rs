//! `qmd init`

use std::path::Path;

use super::index::QmdIndex;
use crate::cli::exit::Outcome;
use crate::cli::terminal::{remark, say};
use crate::qmd::{IndexPlace, IndexVariables, QmdError};

/// Gives the current folder an index of its own, which counts there and below where no other is named. One that is there stays.
///
/// # Errors
/// When the folder is the home folder, or it cannot be made there.
pub(super) fn run() -> anyhow::Result<Outcome> {
    let folder = std::env::current_dir()?;
    let is_same = |home: &Path| home.canonicalize().is_ok_and(|home| folder.canonicalize().is_ok_and(|it| it == home));
    if std::env::home_dir().is_some_and(|home| is_same(&home)) {
        return Err(QmdError::Collection(
            "Refusing to initialize a local index in $HOME: the usual one is there without it. Call `qmd init` in the folder of a project."
                .into(),
        )
        .into());
    }
    drop(QmdIndex::open(IndexPlace::make_in(&folder)?)?);
    if IndexVariables::of_process().name_one() {
        remark!(
            "qmd: it counts where QMD_CONFIG_DIR, XDG_CONFIG_HOME and XDG_CACHE_HOME are not set: here, they name another index"
        );
    }
    // Scripts look for these words.
    say!("ready to go with new local index")?;
    Ok(Outcome::Done)
}
