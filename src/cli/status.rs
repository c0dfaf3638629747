//! How the index is, and setting it right: `vault status`, `reindex` and `verify`.

use std::path::Path;
use std::time::Duration;

use clap::Args;

use super::backend::{Backend, home};
use super::changes::about;
use super::terminal::{
    BAD, Bar, DIM, EMBEDDING, Out, Outcome, PLAIN, READING, answer, bytes, count, is_in_json, remark, say, stdout,
};
use crate::base::clock::local;
use crate::serve::api::endpoints;
use crate::serve::wire;
use crate::serve::wire::{ChatState, Model, ReindexParams};

/// Show what is indexed, what is pending, and what cannot be indexed and why.
#[derive(Debug, Args)]
pub(super) struct StatusCommand;

/// Between two looks at the status.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Problems shown; `--json` has them all.
const SHOWN: usize = 20;

impl StatusCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |_| {})?;
        backend.catch_up(true)?;
        let (served, status) = (backend.is_served(), backend.status()?);
        let scheme = home(vault)?.daemon().map_or_else(|| "http".into(), |daemon| daemon.scheme);
        answer(&status, true, |out| print(&status, &scheme, served, out))
    }
}

/// What a person should know of the watcher: a name for the first line, and what each says.
fn watching(watching: &wire::Watching) -> Vec<(&'static str, String)> {
    let mut lines = vec![("changes", format!("noticed by {}", watching.by))];
    let mut more = |text: String| lines.push(("", text));
    if let Some(reason) = &watching.reason {
        more(reason.clone());
    }
    if let Some(lost) = &watching.lost_at {
        let then = match &watching.recovered_at {
            Some(recovered) => format!("all notes were compared and caught up with by {}", local(recovered)),
            None => "all notes are being compared".into(),
        };
        let lost = local(lost);
        more(format!("events were lost at {lost} ({} since the start); {then}", count(watching.losses, "time")));
    }
    let compared = watching.compared_at.as_deref().map_or_else(|| "not yet".into(), local);
    let every = watching.reconcile_seconds;
    lines.push(("compared", format!("{compared}, all notes with the index; again every {every} s")));
    lines
}

/// Since when a chat model is asked, as far as it is known.
pub(super) fn since(memory: &wire::ProcessingState) -> String {
    memory.since.as_ref().map_or("since the vault was made".into(), |since| format!("since {}", local(since)))
}

/// What a person should know of the chat model of the memory; the first of them is named.
fn processing(memory: &wire::ProcessingState) -> Vec<String> {
    let calls = count(memory.calls as usize, "call");
    let asked = format!("{calls}, {} sent {}", bytes(memory.bytes_sent), since(memory));
    let mut lines = vec![match &memory.model {
        None => format!("no model reads conversations; {asked}"),
        Some(model) => format!("{model}, {}; {asked}", memory.state),
    }];
    lines.extend(memory.reason.clone());
    if memory.model.is_some() && memory.queued + memory.dead + memory.withheld > 0 {
        let waiting = count(memory.queued, "session");
        let aside = format!("{} set aside (`vault memory processing`)", memory.dead);
        lines.push(format!("{waiting} waiting, {aside}, {} private and not sent", memory.withheld));
    }
    lines
}

/// What a person should know of the sessions of other programs; the first of them is named.
fn sessions(state: &wire::SessionsState) -> Vec<String> {
    let by = match &state.reason {
        _ if state.by.is_empty() => "not checked yet".to_owned(),
        None => format!("noticed by {}", state.by),
        Some(reason) => format!("noticed by {}: {reason}", state.by),
    };
    let mut lines = vec![format!("{} of {}, {by}", state.sessions, count(state.sources + state.gone, "file"))];
    let more = [
        (state.gone, "gone: the notes made from them stay"),
        (state.begun_anew, "started over: what was stored of them before stays in separate notes"),
        (state.cut_short, "shorter than before: what was stored of them stays"),
    ];
    lines.extend(more.iter().filter_map(|(files, what)| Some(format!("{} {what}", count(some(*files)?, "file")))));
    let edited = some(state.edited).map(|edited| count(edited, "note"));
    lines.extend(edited.map(|notes| format!("{notes} edited by you: new turns are added")));
    let problems = state.problems.iter().take(SHOWN);
    lines.extend(problems.map(|problem| format!("{}: {}", problem.path, problem.reason)));
    lines
}

