//! The contract of the engines: whatever was written, each gives the hits, the order and the scores of the exact one.

use half::f16;
use jiff::Timestamp;
use proptest::prelude::*;
use tempfile::TempDir;

use super::super::{RelatedRequest, SearchRequest, Visible, related, search};
use crate::access::Turn;
use crate::config::{Mode, SearchConfig, StemmerLanguage};
use crate::derive::Label;
use crate::engine::tests::exact::ExactEngine;
use crate::engine::{Condition, Engine, FileSet, FileUpdate, Filter, Reader, Wanted, Writer};
use crate::engine_local::{LocalEngine, Settings};
use crate::models::{Document, Embedder, HashEmbedder};
use crate::path::VaultPath;
use crate::vault::{Globs, Stamp};

const PATHS: [&str; 7] =
    ["notes/a.md", "notes/b.md", "notes/c.md", "work/a.md", "work/deep/d.md", "diary/2026-01-05.md", "e.md"];
const WORDS: [&str; 14] = [
    "river",
    "rivers",
    "boat",
    "boating",
    "garden",
    "apple",
    "green apple",
    "code_name",
    "C++",
    "café",
    "東京タワー",
    "don't",
    "v1.2",
    "water",
];
const QUERIES: [&str; 22] = [
    "river boat",
    "garden apple water",
    "\"green apple\"",
    "apple -river",
    "code_name",
    "name",
    "東京",
    "\"river water\" boat",
    "c++ cafe",
    "-boat",
    "Water",
    "wild calm",
    "tag:x -in:work +boat",
    "mood:calm",
    "[mood:>c] river",
    "-path:deep -[mood]",
    "gard",
    "rivre boatign",
    "boa* apple",
    "gardan water",
    "modo:calm river",
    "lex: boat -apple vec: green garden",
];
const DIMENSIONS: [usize; 3] = [16, 24, 32];
const MODES: [Mode; 4] = [Mode::Keyword, Mode::Semantic, Mode::Hybrid, Mode::Deep];
/// Steps after which a reader is asked again.
const HELD_STEPS: usize = 3;
const LANGUAGE: StemmerLanguage = StemmerLanguage::English;

/// What is done to an engine.
#[derive(Debug, Clone)]
enum Step {
    Write(usize, String),
    /// The same in parts, each up to so many quarters of it.
    WriteParts(usize, String, Vec<u8>),
    /// Something beside a place, or beside everything, is skipped.
    Skip(usize, bool),
    Remove(usize),
    /// Removed, and nothing is left of its texts: not either when they were with the model at that moment.
    Forget(usize, bool),
    /// Seen unchanged, with another stamp.
    Touch(usize),
    /// Of the texts that wait, those whose names are divisible get their vectors.
    Embed(u8),
    /// Turns to the model with vectors of this length.
    UseModel(usize),
    /// Closes and opens it, where that means something.
    Restart,
}

