//! What tantivy needs guarding against.

use std::collections::BTreeSet;
use std::path::Path;

use super::schema::reading;
use super::writer::{FORMAT, KeywordWriter, Payload, WordDocument};
use crate::base::config::StemmerLanguage;
use crate::index::engine::{EngineError, PreparedWords, QueryTerms, Statistics, WordQuery, rounded_length};

const FILE: u32 = 1;

impl KeywordWriter {
    /// Merges all segments of the last commit, and waits for it.
    fn merge_all(&mut self) {
        let all = self.index.searchable_segment_ids().expect("a list of segments");
        self.writer.merge(&all).wait().expect("a merge");
    }

    /// The words of the last commit's segments, those of removed chunks too, and the files of the folder that are of none of them.
    fn on_disk(&self, folder: &Path) -> (BTreeSet<String>, Vec<String>) {
        self.reader.reload().expect("an index");
        let mut words = BTreeSet::new();
        for segment in self.reader.searcher().segment_readers() {
            for field in [self.fields.body, self.fields.own] {
                let inverted = segment.inverted_index(field).expect("a field");
                let mut terms = inverted.terms().stream().expect("a list of words");
                while let Some((word, _)) = terms.next() {
                    words.insert(String::from_utf8_lossy(word).into_owned());
                }
            }
        }
        let segments = self.index.searchable_segment_ids().expect("a list of segments");
        let segments: Vec<String> = segments.iter().map(|id| id.uuid_string()).collect();
        let names = std::fs::read_dir(folder).expect("a folder").flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let is_of_none = |name: &String| {
            !name.contains("json")
                && !name.ends_with(".lock")
                && !segments.iter().any(|id| name.starts_with(id.as_str()))
        };
        (words, names.filter(is_of_none).collect())
    }

    /// The number of the commit that the writer found, and of the next operation.
    fn numbers(&self) -> (u64, u64) {
        (self.writer.commit_opstamp(), self.writer.run(std::iter::empty()).expect("a number"))
    }

    /// How many segments the last commit has.
    fn segments(&self) -> usize {
        self.index.searchable_segment_ids().expect("a list of segments").len()
    }
}

fn open(folder: &Path) -> KeywordWriter {
    KeywordWriter::open(folder).unwrap()
}

fn document(chunk: u64, body: &str) -> WordDocument {
    WordDocument {
        chunk,
        file: FILE,
        body: body.into(),
        heading: "title".into(),
        own: body.into(),
        speakers: Vec::new(),
    }
}

fn commit(writer: &mut KeywordWriter, seq: u64) {
    let store = "a catalog".to_owned();
    writer.commit(&Payload { format: FORMAT, stemmer: StemmerLanguage::None, store, seq }).unwrap();
}

fn live(writer: &KeywordWriter) -> Vec<u64> {
    let mut chunks: Vec<u64> = writer.searcher(None).unwrap().live().map(|(chunk, _)| chunk).collect();
    chunks.sort_unstable();
    chunks
}

/// Two segments as a kill leaves them before their merge: one with a list of deletions of the last commit, and a larger one,
/// which a merge takes first, without.
fn two_segments(folder: &Path) {
    let mut writer = open(folder);
    (0..10).for_each(|chunk| writer.add(&document(chunk, "a zebra")).unwrap());
    commit(&mut writer, 1);
    (10..30).for_each(|chunk| writer.add(&document(chunk, "a river")).unwrap());
    writer.remove(9);
    commit(&mut writer, 2);
}

#[test]
fn what_is_removed_first_after_a_start_does_not_come_back_with_a_merge() {
    for first in [0, 10] {
        let folder = tempfile::tempdir().unwrap();
        two_segments(folder.path());
        let mut writer = open(folder.path());
        writer.remove(first);
        // One that was due when the process before ended, and begins before the next commit.
        writer.merge_all();
        commit(&mut writer, 3);
        let expected: Vec<u64> = (0..30).filter(|chunk| ![9, first].contains(chunk)).collect();
        assert_eq!(live(&writer), expected, "{first} was removed");
    }
}

#[test]
fn what_was_removed_is_in_no_file_once_they_are_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = open(folder.path());
    for (chunk, text) in [(0, "a zebra"), (1, "a xylograph"), (2, "a river"), (3, "alone xylographs")] {
        writer.add(&document(chunk, text)).unwrap();
        if chunk > 0 {
            commit(&mut writer, chunk);
        }
    }
    let before = writer.searcher(None).unwrap();
    [1, 3].into_iter().for_each(|chunk| writer.remove(chunk));
    commit(&mut writer, 4);
    writer.rewrite().unwrap();
    let (words, strays) = writer.on_disk(folder.path());
    assert!(words.iter().all(|word| ["a", "zebra", "river"].contains(&word.as_str())), "{words:?}");
    assert_eq!((strays, live(&writer)), (Vec::new(), vec![0, 2]));
    // Whoever searches still in what was has it.
    assert_eq!(before.live().count(), 4);
    // And so it stays with what comes.
    writer.add(&document(4, "a boat")).unwrap();
    writer.remove(0);
    commit(&mut writer, 5);
    writer.rewrite().unwrap();
    assert_eq!((writer.on_disk(folder.path()).0.len(), live(&writer)), (3, vec![2, 4]));
}

