//! Forgets what an agent says in words of its own, when it is clear what that is.
//!
//! The unit is a paragraph, list item or table row: a chunk of a search may hold several facts. Meaning alone never deletes.
//! It is clear what is meant when
//!
//! - it is the hash of a candidate; or
//! - its words stand, next to each other and in that order, in one place and no other; or
//! - one place has all of its words, and every other at most half of them.

use std::collections::{HashMap, HashSet};

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use super::edit::checked;
use super::read::{find, own_file};
use super::write::{changed, file_to_write, not_allowed, own_name, refused, rewrite, writable};
use crate::access::request::{Budget, MemoryWriter, RequestError, no_chunk, text};
use crate::access::rules::MemoryMode;
use crate::base::path::VaultPath;
use crate::serve::wire::{MemoryCandidate, MemoryChange, MemoryForgetParams, MemoryForgotten, citation};
use crate::text::derive::{ChunkId, Remainder, RemoveError, chunk, without_chunk, without_lines};
use crate::text::note::{BlockKind, Note};
use crate::vault::disk::{Action, CheckpointId, NoteEdit};

/// Maximum number of candidates that are shown.
const MAX_CANDIDATES: usize = 6;
/// Maximum number of hits that are looked through.
const HITS: usize = 10;

/// Forgets a paragraph, list item or table row of an agent's own memory, when it is clear which one is meant; else says which
/// may be. Returns when it can no longer be found.
///
/// # Errors
/// When it may not write, the query is empty, or the disk refuses.
pub(crate) fn forget(writer: &MemoryWriter, params: &MemoryForgetParams) -> Result<MemoryForgotten, RequestError> {
    if writer.mode == MemoryMode::Off {
        return Err(not_allowed(writer.mode));
    }
    let query = text("query", &params.query)?;
    let most = match params.limit {
        Some(0) => return Err(RequestError::invalid("`limit` is 0; it takes 1 or more")),
        most => most.unwrap_or(MAX_CANDIDATES).min(MAX_CANDIDATES),
    };
    let places = own_places(writer)?;
    let nearest = near(writer, &query, &places)?;
    let mut forgotten = MemoryForgotten { ok: true, searchable: true, ..MemoryForgotten::default() };
    match meant(&query, &places, &nearest, most) {
        ForgetMatch::One(at) if params.dry_run.unwrap_or(false) => {
            forgotten.candidates.push(shown(writer, &places[at]))
        }
        ForgetMatch::One(at) => {
            let id = forget_place(writer, &places[at])?;
            let change = changed(writer, "memory_forget", &places[at].path, &id, None);
            forgotten.searchable = change.searchable;
            forgotten.deleted.push(shown(writer, &places[at]));
            forgotten.checkpoint_ids.push(id.to_string());
        }
        ForgetMatch::Perhaps(some) => {
            forgotten.needs_confirmation = !some.is_empty();
            let mut room = Budget::of(writer.limits(), 1);
            let candidates = some.into_iter().map(|at| shown(writer, &places[at]));
            forgotten.candidates.extend(candidates.filter(|candidate| room.take(candidate.text.chars().count())));
        }
    }
    Ok(forgotten)
}

/// Forgets a chunk of a file of an agent's own memory, with what is hidden in it. Returns when it can no longer be found.
///
/// # Errors
/// When it may not write the file, the chunk is not there, or the disk refuses.
pub(super) fn delete_chunk(writer: &MemoryWriter, file: &str, id: ChunkId) -> Result<MemoryChange, RequestError> {
    let path = file_to_write(writer, Some(file))?;
    let checkpoint = rewrite(writer, &path, Action::Forget, 0, |existing| {
        let existing = existing.ok_or_else(|| no_chunk(&id.to_string()))?;
        let note = Note::parse(existing, path.stem());
        let chunks = chunk(&path, &note, existing);
        let chunk = chunks.iter().find(|chunk| chunk.id == id).ok_or_else(|| no_chunk(&id.to_string()))?;
        edit_without(&path, existing, &note, without_chunk(&note, existing, chunk))
    })?;
    Ok(changed(writer, "memory_delete", &path, &checkpoint, None))
}

/// All places of the files that the agent may write, in the order of their paths.
fn own_places(writer: &MemoryWriter) -> Result<Vec<ForgettableItem>, RequestError> {
    let scope = writer.own_memory()?;
    let files = scope.files().map(|file| &file.path);
    // What is seen is neither left out nor kept from the agent.
    let may_write = |path: &&VaultPath| {
        own_name(&writer.slug, path).is_some_and(|file| writable(&writer.slug, writer.mode, file).is_ok())
    };
    let mut paths: Vec<&VaultPath> = files.filter(may_write).collect();
    paths.sort_unstable();
    let mut found = Vec::new();
    for path in paths {
        if let Some((path, text)) = own_file(writer, path.as_str())? {
            found.extend(places(&path, &Note::parse(&text, path.stem()), &text));
        }
    }
    Ok(found)
}