fn text() -> impl Strategy<Value = String> {
    let words = prop::collection::vec(prop::sample::select(&WORDS[..]), 1..40);
    let paragraph = words.prop_map(|words| words.join(" "));
    let section = (prop::option::of(prop::sample::select(&WORDS[..])), prop::collection::vec(paragraph, 1..4));
    // Some notes are frontmatter alone.
    let sections = prop::collection::vec(section, 0..4);
    let tags = prop::sample::subsequence(vec!["x", "x/y", "private", "z"], 0..3);
    // Made of another note, which may be there or not.
    let source = prop::option::weighted(0.2, prop::sample::select(&PATHS[..]));
    let mood = prop::option::weighted(0.3, prop::sample::select(vec!["calm", "[calm, wild river]", "{at: sea}"]));
    let alias = prop::option::weighted(0.2, prop::sample::select(&WORDS[..]));
    (tags, 1..5_u8, source, (mood, alias), sections).prop_map(|(tags, day, source, (mood, alias), sections)| {
        let mut text = format!("---\ntags: [{}]\nupdated: 2026-01-0{day}T00:00:00Z\n", tags.join(", "));
        text.extend(source.map(|source| format!("sources: [{source}]\n")));
        text.extend(mood.map(|mood| format!("mood: {mood}\n")));
        text.extend(alias.map(|alias| format!("aliases: [\"{alias}\"]\n")));
        text += "---\n";
        for (heading, paragraphs) in sections {
            text.extend(heading.map(|heading| format!("\n# {heading}\n")));
            paragraphs.iter().for_each(|paragraph| text.push_str(&format!("\n{paragraph}\n")));
        }
        text
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..PATHS.len(), text()).prop_map(|(at, text)| Step::Write(at, text)),
        1 => (0..PATHS.len(), text(), prop::sample::subsequence(vec![1, 2, 3, 4], 1..4))
            .prop_map(|(at, text, ends)| Step::WriteParts(at, text, ends)),
        1 => (0..PATHS.len(), any::<bool>()).prop_map(|(at, whole)| Step::Skip(at, whole)),
        2 => (0..PATHS.len()).prop_map(Step::Remove),
        1 => (0..PATHS.len(), any::<bool>()).prop_map(|(at, in_flight)| Step::Forget(at, in_flight)),
        1 => (0..PATHS.len()).prop_map(Step::Touch),
        2 => (1u8..4).prop_map(Step::Embed),
        1 => prop::sample::select(&DIMENSIONS[..]).prop_map(Step::UseModel),
        1 => Just(Step::Restart),
    ];
    prop::collection::vec(step, 1..14)
}

/// The engine of this process, in a folder.
fn local(folder: &TempDir) -> LocalEngine {
    let settings =
        Settings { place: "here".into(), stemmer: LANGUAGE, graph_threshold: usize::MAX, private: Globs::default() };
    LocalEngine::new(folder.path().to_owned(), settings)
}

/// Plays the steps; what the engine says after each. A reader is held for some steps, and says the same then.
fn play(engine: &dyn Engine, steps: &[Step]) -> Vec<Vec<String>> {
    let mut embedder = HashEmbedder::new(DIMENSIONS[0]);
    let mut writer = engine.open(false).unwrap();
    writer.use_model(&embedder).unwrap();
    let mut said: Vec<Vec<String>> = Vec::new();
    let mut generation = 0;
    let mut held: Vec<(std::sync::Arc<dyn Reader>, usize, HashEmbedder)> = Vec::new();
    for step in steps {
        match step {
            Step::Write(at, text) => {
                writer.apply(vec![FileUpdate::of_text(PATHS[*at], text, LANGUAGE)], &[]).unwrap();
            }
            Step::WriteParts(at, text, ends) => write_parts(writer.as_mut(), PATHS[*at], text, ends),
            Step::Skip(at, whole) => {
                let place = VaultPath::new(PATHS[*at]).unwrap();
                let skipped = [(PATHS[(*at + 1) % PATHS.len()].to_owned(), format!("as step {at} said"))];
                writer.set_skipped((!whole).then_some(&[place][..]), &skipped[usize::from(*at == 0)..]).unwrap();
            }
            Step::Remove(at) => writer.apply(Vec::new(), &[VaultPath::new(PATHS[*at]).unwrap()]).unwrap(),
            Step::Forget(at, in_flight) => forget(writer.as_mut(), &embedder, PATHS[*at], *in_flight),
            Step::Touch(at) => {
                let path = VaultPath::new(PATHS[*at]).unwrap();
                let stamp = writer.file(&path).map(|file| Stamp { mtime_ns: file.stamp.mtime_ns + 1, ..file.stamp });
                writer.touch(&stamp.map(|stamp| (path, stamp, 7)).into_iter().collect::<Vec<_>>()).unwrap();
            }
            Step::Embed(divisor) => embed(writer.as_mut(), &embedder, *divisor),
            Step::UseModel(dimension) => {
                embedder = HashEmbedder::new(*dimension);
                writer.use_model(&embedder).unwrap();
            }
            Step::Restart => {
                held.clear();
                writer.close().unwrap();
                writer = engine.open(false).unwrap();
                writer.use_model(&embedder).unwrap();
            }
        }
        let reader = writer.publish().unwrap();
        assert!(reader.generation() >= generation, "generations go up");
        generation = reader.generation();
        said.push(answers(reader.as_ref(), &embedder));
        held.push((reader, said.len() - 1, HashEmbedder::new(embedder.dimension())));
        if held.len() > HELD_STEPS {
            let (reader, at, embedder) = held.remove(0);
            assert_eq!(answers(reader.as_ref(), &embedder), said[at], "an older reader, asked again after {step:?}");
        }
    }
    said
}

