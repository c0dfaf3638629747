//! The sections of a context, each as far as who asks sees it.

use std::time::Instant;

use jiff::Timestamp;
use jiff::civil::Date;

use super::block::{BlockSection, MemoryLine};
use super::facts_then::facts_of;
use super::likeness::likeness;
use super::lines::{LineSight, PROFILE};
use super::names::is_known;
use super::trust::{is_planted, is_trusted};
use crate::config::{MemoryConfig, Mode, Rerank, SearchConfig, StemmerLanguage};
use crate::derive::entries::{MemoryEntry, MemoryHolder, TrustLevel};
use crate::derive::words::plain_words;
use crate::derive::{CONVERSATIONS, stop_words};
use crate::engine::{FileEntry, Filter};
use crate::request::{Given, KeyRelation, ReadScope, RequestError, Viewer, key_relations, trust_of_place};
use crate::search::SearchRequest;
use crate::wire::HitView;

/// What the person says in any case.
const OVERRIDES: &str = "profile/overrides.md";
/// Where summaries are.
const SUMMARIES: &str = "summaries/";
/// What has a section of its own, or is no memory of what is so now.
const NO_EXCERPTS: [&str; 3] = ["profile/", "memories/", SUMMARIES];
const HISTORY: &str = "facts.history.md";
/// Why what is not the person's is left out.
const NOT_TRUSTED: &str = "from the web or from tools; a search finds it";
/// Maximum number of lines of relationships.
const MAX_RELATIONS: usize = 30;
/// Summaries that are given where no question is asked.
const NEWEST_SUMMARIES: usize = 5;
/// Characters of a turn that is asked for word by word.
const TURN_CHARS: usize = 1_500;
/// Maximum length of a question that is looked for, in characters; the middle of a longer one is left out.
const MAX_QUERY_CHARS: usize = 1_000;

/// How hits are looked for.
struct Looking<'a> {
    text: &'a str,
    filter: Filter,
    limit: usize,
    floor: f64,
    /// Whether whole passages are wanted.
    whole: bool,
}

/// Makes the sections of one context.
pub(super) struct Sections<'a> {
    pub(super) viewer: &'a Viewer,
    pub(super) sight: &'a LineSight,
    config: SearchConfig,
    /// Places of hits, with their chunks' names.
    pub(super) hits: Vec<(String, String)>,
}

impl<'a> Sections<'a> {
    pub(super) fn new(viewer: &'a Viewer, sight: &'a LineSight) -> Self {
        let config = viewer.workspace().config();
        let memory = &config.memory;
        let candidates = (memory.recall_top_k as f64 * memory.mmr_multiplier).ceil() as usize;
        let config = SearchConfig {
            // Nobody waits for a model that writes.
            rerank: Rerank::Off,
            expand: false,
            mode: if config.search.mode == Mode::Deep { Mode::Hybrid } else { config.search.mode },
            mmr_lambda: memory.mmr_lambda,
            half_life_days: memory.half_life_days as f64,
            candidates: candidates.clamp(10, 1_000),
            ..config.search.clone()
        };
        Self { viewer, sight, config, hits: Vec::new() }
    }

