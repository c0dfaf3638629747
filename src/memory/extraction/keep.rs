//! What was found, written: proposals, which wait for the person; and what a model says of a conversation, where nobody has edited a summary.

use serde_json::Value;

use crate::access::request::{MeaningAlike, RequestError, Workspace};
use crate::access::rules::Scope;
use crate::base::config::MemoryScope;
use crate::base::path::VaultPath;
use crate::memory::generated_files::{GeneratedError, known_summary};
use crate::memory::items::EntryWriter;
use crate::text::derive::entries::{MemoryEntry, TrustLevel};
use crate::text::derive::extraction::{CheckedEntry, CheckedLine, Voice};
use crate::text::derive::facts::{Moment, Validity};
use crate::text::derive::summary::{CitedLine, ConversationTurn, SummarySections, cited, turns_of};
use crate::text::derive::words::fold;
use crate::text::note::Note;
use crate::vault::disk::{Action, Source};

/// As whom it is written.
const WHO: &str = "extraction";

/// By whose word a conversation is at most, as its frontmatter says; what says something else of it than we know is trusted least.
pub(super) fn trust_of(note: &Note) -> TrustLevel {
    let said = note.metadata.iter().filter(|(key, _)| fold(key.trim()) == "trust").flat_map(|(_, value)| match value {
        Value::Array(all) => all.iter().collect::<Vec<_>>(),
        one => vec![one],
    });
    let levels = said.map(|value| match value {
        Value::Null => TrustLevel::Person,
        value => value.as_str().and_then(|word| TrustLevel::of(&fold(word.trim()))).unwrap_or(TrustLevel::Web),
    });
    levels.min().unwrap_or(TrustLevel::Person)
}

/// What was found, for a memory.
pub(super) struct Proposals {
    /// Whose memory.
    pub(super) holder: MemoryScope,
    /// As whom it is written.
    pub(super) who: &'static str,
    /// What the person is told of what was left out.
    pub(super) into: String,
    /// Whose tombstones count: those of what an agent could read; all where that is `None`.
    pub(super) reach: Scope,
    pub(super) proposals: Vec<MemoryEntry>,
}

/// What was found in a conversation that is so trusted.
pub(super) fn found_in((path, trust): (&VaultPath, TrustLevel), found: &[CheckedEntry]) -> Proposals {
    let source = |found: &CheckedEntry| vec![cited(path.as_str(), found.lines)];
    let proposals = found.iter().map(|found| proposal_of(found, source(found), trust)).collect();
    Proposals { holder: MemoryScope::User, who: WHO, into: path.to_string(), reach: Scope::Everything, proposals }
}

/// Proposes what was found. What is there already, was forgotten for good or was rejected before stays as it is. Says whether what it was
/// found in `is_current`, which is asked once nothing more is forgotten before this has written: what was found in another text is dropped,
/// as a paraphrase of what is gone is known by nothing else.
pub(super) fn propose(
    workspace: &Workspace,
    found: Proposals,
    is_current: &dyn Fn() -> bool,
) -> Result<bool, RequestError> {
    let Proposals { holder, who, into, reach, proposals } = found;
    if proposals.is_empty() {
        return Ok(true);
    }
    let files = workspace.files()?;
    let _one = files.one_generation();
    if !is_current() {
        return Ok(false);
    }
    let forgotten = &workspace.forgotten;
    let asked = forgotten.ask()?;
    let meaning = MeaningAlike::of(workspace);
    let rules = meaning.rules(workspace, &asked, &reach);
    let writer = EntryWriter { files, act: Action::Edit.done_by(who), is_program: true };
    let (_, left_out) = workspace.entry_store.propose(&writer, &holder, (proposals, false), &rules)?;
    drop(rules);
    drop(asked);
    for tombstone in left_out {
        forgotten.note(who, &into, true, tombstone);
    }
    Ok(true)
}

/// What was found, which comes from these sources, and is trusted no more than they are.
pub(super) fn proposal_of(found: &CheckedEntry, sources: Vec<String>, of_sources: TrustLevel) -> MemoryEntry {
    let trust = if found.voice == Voice::Person { TrustLevel::Person } else { TrustLevel::Agent };
    MemoryEntry {
        confidence: found.confidence,
        tags: found.tags.clone(),
        window: Validity { from: found.valid_from.as_deref().and_then(Moment::read), ..Validity::default() },
        sources,
        trust: trust.min(of_sources),
        ..MemoryEntry::new(found.kind, &found.text)
    }
}

/// Writes what stands of a model's summary of a conversation as it was read. Nothing, where nothing stands, or the conversation is another
/// by now.
pub(super) fn keep_summary(
    workspace: &Workspace,
    (path, source): (&VaultPath, &Source),
    made_by: &str,
    found: &[(&'static str, Vec<CheckedLine>)],
) -> Result<(), RequestError> {
    let summary = summary_of(path, found);
    if summary.is_empty() {
        return Ok(());
    }
    let note = Note::parse(&source.text, path.stem());
    let turns = turns_of(&note, &source.text);
    let files = workspace.summary_files()?;
    let reader = workspace.shared.snapshot();
    let known = reader.as_ref().and_then(|reader| Some(known_summary(reader.files(), path)?.path.clone()));
    let make = |now: &[ConversationTurn<'_>]| (now == turns.as_slice()).then(|| summary.clone());
    let write = || files.make_with(path, known.as_ref(), made_by, &make);
    // Rules may write theirs at this very moment.
    match write().or_else(|_| write()) {
        Ok(_) => Ok(()),
        Err(GeneratedError::Write(error)) => Err(error.into()),
        Err(error) => {
            tracing::warn!("{path} is not summarised: {error}");
            Ok(())
        }
    }
}

fn summary_of(path: &VaultPath, found: &[(&'static str, Vec<CheckedLine>)]) -> SummarySections {
    let list = |name: &str| {
        let lines = found.iter().filter(|(list, _)| *list == name).flat_map(|(_, lines)| lines);
        let mut list: Vec<CitedLine> = Vec::new();
        for line in lines.map(|line| CitedLine::of(&line.text, vec![cited(path.as_str(), line.lines)])) {
            if list.iter().all(|known| known.text != line.text) {
                list.push(line);
            }
        }
        list
    };
    SummarySections::of_conversation(["text", "topics", "decisions", "dates", "actions"].map(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_trusted_as_its_frontmatter_says() {
        for (said, trust) in [
            ("title: x", TrustLevel::Person),
            ("trust: person", TrustLevel::Person),
            ("trust:", TrustLevel::Person),
            ("trust: agent", TrustLevel::Agent),
            ("Trust: TOOL", TrustLevel::Tool),
            ("trust: [person, web]", TrustLevel::Web),
            ("trust: untrusted", TrustLevel::Web),
            ("trust: 7", TrustLevel::Web),
        ] {
            assert_eq!(trust_of(&Note::parse(&format!("---\n{said}\n---\n"), "")), trust, "{said}");
        }
    }
}
