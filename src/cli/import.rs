//! `vault import`: an archive, or what another program has kept, once or as it comes.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};

use super::backend::{Backend, home};
use super::exit::told;
use super::terminal::{Bar, Outcome, answer, bytes, count, is_in_json, printed, remark, say, shell_quoted};
use crate::access::request::{ErrorKind, RequestError};
use crate::base::config::WatchMode;
use crate::base::tasks::TaskSignal;
use crate::memory::imports::{ImportItem, ImportRepeats, ImportSink, ImportTally, SourceKind, read};
use crate::serve::api::endpoints;
use crate::serve::wire::{ImportNote, ImportParams, ImportTaken};
use crate::vault::backup;
use crate::vault::disk::{FilesElsewhere, FoldersWatcher, Stamp};

/// Import data of other programs, or make a vault from a file written by `vault export`.
///
/// With --from, PATH is another program's data: its conversations, bookmarks or notes become files of your vault, as if captured at their
/// time. vault keeps who spoke and when, removes secrets, leaves out what you permanently forgot, and leaves out and counts what programs
/// add to conversations (system prompts, tool output, reasoning, recalled memory). Importing again adds only what is new, and `vault
/// undo import-N` undoes the whole import. It writes only notes, bookmarks and conversations. docs/import.md says how to get each
/// program's files.
///
/// Without --from, vault unpacks FILE beside DIR, checks all of it, and then moves it there in one step: a truncated or changed archive
/// leaves nothing behind. It refuses paths and links that lead out of the folder. It leaves out git repositories, and
/// permanently forgotten text (`vault forget --purge`), as recorded in the archive (`vault export --with-state`) and in the
/// vault that --vault names or you are in. It says how much, and `vault forgotten list` shows it; text that you `lift` there first is kept.
#[derive(Debug, Args)]
#[command(
    override_usage = "vault import --from <KIND> [--dry-run | --watch] [--json] <PATH>\n       vault import [--json] <FILE> <DIR>",
    after_help = "Examples:\n  vault import --from chatgpt ~/Downloads/chatgpt-export.zip --dry-run\n  vault import --from claude-code ~/.claude/projects --watch\n  vault import --from obsidian ~/Obsidian/Main"
)]
pub(super) struct ImportCommand {
    /// With --from, the other program's file or folder; else a file of `vault export`, `-` for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The new vault's folder: empty or missing.
    #[arg(required_unless_present = "from", conflicts_with = "from")]
    dir: Option<PathBuf>,
    /// The kind of source.
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(SourceKind::ALL.map(SourceKind::name)))]
    from: Option<String>,
    /// Only show what would be imported and what would be left out.
    #[arg(long, requires = "from")]
    dry_run: bool,
    /// Keep importing what is new until Ctrl-C; `vault undo` undoes all of it at once.
    #[arg(long, requires = "from", conflicts_with = "dry_run")]
    watch: bool,
    /// Turn the folder itself into a vault instead of copying its notes; for `obsidian`, `logseq` and `folder`.
    #[arg(long, requires = "from", conflicts_with_all = ["dry_run", "json", "watch"])]
    adopt: bool,
}

