//! Finds notes, headings and tags by their names, as one types.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use crate::access::request::{ReadScope, RequestError, Viewer, limit, query_text, read_seen};
use crate::base::path::folded;
use crate::index::engine::{FileEntry, FileSet, Like, Name, WordQuery};
use crate::serve::wire::{FindParams, NameKind, NameView, NamesView};
use crate::text::derive::Label;
use crate::text::derive::nearest::edits;
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
/// Minimum length of a word in which two letters may be wrong.
const MIN_TWO_SLIPS: usize = 8;
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
    /// Name and path together have all of its words.
    Path,
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
        let found = if is_place { by_rank(&scope, &typed, Rank::Inside) } else { notes(&scope, &typed) };
        results.extend(found.into_iter().take(limit).map(|file| note_view(&scope, &typed, file)));
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
        let begins = |word: &String| word_starts(name, word).next().is_some();
        match name {
            name if name == self.text => Some(Rank::Name),
            name if name.starts_with(&self.text) => Some(Rank::Start),
            _ if self.words.iter().all(begins) => Some(Rank::Words),
            name if name.contains(&self.text) => Some(Rank::Inside),
            _ => None,
        }
    }

    /// How title, file name and path of a note answer it.
    fn rank_of(&self, name: Name<'_>) -> Option<Rank> {
        if !self.words.iter().all(|word| name.all.contains(word.as_str())) {
            return None;
        }
        let is_path = name.path == self.text || name.place() == self.text;
        let by_name = self.rank(name.title).into_iter().chain(self.rank(name.stem())).min();
        if is_path { Some(Rank::Name) } else { by_name.or(Some(Rank::Path)) }
    }

    /// Whether a folded name has its letters in this order, the first one where a word begins.
    fn is_spread_over(&self, name: &str) -> bool {
        let mut letters = self.text.chars().filter(|letter| !letter.is_whitespace());
        let first = letters.next().map(String::from).unwrap_or_default();
        let Some(at) = word_starts(name, &first).next() else { return false };
        let mut rest = name[at + first.len()..].chars();
        letters.all(|letter| rest.any(|other| other == letter))
    }
}

/// Where words of a name begin so.
fn word_starts<'n>(name: &'n str, word: &'n str) -> impl Iterator<Item = usize> + 'n {
    let starts = name.match_indices(word).map(|(at, _)| at);
    starts.filter(|at| !name[..*at].ends_with(char::is_alphanumeric))
}

/// The notes that are called so; else those with a slip of the finger made good; else those that have its letters.
fn notes<'s>(scope: &'s ReadScope, typed: &Typed) -> Vec<&'s Arc<FileEntry>> {
    let found = by_rank(scope, typed, Rank::Path);
    if !found.is_empty() {
        return found;
    }
    let corrected = corrected(scope, typed).map(|typed| by_rank(scope, &typed, Rank::Path)).unwrap_or_default();
    if !corrected.is_empty() || !LETTERS.contains(&typed.text.len()) {
        return corrected;
    }
    let all = seen(scope).filter(|(name, _)| typed.is_spread_over(name.title) || typed.is_spread_over(name.stem()));
    all.map(|(_, file)| file).collect()
}

/// The notes that are seen, the newest first.
fn seen(scope: &ReadScope) -> impl Iterator<Item = (Name<'_>, &Arc<FileEntry>)> {
    let files = scope.reader().files();
    let is_seen = |file: u32| scope.visible().is_none_or(|visible| visible.contains(file));
    let seen = files.names().iter().filter(move |name| is_seen(name.file));
    seen.filter_map(|name| Some((name, files.get(name.file)?)))
}

