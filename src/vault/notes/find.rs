//! Finds notes, headings and tags by their names, as one types.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use crate::access::request::{ReadScope, RequestError, Viewer, limit, query_text, read_seen};
use crate::base::path::folded;
use crate::index::engine::{FileEntry, FileSet, Like, WordQuery};
use crate::serve::wire::{FindParams, NameKind, NameView, NamesView};
use crate::text::derive::Label;
use crate::text::derive::words::{fold, plain_words};
use crate::text::note::{Note, aliases};

/// Names, when nobody says how many.
const NAMES: usize = 20;
/// Tags beside headings, where both are meant.
const TAGS_BESIDE: usize = 5;
/// Maximum number of passages whose headings are compared.
const PASSAGES: usize = 200;
/// Maximum number of words to which the last one goes on.
const COMPLETIONS: usize = 8;
/// Minimum length of a word that goes on, in letters: so are the labels of names.
const MIN_BEGINNING: usize = 3;
/// Lengths of what is looked for letter by letter, in bytes.
const LETTERS: std::ops::RangeInclusive<usize> = 3..=32;
/// Maximum number of words in a name that is known by how they begin.
const NAME_WORDS: usize = 12;

/// How a name answers what is typed, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// It is the name.
    Name,
    /// The name begins so.
    Start,
    /// Words of the name begin so.
    Words,
    /// The name has it somewhere.
    Inside,
    /// The path has all of its words.
    Path,
    /// The name has its letters, in this order.
    Letters,
}

/// Finds names: of notes, of headings after `#`, in one note with `note#heading`, and tags.
///
/// # Errors
/// When a parameter makes no sense, or the index is not open yet.
pub fn find(viewer: &Viewer, params: &FindParams) -> Result<NamesView, RequestError> {
    let limit = limit(params.limit, NAMES)?;
    let q = query_text("q", &params.q)?.trim();
    // What has changed since it was indexed is named to no agent.
    let scope = viewer.settled_scope()?;
    let limit = scope.results(limit);
    let wants = |kind| params.kind.is_none_or(|wanted| wanted == kind);
    let (note, rest) = q.split_once('#').unwrap_or(if params.kind.is_none() { (q, "") } else { ("", q) });
    let is_place = q.contains('#');
    let mut results = Vec::new();
    if params.kind == Some(NameKind::Note) || (params.kind.is_none() && !q.starts_with('#')) {
        let typed = Typed::of(q);
        let found = if is_place { by_rank(&scope, &typed, Rank::Inside) } else { notes(&scope, &typed)? };
        results.extend(best(found, limit).iter().map(|file| note_view(&scope, &typed, file)));
    }
    if wants(NameKind::Tag) && note.is_empty() && (is_place || params.kind.is_some()) {
        let most = if params.kind.is_none() { TAGS_BESIDE.min(limit) } else { limit };
        results.extend(tags(&scope, &Typed::of(rest), most));
    }
    if wants(NameKind::Heading) && (is_place || params.kind.is_some()) {
        results.extend(if note.is_empty() {
            headings(&scope, &Typed::of(rest))?
        } else {
            headings_of(&scope, &Typed::of(note), &Typed::of(rest))?
        });
    }
    results.truncate(limit);
    let mut room = scope.room();
    results.retain(|name| {
        let texts = [Some(&name.title), name.path.as_ref(), name.alias.as_ref()];
        room.take(texts.into_iter().flatten().map(|text| text.chars().count()).sum())
    });
    viewer.log("find", &params.q, results.iter().filter_map(|name| name.path.clone()).collect());
    Ok(NamesView { results })
}

/// What is typed, folded.
struct Typed {
    text: String,
    words: Vec<String>,
}

impl Typed {
    fn of(typed: &str) -> Self {
        let text = fold(typed.trim());
        let words = text.split_whitespace().map(str::to_owned).collect();
        Self { text, words }
    }

