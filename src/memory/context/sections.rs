//! The sections of a context, each as far as who asks sees it.

use std::sync::Arc;
use std::time::Instant;

use super::block::{BlockSection, MemoryLine};
use super::gate::{DaySpan, SUMMARIES, day_at, day_of, digest_at, digests_of};
use super::lines::{ABOUT, NoteLines, OVERRIDES, PROFILE, is_known, is_planted, is_trusted};
use super::passages::{Passage, QuestionWords, Talks, parts, telling};
use crate::access::request::{Given, ReadScope, RequestError, Viewer, key_relations, trust_of_place};
use crate::base::config::{MemoryScope, Mode, PROFILE_TOKENS, Rerank, SearchConfig};
use crate::index::engine::{FileEntry, Filter, Predicate};
use crate::index::search::SearchRequest;
use crate::memory::items::due_of;
use crate::serve::wire::{EdgeView, HitView, citation};
use crate::text::derive::entries::{MemoryEntry, TrustLevel, shelf_of};
use crate::text::derive::facts::months_between;
use crate::text::derive::generated::CitedPaths;
use crate::text::derive::{CONVERSATIONS, without_machinery};

/// What has a section of its own, or is no memory of what is so now.
const NO_EXCERPTS: [&str; 4] = [OVERRIDES, PROFILE, "memories/", SUMMARIES];
const HISTORY: &str = "facts.history.md";
/// Of an agent's folder what says how it is to be, and its entries, which are given as entries.
const AGENT_FILES: [&str; 4] = ["agent.md", "entries.md", "pending.md", "archive.md"];
/// Summaries that are given where no question is asked.
const NEWEST_SUMMARIES: usize = 5;
/// Maximum length of a turn that is asked for word by word, in words.
const TURN_WORDS: usize = 250;
/// Maximum length of what is given of any other paragraph, in words.
const PART_WORDS: usize = 50;
/// Maximum length of a line, in characters.
const LINE_CHARS: usize = 1_500;
/// Maximum length of a question that is looked for, in characters; the middle of a longer one is left out.
const MAX_QUERY_CHARS: usize = 1_000;

/// Tokens of each kind of section; all of a context is held to `memory.context_tokens` besides.
const ENTRY_TOKENS: usize = 3_000;
const SUMMARY_TOKENS: usize = 3_000;
const EXCERPT_TOKENS: usize = 3_000;
const RELATION_TOKENS: usize = 300;
/// Candidates of a section.
const CANDIDATES: usize = 30;
/// Candidates that are fetched for each that is given.
const FETCHED_FOR_EACH: usize = 2;
/// How much the score counts against likeness to what is chosen already.
const SCORE_AGAINST_LIKENESS: f64 = 0.7;
/// After so many days what is dated counts half.
const HALF_LIFE_DAYS: f64 = 30.0;

/// Which entries are given for a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntrySelection {
    /// All, the likest first.
    All,
    /// Those that have a word of it, and all where it is about nothing.
    AnyLike,
    /// Those that have so much of it that they may answer it.
    MuchLike,
}

/// How hits are looked for.
struct Looking<'a> {
    text: &'a str,
    /// In which part of the vault; there half as likely a hit is enough.
    within: Vec<Predicate>,
    /// Whether whole passages are wanted.
    whole: bool,
}

/// Makes the sections of one context.
pub(super) struct Sections<'a> {
    pub(super) viewer: &'a Viewer,
    pub(super) notes: &'a NoteLines,
    config: SearchConfig,
    talks: Talks,
}

impl<'a> Sections<'a> {
    pub(super) fn new(viewer: &'a Viewer, notes: &'a NoteLines) -> Self {
        let config = &viewer.workspace().config;
        let candidates = CANDIDATES * FETCHED_FOR_EACH;
        let config = SearchConfig {
            // Nobody waits for a model that writes.
            rerank: Rerank::Off,
            mode: if config.search.mode == Mode::Deep { Mode::Hybrid } else { config.search.mode },
            mmr_lambda: SCORE_AGAINST_LIKENESS,
            half_life_days: HALF_LIFE_DAYS,
            candidates: candidates.clamp(10, 1_000),
            ..config.search.clone()
        };
        Self { viewer, notes, config, talks: Talks::default() }
    }