/// Places in the chunks that a search finds, the best first.
fn near(writer: &MemoryWriter, query: &str, places: &[ForgettableItem]) -> Result<Vec<usize>, RequestError> {
    let found = find(writer, query, Some(HITS))?;
    let within = |at: &usize, path: &str, first: u32, last: u32| {
        let place = &places[*at];
        place.path.as_str() == path && place.lines.0 <= last as usize && place.lines.1 >= first as usize
    };
    let near = found.results.iter().map(|hit| &hit.chunk).flat_map(|chunk| {
        (0..places.len()).filter(move |at| within(at, &chunk.path, chunk.line_start, chunk.line_end))
    });
    Ok(near.collect())
}

fn forget_place(writer: &MemoryWriter, place: &ForgettableItem) -> Result<CheckpointId, RequestError> {
    let path = &place.path;
    rewrite(writer, path, Action::Forget, 0, |existing| {
        let changed = || RequestError::conflict(format!("`{path}` has changed since; nothing was written"));
        let existing = existing.ok_or_else(changed)?;
        let note = Note::parse(existing, path.stem());
        let now = places(path, &note, existing);
        let now = now.iter().find(|found| found.hash == place.hash).ok_or_else(changed)?;
        edit_without(path, existing, &note, without_lines(&note, existing, now.lines.0, now.lines.1))
    })
}

/// What becomes of a file that a part goes out of. The last of the text goes, and the frontmatter is the person's.
fn edit_without(
    path: &VaultPath,
    existing: &str,
    note: &Note,
    left: Result<Remainder, RemoveError>,
) -> Result<NoteEdit, RequestError> {
    let conflict =
        |error: RemoveError| RequestError::conflict(format!("`{path}`: {error}")).hint("nothing was written");
    let left = left.map_err(conflict)?;
    let left = left.text.unwrap_or_else(|| existing[..note.body.start].to_owned());
    let (left, empty) = checked(existing, note, left).map_err(|error| refused(path, error))?;
    Ok(if empty { NoteEdit::Gone } else { NoteEdit::Text(left) })
}

fn shown(writer: &MemoryWriter, place: &ForgettableItem) -> MemoryCandidate {
    let most = writer.workspace().config.search.max_snippet_chars;
    let most = writer.limits().map_or(most, |limits| most.min(limits.max_snippet_chars));
    let (line_start, line_end) = (place.lines.0 as u32, place.lines.1 as u32);
    let cut = place.text.char_indices().nth(most);
    MemoryCandidate {
        hash: place.hash.to_string(),
        path: place.path.to_string(),
        text: cut.map_or_else(|| place.text.clone(), |(at, _)| format!("{}…", &place.text[..at])),
        line_start,
        line_end,
        citation: citation(place.path.as_str(), line_start, line_end),
    }
}

/// What can be forgotten by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ForgettableItem {
    /// The file.
    path: VaultPath,
    /// Names it.
    hash: ChunkId,
    /// Its text, without comments.
    text: String,
    /// First and last line, from 1.
    lines: (usize, usize),
    /// Its words, folded, in order.
    words: Vec<String>,
}

/// The places of a file, in order.
fn places(path: &VaultPath, note: &Note, source: &str) -> Vec<ForgettableItem> {
    let mut seen = HashMap::new();
    let mut places = Vec::new();
    for block in &note.blocks {
        if matches!(block.kind, BlockKind::Heading(_) | BlockKind::Rule | BlockKind::Comment | BlockKind::Other) {
            continue;
        }
        let text = note.visible(source, block.span.clone()).trim().to_owned();
        let words = words(&text);
        if words.is_empty() {
            continue;
        }
        let nth = seen.entry(text.clone()).and_modify(|nth| *nth += 1).or_insert(0_u32);
        let hash = name(path, &text, *nth);
        let (first, last) = (block.span.start, block.span.end.saturating_sub(1).max(block.span.start));
        let lines = (note.lines.line_of(first), note.lines.line_of(last));
        places.push(ForgettableItem { path: path.clone(), hash, lines, text, words });
    }
    places
}