    /// How a folded name answers it.
    fn rank(&self, name: &str) -> Option<Rank> {
        let begins = |word: &String| {
            name.contains(word.as_str())
                && name.match_indices(word.as_str()).any(|(at, _)| !name[..at].ends_with(char::is_alphanumeric))
        };
        match name {
            name if name.starts_with(&self.text) && name.len() == self.text.len() => Some(Rank::Name),
            name if name.starts_with(&self.text) => Some(Rank::Start),
            _ if self.words.iter().all(begins) => Some(Rank::Words),
            name if name.contains(&self.text) => Some(Rank::Inside),
            _ => None,
        }
    }

    /// Whether a folded name has its letters in this order, the first one where a word begins.
    fn is_spread_over(&self, name: &str) -> bool {
        let mut letters = self.text.chars().filter(|letter| !letter.is_whitespace());
        let Some(first) = letters.next() else { return false };
        let start = name.match_indices(first).find(|(at, _)| !name[..*at].ends_with(char::is_alphanumeric));
        let Some((at, found)) = start else { return false };
        let mut rest = name[at + found.len()..].chars();
        letters.all(|letter| rest.any(|other| other == letter))
    }

    /// How a note's title, file name and path answer it; `buffer` saves an allocation for each of them.
    fn rank_of(&self, file: &FileEntry, buffer: &mut String, worst: Rank) -> Option<Rank> {
        let names = [file.title.as_str(), file.path.stem()];
        let spread = |name: &str| (worst == Rank::Letters && self.is_spread_over(name)).then_some(Rank::Letters);
        let by_name = names.iter().filter_map(|name| {
            fold_into(buffer, name);
            self.rank(buffer).or_else(|| spread(buffer))
        });
        let by_name = by_name.min();
        if worst < Rank::Path || by_name.is_some_and(|rank| rank < Rank::Path) {
            return by_name;
        }
        fold_into(buffer, file.path.as_str());
        let is_path = *buffer == self.text || buffer.rsplit_once('.').is_some_and(|(path, _)| path == self.text);
        let has_all = || self.words.iter().all(|word| buffer.contains(word.as_str()));
        if is_path { Some(Rank::Name) } else { has_all().then_some(Rank::Path).or(by_name) }
    }
}

fn fold_into(buffer: &mut String, text: &str) {
    buffer.clear();
    if text.is_ascii() {
        buffer.push_str(text);
        buffer.make_ascii_lowercase();
    } else {
        buffer.push_str(&fold(text));
    }
}

type Ranked<'s> = (Rank, &'s Arc<FileEntry>);

/// The best notes: of those that answer as well, the newest.
fn best(mut found: Vec<Ranked<'_>>, limit: usize) -> Vec<&Arc<FileEntry>> {
    let before = |one: &Ranked<'_>, two: &Ranked<'_>| {
        let key = |(rank, file): &Ranked<'_>| (*rank, Reverse(file.updated_ms));
        key(one).cmp(&key(two)).then_with(|| one.1.path.cmp(&two.1.path))
    };
    if found.len() > limit {
        found.select_nth_unstable_by(limit, before);
        found.truncate(limit);
    }
    found.sort_unstable_by(before);
    found.into_iter().map(|(_, file)| file).collect()
}

/// The notes that are called so; else those with a slip of the finger made good; else those that have its letters.
fn notes<'s>(scope: &'s ReadScope, typed: &Typed) -> Result<Vec<Ranked<'s>>, RequestError> {
    let found = by_rank(scope, typed, Rank::Path);
    if !found.is_empty() {
        return Ok(found);
    }
    if let Some(corrected) = corrected(scope, typed)? {
        let found = by_rank(scope, &corrected, Rank::Path);
        if !found.is_empty() {
            return Ok(found);
        }
    }
    let may = LETTERS.contains(&typed.text.len());
    Ok(if may { by_rank(scope, typed, Rank::Letters) } else { Vec::new() })
}