#[test]
fn no_operation_has_the_number_of_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    two_segments(folder.path());
    let mut writer = open(folder.path());
    let (committed, next) = writer.numbers();
    assert!(next > committed, "after a start: {next}, and {committed} is committed");
    writer.clear().unwrap();
    let (committed, next) = writer.numbers();
    assert!(next > committed, "after everything was removed: {next}, and {committed} is committed");
    writer.add(&document(30, "a boat")).unwrap();
    commit(&mut writer, 3);
    assert_eq!(live(&writer), [30]);
}

#[test]
fn a_writer_can_be_closed_while_a_merge_goes_on_that_began_before_the_last_commit() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = open(folder.path());
    for commits in 0..4 {
        (0..2000).for_each(|chunk| writer.add(&document(commits * 2000 + chunk, "a zebra in a river")).unwrap());
        commit(&mut writer, commits + 1);
    }
    writer.add(&document(9000, "a boat")).unwrap();
    commit(&mut writer, 5);
    drop(writer);
    let writer = open(folder.path());
    assert_eq!(writer.segments(), 2, "four of one size are merged");
    assert_eq!(live(&writer).len(), 8001);
}

#[test]
fn a_writer_that_is_closed_leaves_no_merge_half_way() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = open(folder.path());
    for commits in 0..4 {
        (0..500).for_each(|chunk| writer.add(&document(commits * 500 + chunk, "a zebra in a river")).unwrap());
        commit(&mut writer, commits + 1);
    }
    drop(writer);
    let writer = open(folder.path());
    assert_eq!(writer.segments(), 1, "four of one size are merged");
    assert_eq!(live(&writer).len(), 2000);
}

/// Of two segments with chunks of unlike lengths.
#[test]
fn an_index_that_grew_finds_its_best() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = open(folder.path());
    let mut statistics = Statistics::default();
    let mut chunks = 0;
    let mut add = |writer: &mut KeywordWriter, river: usize, length: usize| {
        let body = [vec!["river"; river], vec!["word"; length - river]].concat().join(" ");
        writer.add(&document(chunks, &body)).unwrap();
        statistics.add([length as u32, 1, length as u32]);
        chunks += 1;
    };
    (0..2000).for_each(|at| add(&mut writer, 20 * (at % 2), 100));
    commit(&mut writer, 1);
    (0..512).for_each(|at| if at % 100 == 50 { add(&mut writer, 25, 100) } else { add(&mut writer, 3, 3) });
    commit(&mut writer, 2);

    let query = WordQuery { words: vec!["river".into()], ..WordQuery::default() };
    finds_the_best(&writer, &query, statistics, &[1, 3, 5, 50, 200]);
}

#[test]
fn a_phrase_chooses_no_other_chunks_than_the_scores_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = open(folder.path());
    let mut statistics = Statistics::default();
    for chunk in 0..200 {
        // The more often it has the phrase, the less often the word.
        let (phrases, rivers) = (1 + chunk as usize % 20, 20 - chunk as usize % 20);
        let body =
            [vec!["green apple"; phrases], vec!["river"; rivers], vec!["word"; 60 - 2 * phrases - rivers]].concat();
        writer.add(&document(chunk, &body.join(" "))).unwrap();
        statistics.add([60, 1, 60]);
    }
    commit(&mut writer, 1);
    let query = WordQuery {
        words: vec!["river".into()],
        phrases: vec![vec!["green".into(), "apple".into()]],
        ..WordQuery::default()
    };
    finds_the_best(&writer, &query, statistics, &[1, 5, 12, 25]);
}

/// Whether the best of all chunks by their exact scores are found, for different numbers of them.
#[track_caller]
fn finds_the_best(writer: &KeywordWriter, query: &WordQuery, statistics: Statistics, numbers: &[usize]) {
    let searcher = writer.searcher(None).unwrap();
    let prepared =
        searcher.prepare(query, QueryTerms::new(query, StemmerLanguage::None, &[]), statistics, (None, None)).unwrap();
    let everything: Vec<u64> = (0..statistics.chunks).collect();
    let scores = prepared.scores(&everything).unwrap().into_iter();
    let mut scores: Vec<(f64, u64)> = scores.zip(0..).filter_map(|(score, chunk)| Some((score?, chunk))).collect();
    scores.sort_by(|one, two| two.0.total_cmp(&one.0));
    for &k in numbers {
        let found: Vec<u64> = prepared.best(k, None).unwrap().iter().map(|hit| hit.row).collect();
        let is_missed = |(score, chunk): &&(f64, u64)| *score > scores[k].0 && !found.contains(chunk);
        let missed: Vec<_> = scores.iter().take(k).filter(is_missed).collect();
        assert!(missed.is_empty(), "of the best {k} are not found: {missed:?}");
    }
}

#[test]
fn what_tantivy_panics_on_in_its_files_is_damage() {
    let panicking = || -> Result<(), EngineError> { panic!("unexpected") };
    assert!(reading(panicking).unwrap_err().is_damage());
    assert!(reading(|| Ok(())).is_ok());
}

#[test]
fn lengths_are_rounded_as_tantivy_does() {
    use tantivy::fieldnorm::FieldNormReader;
    for words in (0..5000).chain([65_535, 100_000, 1 << 20, u32::MAX / 2]) {
        let kept = FieldNormReader::id_to_fieldnorm(FieldNormReader::fieldnorm_to_id(words));
        assert_eq!(rounded_length(words), kept, "{words}");
    }
}
