//! The contract of the engines: whatever was written, each gives the hits, the order and the scores of the exact one.

use std::cmp::Ordering;
use std::sync::Arc;

use jiff::Timestamp;
use proptest::prelude::*;
use tempfile::TempDir;

use super::super::{RelatedRequest, SearchRequest, Visible, related, search};
use super::steps::{DIMENSIONS, PATHS, Step, steps};
use crate::access::rules::Turn;
use crate::base::chance::proptest_config;
use crate::base::config::{MemoryLayer, Mode, SearchConfig, StemmerLanguage};
use crate::base::path::VaultPath;
use crate::index::engine::tests::exact::ExactEngine;
use crate::index::engine::{Condition, Engine, FileSet, FileUpdate, Filter, PendingText, Predicate, Reader, Writer};
use crate::index::local::{LocalEngine, Settings};
use crate::models::{Document, Embedder, EmbeddingSpace, HashEmbedder};
use crate::text::derive::Label;
use crate::vault::disk::{Globs, Stamp};

const QUERIES: [&str; 28] = [
    "role:ann garden", "role:ann river", "-role:user boat conversation:x", "role:user", "flüssen rivers boats",
    "flus gardeen", "river boat", "garden apple water", "\"green apple\"", "apple -river", "code_name", "name", "東京",
    "\"river water\" boat", "c++ cafe", "-boat", "Water", "wild calm", "tag:x -in:work +boat", "mood:calm",
    "[mood:>c] river", "-path:deep -[mood]", "gard", "rivre boatign", "boa* apple", "gardan water", "modo:calm river",
    "lex: boat -apple vec: green garden",
];
const MODES: [Mode; 3] = [Mode::Keyword, Mode::Semantic, Mode::Hybrid];
/// Steps after which a reader is asked again.
const HELD_STEPS: usize = 3;
pub(super) const LANGUAGE: StemmerLanguage = StemmerLanguage::English;

/// The engine of this process, in a folder.
pub(super) fn local(folder: &TempDir) -> LocalEngine {
    let settings =
        Settings { place: "here".into(), stemmer: LANGUAGE, graph_threshold: usize::MAX, private: Globs::default() };
    LocalEngine::new(folder.path().to_owned(), settings)
}

/// Plays the steps; what the engine says after each. A reader is held for some steps, and says the same then.
fn play(engine: &dyn Engine, steps: &[Step]) -> Vec<Vec<String>> {
    play_with(engine, steps, |_, reader| Some(reader))
}

