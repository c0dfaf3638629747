//! Answers for one state of all, by looking at every chunk of it.

use super::super::super::filter::{entity_labels, has_compared, is_called};
use super::*;
use crate::access::rules::{Globs, Turn};
use crate::base::config::MemoryLayer;
use crate::base::path::folded;
use crate::index::engine::{Filter, Predicate, is_at_or_below};
use crate::text::derive::words::fold;
use crate::text::derive::{CONVERSATIONS, Label, speaker_term};

fn is_in(set: Option<&FileSet>, file: u32) -> bool {
    set.is_none_or(|set| set.contains(file))
}

/// The best `k` and all that tie with the last.
fn best(mut found: Vec<ScoredChunk>, k: usize) -> Vec<ScoredChunk> {
    found.sort_by(|one, two| two.score.total_cmp(&one.score));
    match k.checked_sub(1).map(|last| found.get(last).map(|last| last.score)) {
        None => Vec::new(),
        Some(None) => found,
        Some(Some(floor)) => found.into_iter().take_while(|found| found.score >= floor).collect(),
    }
}

impl Reader for ExactReader {
    fn generation(&self) -> u64 {
        self.generation
    }

    fn store(&self) -> &str {
        "memory"
    }

    fn files(&self) -> &FileTable {
        &self.files
    }

    fn resolve(&self, filter: &Filter, _: &Turn) -> Result<Option<FileSet>, EngineError> {
        Ok(Some(self.files.iter().filter(|file| self.passes(file, filter)).map(|file| file.id).collect()))
    }