fn by_rank<'s>(scope: &'s ReadScope, typed: &Typed, worst: Rank) -> Vec<Ranked<'s>> {
    let called = labelled(scope, typed);
    let mut buffer = String::new();
    let rank = |file: &'s Arc<FileEntry>| {
        let (whole, begun) = &called;
        let alias = if whole.contains(file.id) {
            Some(Rank::Name)
        } else {
            begun.contains(file.id).then_some(Rank::Words)
        };
        let by_name = typed.rank_of(file, &mut buffer, worst);
        Some((by_name.into_iter().chain(alias).min()?, file))
    };
    scope.files().filter_map(rank).collect()
}

/// The notes with a name, and those with a name whose words begin so: by title, file name or alias.
fn labelled(scope: &ReadScope, typed: &Typed) -> (FileSet, FileSet) {
    let facets = scope.reader().files().facets();
    let whole = Label::of_name(&typed.text).map(|label| facets.labelled(label)).unwrap_or_default();
    let mut begun = FileSet::new();
    let words = plain_words(&typed.text, false);
    if !words.is_empty() && words.len() <= NAME_WORDS {
        for count in words.len()..=NAME_WORDS {
            let mut sets = words.iter().map(|word| facets.labelled(Label::of_beginning(count, word)));
            let first = sets.next().unwrap_or_default();
            begun.union(&sets.fold(first, |mut all, set| {
                all.intersect(&set);
                all
            }));
        }
    }
    (whole, begun)
}

/// What is typed, with each word that no name has changed to the nearest one; `None` where there is nothing to change.
fn corrected(scope: &ReadScope, typed: &Typed) -> Result<Option<Typed>, RequestError> {
    let mut words = typed.words.clone();
    for word in words.iter_mut().filter(|word| word.chars().count() > MIN_BEGINNING) {
        let like = Like::Edits(word.clone(), if word.chars().count() < 8 { 1 } else { 2 });
        let near = scope.reader().like(&like, scope.visible()).map_err(|error| scope.workspace().damaged(error))?;
        let nearest = near.into_iter().min_by_key(|(near, chunks)| (like.distance(near), Reverse(*chunks)));
        if let Some((near, _)) = nearest {
            *word = near;
        }
    }
    Ok((words != typed.words).then(|| Typed::of(&words.join(" "))))
}

fn note_view(scope: &ReadScope, typed: &Typed, file: &FileEntry) -> NameView {
    let is_shown = typed.rank_of(file, &mut String::new(), Rank::Path).is_some_and(|rank| rank < Rank::Path);
    NameView {
        kind: NameKind::Note,
        path: Some(file.path.to_string()),
        title: file.title.clone(),
        alias: if is_shown { None } else { alias(scope, typed, file) },
        line: None,
        tag: None,
    }
}

/// The alias of a note that fits best.
fn alias(scope: &ReadScope, typed: &Typed, file: &FileEntry) -> Option<String> {
    let metadata = scope.reader().metadata(file.id).ok().flatten()?;
    let Ok(Value::Object(metadata)) = serde_json::from_str(&metadata) else { return None };
    let ranked = aliases(&metadata).into_iter().filter_map(|alias| Some((typed.rank(&fold(&alias))?, alias)));
    ranked.min().map(|(_, alias)| alias)
}