/// The same, asking what `see` makes of what was published after a step; `None` is not asked.
pub(super) fn play_with(
    engine: &dyn Engine,
    steps: &[Step],
    mut see: impl FnMut(usize, Arc<dyn Reader>) -> Option<Arc<dyn Reader>>,
) -> Vec<Vec<String>> {
    let mut embedder = HashEmbedder::new(DIMENSIONS[0]);
    let mut writer = engine.open().unwrap();
    let mut next: Option<HashEmbedder> = None;
    let space = |embedder: &HashEmbedder| EmbeddingSpace::of(embedder);
    writer.use_model(&space(&embedder)).unwrap();
    let mut said: Vec<Vec<String>> = Vec::new();
    let mut generation = 0;
    let mut held: Vec<(Arc<dyn Reader>, usize, HashEmbedder)> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Write(at, text) => {
                writer.apply(vec![FileUpdate::of_text(PATHS[*at], text, LANGUAGE)], Vec::new()).unwrap();
            }
            Step::Skip(at, whole) => {
                let place = VaultPath::new(PATHS[*at]).unwrap();
                let skipped = [(PATHS[(*at + 1) % PATHS.len()].to_owned(), format!("as step {at} said"))];
                writer.set_skipped((!whole).then_some(&[place][..]), &skipped[usize::from(*at == 0)..]).unwrap();
            }
            Step::Remove(at) => writer.apply(Vec::new(), vec![VaultPath::new(PATHS[*at]).unwrap()]).unwrap(),
            Step::Forget(at, in_flight) => forget(writer.as_mut(), &embedder, PATHS[*at], *in_flight),
            Step::Touch(at) => {
                let path = VaultPath::new(PATHS[*at]).unwrap();
                let stamp = writer.file(&path).map(|file| Stamp { mtime_ns: file.stamp.mtime_ns + 1, ..file.stamp });
                writer.touch(&stamp.map(|stamp| (path, stamp, 7)).into_iter().collect::<Vec<_>>()).unwrap();
            }
            Step::Embed(divisor) => embed(writer.as_mut(), &embedder, *divisor),
            Step::Overtaken(at, divisor) => embed_what_goes(writer.as_mut(), &embedder, PATHS[*at], *divisor),
            Step::UseModel(dimension) => {
                (embedder, next) = (HashEmbedder::new(*dimension), None);
                writer.use_model(&space(&embedder)).unwrap();
            }
            Step::Prepare(dimension) => {
                let prepared = HashEmbedder::new(*dimension);
                writer.open_vectors(&space(&prepared)).unwrap();
                next = Some(prepared).filter(|next| next.fingerprint() != embedder.fingerprint()).or(next);
            }
            Step::Fill(divisor) => next.iter().for_each(|next| embed(writer.as_mut(), next, *divisor)),
            Step::Serve => {
                embedder = next.take().unwrap_or(embedder);
                writer.serve_vectors(embedder.fingerprint()).unwrap();
            }
            Step::Restart => {
                held.clear();
                writer.close().unwrap();
                writer = engine.open().unwrap();
                writer.use_model(&space(&embedder)).unwrap();
                next = None;
            }
        }
        let Some(reader) = see(at, writer.publish().unwrap()) else { continue };
        assert!(reader.generation() >= generation, "generations go up");
        generation = reader.generation();
        let mut answered = answers(reader.as_ref(), &embedder);
        answered.push(format!("generation {generation}"));
        for model in [Some(&embedder), next.as_ref()].into_iter().flatten().map(|open| open.fingerprint()) {
            answered.push(format!("{:?} {}", writer.coverage(model), writer.pending(model)));
        }
        said.push(answered);
        held.push((reader, said.len() - 1, HashEmbedder::new(embedder.dimension())));
        if held.len() > HELD_STEPS {
            let (reader, at, embedder) = held.remove(0);
            let answered = answers(reader.as_ref(), &embedder);
            assert_eq!(answered, said[at][..answered.len()], "an older reader, asked again after {step:?}");
        }
    }
    said
}

/// Removes a note and has its texts forgotten, those that the model has at that moment too.
fn forget(writer: &mut dyn Writer, embedder: &HashEmbedder, path: &str, in_flight: bool) {
    let path = VaultPath::new(path).unwrap();
    let chunks = writer.file(&path).map(|file| file.chunks.clone()).unwrap_or_default();
    let contents: Vec<_> = chunks.iter().filter_map(|chunk| chunk.content).collect();
    let taken = if in_flight { writer.take_pending(embedder.fingerprint(), usize::MAX).unwrap() } else { Vec::new() };
    writer.apply(Vec::new(), vec![path]).unwrap();
    writer.forget(&contents).unwrap();
    let vectors = taken
        .into_iter()
        .map(|pending| (pending.content, embedder.embed(&[pending.document], None).unwrap().remove(0)));
    writer.embedded(embedder.fingerprint(), vectors.collect()).unwrap();
    assert_eq!(writer.forget(&contents).unwrap(), 0, "nothing was left to forget");
}

fn embed_what_goes(writer: &mut dyn Writer, embedder: &HashEmbedder, gone: &str, divisor: u8) {
    let waiting = writer.pending(embedder.fingerprint());
    let pending = writer.take_pending(embedder.fingerprint(), usize::MAX).unwrap();
    assert_eq!((writer.pending(embedder.fingerprint()), pending.len()), (waiting, waiting));
    writer.apply(Vec::new(), vec![VaultPath::new(gone).unwrap()]).unwrap();
    give(writer, embedder, pending, divisor);
}

fn embed(writer: &mut dyn Writer, embedder: &HashEmbedder, divisor: u8) {
    let pending = writer.take_pending(embedder.fingerprint(), usize::MAX).unwrap();
    give(writer, embedder, pending, divisor);
}

