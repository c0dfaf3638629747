//! `vault import --from`

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use anyhow::bail;
use serde::Serialize;
use serde_json::Value;

use super::backend::Backend;
use super::outcome::Outcome;
use super::output::count;
use super::progress::Bar;
use super::terminal::{remark, say, stdout};
use crate::imports::{ImportItem, ImportSink, ImportTally, SourceKind, read, size};
use crate::request::{ErrorKind, RequestError};
use crate::wire::{ImportNote, ImportParams, ImportTaken};

/// Events and notes that are handed over at a time, and their bytes as JSON: a request may have a mebibyte.
const BATCH: usize = 500;
const BATCH_BYTES: usize = 700 << 10;
/// Reasons why something was refused that are told apart.
const MOST_REASONS: usize = 20;
/// While more events wait for their files, no more are handed over.
const MOST_PENDING: usize = 20_000;
/// Interval at which it is asked how many wait.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What came of an import.
#[derive(Debug, Default, Serialize)]
struct ImportReport {
    kind: &'static str,
    source: String,
    dry_run: bool,
    /// What undoes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    import: Option<String>,
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

/// Hands over what is read.
struct Sending {
    backend: Backend,
    base: ImportParams,
    events: Vec<Value>,
    notes: Vec<ImportNote>,
    bytes: usize,
    taken: ImportTaken,
    /// What was refused, with the reason.
    refused: BTreeMap<String, usize>,
}

/// Reads a source, and hands what is in it to the vault.
pub(super) fn run(
    vault: Option<&Path>,
    kind: SourceKind,
    path: &Path,
    dry_run: bool,
    json: bool,
) -> anyhow::Result<Outcome> {
    let source = std::path::absolute(path)?.display().to_string();
    let base = ImportParams { kind: kind.name().into(), source: source.clone(), dry_run, ..ImportParams::default() };
    let mut sending = Sending {
        backend: Backend::open_capturing(vault)?,
        base,
        events: Vec::new(),
        notes: Vec::new(),
        bytes: 0,
        taken: ImportTaken::default(),
        refused: BTreeMap::new(),
    };
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
    let mut sink = ImportSink::new(&mut take);
    let was_read = read(kind, path, &done, &mut sink);
    let tally = std::mem::take(&mut sink.tally);
    if let Some(error) = failed {
        bar.finish();
        return Err(error);
    }
    if was_read.is_ok() {
        sending.finish()?;
    }
    bar.finish();
    was_read?;
    report(sending, tally, kind, source, dry_run, json)
}

impl Sending {
    fn add(&mut self, item: ImportItem) -> anyhow::Result<()> {
        let length = match &item {
            ImportItem::Event(event) => event.to_string().len(),
            ImportItem::Note(note) => serde_json::to_string(note)?.len(),
        };
        if self.bytes + length > BATCH_BYTES || self.events.len() + self.notes.len() >= BATCH {
            self.send(false)?;
        }
        self.bytes += length + 1;
        match item {
            ImportItem::Event(event) => self.events.push(event),
            ImportItem::Note(note) => self.notes.push(note),
        }
        Ok(())
    }

    /// Hands over what has gathered, and waits while too much is on its way.
    fn send(&mut self, done: bool) -> anyhow::Result<()> {
        let (events, notes) = (std::mem::take(&mut self.events), std::mem::take(&mut self.notes));
        self.bytes = 0;
        let piece = ImportParams { import: self.taken.import, done, events, notes, ..self.base.clone() };
        match self.backend.import(piece.clone()) {
            Ok(taken) => self.count(&taken),
            Err(error) if is_invalid(&error) && piece.events.len() + piece.notes.len() > 0 => self.one_by_one(piece)?,
            Err(error) => return Err(error),
        }
        while self.taken.pending > MOST_PENDING {
            self.wait()?;
        }
        Ok(())
    }

    /// What is refused keeps nothing else.
    fn one_by_one(&mut self, piece: ImportParams) -> anyhow::Result<()> {
        let ImportParams { events, notes, done, .. } = piece;
        let events = events.into_iter().map(|event| (vec![event], Vec::new()));
        for (events, notes) in events.chain(notes.into_iter().map(|note| (Vec::new(), vec![note]))) {
            let piece = ImportParams { import: self.taken.import, events, notes, ..self.base.clone() };
            match self.backend.import(piece) {
                Ok(taken) => self.count(&taken),
                Err(error) if is_invalid(&error) => self.refuse(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        let last = ImportParams { import: self.taken.import, done, ..self.base.clone() };
        let taken = self.backend.import(last)?;
        self.count(&taken);
        Ok(())
    }

    /// Counts by the reason, as far as there are few.
    fn refuse(&mut self, reason: String) {
        let is_new = !self.refused.contains_key(&reason);
        let reason = if is_new && self.refused.len() >= MOST_REASONS { "for other reasons".into() } else { reason };
        *self.refused.entry(reason).or_default() += 1;
    }

    fn count(&mut self, taken: &ImportTaken) {
        let all = &mut self.taken;
        all.import = taken.import.or(all.import);
        all.added += taken.added;
        all.updated += taken.updated;
        all.existing += taken.existing;
        all.forgotten += taken.forgotten;
        all.edited += taken.edited;
        all.empty += taken.empty;
        (all.pending, all.failure) = (taken.pending, taken.failure.clone());
    }

    /// Asks how many wait, after a while.
    fn wait(&mut self) -> anyhow::Result<()> {
        if let Some(failure) = &self.taken.failure {
            bail!("what was imported is safe, and waits for its files: {failure}");
        }
        std::thread::sleep(POLL_INTERVAL);
        let empty = ImportParams { import: self.taken.import, ..self.base.clone() };
        let taken = self.backend.import(empty)?;
        self.count(&taken);
        Ok(())
    }

    fn finish(&mut self) -> anyhow::Result<()> {
        self.send(true)?;
        while !self.base.dry_run && self.taken.pending > 0 {
            self.wait()?;
        }
        Ok(())
    }
}

fn is_invalid(error: &anyhow::Error) -> bool {
    error.downcast_ref::<RequestError>().is_some_and(|error| error.kind == ErrorKind::Invalid)
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
    let import = taken.import.map(|import| format!("import-{import}"));
    let report = ImportReport {
        kind: kind.name(),
        source,
        dry_run,
        import,
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
    let is_empty = report.conversations + report.bookmarks + report.notes == 0;
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
    match &report.import {
        Some(import) if report.added + report.updated > 0 => say!("to undo: vault restore {import}")?,
        _ => {}
    }
    Ok(())
}