    fn memory(&self) -> &'a MemoryConfig {
        &self.viewer.workspace().config().memory
    }

    /// What the person says in any case.
    pub(super) fn overrides(&self) -> BlockSection {
        BlockSection::new("overrides", "What the user says in any case", None, self.sight.lines(OVERRIDES))
    }

    /// Who the person is.
    pub(super) fn profile(&self) -> BlockSection {
        let lines = self.sight.user().into_iter().chain(self.sight.lines(PROFILE)).collect();
        BlockSection::new("profile", "The user", Some(self.memory().profile_tokens), lines)
    }

    /// What is known for sure: of the person, and of an agent its own. The likest to a question first, then the surest; only those that have
    /// a word of it where that is wanted.
    pub(super) fn entries(&self, query: &str, only_like_it: bool) -> BlockSection {
        let own = self.viewer.agent().map(|slug| MemoryHolder::Agent(slug.to_owned()));
        let (mut known, mut withheld) = (Vec::new(), 0);
        let files = self.sight.given.reader().files();
        // What was learned from a page is trusted no more than the page, whoever accepted it.
        let trust = |entry: &MemoryEntry| {
            entry.sources.iter().map(|place| trust_of_place(files, place)).fold(entry.trust, Ord::min)
        };
        for holder in std::iter::once(MemoryHolder::Person).chain(own) {
            for (entry, place) in self.sight.entries(&holder, self.viewer.at().as_millisecond()) {
                match trust(&entry) {
                    TrustLevel::Person | TrustLevel::Agent => known.push((likeness(query, &entry), entry, place)),
                    TrustLevel::Tool | TrustLevel::Web => withheld += 1,
                }
            }
        }
        let none_is_like_it = known.iter().all(|(likeness, ..)| *likeness == 0);
        known.retain(|(likeness, ..)| {
            *likeness > 0 || !only_like_it || query.is_empty() || (none_is_like_it && asks_for_all(query))
        });
        known.sort_by(|(one_like, one, one_place), (two_like, two, two_place)| {
            let by_sureness = two.confidence.total_cmp(&one.confidence);
            two_like
                .cmp(one_like)
                .then(by_sureness)
                .then(two.line_start.cmp(&one.line_start))
                .then(one_place.cmp(two_place))
        });
        let line = |(_, entry, place): (usize, MemoryEntry, String)| {
            let window = entry.window.to_string();
            let text = if window.is_empty() { entry.text } else { format!("{} {window}", entry.text) };
            MemoryLine { text, place }
        };
        let lines = known.into_iter().map(line).collect();
        let mut section = BlockSection::new("entries", "What is known", Some(self.memory().working_tokens), lines);
        section.withheld = (withheld > 0).then_some((withheld, NOT_TRUSTED));
        section
    }

    /// How what a question names, and the person, are related to others.
    pub(super) fn relations(&self, named: Option<&str>) -> Result<BlockSection, RequestError> {
        let user = self.sight.user_name().filter(|name| is_known(name, self.sight, &[&self.sight.given]));
        let names: Vec<String> = named.map(str::to_owned).into_iter().chain(user).collect();
        let line = |relation: KeyRelation| {
            for path in std::iter::once(&relation.path).chain(&relation.to) {
                self.sight.look_at_indexed(&self.sight.given, path);
            }
            MemoryLine { text: relation.line, place: relation.citation }
        };
        // What is related now says nothing of then.
        let found =
            if self.sight.as_of.is_some() { Vec::new() } else { key_relations(self.viewer, &names, MAX_RELATIONS)? };
        let lines = found.into_iter().map(line).collect();
        Ok(BlockSection::new("relations", "Key relationships", Some(self.memory().relation_tokens), lines))
    }

    /// The newest summaries, or those of a day.
    pub(super) fn summaries(&self, day: Option<Date>) -> BlockSection {
        let (mut lines, mut withheld) = (Vec::new(), 0);
        let files = self.sight.given.reader().files();
        // One is seen where all is that it was made of, and is trusted likewise.
        let mut give = |path: &str| match self.sight.file(path) {
            Some(file) if is_planted(files, file) => withheld += 1,
            Some(_) => lines.extend(self.sight.lines(path)),
            None => {}
        };
        if let Some(day) = day {
            give(&format!("{SUMMARIES}days/{day}.md"));
        }
        let since = self.summaries_since();
        let is_one = |file: &&std::sync::Arc<FileEntry>| {
            let path = file.path.as_str().strip_prefix(SUMMARIES);
            path.is_some_and(|rest| !rest.contains('/')) && since.is_none_or(|since| file.created_ms >= since)
        };
        let mut newest: Vec<_> = self.sight.given.files().filter(is_one).collect();
        newest.sort_by(|one, two| (two.created_ms, &two.path).cmp(&(one.created_ms, &one.path)));
        let of_day = |file: &&std::sync::Arc<FileEntry>| day.is_none_or(|day| self.day(file.created_ms) == Some(day));
        newest.into_iter().filter(of_day).take(NEWEST_SUMMARIES).for_each(|file| give(file.path.as_str()));
        let budget = Some(self.memory().summary_tokens);
        let mut section = BlockSection::new("summaries", "Earlier conversations", budget, lines);
        section.withheld = (withheld > 0).then_some((withheld, NOT_TRUSTED));
        section
    }

    /// Summaries that answer a question.
    pub(super) fn found_summaries(&mut self, query: &str) -> Result<BlockSection, RequestError> {
        let filter = Filter { path: Some(SUMMARIES.to_owned()), since_ms: self.summaries_since(), ..self.filter() };
        let limit = self.memory().recall_top_k;
        let looking = Looking { text: query, filter, limit, floor: self.floor() / 2.0, whole: false };
        let budget = self.memory().summary_tokens;
        self.found(("found-summaries", "Earlier conversations about it"), budget, looking, |_| true)
    }

    /// Turns of conversations.
    pub(super) fn transcript(&mut self, query: &str) -> Result<BlockSection, RequestError> {
        // By its folder: of a collection that is not there a search says which ones are, and looks at every file of an agent's for that
        // (107 ms with 20,000 notes).
        let filter = Filter { path: Some(format!("{CONVERSATIONS}/")), ..self.filter() };
        let limit = self.memory().recall_top_k;
        let looking = Looking { text: query, filter, limit, floor: self.floor() / 2.0, whole: true };
        let budget = self.memory().chunk_tokens;
        self.found(("transcript", "What was said"), budget, looking, |_| true)
    }

    /// Passages of notes and conversations.
    pub(super) fn excerpts(&mut self, query: &str) -> Result<BlockSection, RequestError> {
        let looking = Looking {
            text: query,
            filter: self.filter(),
            limit: self.memory().recall_top_k,
            floor: self.floor(),
            whole: false,
        };
        let is_excerpt =
            |path: &str| !NO_EXCERPTS.iter().any(|folder| path.starts_with(folder)) && !path.ends_with(HISTORY);
        let budget = self.memory().chunk_tokens;
        let mut section = self.found(("excerpts", "From notes and conversations"), budget, looking, is_excerpt)?;
        if let Some(at) = self.sight.as_of {
            section.lines.splice(0..0, facts_of(self.sight, query, at));
        }
        Ok(section)
    }

    /// Passages of an agent's own memory.
    pub(super) fn memories(&mut self, query: &str) -> Result<BlockSection, RequestError> {
        let mut section =
            BlockSection::new("memories", "Your own notes", Some(self.memory().working_tokens), Vec::new());
        let Some(own) = self.sight.own.clone() else { return Ok(section) };
        let limit = self.memory().recall_top_k;
        let looking = Looking { text: query, filter: self.filter(), limit, floor: self.floor(), whole: false };
        for hit in self.look(own.clone(), &looking)? {
            section.lines.push(self.line(&own, &hit, &looking));
        }
        Ok(section)
    }

    fn summaries_since(&self) -> Option<i64> {
        let days = self.memory().summary_retention_days;
        let span = i64::try_from(days).ok()?.checked_mul(86_400_000)?;
        (days > 0).then(|| self.viewer.at().as_millisecond() - span)
    }

    fn day(&self, ms: i64) -> Option<Date> {
        Some(Timestamp::from_millisecond(ms).ok()?.to_zoned(jiff::tz::TimeZone::system()).date())
    }

    fn floor(&self) -> f64 {
        self.config.min_score
    }

    fn filter(&self) -> Filter {
        Filter { until_ms: self.sight.as_of, ..Filter::default() }
    }

    fn found(
        &mut self,
        (name, heading): (&'static str, &'static str),
        budget: usize,
        looking: Looking<'_>,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<BlockSection, RequestError> {
        let mut section = BlockSection::new(name, heading, Some(budget), Vec::new());
        let mut withheld = 0;
        for hit in self.look(self.sight.given.clone(), &looking)? {
            if !is_wanted(&hit.chunk.path) {
                continue;
            }
            if !is_trusted(&self.sight.given, &hit) {
                withheld += 1;
                continue;
            }
            section.lines.push(self.line(&self.sight.given, &hit, &looking));
        }
        section.withheld = (withheld > 0).then_some((withheld, NOT_TRUSTED));
        Ok(section)
    }

    fn look(&self, scope: ReadScope, looking: &Looking<'_>) -> Result<Vec<HitView>, RequestError> {
        let text = as_words(looking.text);
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let request = SearchRequest {
            text,
            mode: self.config.mode,
            limit: looking.limit,
            min_relevance: Some(looking.floor),
            filter: looking.filter.clone(),
            parts: Vec::new(),
            at: self.viewer.at(),
            context: looking.whole.then_some(0),
            turn: self.viewer.turn().clone(),
        };
        let given = Given { highlights: false, times: 1, timeout: None };
        let mut found = scope.find(request, &self.config, given, Instant::now())?.results;
        // Of a model that was never measured nobody knows how likely a hit is; half of the words say something.
        found.retain(|hit| hit.relevance.is_some() || hit.scores.coverage.is_some_and(|share| share >= 0.5));
        Ok(found)
    }

    fn line(&mut self, scope: &ReadScope, hit: &HitView, looking: &Looking<'_>) -> MemoryLine {
        let place = hit.chunk.citation.clone();
        self.hits.push((place.clone(), hit.chunk.hash.clone()));
        self.sight.look_at_indexed(scope, &hit.chunk.path);
        let text: String = match looking.whole {
            true => hit.chunk.content.chars().take(TURN_CHARS).collect(),
            false => hit.snippet.clone(),
        };
        let day = hit.chunk.created_at.get(..10).filter(|_| hit.chunk.collection == CONVERSATIONS);
        let text = day.map_or_else(|| text.clone(), |day| format!("{day}: {text}"));
        MemoryLine { text, place }
    }
}