/// The notes that answer no worse than so, best first; of those that answer as well, the newest first.
fn by_rank<'s>(scope: &'s ReadScope, typed: &Typed, worst: Rank) -> Vec<&'s Arc<FileEntry>> {
    let (whole, begun) = labelled(scope, typed);
    let files = scope.reader().files();
    let is_seen = |file: u32| scope.visible().is_none_or(|visible| visible.contains(file));
    let rank = |name: Name<'_>| {
        // How well a hidden name would answer takes no time.
        if !is_seen(name.file) {
            return None;
        }
        let alias = begun.contains(name.file).then_some(Rank::Words);
        let alias = if whole.contains(name.file) { Some(Rank::Name) } else { alias };
        let rank = typed.rank_of(name).into_iter().chain(alias).min()?;
        (rank <= worst).then_some((rank, name.file))
    };
    let mut found: Vec<(Rank, u32)> = files.names().iter().filter_map(rank).collect();
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().filter_map(|(_, file)| files.get(file)).collect()
}

/// The notes with a name, and those with a name whose words begin so: by title, file name or alias.
fn labelled(scope: &ReadScope, typed: &Typed) -> (FileSet, FileSet) {
    let facets = scope.reader().files().facets();
    let whole = Label::of_name(&typed.text).map(|label| facets.labelled(label)).unwrap_or_default();
    let mut begun = FileSet::new();
    let mut words = plain_words(&typed.text, false);
    // A beginning is known from some letters on.
    if words.len() > 1 && words.last().is_some_and(|last| last.chars().count() < MIN_BEGINNING) {
        words.pop();
    }
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

/// What is typed, with each word that no name has changed to the nearest that one has; `None` where there is nothing to change.
fn corrected(scope: &ReadScope, typed: &Typed) -> Option<Typed> {
    let mut words = typed.words.clone();
    for word in words.iter_mut().filter(|word| word.chars().count() > MIN_BEGINNING) {
        let wanted = word.clone();
        let most = if wanted.chars().count() < MIN_TWO_SLIPS { 1 } else { 2 };
        // Nearly nobody mistypes the first letter, and comparing every word letter by letter takes too long.
        let first = wanted.chars().next();
        let may = |other: &&str| other.chars().next() == first && other.len().abs_diff(wanted.len()) <= 2 * most;
        let names = seen(scope).flat_map(|(name, _)| name.all.split(|letter: char| !letter.is_alphanumeric()));
        let near = names.filter(may).map(|other| (edits(other, &wanted), other)).filter(|(slips, _)| *slips <= most);
        if let Some((_, other)) = near.min_by_key(|(slips, _)| *slips) {
            *word = other.to_owned();
        }
    }
    (words != typed.words).then(|| Typed::of(&words.join(" ")))
}

fn note_view(scope: &ReadScope, typed: &Typed, file: &FileEntry) -> NameView {
    let is_shown = [file.title.as_str(), file.path.stem()].iter().any(|name| typed.rank(&fold(name)).is_some());
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
    let Some(file) = notes(scope, note).into_iter().next() else { return Ok(Vec::new()) };
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
    let mut found: Vec<_> = found.into_iter().filter_map(|hit| Some((hit, reader.files().get(hit.file)?))).collect();
    found.sort_by(|(one, of_one), (two, of_two)| {
        let place = |row, file: &FileEntry| file.ordinal(row);
        two.score
            .total_cmp(&one.score)
            .then_with(|| of_one.path.cmp(&of_two.path))
            .then_with(|| place(one.row, of_one).cmp(&place(two.row, of_two)))
    });
    let (mut ranked, mut seen) = (Vec::new(), HashSet::new());
    for (hit, file) in found.into_iter().take(PASSAGES) {
        scope.go_on()?;
        let Ok(Some(chunk)) = reader.chunk(hit.row) else { continue };
        for heading in chunk.heading_path {
            let Some(rank) = typed.rank(&fold(&heading)) else { continue };
            if seen.insert((file.id, heading.clone())) {
                // A passage may begin with the headings above its own.
                let mut lines = chunk.text.get(..chunk.body_start).unwrap_or_default().lines();
                let below = lines.position(|line| line.trim_matches(['#', ' ']) == heading).unwrap_or(0);
                ranked.push((rank, heading_view(file, heading, chunk.lines.0 + below as u32)));
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