fn give(writer: &mut dyn Writer, embedder: &HashEmbedder, pending: Vec<PendingText>, divisor: u8) {
    let chosen = |document: &Document| blake3::hash(document.input().as_bytes()).as_bytes()[0].is_multiple_of(divisor);
    let model = embedder.fingerprint();
    let (now, later): (Vec<_>, Vec<_>) = pending.into_iter().partition(|pending| chosen(&pending.document));
    writer.requeue(model, &later.iter().map(|pending| pending.content).collect::<Vec<_>>());
    let vectors =
        now.into_iter().map(|pending| (pending.content, embedder.embed(&[pending.document], None).unwrap().remove(0)));
    writer.embedded(model, vectors.collect()).unwrap();
}

/// The first moment of a day of January 2026, in milliseconds since 1970.
fn day(day: i64) -> i64 {
    1_767_225_600_000 + (day - 1) * 86_400_000
}

fn labelled(key: &str, value: Option<&str>) -> Condition {
    Condition { wanted: Predicate::Labelled(Label::of_property(key, value)), negated: false }
}

/// All that a reader is asked, as text without its row ids; floats to the last bit.
fn answers(reader: &dyn Reader, embedder: &HashEmbedder) -> Vec<String> {
    let files = reader.files();
    let set = |wanted: &dyn Fn(&str) -> bool| -> FileSet {
        files.iter().filter(|file| wanted(file.path.as_str())).map(|file| file.id).collect()
    };
    let public: FileSet = files.iter().filter(|file| !file.private).map(|file| file.id).collect();
    let scopes = [
        ("all", Visible::of(&crate::access::rules::Scope::Everything, files)),
        ("notes", Visible::only(set(&|path| path.starts_with("notes/")))),
        ("public", Visible::only(public)),
        ("derived", Visible::of(&crate::access::rules::Scope::Public, files)),
        ("none", Visible::only(FileSet::new())),
    ];
    let filters = [
        Filter::default(),
        Filter::of([Predicate::Tag("x".into())]),
        Filter::of(["X", "#z"].map(|tag| Predicate::Tag(tag.into()))),
        Filter::of([Predicate::Updated(day(2), i64::MAX)]),
        Filter::of([Predicate::Updated(i64::MIN, day(3)), Predicate::PathPrefix("notes/".into())]),
        Filter::of([Predicate::Collection("work".into())]),
        Filter::of([Predicate::PathPrefix("work/deep".into())]),
        Filter { conditions: vec![labelled("Mood", Some("calm"))], ..Filter::default() },
        Filter { conditions: vec![labelled("mood", None)], ..Filter::default() },
    ];
    // What is asked of the filter itself.
    let alone = [
        Predicate::Collection("work".into()),
        Predicate::Conversation("X.md".into()),
        Predicate::Conversation("conversations/deep/z".into()),
        Predicate::Speaker("Ann".into()),
        Predicate::Tag("#X".into()),
        Predicate::Path("DEEP".into()),
        Predicate::Path("notes/{a,b}*".into()),
        Predicate::Layer(MemoryLayer::Entries),
        Predicate::Layer(MemoryLayer::Conversations),
        Predicate::Layer(MemoryLayer::Summaries),
        Predicate::Layer(MemoryLayer::Graph),
        Predicate::Layer(MemoryLayer::Notes),
        Predicate::Title("fe".into()),
        Predicate::Updated(day(2), day(4)),
        Predicate::Compared { key: "Mood".into(), ordering: vec![Ordering::Greater], with: "calm".into() },
    ];
    let alone =
        alone.iter().flat_map(|wanted| [false, true].map(|negated| Condition { wanted: wanted.clone(), negated }));
    let alone: Vec<Filter> =
        alone.map(|condition| Filter { conditions: vec![condition], ..Filter::default() }).collect();
    let mut said = vec![format!("{:?}", reader.problems().unwrap())];
    for (scope, visible) in &scopes {
        said.push(format!("{scope}: {:?} {:?}", reader.statistics(visible.set()), reader.embedded(visible.set())));
        // Of who sees little, for each kind of filter that would be the same again.
        let asked = if ["all", "public"].contains(scope) { &alone[..] } else { &[] };
        for filter in filters.iter().chain(asked) {
            let filter = Filter { files: visible.set().cloned(), ..filter.clone() };
            let resolved = reader.resolve(&filter, &Turn::default()).unwrap();
            let passing = files.iter().filter(|file| resolved.as_ref().is_none_or(|set| set.contains(file.id)));
            let mut passing: Vec<&str> = passing.map(|file| file.path.as_str()).collect();
            passing.sort_unstable();
            said.push(format!("{scope} {filter:?}: {passing:?}").replace(&format!("{:?}", filter.files), ""));
        }
        // Each filter for everybody, and none for each scope: together they are one set of files.
        let filters = filters.iter().enumerate().take(if *scope == "all" { filters.len() } else { 1 });
        for (at, filter) in filters {
            for (mode, query) in MODES.iter().flat_map(|mode| QUERIES.map(|query| (*mode, query))) {
                let (limit, per_file) = if at == 0 { (50, 0) } else { (3, 1) };
                let defaults = SearchConfig::default();
                let config = SearchConfig { per_file, stemmer: LANGUAGE, candidates: 4, ..defaults };
                let request = SearchRequest {
                    parts: Vec::new(),
                    text: query.into(),
                    mode,
                    limit,
                    filter: filter.clone(),
                    at: Timestamp::UNIX_EPOCH,
                    min_relevance: None,
                    context: None,
                    turn: Turn::default(),
                };
                let found = search(reader, Some(embedder), visible, &config, &request).unwrap();
                let hits = found.hits.iter().map(|hit| {
                    let bits =
                        [Some(hit.score), hit.keyword, hit.semantic, hit.late].map(|score| score.map(f64::to_bits));
                    let metadata = reader.metadata(hit.file.id).unwrap();
                    format!("{}#{:?} {:?} {bits:?} {metadata:?}", hit.file.path, hit.chunk.lines, hit.chunk.id)
                });
                let hits: Vec<String> = hits.collect();
                let lacks = (found.degraded, found.misread);
                said.push(format!("{scope} {at} {query} {mode:?} {limit}: {lacks:?} {hits:#?}"));
            }
        }
        if ["all", "derived"].contains(scope) {
            said.extend(near(reader, scope, visible));
        }
    }
    said
}

