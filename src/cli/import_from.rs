//! `vault import --from`

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;

use anyhow::bail;
use serde::Serialize;

use super::backend::{Backend, home};
use super::exit::Outcome;
use super::import_sending::Sending;
use super::import_watch::WatchedSource;
use super::progress::Bar;
use super::terminal::{count, remark, say, stdout};
use crate::imports::{ImportRepeats, ImportSink, ImportTally, SourceKind, read, size};
use crate::wire::ImportParams;

/// What came of an import.
#[derive(Debug, Default, Serialize)]
struct ImportReport {
    kind: &'static str,
    source: String,
    dry_run: bool,
    /// What undoes it, where it has made or changed files.
    #[serde(skip_serializing_if = "Option::is_none")]
    import: Option<String>,
    /// Whether that undoes what came before it was interrupted, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    went_on: bool,
    conversations: usize,
    turns: usize,
    bookmarks: usize,
    notes: usize,
    added: usize,
    updated: usize,
    existing: usize,
    forgotten: usize,
    edited: usize,
    left_out: BTreeMap<String, usize>,
    remarks: Vec<String>,
}

/// Reads a source, and hands what is in it to the vault.
pub(super) fn run(
    vault: Option<&Path>,
    kind: SourceKind,
    path: &Path,
    dry_run: bool,
    watch: bool,
    json: bool,
) -> anyhow::Result<Outcome> {
    let absolute = std::path::absolute(path)?;
    refuse_own(vault, path)?;
    let source = absolute.display().to_string();
    // Before it is read: what comes meanwhile is new.
    let mut watched = watch.then(|| WatchedSource::of(&absolute));
    let base = ImportParams { kind: kind.name().into(), source: source.clone(), dry_run, ..ImportParams::default() };
    let mut sending = Sending::new(Backend::open_capturing(vault)?, base);
    let (all, done) = (size(path), Rc::new(Cell::new(0_u64)));
    let bar = Bar::bytes(if dry_run { "looking" } else { "importing" });
    let mut failed = None;
    let mut take = |item| {
        let so_far = done.get().min(all);
        bar.show(so_far as usize, (all - so_far) as usize);
        match sending.add(item) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    };
    let mut repeats = ImportRepeats::default();
    let mut sink = ImportSink::again(&mut take, watch.then_some(&mut repeats));
    let was_read = read(kind, path, &done, &mut sink);
    let mut tally = std::mem::take(&mut sink.tally);
    if let Some(error) = failed {
        bar.finish();
        return Err(error);
    }
    let Some(watched) = &mut watched else {
        if was_read.is_ok() {
            sending.finish()?;
        }
        bar.finish();
        was_read?;
        return report(sending, tally, kind, source, dry_run, json);
    };
    sending.flush()?;
    bar.finish();
    // A folder in which there is nothing yet is waited for.
    if let Err(error) = was_read {
        match absolute.is_dir() {
            true => remark!("vault: {error}"),
            false => return Err(error.into()),
        }
    }
    repeats.settle();
    watched.follow(kind, &mut sending, (&mut tally, &mut repeats), json)?;
    sending.finish()?;
    repeats.tell(&mut tally);
    report(sending, tally, kind, source, dry_run, json)
}

/// Refuses what lies in the vault: what is made of it would lie there as well.
fn refuse_own(vault: Option<&Path>, path: &Path) -> anyhow::Result<()> {
    let home = home(vault)?;
    // What is not there is said as it is read.
    let Ok(place) = path.canonicalize() else { return Ok(()) };
    if !place.starts_with(home.root()) {
        return Ok(());
    }
    let (what, root) = (path.display(), home.root().display());
    if place == home.root() {
        bail!("{what} is this vault itself: what is in it needs no import");
    }
    bail!("{what} lies in this vault, {root}: name what lies outside of it")
}

fn report(
    sending: Sending,
    tally: ImportTally,
    kind: SourceKind,
    source: String,
    dry_run: bool,
    json: bool,
) -> anyhow::Result<Outcome> {
    let Sending { taken, refused, .. } = sending;
    let ImportTally { conversations, turns, bookmarks, notes, mut left_out, remarks } = tally;
    if taken.empty > 0 {
        *left_out.entry("what was recalled, and said by nobody".into()).or_default() += taken.empty;
    }
    left_out.extend(refused.into_iter().map(|(reason, times)| (format!("refused: {reason}"), times)));
    let import = taken.import.filter(|_| taken.undoable).map(|import| format!("import-{import}"));
    let report = ImportReport {
        kind: kind.name(),
        source,
        dry_run,
        import,
        went_on: taken.went_on,
        conversations,
        turns,
        bookmarks,
        notes,
        added: taken.added,
        updated: taken.updated,
        existing: taken.existing,
        forgotten: taken.forgotten,
        edited: taken.edited,
        left_out,
        remarks,
    };
    let was_taken = report.added + report.updated > 0;
    let is_empty = report.conversations + report.bookmarks + report.notes == 0 && !was_taken;
    if json {
        stdout().json(&report)?;
    } else {
        shown(&report)?;
    }
    Ok(if is_empty { Outcome::NothingFound } else { Outcome::Done })
}

fn shown(report: &ImportReport) -> anyhow::Result<()> {
    let mut found = Vec::new();
    if report.conversations > 0 {
        found.push(format!("{} with {}", count(report.conversations, "conversation"), count(report.turns, "turn")));
    }
    found.extend((report.bookmarks > 0).then(|| count(report.bookmarks, "bookmark")));
    found.extend((report.notes > 0).then(|| count(report.notes, "note")));
    let found = if found.is_empty() { "nothing".into() } else { found.join(", ") };
    say!("{}: {found} in {}", report.kind, report.source)?;
    let verb = if report.dry_run { "would be new" } else { "new" };
    let mut became = vec![format!("{} {verb}", report.added)];
    for (number, what) in [
        (report.updated, "brought up to date"),
        (report.existing, "came before"),
        (report.forgotten, "forgotten for good, and left out"),
        (report.edited, "changed or deleted here since, and left alone"),
    ] {
        became.extend((number > 0).then(|| format!("{number} {what}")));
    }
    say!("{}", became.join(", "))?;
    for (reason, times) in &report.left_out {
        say!("left out: {times} × {reason}")?;
    }
    for remark in &report.remarks {
        remark!("vault: {remark}");
    }
    if let Some(import) = &report.import {
        let too = if report.went_on { ", with all that came before it was interrupted" } else { "" };
        say!("to undo: vault restore {import}{too}")?;
    }
    Ok(())
}