/// Whether a question asks for whatever there is: it has no more than a word of its own.
fn asks_for_all(query: &str) -> bool {
    let words = plain_words(query, false);
    stop_words::without(&words.iter().collect::<Vec<_>>(), StemmerLanguage::English).len() <= 1
}

/// A question as words alone: what a chat says is no language of searches. Of a long one its beginning and its end.
fn as_words(query: &str) -> String {
    let chars = query.chars().count();
    let query: String = if chars > MAX_QUERY_CHARS {
        let half = MAX_QUERY_CHARS / 2;
        query.chars().take(half).chain([' ']).chain(query.chars().skip(chars - half)).collect()
    } else {
        query.to_owned()
    };
    let plain = |character: char| match character {
        '"' | '+' | ':' | '[' | ']' | '*' | '(' | ')' | '^' | '~' | '“' | '”' | '„' => ' ',
        blank if blank.is_whitespace() || blank.is_control() => ' ',
        other => other,
    };
    let plain: String = query.chars().map(plain).collect();
    let words = plain.split_whitespace().map(|word| word.trim_start_matches('-')).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_words_and_no_language_of_searches() {
        assert_eq!(
            as_words("fix tag:travel -not \"a phrase\"\n[rating:>3] path:x*"),
            "fix tag travel not a phrase rating >3 path x"
        );
        assert_eq!(as_words(&"ä ".repeat(90_000)).chars().filter(|c| *c == 'ä').count(), 500);
    }
}