/// What a person should know of the model: what it is, and what is not as it should be.
fn model(model: &Model) -> Vec<String> {
    let mut lines = vec![match (&*model.state, &model.detail, &model.instructions) {
        ("ready", Some(name), Some(instructions)) => format!("{name}, computed with {instructions}"),
        ("ready", Some(name), None) => name.clone(),
        (state, Some(detail), _) => format!("{state}: {detail}"),
        (state, None, _) => state.to_owned(),
    }];
    lines.extend(model.trouble.iter().map(|trouble| format!("vault keeps trying: {trouble}")));
    lines.extend(model.next.iter().map(|next| match (next.state.as_str(), &next.trouble) {
        ("ready", None) => {
            let of = count(next.of, "passage");
            format!("{} is embedding the vault: {} of {of}; then it takes over", next.detail, next.embedded)
        }
        ("ready", Some(why)) => format!("{} is to take over, and vault keeps trying: {why}", next.detail),
        ("failed", _) => format!("the model in memory.toml cannot be used: {}", next.detail),
        _ => "the model in memory.toml is being loaded".into(),
    }));
    lines.extend(
        some(model.kept_vectors)
            .map(|kept| format!("{} of other models are kept; `vault model gc` deletes them", count(kept, "vector"))),
    );
    lines
}

/// What a person should know of the copy on a server: how far it is, and since when not and why.
fn remote(state: &wire::RemoteState) -> Vec<String> {
    let far = match (&state.pushed_at, state.behind) {
        (Some(at), 0) if state.reason.is_none() => format!("complete at {}", local(at)),
        (Some(at), _) if state.failing_since.is_some() => format!("complete up to {}", local(at)),
        (_, behind) => format!("{} of {} to copy", behind, count(state.files, "note")),
    };
    let mut lines = vec![format!("`{}`, {far}", state.vault)];
    lines.extend(state.reason.as_ref().map(|reason| match &state.failing_since {
        Some(since) => format!("failing since {}, and vault keeps trying: {reason}", local(since)),
        None => reason.clone(),
    }));
    lines
}

/// A number, where it is one to speak of.
fn some(number: usize) -> Option<usize> {
    (number > 0).then_some(number)
}