/// The headings of the first note of a name, in the order of the text.
fn headings_of(scope: &ReadScope, note: &Typed, typed: &Typed) -> Result<Vec<NameView>, RequestError> {
    let found = notes(scope, note)?;
    let Some(file) = best(found, 1).first().copied() else { return Ok(Vec::new()) };
    let (_, source) = read_seen(scope, file.path.as_str())?;
    let note = Note::of(&file.path, &source.text);
    let headings = note.headings.into_iter().filter(|heading| !heading.text.is_empty());
    let mut ranked: Vec<(Rank, NameView)> = headings
        .filter_map(|heading| {
            let rank = typed.rank(&fold(&heading.text))?;
            Some((rank, heading_view(file, heading.text, heading.line as u32)))
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    Ok(ranked.into_iter().map(|(_, view)| view).collect())
}

fn heading_view(file: &FileEntry, title: String, line: u32) -> NameView {
    let path = Some(file.path.to_string());
    NameView { kind: NameKind::Heading, path, title, alias: None, line: Some(line), tag: None }
}

/// The headings of all notes that answer what is typed, as far as the passages have them that its words find best.
fn headings(scope: &ReadScope, typed: &Typed) -> Result<Vec<NameView>, RequestError> {
    let damaged = |error| scope.workspace().damaged(error);
    let (reader, visible) = (scope.reader(), scope.visible());
    let mut words = plain_words(&typed.text, false);
    if let Some(last) = words.last().filter(|last| last.chars().count() >= MIN_BEGINNING).cloned() {
        let mut longer = reader.like(&Like::Prefix(last), visible).map_err(damaged)?;
        longer.sort_by(|one, two| two.1.cmp(&one.1).then_with(|| one.0.cmp(&two.0)));
        words.extend(longer.into_iter().take(COMPLETIONS).map(|(word, _)| word));
    }
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let query = WordQuery { words, ..WordQuery::default() };
    let stemmer = scope.workspace().config.search.stemmer;
    let prepared = reader.words(&query, stemmer, visible, visible).map_err(damaged)?;
    let found = prepared.best(PASSAGES, visible).map_err(damaged)?;
    let mut found: Vec<_> =
        found.into_iter().filter_map(|hit| Some((hit, reader.files().get(hit.file)?))).collect();
    found.sort_by(|(one, of_one), (two, of_two)| {
        let place = |row, file: &FileEntry| file.ordinal(row);
        two.score.total_cmp(&one.score).then_with(|| of_one.path.cmp(&of_two.path)).then_with(|| {
            place(one.row, of_one).cmp(&place(two.row, of_two))
        })
    });
    let (mut ranked, mut seen) = (Vec::new(), HashSet::new());
    for (hit, file) in found.into_iter().take(PASSAGES) {
        scope.go_on()?;
        let Ok(Some(chunk)) = reader.chunk(hit.row) else { continue };
        for heading in chunk.heading_path {
            let Some(rank) = typed.rank(&fold(&heading)) else { continue };
            if seen.insert((file.id, heading.clone())) {
                ranked.push((rank, heading_view(file, heading, chunk.lines.0)));
            }
        }
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    Ok(ranked.into_iter().map(|(_, view)| view).collect())
}

/// The tags of notes that are seen, those of most notes first.
fn tags(scope: &ReadScope, typed: &Typed, limit: usize) -> Vec<NameView> {
    let files = scope.reader().files();
    let facets = files.facets();
    let mut found: Vec<(Rank, Reverse<usize>, &str, FileSet)> = Vec::new();
    for tag in facets.tag_names(scope.visible()) {
        let Some(rank) = typed.rank(tag) else { continue };
        let mut notes = facets.tagged(tag).cloned().unwrap_or_default();
        scope.visible().into_iter().for_each(|visible| notes.intersect(visible));
        found.push((rank, Reverse(notes.len()), tag, notes));
    }
    found.sort_unstable_by(|one, two| (one.0, one.1, one.2).cmp(&(two.0, two.1, two.2)));
    found.truncate(limit);
    // As most notes write it.
    let spelled = |notes: &FileSet, tag: &str| {
        let mut times: BTreeMap<&String, usize> = BTreeMap::new();
        let written = notes.iter().filter_map(|id| files.get(id)).flat_map(|file| &file.tags);
        written.filter(|written| folded(written) == tag).for_each(|written| *times.entry(written).or_default() += 1);
        times.into_iter().min_by_key(|(_, times)| Reverse(*times)).map(|(written, _)| written.clone())
    };
    let view = |tag: String| NameView {
        kind: NameKind::Tag,
        path: None,
        title: tag.clone(),
        alias: None,
        line: None,
        tag: Some(tag),
    };
    found.iter().map(|(.., tag, notes)| view(spelled(notes, tag).unwrap_or_else(|| (*tag).to_owned()))).collect()
}