    fn words<'a>(
        &'a self,
        query: &WordQuery,
        language: StemmerLanguage,
        scope: Option<&'a FileSet>,
        _: Option<&'a FileSet>,
    ) -> Result<Box<dyn PreparedWords + 'a>, EngineError> {
        let statistics = self.statistics(scope);
        let seen = || self.chunks.values().filter(|chunk| is_in(scope, chunk.text.file));
        let count = |field: Field, word: &str| {
            Ok::<u64, EngineError>(seen().filter(|chunk| chunk.times(field, word) > 0).count() as u64)
        };
        let terms = self.files.terms(query, language, scope).weigh(&statistics, count)?;
        Ok(Box::new(ExactWords { reader: self, query: query.clone(), terms }))
    }

    fn like(&self, like: &Like, scope: Option<&FileSet>) -> Result<Vec<LikeWord>, EngineError> {
        let mut found: HashMap<String, u64> = HashMap::new();
        for chunk in self.chunks.values().filter(|chunk| is_in(scope, chunk.text.file)) {
            for field in [Field::Own, Field::Heading] {
                let words = chunk.words[field as usize].iter().map(|(word, _)| without_language(word));
                let words: HashSet<&str> = words.collect();
                let like = words.into_iter().filter(|word| like.distance(word).is_some());
                like.for_each(|word| *found.entry(word.to_owned()).or_default() += 1);
            }
        }
        Ok(found.into_iter().collect())
    }

    fn speakers(&self, scope: Option<&FileSet>) -> Result<Vec<String>, EngineError> {
        let seen = self.chunks.values().filter(|chunk| is_in(scope, chunk.text.file));
        let speakers: BTreeSet<&String> = seen.flat_map(|chunk| &chunk.speakers).collect();
        Ok(speakers.into_iter().cloned().collect())
    }

    fn model(&self) -> Option<&Fingerprint> {
        self.model.as_ref()
    }

    fn nearest(&self, query: &QueryVector, k: usize, allow: Option<&FileSet>) -> Result<Vec<ScoredChunk>, EngineError> {
        let near = self.chunks.values().filter(|chunk| is_in(allow, chunk.text.file)).filter_map(|chunk| {
            let score = f64::from(query.cosine(chunk.vector.as_ref()?));
            Some(ScoredChunk { row: chunk.text.row, file: chunk.text.file, score })
        });
        Ok(best(near.collect(), k))
    }

    fn cosines(&self, query: &QueryVector, rows: &[u64]) -> Result<Vec<Option<f64>>, EngineError> {
        let vector = |row| self.chunks.get(row).and_then(|chunk: &ExactChunk| chunk.vector.as_ref());
        Ok(rows.iter().map(|row| vector(row).map(|vector| f64::from(query.cosine(vector)))).collect())
    }

    fn vector(&self, row: u64) -> Option<Vec<f32>> {
        self.chunks.get(&row)?.vector.clone()
    }

    fn tokens(&self, content: &ContentHash) -> Result<Option<PackedTokens>, EngineError> {
        Ok(self.tokens.get(content).filter(|tokens| !tokens.as_bytes().is_empty()).cloned())
    }

    fn is_embedded(&self, row: u64) -> bool {
        self.chunks.get(&row).is_some_and(|chunk| chunk.vector.is_some())
    }

    fn embedded(&self, scope: Option<&FileSet>) -> (usize, usize) {
        let seen = self.files.iter().filter(|file| is_in(scope, file.id)).flat_map(|file| &file.chunks);
        let (has, of): (Vec<&ChunkEntry>, _) =
            seen.filter(|chunk| chunk.content.is_some()).partition(|chunk| self.is_embedded(chunk.row));
        (has.len(), has.len() + Vec::<&ChunkEntry>::len(&of))
    }

    fn chunk(&self, row: u64) -> Result<Option<ChunkText>, EngineError> {
        Ok(self.chunks.get(&row).map(|chunk| chunk.text.clone()))
    }

    fn rows_of(&self, id: ChunkId) -> Result<Vec<u64>, EngineError> {
        let mut rows: Vec<u64> =
            self.chunks.values().filter(|chunk| chunk.text.id == id).map(|chunk| chunk.text.row).collect();
        rows.sort_unstable();
        Ok(rows)
    }

    fn metadata(&self, file: u32) -> Result<Option<String>, EngineError> {
        Ok(self.metadata.get(&file).cloned())
    }

    fn problems(&self) -> Result<Vec<(String, String)>, EngineError> {
        let of_file = |(file, problems): (&u32, &Vec<String>)| {
            let path = self.files.get(*file).map_or_else(String::new, |file| file.path.to_string());
            problems.iter().map(move |problem| (path.clone(), problem.clone())).collect::<Vec<_>>()
        };
        let mut problems: Vec<_> = self.problems.iter().flat_map(of_file).collect();
        problems.extend(self.skipped.clone());
        problems.sort();
        Ok(problems)
    }
}

impl ExactReader {
    /// Whether a file is what a filter asks for, by what is known of it alone.
    fn passes(&self, file: &FileEntry, filter: &Filter) -> bool {
        let Filter { files, summaries_since_ms, conditions } = filter;
        let is_wanted = |wanted: &Predicate| match (wanted, summaries_since_ms) {
            (Predicate::Layer(MemoryLayer::Summaries), Some(since)) if file.created_ms < *since => false,
            _ => self.is_wanted(file, wanted),
        };
        files.as_ref().is_none_or(|files| files.contains(file.id))
            && conditions
                .iter()
                .all(|condition| condition.leaves_all() || is_wanted(&condition.wanted) != condition.negated)
    }

    fn is_wanted(&self, file: &FileEntry, wanted: &Predicate) -> bool {
        let path = file.path.as_str();
        match wanted {
            Predicate::Collection(wanted) => file.path.collection() == wanted,
            Predicate::Conversation(wanted) => {
                let called = file.path.collection() == CONVERSATIONS && is_called(&file.path, wanted);
                called || file.labels.contains(&Label::of_conversation(wanted))
            }
            Predicate::Speaker(name) => file.labels.contains(&Label::of_speaker(&speaker_term(name))),
            Predicate::Tag(tag) => has_tag(file, tag),
            Predicate::Path(text) if text.contains(['*', '?', '{']) => {
                Globs::new(&[folded(text)]).is_ok_and(|globs| globs.is_match(&folded(path)))
            }
            Predicate::Path(text) => folded(path).contains(&folded(text)),
            Predicate::PathPrefix(prefix) => file.path.starts_with(prefix),
            Predicate::Within(parts) => parts.iter().any(|part| part.holds(path)),
            Predicate::Among(wanted) => wanted.contains(file.id),
            Predicate::Layer(layer) => *layer == layer_of(file),
            Predicate::Title(text) => fold(&file.title).contains(&fold(text)),
            Predicate::Updated(since, until) => (*since..*until).contains(&file.updated_ms),
            Predicate::Labelled(label) => file.labels.contains(label),
            Predicate::Compared { key, ordering, with } => has_compared(&self.metadata[&file.id], key, ordering, with),
        }
    }
}