/// What is near the first file, and near the second line of the next.
fn near(reader: &dyn Reader, scope: &str, visible: &Visible) -> Vec<String> {
    let mut files: Vec<_> = reader.files().iter().filter(|file| visible.has(file)).collect();
    files.sort_by(|one, two| one.path.cmp(&two.path));
    let asked = files.iter().zip([None, Some(2)]);
    asked
        .map(|(file, line)| {
            let request = RelatedRequest { file, line, limit: 3 };
            let found = related(reader, visible, LANGUAGE, &request).unwrap();
            let near = found.notes.iter().map(|near| (near.file.path.as_str(), near.chunk.lines, near.score.to_bits()));
            format!("{scope} near {} {line:?}: {:?} {:?}", file.path, found.mode, near.collect::<Vec<_>>())
        })
        .collect()
}

/// What the exact engine says after each step, and the one of this process.
fn both(steps: &[Step]) -> impl Iterator<Item = (Vec<String>, Vec<String>)> {
    let folder = TempDir::new().unwrap();
    let (exact, local) = std::thread::scope(|scope| {
        let exact = scope.spawn(|| play(&ExactEngine::new(LANGUAGE), steps));
        let local = play(&local(&folder), steps);
        (exact.join().unwrap(), local)
    });
    exact.into_iter().zip(local)
}

proptest! {
    #![proptest_config(proptest_config(8))]

    #[test]
    fn every_engine_answers_as_the_exact_one(steps in steps()) {
        for (at, (exact, local)) in both(&steps).enumerate() {
            for (exact, local) in exact.iter().zip(&local) {
                prop_assert_eq!(exact, local, "after step {} of {:?}", at, steps);
            }
        }
    }
}

#[test]
fn turns_without_a_word_of_the_query_were_found_by_it() {
    // Most chunks are turns, so that the files of a speaker are not few; nobody says `garden`.
    let turns = |at: usize| {
        let turn = |turn: usize| format!("**18:{:02} · {}:** river {at}\n\n", turn, ["Ann", "user"][turn % 2]);
        (0..20).map(turn).collect::<String>()
    };
    let conversations = [0, 8, 9].map(|at| Step::Write(at, turns(at)));
    let note = Step::Write(1, "# Garden\n\nThe garden and the apple.\n".into());
    let steps: Vec<Step> = conversations.into_iter().chain([note, Step::Embed(1)]).collect();
    let both: Vec<_> = both(&steps).collect();
    for (exact, local) in &both {
        assert_eq!(exact, local);
    }
    let none = both.last().unwrap().1.iter().find(|said| said.starts_with("all 0 role:ann garden Keyword"));
    assert!(none.is_some_and(|said| said.ends_with("[]")), "{none:?}");
}

