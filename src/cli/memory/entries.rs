//! `vault memory list`, `add`, `edit`, `remove`

use std::io::Write;
use std::path::Path;

use clap::Args;

use crate::api::endpoints;
use crate::cli::backend::Backend;
use crate::cli::exit::Outcome;
use crate::cli::terminal::{DIM, TITLE, remark, say, say_archived, say_undo, stdout};
use crate::config::MemoryKind;
use crate::wire::{
    EntriesParams, EntriesView, EntryAddParams, EntryChanged, EntryEditParams, EntryRemoveParams, EntryState,
};

fn kind(text: &str) -> Result<MemoryKind, String> {
    let known: Vec<&str> = MemoryKind::ALL.into_iter().map(MemoryKind::word).collect();
    MemoryKind::of(text).ok_or_else(|| format!("it is one of {}", known.join(", ")))
}

fn state(text: &str) -> Result<EntryState, String> {
    serde_json::from_value(text.into())
        .map_err(|_| "it is one of active, superseded, pending, rejected, archived".into())
}

fn open(vault: Option<&Path>) -> anyhow::Result<Backend> {
    let backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
    backend.catch_up(false)?;
    Ok(backend)
}

#[derive(Debug, Args)]
pub(super) struct ListEntries {
    /// The agent whose memory it is; else yours.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// What became of them: active, superseded, pending, rejected, archived; else active.
    #[arg(long, value_parser = state)]
    status: Option<EntryState>,
    /// What they are: fact, preference, decision, correction, commitment, relationship, skill.
    #[arg(long, value_parser = kind)]
    kind: Option<MemoryKind>,
    /// A tag of theirs.
    #[arg(long)]
    tag: Option<String>,
    /// Entries at most, up to 1,000; else 200.
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl ListEntries {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let Self { agent, status, kind, tag, limit, json } = self;
        let found =
            open(vault)?.ask(&endpoints::entries::LIST_ENTRIES, &EntriesParams { agent, status, kind, tag, limit })?;
        if json {
            stdout().json(&found)?
        } else {
            list(&found)?
        }
        Ok(if found.entries.is_empty() { Outcome::NothingFound } else { Outcome::Done })
    }
}

fn list(found: &EntriesView) -> anyhow::Result<()> {
    let mut out = stdout();
    for entry in &found.entries {
        out.paint(TITLE, &entry.id)?;
        write!(out, "  [{}] {}  ", entry.kind.word(), entry.text)?;
        let times = [("from", &entry.from), ("until", &entry.until), ("superseded by", &entry.superseded_by)];
        let times = times.iter().filter_map(|(name, when)| Some(format!("{name} {}  ", when.as_ref()?)));
        let reason = entry.reason.iter().map(|reason| format!("rejected: {reason}  "));
        let trust = (entry.trust != "person").then(|| format!("by {}  ", entry.trust));
        let more: String = times.chain(reason).chain(trust).collect();
        out.paint(DIM, &format!("{more}{}", entry.citation))?;
        writeln!(out)?;
    }
    for problem in &found.problems {
        remark!("vault: {problem}");
    }
    match (found.entries.is_empty(), found.cut) {
        (true, _) => remark!("vault: there are no such entries; `vault memory add` makes one"),
        (false, true) => remark!("vault: there are more; --limit shows them"),
        (false, false) => {}
    }
    Ok(())
}

#[derive(Debug, Args)]
pub(super) struct AddEntry {
    /// What it says, on one line.
    text: String,
    /// The agent whose memory it is for; else yours.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// What it is: fact, preference, decision, correction, commitment, relationship, skill.
    #[arg(long, value_parser = kind)]
    kind: Option<MemoryKind>,
    /// How sure it is, 0 to 1.
    #[arg(long, value_name = "N")]
    confidence: Option<f64>,
    /// A tag; may be given more than once.
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// From when it is so: a date or a time.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Until when, not included.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Where it was learned: notes/api.md#L12; may be given more than once.
    #[arg(long = "source", value_name = "PLACE")]
    sources: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl AddEntry {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let Self { text, agent, kind, confidence, tags, from, until, sources, json } = self;
        let some = |list: Vec<String>| Some(list).filter(|list| !list.is_empty());
        let (tags, sources) = (some(tags), some(sources));
        let params = EntryAddParams { agent, kind, text, confidence, tags, from, until, sources };
        let added = open(vault)?.ask(&endpoints::entries::ADD_ENTRY, &params)?;
        if json {
            stdout().json(&added)?;
            return Ok(Outcome::Done);
        }
        match added.status.as_str() {
            "duplicate" => say!("{} says it already; nothing was written", added.id)?,
            _ => say!("added {}", added.id)?,
        }
        if let Some(id) = &added.supersedes {
            say!("    it takes the place of {id}")?;
        }
        if let Some(id) = &added.contradicts {
            say!("    {id} says something else; `vault memory remove {id} --archive` sets it aside")?;
        }
        if added.redacted {
            say!("    secrets were taken out of it")?;
        }
        say_archived(&added.archived)?;
        if let Some(degraded) = &added.degraded {
            remark!("vault: {degraded}");
        }
        say_undo(&added.checkpoint_ids)?;
        Ok(Outcome::Done)
    }
}

#[derive(Debug, Args)]
pub(super) struct EditEntry {
    /// Its name: e-7f3a2b9c.
    id: String,
    /// What it says from now on.
    text: Option<String>,
    /// The agent whose memory it is of; else yours.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// What it is.
    #[arg(long, value_parser = kind)]
    kind: Option<MemoryKind>,
    /// How sure it is, 0 to 1.
    #[arg(long, value_name = "N")]
    confidence: Option<f64>,
    /// From when it is so; "" takes it away.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Until when; "" takes it away.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl EditEntry {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let Self { id, text, agent, kind, confidence, from, until, json } = self;
        let params = EntryEditParams { id, agent, text, kind, confidence, tags: None, from, until };
        told(&open(vault)?.ask(&endpoints::entries::EDIT_ENTRY, &params)?, json, "changed")
    }
}

#[derive(Debug, Args)]
pub(super) struct RemoveEntry {
    /// Its name: e-7f3a2b9c.
    id: String,
    /// The agent whose memory it is of; else yours.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Set it aside in the archive, with those that it took the place of.
    #[arg(long)]
    archive: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl RemoveEntry {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let Self { id, agent, archive, json } = self;
        let what = if archive { "archived" } else { "removed" };
        told(
            &open(vault)?.ask(
                &endpoints::entries::REMOVE_ENTRY,
                &EntryRemoveParams { id, agent, archive: archive.then_some(true) },
            )?,
            json,
            what,
        )
    }
}

fn told(changed: &EntryChanged, json: bool, what: &str) -> anyhow::Result<Outcome> {
    if json {
        stdout().json(changed)?;
        return Ok(Outcome::Done);
    }
    say!("{what} {}", changed.id)?;
    say_undo(&changed.checkpoint_ids)?;
    Ok(Outcome::Done)
}