impl ImportCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        match self.from.as_deref().and_then(SourceKind::of) {
            Some(SourceKind::Obsidian | SourceKind::Folder | SourceKind::Logseq) if self.adopt => {
                super::backup::adopt(&self.file)
            }
            Some(_) if self.adopt => {
                bail!("--adopt works only with folders of notes: `obsidian`, `logseq` and `folder`")
            }
            Some(kind) => self.import_from(vault, kind),
            None => self.unpack(vault),
        }
    }

    /// Makes a vault of an archive.
    fn unpack(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let Some(dir) = &self.dir else { bail!("name the new vault's folder") };
        // It may be that very vault which is lost.
        let known = home(vault).ok();
        if let (Some(vault), None) = (vault, &known) {
            remark!("vault: {} is not a vault, so it is unknown what was forgotten there", vault.display());
        }
        let forgotten_in = known.map(|home| home.state());
        let imported = if self.file == Path::new("-") {
            backup::import(std::io::stdin().lock(), dir, forgotten_in.as_ref())?
        } else {
            let file = File::open(&self.file).with_context(|| format!("cannot open {}", self.file.display()))?;
            backup::import(file, dir, forgotten_in.as_ref())?
        };
        answer(&imported, true, |out| {
            let (files, root) = (count(imported.files as usize, "file"), imported.vault.display());
            writeln!(out, "{root} is a vault now: {files}, {}. Keep it searchable with\n", bytes(imported.bytes));
            writeln!(out, "    vault serve --vault {}", shell_quoted(&imported.vault));
        })?;
        if imported.forgotten > 0 {
            let vault = shell_quoted(&imported.vault);
            let (of, list) = (count(imported.forgotten, "file"), format!("vault forgotten list --vault {vault}"));
            remark!("vault: left permanently forgotten text out of {of}; `{list}` shows when and where");
            for file in &imported.forgotten_of {
                let how = if file.whole { "all of it" } else { "a part of it" };
                remark!("vault:     {}: {how}", file.path);
            }
        }
        for left_out in &imported.left_out {
            remark!("vault: left out: {left_out}");
        }
        Ok(Outcome::Done)
    }

    /// Reads a source, and hands what is in it to the vault.
    fn import_from(self, vault: Option<&Path>, kind: SourceKind) -> anyhow::Result<Outcome> {
        let Self { file: path, dry_run, watch, .. } = self;
        let absolute = std::path::absolute(&path)?;
        refuse_own(vault, &path)?;
        // Before it is read: what comes meanwhile is new.
        let mut watched = watch.then(|| WatchedSource::of(kind, &absolute));
        let (kind_name, source) = (kind.name().into(), absolute.display().to_string());
        let mut sending = Sending {
            backend: Backend::open_capturing(vault)?,
            base: ImportParams { kind: kind_name, source, dry_run, ..ImportParams::default() },
            events: Vec::new(),
            notes: Vec::new(),
            bytes: 0,
            taken: ImportTaken::default(),
            refused: BTreeMap::new(),
            bar: Some(Bar::of(if dry_run { "looking" } else { "importing" })),
        };
        let mut repeats = ImportRepeats::default();
        let read = |sink: &mut ImportSink<'_>| read(kind, &path, &|_| true, sink);
        let taken = sending.take_all(watch.then_some(&mut repeats), read);
        let (mut tally, was_read) = taken.inspect_err(|_| sending.end_bar())?;
        let Some(watched) = &mut watched else {
            if was_read.is_ok() {
                sending.finish()?;
            }
            sending.end_bar();
            was_read.map_err(anyhow::Error::msg)?;
            return report(sending, tally);
        };
        sending.send(false)?;
        sending.end_bar();
        // A folder in which there is nothing yet is waited for.
        if let Err(error) = was_read {
            match absolute.is_dir() {
                true => remark!("vault: {error}"),
                false => bail!(error),
            }
        }
        watched.follow(&mut sending, &mut repeats)?;
        sending.finish()?;
        repeats.tell(&mut tally);
        report(sending, tally)
    }
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
        bail!("{what} is this vault itself: its files need no import");
    }
    bail!("{what} lies inside this vault, {root}: choose something outside it")
}

fn report(sending: Sending, mut tally: ImportTally) -> anyhow::Result<Outcome> {
    let Sending { base: ImportParams { kind, source, dry_run, .. }, taken, refused, .. } = sending;
    if taken.empty > 0 {
        *tally.left_out.entry("recalled memory that nobody said".into()).or_default() += taken.empty;
    }
    tally.left_out.extend(refused.into_iter().map(|(reason, times)| (format!("refused: {reason}"), times)));
    // What undoes it, where it has made or changed files.
    let import = taken.import.filter(|_| taken.undoable).map(|import| format!("import-{import}"));
    let mut report = json!({
        "kind": kind,
        "source": source,
        "dry_run": dry_run,
        "import": import,
        // Whether that undoes what came before it was interrupted, too.
        "went_on": taken.went_on,
        "conversations": tally.conversations,
        "turns": tally.turns,
        "bookmarks": tally.bookmarks,
        "notes": tally.notes,
        "added": taken.added,
        "updated": taken.updated,
        "existing": taken.existing,
        "forgotten": taken.forgotten,
        "edited": taken.edited,
        "left_out": tally.left_out,
        "remarks": tally.remarks,
    });
    if let Some(report) = report.as_object_mut() {
        report.retain(|key, value| {
            key != "import" && key != "went_on" || !matches!(value, Value::Null | Value::Bool(false))
        });
    }
    let is_empty = tally.conversations + tally.bookmarks + tally.notes + taken.added + taken.updated == 0;
    answer(&report, !is_empty, |out| {
        let mut found = Vec::new();
        if tally.conversations > 0 {
            found.push(format!("{} with {}", count(tally.conversations, "conversation"), count(tally.turns, "turn")));
        }
        found.extend((tally.bookmarks > 0).then(|| count(tally.bookmarks, "bookmark")));
        found.extend((tally.notes > 0).then(|| count(tally.notes, "note")));
        let found = if found.is_empty() { "nothing".into() } else { found.join(", ") };
        writeln!(out, "{kind}: {found} in {source}");
        let verb = if dry_run { "would be new" } else { "new" };
        let mut became = vec![format!("{} {verb}", taken.added)];
        for (number, what) in [
            (taken.updated, "updated"),
            (taken.existing, "already there"),
            (taken.forgotten, "permanently forgotten, and left out"),
            (taken.edited, "changed or deleted here since, and left alone"),
        ] {
            became.extend((number > 0).then(|| format!("{number} {what}")));
        }
        writeln!(out, "{}", became.join(", "));
        for (reason, times) in &tally.left_out {
            writeln!(out, "left out: {times} × {reason}");
        }
        for remark in &tally.remarks {
            remark!("vault: {remark}");
        }
        if let Some(import) = &import {
            let too = if taken.went_on { ", including what was imported before the interruption" } else { "" };
            writeln!(out, "to undo: vault undo {import}{too}");
        }
    })
}

