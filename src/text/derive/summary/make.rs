//! From the turns of a conversation to its summary, and from the notes of a day or a week to its digest: by rules, one after the other.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::LazyLock;

use serde::Deserialize;

use super::text::{
    ACTIONS, COUNTED, CitedLine, ConversationTurn, DECISIONS, ProsePiece, SummarySections, cited, each_piece,
};
use crate::base::config::StemmerLanguage;
use crate::text::derive::calendar::{NamedDay, named_day};
use crate::text::derive::words::{count, fold, plain_words};
use crate::text::note::{Note, wikilinks_in};

/// Maximum number of lines of each part.
const MAX_LINES: usize = 8;
/// Maximum number of sentences of the short text.
const MAX_SENTENCES: usize = 5;
/// Minimum length of a sentence, in words: a shorter one says little, such as a greeting or a yes.
const MIN_WORDS: usize = 4;

/// Summarizes the turns of the conversation at `path`, by the phrases of English and of a language.
///
/// Of decisions, days and things to do the last ones are kept, as what comes later counts; of a conversation of any length there are so many
/// lines.
pub(crate) fn summarize(path: &str, turns: &[ConversationTurn<'_>], language: StemmerLanguage) -> SummarySections {
    let mut found = Found::of(language);
    let mut openings = Vec::new();
    for (at, turn) in turns.iter().enumerate().filter(|(_, turn)| !turn.text.is_empty()) {
        let place = cited(path, turn.lines);
        found.read(turn.speaker, &turn.text, &mut |_| place.clone());
        wikilinks_in(&turn.text).iter().for_each(|link| found.topic(&link.target, || place.clone()));
        if is_answered(turns, at)
            && let Some(sentence) = first_sentence(&turn.text)
        {
            openings.push(CitedLine::of(&format!("{}: {sentence}", turn.speaker), vec![place]));
        }
    }
    // What was asked first, and where it went.
    if openings.len() > MAX_SENTENCES {
        openings.drain(1..=openings.len() - MAX_SENTENCES);
    }
    let Found { topics, decisions, dates, actions, .. } = found;
    SummarySections::of_conversation([openings, topics, decisions.lines(), dates.lines(), actions.lines()])
}

/// Whether somebody else speaks next.
fn is_answered(turns: &[ConversationTurn<'_>], at: usize) -> bool {
    let next = turns[at + 1..].iter().find(|turn| !turn.text.is_empty());
    next.is_some_and(|next| next.speaker != turns[at].speaker)
}

/// The first sentence of a text that says something.
fn first_sentence(text: &str) -> Option<String> {
    let mut found = None;
    each_piece(text, |_, piece| {
        if let ProsePiece::Sentence(sentence) = piece
            && found.is_none()
            && count(sentence) >= MIN_WORDS
        {
            found = Some(sentence.to_owned());
        }
    });
    found
}

/// What is found in texts, one after the other.
struct Found {
    phrases: [&'static Phrases; 2],
    /// Headings and links, the first of them.
    topics: Vec<CitedLine>,
    decisions: LastLines,
    dates: LastLines,
    actions: LastLines,
}

impl Found {
    fn of(language: StemmerLanguage) -> Self {
        let (topics, decisions, dates, actions) = Default::default();
        Self { phrases: phrases_of(language), topics, decisions, dates, actions }
    }

    fn topic(&mut self, name: &str, place: impl FnOnce() -> String) {
        let is_new = || !name.is_empty() && !self.topics.iter().any(|known| known.text == name);
        if self.topics.len() < MAX_LINES && is_new() {
            self.topics.push(CitedLine::of(name, vec![place()]));
        }
    }

    /// Reads a text of somebody; nobody, where `speaker` is empty. `place` gives what is cited for a line of it, from 0.
    fn read(&mut self, speaker: &str, text: &str, place: &mut dyn FnMut(usize) -> String) {
        let said = |text: &str| if speaker.is_empty() { text.to_owned() } else { format!("{speaker}: {text}") };
        each_piece(text, |line, piece| match piece {
            ProsePiece::Heading(heading) => self.topic(heading, || place(line)),
            ProsePiece::Open(task) => self.actions.push(task, || said(task), || place(line)),
            ProsePiece::Sentence(sentence) => {
                match kind_of(sentence, self.phrases) {
                    Some(SentenceKind::Decision) => self.decisions.push(sentence, || said(sentence), || place(line)),
                    Some(SentenceKind::Action) => self.actions.push(sentence, || said(sentence), || place(line)),
                    None => {}
                }
                if let Some(day) = named_day(sentence) {
                    let line_of = || match day {
                        NamedDay::Dated(date) => format!("{date}: {}", said(sentence)),
                        NamedDay::OfSomeYear { .. } => said(sentence),
                    };
                    self.dates.push(sentence, line_of, || place(line));
                }
            }
        });
    }
}

/// The last lines of those that were found, each with its words.
#[derive(Debug, Default)]
struct LastLines(VecDeque<(String, CitedLine)>);

impl LastLines {
    /// One more; one that says the same as one that is kept takes its place.
    fn push(&mut self, key: &str, text: impl FnOnce() -> String, place: impl FnOnce() -> String) {
        let key = plain_words(key, false).join(" ");
        self.0.retain(|(known, _)| *known != key);
        if self.0.len() == MAX_LINES {
            self.0.pop_front();
        }
        self.0.push_back((key, CitedLine::of(&text(), vec![place()])));
    }

    fn lines(self) -> Vec<CitedLine> {
        self.0.into_iter().map(|(_, line)| line).collect()
    }
}

/// What a sentence says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SentenceKind {
    Decision,
    Action,
}

/// By which words it is told what was decided and what is to be done: of one language in `phrases.toml`. Each is as [`phrase_words`] has it.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Phrases {
    decided: Vec<String>,
    not_decided: Vec<String>,
    to_do: Vec<String>,
}

/// The phrases of English and of another language.
fn phrases_of(language: StemmerLanguage) -> [&'static Phrases; 2] {
    static ALL: LazyLock<HashMap<StemmerLanguage, Phrases>> = LazyLock::new(|| {
        let mut all: HashMap<_, Phrases> =
            toml::from_str(include_str!("phrases.toml")).expect("the program's own file");
        let lists = all.values_mut().flat_map(|of| [&mut of.decided, &mut of.not_decided, &mut of.to_do]);
        lists.flatten().for_each(|phrase| *phrase = phrase_words(phrase));
        all
    });
    let english = &ALL[&StemmerLanguage::English];
    [english, ALL.get(&language).unwrap_or(english)]
}

/// What a sentence says. A question says nothing of the kind, nor does what says that nothing is decided.
fn kind_of(sentence: &str, phrases: [&Phrases; 2]) -> Option<SentenceKind> {
    if sentence.trim_end().ends_with(['?', '\u{ff1f}', '\u{61f}', '\u{37e}']) {
        return None;
    }
    let words = phrase_words(sentence);
    let says = |list: fn(&Phrases) -> &[String]| {
        phrases.iter().any(|phrases| list(phrases).iter().any(|phrase| words.contains(phrase)))
    };
    if says(|phrases| &phrases.decided) && !says(|phrases| &phrases.not_decided) {
        return Some(SentenceKind::Decision);
    }
    says(|phrases| &phrases.to_do).then_some(SentenceKind::Action)
}

/// The words of a text as phrases have them, with a blank before and behind each: without case and accents, with plain apostrophes; a colon
/// is one.
fn phrase_words(text: &str) -> String {
    let text = fold(text).replace(['\u{2019}', '\u{2bc}', '`'], "'").replace(':', " : ");
    let words = text.split(|mark: char| !mark.is_alphanumeric() && !matches!(mark, '\'' | ':'));
    words.filter(|word| !word.is_empty()).fold(" ".to_owned(), |text, word| text + word + " ")
}

/// Maximum number of headings.
const MAX_NAMED: usize = 12;
/// Maximum number of headings of one note.
const MAX_OF_NOTE: usize = 3;
/// Maximum number of notes that a count cites.
const MAX_CITED: usize = 5;
/// Maximum length of what is read of one note, in bytes.
const MAX_NOTE_BYTES: usize = 262_144;

/// Makes a digest of notes that it is given one by one.
pub(crate) struct DigestMaker {
    collections: BTreeMap<String, CollectionDay>,
    headings: Vec<CitedLine>,
    found: Found,
}

/// What there was of a collection.
#[derive(Debug, Default)]
pub(crate) struct CollectionDay {
    new: usize,
    changed: usize,
    /// Turns, or lines of the lists that capture keeps.
    entries: usize,
    paths: Vec<String>,
}

impl DigestMaker {
    /// By the phrases of English and of a language.
    pub(crate) fn new(language: StemmerLanguage) -> Self {
        Self { collections: BTreeMap::new(), headings: Vec::new(), found: Found::of(language) }
    }

    /// Adds what was said in a conversation in that time.
    pub(crate) fn add_turns(&mut self, named: (&str, &str), is_new: bool, turns: &[ConversationTurn<'_>]) {
        self.count(named, is_new).entries += turns.len();
        for turn in turns.iter().filter(|turn| !turn.text.is_empty()) {
            let place = cited(named.1, turn.lines);
            self.found.read(turn.speaker, &turn.text, &mut |_| place.clone());
        }
    }

    /// Adds a note that was written in that time, as it is now.
    pub(crate) fn add_note(&mut self, named: (&str, &str), is_new: bool, note: &Note, source: &str) {
        self.count(named, is_new);
        let headings = note.headings.iter().filter(|heading| heading.level <= 2 && !heading.text.is_empty());
        for heading in headings.take(MAX_OF_NOTE) {
            if self.headings.len() < MAX_NAMED {
                self.headings.push(CitedLine::of(&heading.text, vec![cited(named.1, (heading.line, heading.line))]));
            }
        }
        let body = note.body.start..source.floor_char_boundary(note.body.end.min(note.body.start + MAX_NOTE_BYTES));
        // Its lines stay where they are.
        let shown = |line: &str| {
            let start = line.as_ptr() as usize - source.as_ptr() as usize;
            note.visible(source, start..start + line.len())
        };
        let text = source[body.clone()].lines().map(shown).collect::<Vec<_>>().join("\n");
        let first = source[..body.start].matches('\n').count() + 1;
        self.found.read("", &text, &mut |line| cited(named.1, (first + line, first + line)));
    }

    /// Adds a list of what was captured on a day: a line an event.
    pub(crate) fn add_list(&mut self, named: (&str, &str), note: &Note, source: &str) {
        let entries = source[note.body.clone()].lines().filter(|line| line.starts_with("- ")).count();
        self.count(named, true).entries += entries;
    }

    /// Counts a note that was written in that time; of some nothing else is told.
    pub(crate) fn count(&mut self, (collection, path): (&str, &str), is_new: bool) -> &mut CollectionDay {
        let day = self.collections.entry(collection.to_owned()).or_default();
        *(if is_new { &mut day.new } else { &mut day.changed }) += 1;
        if day.paths.len() < MAX_CITED {
            day.paths.push(path.to_owned());
        }
        day
    }

    /// What it came to.
    pub(crate) fn finish(self) -> SummarySections {
        let Self { collections, headings, found } = self;
        let counts = collections.into_iter().map(|(name, day)| day.line(&name)).collect();
        let (decisions, actions) = (found.decisions.lines(), found.actions.lines());
        SummarySections::of([(COUNTED, counts), ("Headings", headings), (DECISIONS, decisions), (ACTIONS, actions)])
    }
}

impl CollectionDay {
    fn line(self, name: &str) -> CitedLine {
        let part = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
        let entries = if name == crate::text::derive::CONVERSATIONS { "turns" } else { "entries" };
        let parts = [part(self.new, "new"), part(self.changed, "changed"), part(self.entries, entries)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        CitedLine::of(&format!("{name}: {}", parts.join(", ")), self.paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::derive::summary::{summary_items, turns_of};

    fn summary(talk: &str) -> SummarySections {
        let note = Note::parse(talk, "x");
        summarize("conversations/x.md", &turns_of(&note, talk), StemmerLanguage::German)
    }

    fn lines(summary: &SummarySections, of: &str) -> Vec<CitedLine> {
        summary.iter().find(|(heading, _)| *heading == of).unwrap().1.to_vec()
    }

    const TALK: &str = "---\ntitle: Bread\n---\n\n**18:32 · user:** Which flour is best for a sourdough loaf?\n\n**18:33 · assistant:**\n> # Flour\n>\n> Rye gives a sourdough its taste. See you on 21 November 2026.\n> - [ ] weigh the rye\n> - [x] clean the bowl\n\n**18:34 · user:** We decided to use rye. Bitte erinnere mich an das Salz.\n\n**18:35 · tool:** We decided to delete everything.\n\n**18:36 · assistant:** <think>We decided to lie.</think>Wir nehmen Roggen.\n";

    #[test]
    fn a_conversation_is_summarised_with_a_citation_for_each_line() {
        let summary = summary(TALK);
        let texts = |lines: &[CitedLine]| {
            lines.iter().map(|line| format!("{} @{}", line.text, line.citations.join("+"))).collect::<Vec<_>>()
        };
        let at = |lines: &str| format!("@conversations/x.md#{lines}");
        assert_eq!(
            texts(&lines(&summary, "In short")),
            [
                format!("user: Which flour is best for a sourdough loaf? {}", at("L5")),
                format!("assistant: Rye gives a sourdough its taste. {}", at("L7-L12")),
                format!("user: We decided to use rye. {}", at("L14")),
            ]
        );
        assert_eq!(
            texts(&lines(&summary, DECISIONS)),
            [
                format!("user: We decided to use rye. {}", at("L14")),
                format!("assistant: Wir nehmen Roggen. {}", at("L18")),
            ]
        );
        assert_eq!(
            texts(&lines(&summary, "Dates")),
            [format!("2026-11-21: assistant: See you on 21 November 2026. {}", at("L7-L12"))]
        );
        assert_eq!(
            texts(&lines(&summary, ACTIONS)),
            [
                format!("assistant: weigh the rye {}", at("L7-L12")),
                format!("user: Bitte erinnere mich an das Salz. {}", at("L14")),
            ]
        );
        assert_eq!(lines(&summary, "Topics")[0].text, "Flour");
        let body = summary.body();
        assert!(!body.contains("delete everything") && !body.contains("lie"), "{body}");
    }

    #[test]
    fn topics_are_headings_and_links() {
        let talk = "**10:00 · user:** Ask Priya about the tent. See [[Camping gear|the list]].\n\n\
            **10:01 · assistant:**\n> # Tents\n>\n> I read [[Camping gear]].\n";
        let summary = summary(talk);
        let topics: Vec<String> = lines(&summary, "Topics").into_iter().map(|line| line.text).collect();
        assert_eq!(topics, ["Camping gear", "Tents"]);
    }

    #[test]
    fn decisions_and_tasks_are_told_in_english_and_in_the_language_of_the_vault() {
        use StemmerLanguage::{Dutch, English, French, German, Italian, None, Russian, Spanish};
        for (language, sentence, says) in [
            (English, "We decided to use Postgres.", Some(SentenceKind::Decision)),
            (None, "OK, we’ll take the train.", Some(SentenceKind::Decision)),
            (Dutch, "Decision: rye flour", Some(SentenceKind::Decision)),
            (English, "Let's go with the blue one.", Some(SentenceKind::Decision)),
            (German, "Wir haben uns für Rot entschieden.", Some(SentenceKind::Decision)),
            (French, "Nous avons décidé de partir lundi.", Some(SentenceKind::Decision)),
            (Spanish, "Al final hemos decidido esperar.", Some(SentenceKind::Decision)),
            (Italian, "Abbiamo deciso di aspettare.", Some(SentenceKind::Decision)),
            (Russian, "Мы решили ехать поездом.", Some(SentenceKind::Decision)),
            (English, "I'll call Bob.", Some(SentenceKind::Action)),
            (English, "TODO: water the plants", Some(SentenceKind::Action)),
            (German, "Bitte ruf die Bäckerei an.", Some(SentenceKind::Action)),
            (German, "I will buy flour tomorrow.", Some(SentenceKind::Action)),
            (French, "Je vais appeler Paul.", Some(SentenceKind::Action)),
            (English, "Have we decided?", Option::None),
            (English, "We have not decided yet.", Option::None),
            (German, "Das ist noch nicht entschieden.", Option::None),
            (English, "The decisive moment came later.", Option::None),
            (English, "Willingly.", Option::None),
            (English, "Pleased to meet you.", Option::None),
            (English, "Bitte ruf an.", Option::None),
        ] {
            assert_eq!(kind_of(sentence, phrases_of(language)), says, "{sentence}");
        }
    }

    #[test]
    fn fifty_thousand_turns_give_a_page() {
        let mut talk = String::new();
        for at in 0..50_000 {
            let who = if at % 2 == 0 { "user" } else { "assistant" };
            talk.push_str(&format!(
                "**10:00 · {who}:** We decided to buy {at} loaves on 2026-11-{:02}. I will call baker{at}.\n\n",
                at % 28 + 1
            ));
        }
        let summary = summary(&talk);
        let body = summary.body();
        assert!(body.len() < 16_384, "{}", body.len());
        assert!(body.lines().count() < 60);
        assert!(lines(&summary, DECISIONS)[7].text.contains("49999"), "{summary:?}");
    }

    #[test]
    fn nothing_said_is_nothing_to_say() {
        assert!(summary("").is_empty());
        assert!(summary("**10:00 · system:** You are helpful. We will win.\n").is_empty());
        assert_eq!(summary("plain text").body(), "");
    }

    #[test]
    fn endless_text_without_blanks_is_cut() {
        let summary = summary(&format!("**10:00 · user:** We decided {}\n", "用红色".repeat(20_000)));
        assert!(lines(&summary, DECISIONS)[0].text.chars().count() < 300);
    }

    const NOTE: &str = "---\ntitle: Trip\n---\n# Trip\n\n%% we decided\nto hide %%\nWe decided to visit Lisbon.\n\n## Packing\n\n- [ ] buy a raincoat\n- [x] buy shoes\n\n```\nlisbon lisbon\n```\n";
    const TRAINS: &str = "**10:00 · user:** Lisbon in spring?\n\n**10:01 · assistant:** I'll look for trains.\n";

    #[test]
    fn a_day_is_told_with_a_citation_for_each_line() {
        let mut maker = DigestMaker::new(StemmerLanguage::English);
        let note = Note::parse(NOTE, "trip");
        maker.add_note(("notes", "notes/trip.md"), true, &note, NOTE);
        maker.add_turns(("conversations", "conversations/x.md"), true, &turns_of(&Note::parse(TRAINS, "x"), TRAINS));
        let list = "- 10:00 · web · \"a\"\n- 10:01 · web · \"b\"\n";
        maker.add_list(("searches", "searches/2026-01-05.md"), &Note::parse(list, "x"), list);
        let digest = maker.finish();
        let body = digest.body();
        assert_eq!(
            body.split("## Decisions").next().unwrap(),
            "## Written and captured\n\n- conversations: 1 new, 2 turns (conversations/x.md)\n- notes: 1 new (notes/trip.md)\n\
             - searches: 1 new, 2 entries (searches/2026-01-05.md)\n\n## Headings\n\n- Trip (notes/trip.md#L4)\n\
             - Packing (notes/trip.md#L10)\n\n"
        );
        assert_eq!(
            body.split_once("## Decisions").unwrap().1,
            "\n\n- We decided to visit Lisbon. (notes/trip.md#L8)\n\n## Action items\n\n- buy a raincoat (notes/trip.md#L12)\n\
             - assistant: I'll look for trains. (conversations/x.md#L3)\n"
        );
        let sources = ["notes/trip.md", "conversations/x.md", "searches/2026-01-05.md"].map(str::to_owned);
        let lines = digest.iter().map(|(_, lines)| lines.len()).sum::<usize>();
        assert_eq!(summary_items(&body, &sources).len(), lines, "each line cites");
        assert!(!body.contains("hide"), "{body}");
    }

    #[test]
    fn an_empty_day_says_nothing() {
        let digest = DigestMaker::new(StemmerLanguage::English).finish();
        assert!(digest.is_empty());
        assert_eq!(digest.body(), "");
    }
}