/// Names a place by its file, its text and how many of the same stand above it. No chunk has the same name.
fn name(path: &VaultPath, text: &str, nth: u32) -> ChunkId {
    let mut hasher = blake3::Hasher::new_derive_key("memory-vault: the name of a place that can be forgotten");
    for part in [path.as_str().as_bytes(), text.as_bytes(), &nth.to_le_bytes()] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
    ChunkId::from_bits(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
}

fn words(text: &str) -> Vec<String> {
    text.unicode_words().map(|word| word.nfkc().collect::<String>().to_lowercase()).collect()
}

/// What is meant by a request.
#[derive(Debug, PartialEq, Eq)]
enum ForgetMatch {
    /// This one.
    One(usize),
    /// One of these, the likeliest first, or none.
    Perhaps(Vec<usize>),
}

/// Which places a request means. `near` are those that a search found, the best first.
fn meant(query: &str, places: &[ForgettableItem], near: &[usize], most: usize) -> ForgetMatch {
    if let Ok(hash) = query.trim().parse::<ChunkId>()
        && let Some(at) = places.iter().position(|place| place.hash == hash)
    {
        return ForgetMatch::One(at);
    }
    let wanted = words(query);
    if wanted.is_empty() {
        return ForgetMatch::Perhaps(Vec::new());
    }
    // Its words stand next to each other and in order.
    let holds = |at: &usize| places[*at].words.windows(wanted.len()).any(|found| found == wanted);
    let exact: Vec<usize> = (0..places.len()).filter(holds).collect();
    if let [only] = exact[..] {
        return ForgetMatch::One(only);
    }
    let distinct: HashSet<&String> = wanted.iter().collect();
    let shares: Vec<usize> =
        places.iter().map(|place| place.words.iter().collect::<HashSet<_>>().intersection(&distinct).count()).collect();
    let mut ranked: Vec<usize> = (0..places.len()).filter(|at| shares[*at] > 0).collect();
    ranked.sort_by_key(|at| (std::cmp::Reverse(shares[*at]), *at));
    if let Some(first) = ranked.first()
        && exact.is_empty()
        && shares[*first] == distinct.len()
        && ranked.get(1).is_none_or(|second| shares[*second] * 2 <= distinct.len())
    {
        return ForgetMatch::One(*first);
    }
    // All of the words, then what is near in meaning, then some of the words.
    let (all, some): (Vec<usize>, Vec<usize>) = ranked.into_iter().partition(|at| shares[*at] == distinct.len());
    let mut seen = HashSet::new();
    let likely = exact.into_iter().chain(all).chain(near.iter().copied()).chain(some);
    ForgetMatch::Perhaps(likely.filter(|at| seen.insert(*at)).take(most).collect())
}

#[cfg(test)]
mod tests_of_candidates {
    use super::*;

    const TEXT: &str = "# Likes\n\n- The person likes green tea in the morning.\n- The person likes dark mode.\n- Dark chocolate is \
                        fine.\n\nThe dentist is on Monday.\n\n```\nlet mode = dark;\n```\n";

    fn of(text: &str) -> Vec<ForgettableItem> {
        places(&VaultPath::new("agents/a/MEMORY.md").unwrap(), &Note::parse(text, ""), text)
    }

    fn means(query: &str) -> ForgetMatch {
        meant(query, &of(TEXT), &[], 6)
    }

    #[test]
    fn places_are_facts_and_have_names() {
        let found = of(TEXT);
        let lines: Vec<(usize, usize)> = found.iter().map(|place| place.lines).collect();
        assert_eq!(lines, [(3, 3), (4, 4), (5, 5), (7, 7), (9, 11)]);
        let twice = of("- a\n- a\n");
        assert_ne!(twice[0].hash, twice[1].hash);
        assert_eq!(of(&format!("{TEXT}\nmore\n"))[1].hash, found[1].hash);
    }

    #[test]
    fn what_is_clear_is_one() {
        assert_eq!(means("Green tea"), ForgetMatch::One(0));
        assert_eq!(means("  the dentist is on monday! "), ForgetMatch::One(3));
        assert_eq!(means("likes dark mode"), ForgetMatch::One(1));
        // All of its words, in another order, and no other place has half of them.
        assert_eq!(means("Monday dentist"), ForgetMatch::One(3));
        assert_eq!(means(&of(TEXT)[2].hash.to_string()), ForgetMatch::One(2));
    }

    #[test]
    fn what_is_not_clear_is_shown() {
        assert_eq!(means("The person likes"), ForgetMatch::Perhaps(vec![0, 1, 3]));
        assert_eq!(means("dark"), ForgetMatch::Perhaps(vec![1, 2, 4]));
        assert_eq!(means("likes person green"), ForgetMatch::Perhaps(vec![0, 1]));
        assert_eq!(means("forget the dentist"), ForgetMatch::Perhaps(vec![3, 0, 1]));
        assert_eq!(means("swimming"), ForgetMatch::Perhaps(vec![]));
        assert_eq!(means("?!"), ForgetMatch::Perhaps(vec![]));
        assert_eq!(means("0123456789abcdef"), ForgetMatch::Perhaps(vec![]));
        // Meaning alone never deletes.
        assert_eq!(meant("colour scheme", &of(TEXT), &[1], 6), ForgetMatch::Perhaps(vec![1]));
        assert_eq!(meant("dark", &of(TEXT), &[0], 2), ForgetMatch::Perhaps(vec![1, 2]));
    }
}