fn print(status: &wire::Status, scheme: &str, served: bool, out: &mut Out) {
    out.field("vault", &status.vault);
    match (&status.address, served) {
        (Some(address), _) => out.field("daemon", &format!("running at {scheme}://{address}")),
        (None, true) => out.field("daemon", "running only for agents; `vault serve` serves you and the page too"),
        (None, false) => out.field("daemon", "not running; `vault serve` keeps the index fresh"),
    }
    if let Some(reason) = &status.config_failure {
        out.field("memory.toml", &format!("cannot be read: {reason}; the settings read at the start apply"));
    } else if status.config_waits {
        out.field("memory.toml", "has changed since the daemon started; restart it to apply all changes");
    }
    let (notes, passages) = (count(status.files, "note"), count(status.chunks, "passage"));
    out.field("indexed", &format!("{notes} in {passages}, {}", bytes(status.text_bytes)));
    out.field("embedded", &format!("{} of {}", status.embedded, count(status.embeddable, "passage")));
    let (files, embeddings) = (count(status.pending_files, "note"), count(status.pending_embeddings, "passage"));
    out.field("pending", &format!("{files} to read, {embeddings} to embed"));
    out.fields("model", model(&status.model));
    out.fields(
        "",
        some(status.withheld).map(|withheld| {
            let why = "not sent to another machine (`embed.send_private`), and found only by their words";
            format!("{} of private notes are {why}", count(withheld, "passage"))
        }),
    );
    if let Some(ChatState { name, answers, prompt_tokens, answer_tokens, trouble }) = &status.chat {
        let used = format!("{answers} answers, {prompt_tokens} tokens read and {answer_tokens} written");
        let name = name.as_deref().map_or_else(|| "failed".to_owned(), |name| format!("{name}; {used}"));
        out.fields("chat", [name].into_iter().chain(trouble.clone()));
    }
    out.fields("memory", status.processing.iter().flat_map(processing));
    for (name, value) in watching(&status.watching).iter().filter(|_| served) {
        out.field(name, value);
    }
    out.field("index", &format!("{}, {}", status.index_dir, bytes(status.index_bytes)));
    if let Some(capture) = status.capture.as_ref().filter(|capture| capture.pending > 0 || capture.failure.is_some()) {
        let reason = capture.failure.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        out.field("capture", &format!("{} to write into the vault{reason}", count(capture.pending, "event")));
    }
    out.fields(
        "checked",
        status.verified.as_ref().map(|verified| {
            let found = if verified.damage.is_empty() { "no damage" } else { "damage found" };
            format!("{found} at {}", local(&verified.at))
        }),
    );
    if let Some(facts) = status.facts.as_ref().filter(|facts| facts.current + facts.expired + facts.future > 0) {
        let expired = some(facts.expired).map(|expired| format!(", {expired} expired"));
        let future = some(facts.future).map(|future| format!(", {future} not yet true"));
        out.field("facts", &format!("{}{}{}", facts.current, expired.unwrap_or_default(), future.unwrap_or_default()));
    }
    for problem in status.facts.iter().flat_map(|facts| &facts.problems) {
        let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
        out.field("facts", &format!("{}{line}: {}", problem.path, problem.message));
    }
    if let Some(summaries) = status.summaries.as_ref().filter(|state| state.summaries + state.waiting > 0) {
        let waiting = some(summaries.waiting).map(|some| format!(", {} still going on", count(some, "conversation")));
        out.field("summaries", &format!("{}{}", summaries.summaries, waiting.unwrap_or_default()));
    }
    for kept in status.summaries.iter().flat_map(|summaries| &summaries.kept) {
        out.field("summaries", &format!("{}: {}", kept.path, kept.reason));
    }
    out.fields("sessions", status.sessions.iter().flat_map(sessions));
    out.fields("remote", status.remote.iter().flat_map(remote));
    if let Some(backup) = &status.backup {
        let commit = backup.last_commit.as_deref().map_or("nothing committed yet", |id| id.get(..12).unwrap_or(id));
        let at = backup.last_at.as_deref().map_or_else(String::new, |at| format!(", up to date at {}", local(at)));
        out.fields("backup", [format!("{commit}{at}")].into_iter().chain(backup.failure.clone()));
    }
    out.fields("rebuilt", status.rebuilt.clone());
    if let Some(failure) = &status.failure {
        out.paint(BAD, "failure    ");
        writeln!(out, " {failure}");
    }
    let (problems, back, copies) = (&status.problems, &status.forgotten_back, &status.conflict_copies);
    let were = if problems.len() == 1 { "was" } else { "were" };
    let heading = format!("{} {were} not read as meant:", count(problems.len(), "thing"));
    section(out, &heading, problems, |problem| (problem.path.clone(), problem.reason.clone()));
    let heading = "that you had permanently forgotten, back in notes (`vault forgotten list`):";
    section(out, &format!("{} {heading}", count(back.len(), "text")), back, |found| {
        (format!("{}:{}", found.path, found.line), format!("forgotten {}", found.tombstone))
    });
    let heading = "of files that were changed in two places; `vault conflicts show PATH` shows the difference:";
    section(out, &format!("{} {heading}", count(copies.len(), "conflict")), copies, |copy| {
        (copy.path.clone(), about(copy))
    });
}

/// Prints what there is of something under a heading: of each, where it is and what is said of it.
fn section<T>(out: &mut Out, heading: &str, all: &[T], shown: impl Fn(&T) -> (String, String)) {
    out.section(&format!("\n{heading}"), &all[..all.len().min(SHOWN)], |thing, out| {
        let (path, about) = shown(thing);
        out.row(&[(PLAIN, &format!("  {path}")), (DIM, &about)]);
    });
    if all.len() > SHOWN {
        writeln!(out, "  … and {} more; `vault status --json` lists all", all.len() - SHOWN);
    }
}

/// Compare every note with the index and repair differences, or rebuild the index.
///
/// Safe while the daemon runs: the daemon does the work, and keeps answering. --full rebuilds the index from nothing; you can
/// search by keyword again within seconds, and by meaning as passages are embedded. --json prints the status, as `vault status
/// --json` has it.
#[derive(Debug, Args)]
pub(super) struct ReindexCommand {
    /// Rebuild everything from nothing.
    #[arg(long)]
    full: bool,
    /// Do not wait until it has finished.
    #[arg(long)]
    no_wait: bool,
}