/// Events and notes that are handed over at a time, and their bytes as JSON: a request may have a mebibyte.
pub(super) const BATCH: usize = 500;
pub(super) const BATCH_BYTES: usize = 700 << 10;
/// Reasons why something was refused that are told apart.
const MOST_REASONS: usize = 20;
/// While more events wait for their files, no more are handed over.
const MOST_PENDING: usize = 20_000;
/// Interval at which it is asked how many wait.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Hands over what is read.
struct Sending {
    backend: Backend,
    base: ImportParams,
    events: Vec<Value>,
    notes: Vec<ImportNote>,
    bytes: usize,
    /// What came of it.
    taken: ImportTaken,
    /// What was refused, with the reason.
    refused: BTreeMap<String, usize>,
    /// Shows how much of what was handed over is in its files.
    bar: Option<Bar>,
}

impl Sending {
    fn end_bar(&mut self) {
        self.bar.take().iter().for_each(Bar::finish);
    }

    /// So many events and notes were new so far.
    fn new_so_far(&self) -> usize {
        self.taken.added + self.taken.updated
    }

    /// Hands over what a source has, as `read` finds it; gives what was found, and what came of the reading.
    fn take_all(
        &mut self,
        repeats: Option<&mut ImportRepeats>,
        read: impl FnOnce(&mut ImportSink<'_>) -> Result<(), String>,
    ) -> anyhow::Result<(ImportTally, Result<(), String>)> {
        let mut failed = None;
        let mut take = |item| {
            let added = self.add(item).map_err(|error| failed = Some(error));
            added.map_or(ControlFlow::Break(()), ControlFlow::Continue)
        };
        let mut sink = ImportSink::new(&mut take);
        sink.repeats = repeats;
        let was_read = read(&mut sink);
        let tally = std::mem::take(&mut sink.tally);
        failed.map_or_else(|| Ok((tally, was_read)), Err)
    }

    /// Takes what was read, to be handed over with what follows.
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

    /// Hands over what has gathered, and waits while too much is on its way. Unless that is all, the import stays open: what follows is
    /// undone with it.
    fn send(&mut self, done: bool) -> anyhow::Result<()> {
        let (events, notes) = (std::mem::take(&mut self.events), std::mem::take(&mut self.notes));
        self.bytes = 0;
        let piece = ImportParams { done, events, notes, ..ImportParams::default() };
        match self.ask(piece.clone()) {
            Err(error) if is_invalid(&error) && piece.events.len() + piece.notes.len() > 0 => self.one_by_one(piece)?,
            asked => asked?,
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
            match self.ask(ImportParams { events, notes, ..ImportParams::default() }) {
                Err(error) if is_invalid(&error) => self.refuse(error.to_string()),
                asked => asked?,
            }
        }
        self.ask(ImportParams { done, ..ImportParams::default() })
    }

    /// Counts by the reason, as far as there are few.
    fn refuse(&mut self, reason: String) {
        let is_new = !self.refused.contains_key(&reason);
        let reason = if is_new && self.refused.len() >= MOST_REASONS { "for other reasons".into() } else { reason };
        *self.refused.entry(reason).or_default() += 1;
    }

    /// Hands over a piece of this import, and counts what came of it.
    fn ask(&mut self, piece: ImportParams) -> anyhow::Result<()> {
        let ImportParams { kind, source, dry_run, .. } = self.base.clone();
        let piece = ImportParams { kind, source, dry_run, import: self.taken.import, ..piece };
        let taken = self.backend.ask(&endpoints::import::IMPORT, &piece)?;
        let all = &mut self.taken;
        all.import = taken.import.or(all.import);
        all.added += taken.added;
        all.updated += taken.updated;
        all.existing += taken.existing;
        all.forgotten += taken.forgotten;
        all.edited += taken.edited;
        all.empty += taken.empty;
        all.went_on |= taken.went_on;
        (all.undoable, all.pending, all.failure) = (taken.undoable, taken.pending, taken.failure);
        if let Some(bar) = &self.bar {
            let done = all.added + all.updated + all.existing + all.forgotten + all.edited;
            bar.show(done.saturating_sub(all.pending), all.pending);
        }
        Ok(())
    }

    /// Asks how many wait, after a while.
    fn wait(&mut self) -> anyhow::Result<()> {
        if let Some(failure) = &self.taken.failure {
            bail!("what was imported is safe, but not yet written to files: {failure}");
        }
        std::thread::sleep(POLL_INTERVAL);
        self.ask(ImportParams::default())
    }

    /// Hands over what is left, waits until it is in its files, and says that this is all: killed before, it is gone on with.
    fn finish(&mut self) -> anyhow::Result<()> {
        self.send(false)?;
        while !self.base.dry_run && self.taken.pending > 0 {
            self.wait()?;
        }
        self.send(true)
    }
}

fn is_invalid(error: &anyhow::Error) -> bool {
    error.downcast_ref::<RequestError>().is_some_and(|error| error.kind == ErrorKind::Invalid)
}

/// Quiet period without a change before files are read: transcripts are written line by line.
const QUIET_PERIOD: Duration = Duration::from_millis(300);
/// Maximum time that such a quiet period is waited for.
const MAX_QUIET_WAIT: Duration = Duration::from_secs(5);
/// Interval of looks at everything, whatever was heard; what failed is tried again then.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);
/// Interval of looks where nothing is heard.
const WATCH_POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The files of a source, as they were read last.
struct WatchedSource {
    kind: SourceKind,
    files: FilesElsewhere,
    path: PathBuf,
    known: HashMap<PathBuf, Stamp>,
}

impl WatchedSource {
    /// Looks at the files before they are read for the first time: what comes from then on is new.
    fn of(kind: SourceKind, path: &Path) -> Self {
        // A link that is named itself leads to its file.
        let followed = path.canonicalize().ok().filter(|followed| followed.is_file());
        let files = FilesElsewhere::all_in(followed.as_deref().unwrap_or(path));
        let mut source = Self { kind, files, path: path.to_owned(), known: HashMap::new() };
        source.known = source.now();
        source
    }

