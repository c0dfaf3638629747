//! What was found in a conversation, written: proposals, which wait for the person.

use serde_json::Value;

use crate::access::request::{MeaningAlike, RequestError, Workspace};
use crate::base::config::MemoryScope;
use crate::base::path::VaultPath;
use crate::memory::items::{EntryProposal, EntryWriter, Evidence};
use crate::text::derive::entries::{EntryStatus, MemoryEntry, TrustLevel};
use crate::text::derive::extraction::{CheckedEntry, Voice};
use crate::text::derive::facts::{Moment, Validity};
use crate::text::derive::words::fold;
use crate::text::note::Note;
use crate::vault::disk::Action;
use crate::vault::forgotten::{AgentReach, TombstoneScope};

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
    pub(super) reach: Option<AgentReach>,
    pub(super) proposals: Vec<EntryProposal>,
}

/// What was found in a conversation that is so trusted.
pub(super) fn found_in((path, trust): (&VaultPath, TrustLevel), found: &[CheckedEntry]) -> Proposals {
    let proposal = |found: &CheckedEntry| {
        let (first, last) = found.lines;
        let lines = if first == last { format!("L{first}") } else { format!("L{first}-L{last}") };
        let entry = entry_of(vec![format!("{path}#{lines}")], found);
        EntryProposal { entry: MemoryEntry { trust: entry.trust.min(trust), ..entry }, evidence: evidence_of(found) }
    };
    let proposals = found.iter().map(proposal).collect();
    Proposals { holder: MemoryScope::User, who: WHO, into: path.to_string(), reach: None, proposals }
}

/// How it is known that its lines say it.
pub(super) fn evidence_of(found: &CheckedEntry) -> Evidence {
    if found.is_whole_line && found.voice == Voice::Person { Evidence::Quoted } else { Evidence::Checked }
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
    let forgotten = workspace.forgotten();
    let asked = forgotten.ask()?;
    let meaning = MeaningAlike::of(workspace);
    let rules = meaning.rules(workspace, &asked, reach.as_ref().map_or(TombstoneScope::All, TombstoneScope::Agent));
    let writer = EntryWriter { files, act: Action::Edit.done_by(who), is_program: true };
    let entry_store = workspace.entry_store();
    let all = entry_store.propose(&writer, &holder, proposals, &rules)?;
    drop(rules);
    drop(asked);
    if !all.accepted.is_empty() {
        let max = workspace.config().memory.max_entries;
        entry_store.keep_to_cap(writer.files, &holder, &all.accepted, max, workspace.usage())?;
    }
    for tombstone in all.forgotten {
        forgotten.note(who, &into, true, tombstone);
    }
    Ok(true)
}

/// An entry of what was found, which comes from these sources.
pub(super) fn entry_of(sources: Vec<String>, found: &CheckedEntry) -> MemoryEntry {
    MemoryEntry {
        confidence: found.confidence,
        tags: found.tags.clone(),
        window: Validity { from: found.valid_from.as_deref().and_then(Moment::read), until: None },
        sources,
        status: EntryStatus::Pending,
        trust: match found.voice {
            Voice::Person => TrustLevel::Person,
            Voice::Agent => TrustLevel::Agent,
        },
        ..MemoryEntry::new(found.kind, &found.text)
    }
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