fn layer_of(file: &FileEntry) -> MemoryLayer {
    let parts: Vec<&str> = file.path.as_str().split('/').collect();
    match parts[..] {
        ["memories", _, ..] | ["agents", _, "entries.md"] => MemoryLayer::Entries,
        ["conversations", _, ..] => MemoryLayer::Conversations,
        ["summaries", _, ..] => MemoryLayer::Summaries,
        _ if entity_labels().any(|label| file.labels.contains(&label)) => MemoryLayer::Graph,
        _ => MemoryLayer::Notes,
    }
}

fn has_tag(file: &FileEntry, wanted: &str) -> bool {
    let wanted = folded(wanted.trim_start_matches('#'));
    file.tags.iter().any(|tag| is_at_or_below(&folded(tag), &wanted))
}

impl ExactChunk {
    fn times(&self, field: Field, word: &str) -> u32 {
        self.words[field as usize].iter().filter(|(has, _)| has == word).count() as u32
    }

    /// Whether the own words hold a run of words.
    fn has_run(&self, run: &[String]) -> bool {
        let own = &self.words[Field::Own as usize];
        let has = |word: &String, at: usize| own.iter().any(|(has, position)| has == word && *position == at);
        let starts = own.iter().map(|(_, position)| *position);
        starts.into_iter().any(|start| run.iter().enumerate().all(|(at, word)| has(word, start + at)))
    }
}

struct ExactWords<'a> {
    reader: &'a ExactReader,
    query: WordQuery,
    terms: WeighedTerms,
}

impl ExactWords<'_> {
    fn score(&self, chunk: &ExactChunk) -> Option<f64> {
        let passes = self.query.phrases.iter().all(|run| chunk.has_run(run))
            && self.query.said_by.iter().all(|name| chunk.speakers.contains(name))
            && !self.query.not_said_by.iter().any(|name| chunk.speakers.contains(name))
            && !self.query.excluded.iter().any(|run| chunk.has_run(run));
        passes.then(|| {
            self.terms.terms.iter().fold(0.0, |sum, WeighedTerm { field, text, weight, .. }| {
                match chunk.times(*field, text) {
                    0 => sum,
                    times => {
                        sum + weight
                            .score(times, weight.norm(rounded_length(chunk.words[*field as usize].len() as u32)))
                    }
                }
            })
        })
    }
}

impl PreparedWords for ExactWords<'_> {
    fn most(&self) -> f64 {
        self.terms.most
    }

    fn has(&self, word: &str) -> bool {
        self.terms.present.contains(word)
    }

    fn best(&self, k: usize, allow: Option<&FileSet>) -> Result<Vec<ScoredChunk>, EngineError> {
        let found = self.reader.chunks.values().filter(|chunk| is_in(allow, chunk.text.file)).filter_map(|chunk| {
            let score = self.score(chunk).filter(|score| *score > 0.0)?;
            Some(ScoredChunk { row: chunk.text.row, file: chunk.text.file, score })
        });
        Ok(best(found.collect(), k))
    }

    fn scores(&self, rows: &[u64]) -> Result<Vec<Option<f64>>, EngineError> {
        Ok(rows.iter().map(|row| self.reader.chunks.get(row).and_then(|chunk| self.score(chunk))).collect())
    }
}
