//! From the turns of a conversation to its summary, by rules.

use std::collections::{HashSet, VecDeque};

use super::dates::{NamedDay, named_day};
use super::phrases::{is_action, is_decision};
use super::prose::{ProsePiece, each_piece};
use super::terms::TermCounts;
use super::text::{CitedLine, ConversationSummary, ConversationTurn, cited};
use crate::derive::words::count;

/// Maximum number of lines of each part.
pub(super) const MAX_LINES: usize = 8;
/// Maximum number of headings among the topics.
const MAX_HEADINGS: usize = 4;
/// Maximum number of words among the topics of a short conversation.
const SHORT_TOPICS: usize = 3;
/// Maximum number of sentences of the short text.
const MAX_SENTENCES: usize = 5;
/// Minimum length of a sentence, in words: a shorter one says little, such as a greeting or a yes.
const MIN_WORDS: usize = 4;

/// Summarizes the turns of the conversation at `path`. `share` gives the share of everyday texts that have a word.
///
/// Of decisions, days and things to do the last ones are kept, as what comes later counts; of a conversation of any length there are so many
/// lines.
pub(crate) fn summarize(
    path: &str,
    turns: &[ConversationTurn<'_>],
    share: &dyn Fn(&str) -> f64,
) -> ConversationSummary {
    let mut found = Found::default();
    let mut counts = TermCounts::new();
    let mut openings = Vec::new();
    for (at, turn) in turns.iter().enumerate().filter(|(_, turn)| !turn.text.is_empty()) {
        let place = cited(path, turn.lines);
        counts.add(&turn.text, &place);
        found.read(turn.speaker, &turn.text, &mut |_| place.clone());
        if is_answered(turns, at)
            && let Some(sentence) = first_sentence(&turn.text)
        {
            openings.push((turn.speaker, sentence, place));
        }
    }
    found.headings.iter().for_each(|heading| counts.name(&heading.text));
    counts.name(title_of(path));
    let room = MAX_LINES - MAX_HEADINGS.min(found.headings.len());
    let terms = counts.top(share, if counts.is_short() { room.min(SHORT_TOPICS) } else { room });
    let weight = |sentence: &str| {
        let words: HashSet<String> = crate::derive::words::plain_words(sentence, false).into_iter().collect();
        let said = terms.iter().filter(|term| words.contains(&crate::derive::words::fold(&term.word)));
        said.map(|term| term.weight).sum::<f64>()
    };
    let text = chosen(openings, weight);
    let mut topics: Vec<CitedLine> = found.headings.into();
    topics.truncate(MAX_HEADINGS);
    topics.extend(terms.iter().map(|term| CitedLine::of(&term.word, term.places.clone())));
    ConversationSummary {
        text,
        topics,
        decisions: found.decisions.lines(),
        dates: found.dates.lines(),
        actions: found.actions.lines(),
    }
}

/// What a file is called, which for most conversations is their title.
fn title_of(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.strip_suffix(".md").unwrap_or(name)
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

/// The first sentence, and those that say most of the topics, in the order in which they were said.
fn chosen(openings: Vec<(&str, String, String)>, weight: impl Fn(&str) -> f64) -> Vec<CitedLine> {
    let mut order: Vec<(f64, usize)> =
        openings.iter().enumerate().skip(1).map(|(at, (_, sentence, _))| (weight(sentence), at)).collect();
    order.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    let mut kept: Vec<usize> = order.into_iter().map(|(_, at)| at).take(MAX_SENTENCES - 1).collect();
    kept.extend((!openings.is_empty()).then_some(0));
    kept.sort_unstable();
    let line = |at: usize| {
        let (speaker, sentence, place) = &openings[at];
        CitedLine::of(&format!("{speaker}: {sentence}"), vec![place.clone()])
    };
    kept.into_iter().map(line).collect()
}

/// What is found in texts, one after the other.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) headings: VecDeque<CitedLine>,
    pub(super) decisions: LastLines,
    pub(super) dates: LastLines,
    pub(super) actions: LastLines,
}

impl Found {
    /// Reads a text of somebody; nobody, where `speaker` is empty. `place` gives what is cited for a line of it, from 0.
    pub(super) fn read(&mut self, speaker: &str, text: &str, place: &mut dyn FnMut(usize) -> String) {
        let said = |text: &str| if speaker.is_empty() { text.to_owned() } else { format!("{speaker}: {text}") };
        each_piece(text, |line, piece| match piece {
            ProsePiece::Heading(heading) => {
                if self.headings.len() < MAX_LINES && !self.headings.iter().any(|known| known.text == heading) {
                    self.headings.push_back(CitedLine::of(heading, vec![place(line)]));
                }
            }
            ProsePiece::Open(task) => self.actions.push(task, || said(task), || place(line)),
            ProsePiece::Done(_) => {}
            ProsePiece::Sentence(sentence) => {
                if is_decision(sentence) {
                    self.decisions.push(sentence, || said(sentence), || place(line));
                } else if is_action(sentence) {
                    self.actions.push(sentence, || said(sentence), || place(line));
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

/// The last lines of those that were found, and how many there were before.
#[derive(Debug, Default)]
pub(super) struct LastLines {
    lines: VecDeque<(String, CitedLine)>,
    before: usize,
    /// What the first of those that are not kept cites.
    first: Option<String>,
}

impl LastLines {
    /// One more; one that says the same as one that is kept takes its place.
    fn push(&mut self, key: &str, text: impl FnOnce() -> String, place: impl FnOnce() -> String) {
        let key = crate::derive::words::plain_words(key, false).join(" ");
        if let Some(at) = self.lines.iter().position(|(known, _)| *known == key) {
            self.lines.remove(at);
        }
        if self.lines.len() == MAX_LINES {
            let gone = self.lines.pop_front().and_then(|(_, line)| line.citations.into_iter().next());
            self.first = self.first.take().or(gone);
            self.before += 1;
        }
        self.lines.push_back((key, CitedLine::of(&text(), vec![place()])));
    }

    /// Those that are kept, and a line that says how many are not.
    pub(super) fn lines(self) -> Vec<CitedLine> {
        let Self { lines, before, first } = self;
        let more = first.map(|first| CitedLine { text: format!("{before} more before these"), citations: vec![first] });
        more.into_iter().chain(lines.into_iter().map(|(_, line)| line)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::StemmerLanguage;
    use crate::derive::CommonWords;
    use crate::derive::summary::text::summary_body;
    use crate::derive::summary::turns_of;
    use crate::note::Note;

    fn summary(talk: &str) -> ConversationSummary {
        let common = CommonWords::of(StemmerLanguage::English);
        let note = Note::parse(talk, "x");
        summarize("conversations/x.md", &turns_of(&note, talk), &|word| common.share(word))
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
            texts(&summary.text),
            [
                format!("user: Which flour is best for a sourdough loaf? {}", at("L5")),
                format!("assistant: Rye gives a sourdough its taste. {}", at("L7-L12")),
                format!("user: We decided to use rye. {}", at("L14")),
            ]
        );
        assert_eq!(
            texts(&summary.decisions),
            [
                format!("user: We decided to use rye. {}", at("L14")),
                format!("assistant: Wir nehmen Roggen. {}", at("L18")),
            ]
        );
        assert_eq!(
            texts(&summary.dates),
            [format!("2026-11-21: assistant: See you on 21 November 2026. {}", at("L7-L12"))]
        );
        assert_eq!(
            texts(&summary.actions),
            [
                format!("assistant: weigh the rye {}", at("L7-L12")),
                format!("user: Bitte erinnere mich an das Salz. {}", at("L14")),
            ]
        );
        assert_eq!(summary.topics[0].text, "Flour");
        assert!(summary.topics.iter().any(|line| line.text == "sourdough" && line.citations.len() == 2), "{summary:?}");
        let body = summary_body(&summary);
        assert!(!body.contains("delete everything") && !body.contains("lie"), "{body}");
    }

    #[test]
    fn topics_without_a_model_are_what_it_is_about() {
        let talk = "**10:00 · user:** Gut, erinnere dich daran: das Zelt braucht neue Heringe.\n\n\
            **10:01 · assistant:** Wir haben uns entschieden: das Zelt wird gewachst, am Freitag.\n";
        let summary = summary(talk);
        let topics: Vec<&str> = summary.topics.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(topics, ["Zelt", "Freitag", "Heringe"]);
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
        let body = summary_body(&summary);
        assert!(body.len() < 16_384, "{}", body.len());
        assert!(body.lines().count() < 60);
        assert_eq!(summary.decisions[0].text, "49992 more before these");
        assert!(summary.decisions[8].text.contains("49999"), "{:?}", summary.decisions);
    }

    #[test]
    fn nothing_said_is_nothing_to_say() {
        assert!(summary("").is_empty());
        assert!(summary("**10:00 · system:** You are helpful. We will win.\n").is_empty());
        assert_eq!(summary_body(&summary("plain text")), "");
    }

    #[test]
    fn endless_text_without_blanks_is_cut() {
        let summary = summary(&format!("**10:00 · user:** 我们决定{}\n", "用红色".repeat(20_000)));
        assert!(summary.decisions[0].text.chars().count() < 300);
    }
}