    /// What the person says in any case.
    pub(super) fn overrides(&self) -> BlockSection {
        BlockSection::new("overrides", "What the user says in any case", None, self.notes.lines(OVERRIDES))
    }

    /// Who the person is.
    pub(super) fn profile(&mut self) -> BlockSection {
        let mut lines = self.notes.user();
        lines.extend(self.notes.about());
        lines.extend(self.notes.lines(PROFILE));
        self.of_user(lines)
    }

    fn of_user(&self, lines: Vec<MemoryLine>) -> BlockSection {
        BlockSection::new("profile", "The user", Some(PROFILE_TOKENS), lines)
    }

    /// Of who the person is what has a word of a question.
    pub(super) fn profile_like(&mut self, query: &str) -> BlockSection {
        let mut words = self.words_of(query);
        let mut section = self.profile();
        section.lines.retain(|line| words.in_text(&line.text) > 0);
        section
    }

    fn words_of(&self, query: &str) -> QuestionWords {
        QuestionWords::of(&as_words(query), self.config.stemmer)
    }

    /// What is known for sure: of the person, and of an agent its own. The likest to a question first, then the surest.
    pub(super) fn entries(&mut self, query: &str, wanted: EntrySelection) -> BlockSection {
        let mut words = self.words_of(query);
        let own = self.viewer.agent().map(|slug| MemoryScope::Agent(slug.to_owned()));
        let (mut known, mut withheld) = (Vec::new(), 0);
        let files = self.notes.given().reader().files();
        // What was learned from a page is trusted no more than the page, whoever accepted it.
        let trust = |entry: &MemoryEntry| {
            entry.sources.iter().map(|place| trust_of_place(files, place)).fold(entry.trust, Ord::min)
        };
        for holder in std::iter::once(MemoryScope::User).chain(own) {
            for (entry, place) in self.notes.entries(&holder, self.viewer.at().as_millisecond()) {
                match trust(&entry) {
                    TrustLevel::Person | TrustLevel::Agent => known.push((words.in_entry(&entry), entry, place)),
                    TrustLevel::Tool | TrustLevel::Web => withheld += 1,
                }
            }
        }
        known.retain(|(likeness, ..)| match wanted {
            EntrySelection::All => true,
            EntrySelection::AnyLike => *likeness > 0 || words.is_empty(),
            EntrySelection::MuchLike => words.are_enough(*likeness),
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
            let (span, aged) = (entry.window.span().to_string(), self.aged(&entry));
            let said = [Some(entry.text), Some(span).filter(|span| !span.is_empty()), aged];
            MemoryLine::new(said.into_iter().flatten().collect::<Vec<_>>().join(" "), place)
        };
        let lines = known.into_iter().map(line).collect();
        BlockSection { withheld, ..BlockSection::new("entries", "What is known", Some(ENTRY_TOKENS), lines) }
    }

    /// How long ago an entry was known to be true, where it may be so no longer.
    fn aged(&self, entry: &MemoryEntry) -> Option<String> {
        let at = self.notes.as_of.unwrap_or(self.viewer.at().as_millisecond());
        let (_, since) = due_of(entry, self.notes.given().reader().files()).filter(|(due, _)| *due <= at)?;
        let months = since.map_or(0, |since| months_between(since, at));
        let months = match months {
            ..1 => return Some("(may no longer be true)".to_owned()),
            1 => "a month".to_owned(),
            _ => format!("{months} months"),
        };
        Some(match entry.window.confirmed {
            Some(_) => format!("(last confirmed {months} ago)"),
            None => format!("(known for {months}, never confirmed)"),
        })
    }

    /// How what a question names, and the person, are related to others.
    pub(super) fn relations(&self, named: Option<&str>) -> Result<BlockSection, RequestError> {
        let user = self.notes.user_name().filter(|name| is_known(name, &[self.notes.given()]));
        let names: Vec<String> = named.map(str::to_owned).into_iter().chain(user).collect();
        let line = |relation: EdgeView| MemoryLine::new(relation.line(), relation.citation);
        // What is related now says nothing of then.
        let (found, withheld) = match self.notes.as_of {
            Some(_) => (Vec::new(), 0),
            None => key_relations(self.viewer, &names)?,
        };
        let lines = found.into_iter().map(line).collect();
        let section = BlockSection::new("relations", "Key relationships", Some(RELATION_TOKENS), lines);
        Ok(BlockSection { withheld, ..section })
    }

    /// The newest summaries, or those of some days, with the digests of these: of a week that is whole its own in the place of its days'.
    pub(super) fn summaries(&self, span: Option<DaySpan>) -> BlockSection {
        let (mut lines, mut withheld) = (Vec::new(), 0);
        let files = self.notes.given().reader().files();
        // One is seen where all is that it was made of, and is trusted likewise.
        let mut give = |path: &str| match self.notes.file(path) {
            Some(file) if is_planted(files, file) => withheld += 1,
            Some(file) => {
                let dated = |line: MemoryLine| MemoryLine { day: self.day_of_line(file, &line.text), ..line };
                lines.extend(self.notes.lines(path).into_iter().map(dated));
            }
            None => {}
        };
        let since = self.summaries_since();
        let is_one = |file: &&Arc<FileEntry>| {
            let path = file.path.as_str().strip_prefix(SUMMARIES);
            path.is_some_and(|rest| !rest.contains('/')) && since.is_none_or(|since| file.created_ms >= since)
        };
        let mut newest: Vec<_> = self.notes.given().files().filter(is_one).collect();
        newest.sort_by(|one, two| (two.created_ms, &two.path).cmp(&(one.created_ms, &one.path)));
        if let Some(span) = span {
            let is_given = |path: &str| self.notes.file(path).is_some_and(|file| !is_planted(files, file));
            let paths = self.notes.given().files().map(|file| file.path.as_str());
            digests_of(span, paths, is_given).into_iter().for_each(&mut give);
        }
        let of_span = |file: &&Arc<FileEntry>| span.is_none_or(|span| self.is_of(span, file));
        newest.into_iter().filter(of_span).take(NEWEST_SUMMARIES).for_each(|file| give(file.path.as_str()));
        BlockSection {
            withheld,
            ..BlockSection::new("summaries", "Earlier conversations", Some(SUMMARY_TOKENS), lines)
        }
    }

    /// Summaries that answer a question, of some days or of those for which they are kept in mind. As a conversation is as old as its last
    /// turn, whenever its summary was written, the time of that counts.
    pub(super) fn found_summaries(&mut self, query: &str, span: Option<DaySpan>) -> Result<BlockSection, RequestError> {
        let since = self.summaries_since();
        let of_time = |file: &&Arc<FileEntry>| {
            since.is_none_or(|since| file.created_ms >= since) && span.is_none_or(|span| self.is_of(span, file))
        };
        let ids = self.notes.given().files().filter(|file| file.path.as_str().starts_with(SUMMARIES));
        let wanted = Predicate::Among(ids.filter(of_time).map(|file| file.id).collect());
        let within = vec![Predicate::PathPrefix(SUMMARIES.to_owned()), wanted];
        let looking = Looking { text: query, within, whole: false };
        let name = ("found-summaries", "Earlier conversations about it");
        self.found(self.notes.given(), name, SUMMARY_TOKENS, &looking, |_| true)
    }

    /// Turns of conversations.
    pub(super) fn transcript(&mut self, query: &str) -> Result<BlockSection, RequestError> {
        // By its folder: of a collection that is not there a search says which ones are, and looks at every file of an agent's for that
        // (107 ms with 20,000 notes).
        let within = vec![Predicate::PathPrefix(format!("{CONVERSATIONS}/"))];
        let looking = Looking { text: query, within, whole: true };
        self.found(self.notes.given(), ("transcript", "What was said"), EXCERPT_TOKENS, &looking, |_| true)
    }

    /// What of notes and conversations answers a question, and before that what the person writes about themselves.
    pub(super) fn excerpts(&mut self, query: &str) -> Result<(BlockSection, BlockSection), RequestError> {
        let looking = Looking { text: query, within: Vec::new(), whole: false };
        let name = ("excerpts", "From notes and conversations");
        let mut section = self.found(self.notes.given(), name, EXCERPT_TOKENS, &looking, is_excerpt)?;
        let about = section.lines.extract_if(.., |line| line.place.starts_with(ABOUT)).collect();
        Ok((self.of_user(about), section))
    }

    /// Passages of an agent's own memory.
    pub(super) fn memories(&mut self, query: &str) -> Result<BlockSection, RequestError> {
        let name = ("memories", "Your own notes");
        let Some(own) = self.notes.visibility.own.as_ref() else {
            return Ok(BlockSection::new(name.0, name.1, Some(ENTRY_TOKENS), Vec::new()));
        };
        let looking = Looking { text: query, within: Vec::new(), whole: false };
        let files = own.reader().files();
        // Entries are given as entries, each by its trust, and those that do not count not at all.
        let is_wanted = |path: &str| files.at(path).is_some_and(|file| shelf_of(&file.path).is_none());
        self.found(own, name, ENTRY_TOKENS, &looking, is_wanted)
    }

    fn summaries_since(&self) -> Option<i64> {
        let days = self.viewer.workspace().config.memory.summary_retention_days;
        let span = i64::try_from(days).ok()?.checked_mul(86_400_000)?;
        (days > 0).then(|| self.viewer.at().as_millisecond() - span)
    }

    /// Whether a summary or a digest is of some days: that of a week where all of them are meant.
    fn is_of(&self, span: DaySpan, file: &FileEntry) -> bool {
        match digest_at(file.path.as_str()) {
            Some((_, days)) => span.has_all(&days),
            None => day_at(file.created_ms).is_some_and(|day| span.has(day)),
        }
    }

    /// The day of a line of a summary or a digest: that of a week's is the day of what it cites first, `(notes/a.md#L3, notes/b.md)`.
    fn day_of_line(&self, file: &FileEntry, line: &str) -> Option<String> {
        let week = digest_at(file.path.as_str()).filter(|(_, days)| days.first != days.last);
        let Some((_, week)) = week else { return day_of(file) };
        let (line, paths) = (line.trim_end(), CitedPaths::new(&file.sources));
        let cited =
            paths.in_brackets(line).and_then(|at| paths.at_begin(line[at + " (".len()..].trim_end_matches(')')));
        let cited = cited.and_then(|path| self.notes.given().file(path));
        let day = cited.and_then(|cited| day_at(cited.created_ms));
        day.filter(|day| week.has(*day)).map(|day| day.to_string()).or_else(|| day_of(file))
    }

    /// What is found in a scope, as far as it is trusted.
    fn found(
        &mut self,
        scope: &ReadScope,
        (name, heading): (&'static str, &'static str),
        budget: usize,
        looking: &Looking<'_>,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<BlockSection, RequestError> {
        let mut hits = self.look(scope, looking)?;
        hits.retain(|hit| is_wanted(&hit.chunk.path));
        let wanted = hits.len();
        hits.retain(|hit| is_trusted(scope, hit));
        let withheld = wanted - hits.len();
        let section = BlockSection::new(name, heading, Some(budget), self.lines(scope, &hits, looking));
        Ok(BlockSection { withheld, ..section })
    }

    fn look(&self, scope: &ReadScope, looking: &Looking<'_>) -> Result<Vec<HitView>, RequestError> {
        let text = as_words(looking.text);
        // Words that every text has find every text.
        if telling(&text).is_empty() {
            return Ok(Vec::new());
        }
        let floor = if looking.within.is_empty() { self.config.min_score } else { self.config.min_score / 2.0 };
        let until = self.notes.as_of.map(|until| Predicate::Updated(i64::MIN, until));
        let request = SearchRequest {
            text,
            mode: self.config.mode,
            limit: CANDIDATES,
            min_relevance: Some(floor),
            filter: Filter::of(until.into_iter().chain(looking.within.iter().cloned())),
            parts: Vec::new(),
            at: self.viewer.at(),
            context: looking.whole.then_some(0),
            turn: self.viewer.turn().clone(),
        };
        let given = Given { highlights: false, times: 1, timeout: None };
        let mut found = scope.clone().find(request, &self.config, given, Instant::now())?.results;
        // Of a model that was never measured nobody knows how likely a hit is; half of the words say something.
        found.retain(|hit| hit.relevance.is_some() || hit.scores.coverage.is_some_and(|share| share >= 0.5));
        Ok(found)
    }

    /// What of some hits answers best, the best first; what stands on the same lines is one line.
    fn lines(&self, scope: &ReadScope, hits: &[HitView], looking: &Looking<'_>) -> Vec<MemoryLine> {
        let scores = || hits.iter().map(|hit| hit.score);
        let (low, high) = (scores().fold(f64::INFINITY, f64::min), scores().fold(f64::NEG_INFINITY, f64::max));
        let scaled = |score: f64| if high > low { (score - low) / (high - low) } else { 1.0 };
        let passages: Vec<Passage> = hits.iter().map(|hit| self.passage(scope, hit, scaled(hit.score))).collect();
        let most = if looking.whole { TURN_WORDS } else { PART_WORDS };
        let mut lines: Vec<MemoryLine> = Vec::new();
        for part in parts(&passages, &mut self.words_of(looking.text), most) {
            let hit = &hits[part.passage];
            let place = part.lines.map(|(first, last)| citation(&hit.chunk.path, first, last));
            let place = place.unwrap_or_else(|| hit.chunk.citation.clone());
            let text: String = part.text.chars().take(LINE_CHARS).collect();
            if let Some(known) = lines.iter_mut().find(|known| known.place == place) {
                if known.text.chars().count() + text.chars().count() <= LINE_CHARS {
                    known.text = format!("{} … {text}", known.text);
                }
                continue;
            }
            let file = scope.reader().files().at(&hit.chunk.path);
            let of_talk = || hit.chunk.created_at.get(..10).filter(|_| is_talk(hit)).map(str::to_owned);
            lines.push(MemoryLine { text, place, day: file.and_then(|file| day_of(file)).or_else(of_talk) });
        }
        lines
    }

    /// What a hit says, without what nobody says.
    fn passage(&self, scope: &ReadScope, hit: &HitView, score: f64) -> Passage {
        let file = scope.reader().files().at(&hit.chunk.path).filter(|_| is_talk(hit));
        let names = || self.notes.user_name().into_iter().collect::<Vec<_>>();
        let (first, last) = (hit.chunk.line_start, hit.chunk.line_end);
        // What began in another passage may go on in this one.
        if let Some(said) = file.and_then(|file| self.talks.said(scope.workspace(), file, (first, last), names)) {
            let (lines, text): (Vec<u32>, Vec<String>) = said.into_iter().unzip();
            return Passage { text: text.join("\n"), lines, score };
        }
        let content = hit.chunk.content.as_str();
        let text = if file.is_some() { without_machinery(content) } else { content.into() };
        // A heading may stand right above its text, and is shown with a blank line between them.
        let (count, span) = (text.lines().count() as u32, last - first + 1);
        let is_as_it_stands = hit.chunk.page.is_none() && text.len() == content.len();
        let fits = is_as_it_stands && (count == span || count == span + 1 && text.starts_with('#'));
        let lines = if fits {
            (0..count).map(|at| (last + 1 + at).saturating_sub(count).max(first)).collect()
        } else {
            Vec::new()
        };
        Passage { text: text.into_owned(), lines, score }
    }
}

fn is_talk(hit: &HitView) -> bool {
    hit.chunk.collection == CONVERSATIONS
}

/// Whether a note may be an excerpt.
fn is_excerpt(path: &str) -> bool {
    let is_agents_own = || {
        let name = path.strip_prefix("agents/").and_then(|rest| rest.split_once('/')).map(|(_, name)| name);
        name.is_some_and(|name| AGENT_FILES.contains(&name))
    };
    !NO_EXCERPTS.iter().any(|folder| path.starts_with(folder)) && !path.ends_with(HISTORY) && !is_agents_own()
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
    fn what_says_how_an_agent_is_to_be_is_no_excerpt() {
        for path in
            ["agents/ada/agent.md", "agents/ada/entries.md", "memories/user.md", "summaries/x.md", "a/facts.history.md"]
        {
            assert!(!is_excerpt(path), "{path}");
        }
        assert!(is_excerpt("agents/ada/memory/agent.md") && is_excerpt("notes/agent.md"));
    }

    #[test]
    fn a_question_is_words_and_no_language_of_searches() {
        assert_eq!(
            as_words("fix tag:travel -not \"a phrase\"\n[rating:>3] path:x*"),
            "fix tag travel not a phrase rating >3 path x"
        );
        assert_eq!(as_words(&"ä ".repeat(90_000)).chars().filter(|c| *c == 'ä').count(), 500);
    }
}