/// Brings a file in part by part; `ends` are shares of its chunks. What is left out comes another time, or never.
fn write_parts(writer: &mut dyn Writer, path: &str, text: &str, ends: &[u8]) {
    let update = FileUpdate::of_text(path, text, LANGUAGE);
    let mut start = 0;
    for end in ends.iter().map(|end| update.chunks.len() * usize::from(*end) / 4) {
        if end > start {
            assert!(writer.apply_part(&update, start..end).unwrap(), "the part before was brought in");
            start = end;
        }
    }
    let other = FileUpdate::of_text(path, &format!("{text}\nAnother end.\n"), LANGUAGE);
    if start + 1 < other.chunks.len() && start + 1 < update.chunks.len() {
        assert!(!writer.apply_part(&other, start + 1..other.chunks.len()).unwrap(), "a part is missing");
    }
}

/// Removes a note and has its texts forgotten, those that the model has at that moment too.
fn forget(writer: &mut dyn Writer, embedder: &HashEmbedder, path: &str, in_flight: bool) {
    let path = VaultPath::new(path).unwrap();
    let chunks = writer.file(&path).map(|file| file.chunks.clone()).unwrap_or_default();
    let contents: Vec<_> = chunks.iter().filter_map(|chunk| chunk.content).collect();
    let taken = if in_flight { writer.take_pending(usize::MAX).unwrap() } else { Vec::new() };
    writer.apply(Vec::new(), &[path]).unwrap();
    writer.forget(&contents).unwrap();
    let vectors = taken.into_iter().map(|pending| {
        let vector = embedder.embed_documents(&[pending.document], None).unwrap().remove(0);
        (pending.content, vector.into_iter().map(f16::from_f32).collect())
    });
    writer.embedded(vectors.collect()).unwrap();
    assert_eq!(writer.forget(&contents).unwrap(), 0, "nothing was left to forget");
}

fn embed(writer: &mut dyn Writer, embedder: &HashEmbedder, divisor: u8) {
    let chosen = |document: &Document| blake3::hash(document.input().as_bytes()).as_bytes()[0].is_multiple_of(divisor);
    let pending = writer.take_pending(usize::MAX).unwrap();
    let (now, later): (Vec<_>, Vec<_>) = pending.into_iter().partition(|pending| chosen(&pending.document));
    writer.requeue(&later.iter().map(|pending| pending.content).collect::<Vec<_>>());
    let vectors = now.into_iter().map(|pending| {
        let vector = embedder.embed_documents(&[pending.document], None).unwrap().remove(0);
        (pending.content, vector.into_iter().map(f16::from_f32).collect())
    });
    writer.embedded(vectors.collect()).unwrap();
}

/// The first moment of a day of January 2026, in milliseconds since 1970.
fn day(day: i64) -> i64 {
    1_767_225_600_000 + (day - 1) * 86_400_000
}

fn labelled(key: &str, value: Option<&str>) -> Condition {
    Condition { wanted: Wanted::Labelled(Label::of_property(key, value)), negated: false }
}