#[test]
fn a_text_was_taken_twice_and_the_place_of_a_gone_one_was_the_newest() {
    let folder = TempDir::new().unwrap();
    for engine in [&ExactEngine::new(LANGUAGE) as &dyn Engine, &local(&folder)] {
        let mut writer = engine.open().unwrap();
        let model = HashEmbedder::new(DIMENSIONS[0]);
        writer.use_model(&EmbeddingSpace::of(&model)).unwrap();
        // One text in two notes, of which one goes, and a newer one that goes.
        let notes = [(2, "A boat."), (1, "A boat."), (3, "A garden."), (4, "An apple.")];
        for (at, text) in notes {
            writer.apply(vec![FileUpdate::of_text(PATHS[at], text, LANGUAGE)], Vec::new()).unwrap();
        }
        let gone = [1, 4].map(|at| VaultPath::new(PATHS[at]).unwrap()).into();
        writer.apply(Vec::new(), gone).unwrap();
        let take = |writer: &mut dyn Writer| writer.take_pending(model.fingerprint(), 1).unwrap().len();
        assert_eq!([take(writer.as_mut()), take(writer.as_mut()), take(writer.as_mut())], [1, 1, 0]);
    }
}

#[test]
fn a_guess_took_the_embedding_of_the_hidden_note_that_it_guessed() {
    let folder = TempDir::new().unwrap();
    for engine in [&ExactEngine::new(LANGUAGE) as &dyn Engine, &local(&folder)] {
        let (mut writer, embedder) = (engine.open().unwrap(), HashEmbedder::new(DIMENSIONS[0]));
        writer.use_model(&EmbeddingSpace::of(&embedder)).unwrap();
        let mut waits = |path: &str, before: &str, place: &str| {
            let text = format!("{before}# Keys\n\nThe key is under the {place}.\n");
            writer.apply(vec![FileUpdate::of_text(path, &text, LANGUAGE)], Vec::new()).unwrap();
            let waits = writer.pending(embedder.fingerprint());
            embed(writer.as_mut(), &embedder, 1);
            waits
        };
        assert_eq!(waits("notes/hidden.md", "---\nprivate: true\n---\n", "mat"), 1);
        assert_eq!(waits("notes/moved.md", "", "mat"), 0, "the person's own is known");
        for (path, before) in [
            ("agents/ada/memory/keys.md", ""),
            ("agents/ada/memory/more.md", ""),
            ("Agents/bob/MEMORY.md", ""),
            ("notes/captured.md", "---\nsource: capture\n---\n"),
            ("summaries/made.md", "---\ngenerated: true\n---\n"),
        ] {
            assert_eq!(waits(path, before, "mat"), 1, "{path}");
            assert_eq!(waits(path, before, "pot"), 1, "{path}");
            assert_eq!(waits(path, before, "mat"), 0, "an edit of {path} that is undone");
        }
    }
}

#[test]
fn a_search_that_nobody_waits_for_ends() {
    let mut writer = ExactEngine::new(LANGUAGE).open().unwrap();
    writer.apply(vec![FileUpdate::of_text(PATHS[0], "# River\n\nA boat.\n", LANGUAGE)], Vec::new()).unwrap();
    let reader = writer.publish().unwrap();
    let visible = Visible::of(&crate::access::rules::Scope::Everything, reader.files());
    let turn = Turn::until(std::time::Instant::now() + std::time::Duration::from_secs(3600));
    let request = || SearchRequest {
        parts: Vec::new(),
        text: "boat".into(),
        mode: Mode::Keyword,
        limit: 5,
        filter: Filter::default(),
        at: Timestamp::UNIX_EPOCH,
        min_relevance: None,
        context: None,
        turn: turn.clone(),
    };
    let found = || search(reader.as_ref(), None, &visible, &SearchConfig::default(), &request());
    assert_eq!(found().unwrap().hits.len(), 1);
    assert!(turn.give_up());
    assert!(!found().unwrap_err().is_damage());
}