    fn now(&self) -> HashMap<PathBuf, Stamp> {
        self.files.find().files.into_iter().map(|file| (file.path, file.stamp)).collect()
    }

    /// Takes what comes, until somebody ends it.
    fn follow(&mut self, sending: &mut Sending, repeats: &mut ImportRepeats) -> anyhow::Result<()> {
        let (signal, quiet) = (TaskSignal::default(), is_in_json());
        until_ended(signal.clone())?;
        let changed = signal.clone();
        let mut watcher = FoldersWatcher::start(WatchMode::Auto, Arc::new(move || changed.wake()));
        if !quiet {
            say!("waiting for more in {}; Ctrl-C stops", self.path.display());
        }
        loop {
            // Listened to before it is looked at: what comes in between is heard of.
            watcher.cover(|| self.files.find().folders);
            let now = self.now();
            if now != self.known {
                let before = sending.new_so_far();
                match self.bring(sending, repeats, &now) {
                    Ok(()) => self.known = now,
                    // Where it cannot be kept now it can be later: it is looked at again.
                    Err(error) => remark!("vault: not imported yet: {error:#}"),
                }
                let added = sending.new_so_far() - before;
                if added > 0 && !quiet {
                    let what = if added == 1 { "turn or note" } else { "turns or notes" };
                    say!("{added} new {what} imported");
                }
                printed()?;
            }
            let every = if watcher.needs_polling().is_some() { WATCH_POLL_INTERVAL } else { CHECK_INTERVAL };
            signal.pause(every);
            if signal.wait_quiet(QUIET_PERIOD, MAX_QUIET_WAIT) {
                return Ok(());
            }
        }
    }

    /// Reads the files that are others than they were.
    fn bring(
        &self,
        sending: &mut Sending,
        repeats: &mut ImportRepeats,
        now: &HashMap<PathBuf, Stamp>,
    ) -> anyhow::Result<()> {
        let is_new = |name: &str| {
            let path = if self.path.is_dir() { self.path.join(name) } else { self.path.clone() };
            now.get(&path) != self.known.get(&path)
        };
        let read = |sink: &mut ImportSink<'_>| read(self.kind, &self.path, &is_new, sink);
        // That there is nothing of the kind among them is no failure.
        let taken = sending.take_all(Some(repeats), read).and_then(|_| sending.send(false));
        taken.inspect_err(|_| repeats.give_up())
    }
}

/// Has the first SIGINT or SIGTERM stop it; a second ends the process at once.
fn until_ended(signal: TaskSignal) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let stop = {
        let _within = runtime.enter();
        told()?
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            stop.await;
            signal.stop();
            std::future::pending::<()>().await;
        });
    })?;
    Ok(())
}