/// All that a reader is asked, as text without its row ids; floats to the last bit.
fn answers(reader: &dyn Reader, embedder: &HashEmbedder) -> Vec<String> {
    let files = reader.files();
    let set = |wanted: &dyn Fn(&str) -> bool| -> FileSet {
        files.iter().filter(|file| wanted(file.path.as_str())).map(|file| file.id).collect()
    };
    let public: FileSet = files.iter().filter(|file| !file.private).map(|file| file.id).collect();
    let scopes = [
        ("all", Visible::of(&crate::access::Scope::Everything, files)),
        ("notes", Visible::only(set(&|path| path.starts_with("notes/")))),
        ("public", Visible::only(public)),
        ("derived", Visible::of(&crate::access::Scope::Public, files)),
        ("none", Visible::only(FileSet::new())),
    ];
    let filters = [
        Filter::default(),
        Filter { tag: Some("x".into()), ..Filter::default() },
        Filter { tag: Some("X, #z".into()), ..Filter::default() },
        Filter { since_ms: Some(day(2)), ..Filter::default() },
        Filter { until_ms: Some(day(3)), path: Some("notes/".into()), ..Filter::default() },
        Filter { collection: Some("work".into()), ..Filter::default() },
        Filter { path: Some("work/deep".into()), ..Filter::default() },
        Filter { conditions: vec![labelled("Mood", Some("calm"))], ..Filter::default() },
        Filter { conditions: vec![labelled("mood", None)], ..Filter::default() },
    ];
    let mut said = vec![format!("{:?}", reader.problems().unwrap())];
    for (scope, visible) in &scopes {
        said.push(format!("{scope}: {:?} {:?}", reader.statistics(visible.set()), reader.embedded(visible.set())));
        // Each filter for everybody, and none for each scope: together they are one set of files.
        let filters = filters.iter().enumerate().take(if *scope == "all" { filters.len() } else { 1 });
        for (at, filter) in filters {
            // A deep search asks the engines what a hybrid one asks, and for the texts.
            let modes = if at == 0 && *scope == "all" { &MODES[..] } else { &MODES[..3] };
            for (mode, query) in modes.iter().flat_map(|mode| QUERIES.map(|query| (*mode, query))) {
                let (limit, per_file) = if at == 0 { (50, 0) } else { (3, 1) };
                let (candidates, deep_ms) = (4, 60_000);
                let defaults = SearchConfig::default();
                let config = SearchConfig { per_file, stemmer: LANGUAGE, candidates, deep_ms, ..defaults };
                let request = SearchRequest {
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
            let request = RelatedRequest { file, line, limit: 3, turn: &Turn::default() };
            let found = related(reader, visible, LANGUAGE, &request).unwrap();
            let near = found.notes.iter().map(|near| (near.file.path.as_str(), near.chunk.lines, near.score.to_bits()));
            format!("{scope} near {} {line:?}: {:?} {:?}", file.path, found.mode, near.collect::<Vec<_>>())
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_engine_answers_as_the_exact_one(steps in steps()) {
        let folder = TempDir::new().unwrap();
        let exact = play(&ExactEngine::new(LANGUAGE), &steps);
        let local = play(&local(&folder), &steps);
        for (at, (exact, local)) in exact.iter().zip(&local).enumerate() {
            for (exact, local) in exact.iter().zip(local) {
                prop_assert_eq!(exact, local, "after step {} of {:?}", at, steps);
            }
        }
    }
}

#[test]
fn a_search_that_nobody_waits_for_ends() {
    let mut writer = ExactEngine::new(LANGUAGE).open(false).unwrap();
    writer.apply(vec![FileUpdate::of_text(PATHS[0], "# River\n\nA boat.\n", LANGUAGE)], &[]).unwrap();
    let reader = writer.publish().unwrap();
    let visible = Visible::of(&crate::access::Scope::Everything, reader.files());
    let turn = Turn::until(std::time::Instant::now() + std::time::Duration::from_secs(3600));
    let request = || SearchRequest {
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