impl ReindexCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |_| {})?;
        backend.ask(&endpoints::routes::REINDEX, &ReindexParams { full: self.full })?;
        if self.no_wait && backend.is_served() {
            if is_in_json() {
                stdout().json(&backend.status()?);
            }
            return Ok(Outcome::Done);
        }
        let (files, embeddings) = (Bar::of(READING), Bar::of(EMBEDDING));
        let status = backend.wait_until(LOOK_AGAIN, |status| {
            let reading = !status.caught_up || status.pending_files > 0;
            if reading {
                files.show(status.files_done, status.pending_files);
            } else {
                files.finish();
                match &status.model.next {
                    Some(next) => embeddings.show(next.embedded, next.of.saturating_sub(next.embedded)),
                    None => embeddings.show(status.embedded, status.pending_embeddings),
                }
            }
            let Model { state, trouble, next, .. } = &status.model;
            let is_done = match next {
                Some(next) => next.state == "failed" || next.trouble.is_some(),
                None if state == "loading" => false,
                None => state != "ready" || status.pending_embeddings == 0 || trouble.is_some(),
            };
            Ok(!reading && is_done)
        })?;
        embeddings.finish();
        let waits = status.model.next.as_ref().and_then(|next| next.trouble.as_ref());
        if let Some(why) = waits.or(status.model.trouble.as_ref()) {
            remark!("vault: not all passages are embedded; vault keeps trying: {why}");
        }
        answer(&status, true, |out| {
            let (notes, passages) = (count(status.files, "note"), count(status.chunks, "passage"));
            writeln!(out, "{notes}, {passages}, {} embedded", status.embedded);
        })
    }
}

/// Check everything in the index against its checksums, and repair damage.
///
/// This does not check the notes themselves: they are the truth. The daemon does the same by itself after an unclean stop, and when a
/// search finds damage, so use this command when you doubt your disk. Exit code 1: something was damaged.
#[derive(Debug, Args)]
pub(super) struct VerifyCommand;

impl VerifyCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |_| {})?;
        backend.catch_up(false)?;
        // What opening the index has found and mended, this command has found.
        let opened = if !backend.is_served() { backend.status()?.rebuilt } else { None };
        let mut verification = backend.ask(&endpoints::routes::VERIFY, &())?;
        verification.damage.splice(0..0, opened);
        if is_in_json() {
            stdout().json(&verification);
        } else if verification.damage.is_empty() {
            let (notes, passages) = (count(verification.files, "note"), count(verification.chunks, "passage"));
            let embeddings = count(verification.embeddings, "embedding");
            say!("no damage: {notes}, {passages} and {embeddings}, checked in {} ms", verification.took_ms);
        } else {
            verification.damage.iter().for_each(|damage| say!("damaged: {damage}"));
        }
        if verification.damage.is_empty() {
            return Ok(Outcome::Done);
        }
        backend.wait_until(LOOK_AGAIN, |status| Ok(status.caught_up && status.pending_files == 0))?;
        if !is_in_json() {
            say!("mended");
        }
        Ok(Outcome::Damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watcher_s_troubles_are_told_in_words() {
        let calm = wire::Watching {
            by: "events".into(),
            reason: None,
            missing_since: None,
            losses: 0,
            lost_at: None,
            recovered_at: None,
            reconcile_seconds: 300,
            compared_at: Some("12:00".into()),
        };
        let told = |state: &wire::Watching| {
            watching(state).iter().map(|(name, text)| format!("{name}: {text}\n")).collect::<String>()
        };
        assert_eq!(
            told(&calm),
            "changes: noticed by events\ncompared: 12:00, all notes with the index; again every 300 s\n"
        );
        let lost = wire::Watching { losses: 2, lost_at: Some("12:01".into()), ..calm.clone() };
        assert!(
            told(&lost)
                .contains(": events were lost at 12:01 (2 times since the start); all notes are being compared\n")
        );
        let recovered = wire::Watching { recovered_at: Some("12:02".into()), ..lost };
        assert!(told(&recovered).contains("; all notes were compared and caught up with by 12:02\n"));
    }
}
