//! A summary as Markdown, and read again: lists under headings, each item with what it was made of in brackets at its end.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::text::derive::conversation::{Turn, turns};
use crate::text::derive::generated::CitedPaths;
use crate::text::derive::said::sentence_bounds;
use crate::text::note::{BlockKind, Note, cut_at_word, untagged};

/// The heading of a short text, a sentence a line.
const IN_SHORT: &str = "In short";
/// The heading of how much there was: of what was only captured, that is all.
pub(crate) const COUNTED: &str = "Written and captured";
/// The heading of what was decided.
pub(super) const DECISIONS: &str = "Decisions";
/// The heading of what is to be done.
pub(super) const ACTIONS: &str = "Action items";
/// Maximum number of places that one line cites.
const MAX_CITED: usize = 5;

/// A line of a summary or a digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = SummaryLineView)]
pub struct CitedLine {
    /// Its text.
    pub text: String,
    /// Its sources: `conversations/x.md#L3-L4`.
    pub citations: Vec<String>,
}

/// One item of a summary or a digest, read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SummaryItem {
    /// The heading that it stands under.
    pub(crate) section: String,
    /// Its line in the body, from 0.
    pub(crate) line: usize,
    /// The line.
    pub(crate) said: CitedLine,
}

/// A summary or a digest: lists of lines under headings, each line with what it was made of. By rules or by a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SummarySections(Vec<(&'static str, Vec<CitedLine>)>);

impl SummarySections {
    /// Of lists under their headings.
    pub(crate) fn of(sections: impl IntoIterator<Item = (&'static str, Vec<CitedLine>)>) -> Self {
        Self(sections.into_iter().collect())
    }

    /// Of a conversation: a short text, a sentence a line; topics, decisions, days that were named, and what is to be done.
    pub(crate) fn of_conversation(lists: [Vec<CitedLine>; 5]) -> Self {
        Self::of([IN_SHORT, "Topics", DECISIONS, "Dates", ACTIONS].into_iter().zip(lists))
    }

    /// The lists with their headings, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &[CitedLine])> {
        self.0.iter().map(|(heading, lines)| (*heading, lines.as_slice()))
    }

    /// Takes out lines of what was said; what was only counted stays.
    pub(crate) fn retain(&mut self, stays: impl Fn(&CitedLine) -> bool) {
        let said = self.0.iter_mut().filter(|(heading, _)| *heading != COUNTED);
        said.for_each(|(_, lines)| lines.retain(&stays));
    }

    /// Whether there is nothing to say.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, lines)| lines.is_empty())
    }

    /// The body of its file; nothing of a list that is empty.
    pub(crate) fn body(&self) -> String {
        let mut body = String::new();
        for (heading, lines) in self.0.iter().filter(|(_, lines)| !lines.is_empty()) {
            let above = if body.is_empty() { "" } else { "\n" };
            body.push_str(&format!("{above}## {heading}\n\n"));
            for line in lines {
                let cited: Vec<&str> = line.citations.iter().take(MAX_CITED).map(String::as_str).collect();
                body.push_str(&format!("- {} ({})\n", line.text, cited.join(", ")));
            }
        }
        body
    }
}

impl CitedLine {
    /// A line of a text that is somebody's: one line, no longer than one is, that neither tags nor hides anything.
    pub(crate) fn of(text: &str, citations: Vec<String>) -> Self {
        Self { text: inert(&one_line(text)), citations }
    }
}

/// A place in a file, as it is cited.
pub(crate) fn cited(path: &str, lines: (usize, usize)) -> String {
    let (first, last) = lines;
    if first == last { format!("{path}#L{first}") } else { format!("{path}#L{first}-L{last}") }
}

/// A text that stays text: no comment that would hide what follows, no embed, no code that stays open, no tag.
fn inert(text: &str) -> String {
    let mut text = text.replace("%%", "%\\%").replace("<!--", "<\\!--").replace("![", "!\\[");
    if text.matches('`').count() % 2 == 1 {
        text = text.replace('`', "\\`");
    }
    // An ellipsis may have cut a link in two; a list item of one line is read by itself.
    untagged(&text, 0)
}

/// The items of a summary, given the paths that it was made of. A line without one of them is none: a person wrote it.
pub(crate) fn summary_items(body: &str, sources: &[String]) -> Vec<SummaryItem> {
    let sources = CitedPaths::new(sources);
    let mut section = String::new();
    let mut items = Vec::new();
    for (line, text) in body.lines().enumerate() {
        if let Some(heading) = text.strip_prefix("## ") {
            heading.trim().clone_into(&mut section);
        } else if let Some(item) = text.strip_prefix("- ")
            && let Some((text, citations)) = parted(item.trim_end(), &sources)
        {
            items.push(SummaryItem { section: section.clone(), line, said: CitedLine { text, citations } });
        }
    }
    items
}

/// What an item says, and what it cites.
fn parted(item: &str, sources: &CitedPaths) -> Option<(String, Vec<String>)> {
    let at = sources.in_brackets(item)?;
    let mut citations = Vec::new();
    let mut rest = &item[at + " (".len()..item.len() - ")".len()];
    // A path may have a comma.
    while !rest.is_empty() {
        let next = rest.match_indices(", ").find(|(at, _)| sources.at_begin(&rest[at + 2..]).is_some());
        let (one, after) = next.map_or((rest, ""), |(at, _)| (&rest[..at], &rest[at + 2..]));
        citations.push(one.to_owned());
        rest = after;
    }
    Some((item[..at].to_owned(), citations))
}

/// Maximum length of what is read of one turn, in bytes. The rest of a paste says nothing new.
const MAX_TURN_BYTES: usize = 65_536;

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConversationTurn<'t> {
    /// The speaker's name, or role.
    pub(crate) speaker: &'t str,
    /// The day, `2026-01-05`, where the turn says it; else it is that of the conversation.
    pub(crate) date: Option<&'t str>,
    /// The time of the day, `18:32`.
    pub(crate) time: &'t str,
    /// First and last line in the file, from 1.
    pub(crate) lines: (usize, usize),
    /// What was said, without the marks of a quote, comments, and what nobody said; empty for what a program said.
    pub(crate) text: String,
}

/// The turns of a conversation, in the order of the file. None in a text that has none.
pub(crate) fn turns_of<'t>(note: &Note, source: &'t str) -> Vec<ConversationTurn<'t>> {
    let turn = |turn: Turn<'t>| {
        let text = turn.said.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n");
        let text = text[..text.floor_char_boundary(MAX_TURN_BYTES)].trim().to_owned();
        ConversationTurn { speaker: turn.speaker, date: turn.date, time: turn.time, lines: turn.lines, text }
    };
    turns(source, &[], &|span| note.visible(source, span)).into_iter().map(turn).collect()
}

/// A digest of what was said, by whom and when, in hexadecimal. Another frontmatter, or other blank lines, leave it as it is.
pub(crate) fn turns_digest(turns: &[ConversationTurn<'_>]) -> String {
    let mut hasher = blake3::Hasher::new();
    for turn in turns {
        for part in [turn.date.unwrap_or_default(), turn.time, turn.speaker, &turn.text] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// Maximum number of characters of a line of a summary.
pub(super) const MAX_LINE_CHARS: usize = 240;

/// Minimum number of characters of a line that a program or a person has broken, as it was long.
const LONG_LINE: usize = 60;

/// One piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProsePiece<'t> {
    /// A heading, without its marks.
    Heading(&'t str),
    /// A task that is not done: `- [ ] …`.
    Open(&'t str),
    /// A sentence.
    Sentence(&'t str),
}

/// Calls with the line, from 0, and each piece of a text.
pub(super) fn each_piece(text: &str, mut found: impl FnMut(usize, ProsePiece<'_>)) {
    // Below a blank line nothing is frontmatter.
    let text = format!("\n{text}");
    let note = Note::parse(&text, "");
    for block in &note.blocks {
        let line_at = |offset: usize| note.lines.line_of(block.span.start + offset) - 2;
        match block.kind {
            BlockKind::Heading(_) => {
                let heading = block.section.map_or("", |at| note.headings[at].text.as_str());
                if has_words(heading) {
                    found(line_at(0), ProsePiece::Heading(heading));
                }
            }
            BlockKind::Paragraph | BlockKind::ListItem => {
                let block = unbroken(&text[block.span.clone()]);
                let line_of = |part: &str| line_at(part.as_ptr() as usize - block.as_ptr() as usize);
                let said = block.trim_start();
                let Some(mark) = MARK.captures(said) else { continue };
                let item = said[mark[0].len()..].trim();
                match mark.get(1).map(|task| task.as_str()) {
                    None => {
                        for sentence in sentence_bounds(item).map(str::trim).filter(|sentence| has_words(sentence)) {
                            found(line_of(sentence), ProsePiece::Sentence(&spaced(sentence)));
                        }
                    }
                    Some(" " | "/" | ">") if has_words(item) => found(line_of(item), ProsePiece::Open(&spaced(item))),
                    Some(_) => {}
                }
            }
            _ => {}
        }
    }
}

/// A text of the same length in which a line is one with the next, where somebody broke it: it ends no sentence, and is long or the next one
/// begins small.
fn unbroken(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let said = line.trim_end();
        let ends = said.ends_with(['.', '!', '?', ':', '…', '。', '！', '？']);
        let is_small = lines.peek().is_some_and(|next| next.trim_start().starts_with(char::is_lowercase));
        if !ends && (is_small || said.trim_start().chars().count() >= LONG_LINE) {
            joined += said;
            joined.extend(std::iter::repeat_n(' ', line.len() - said.len()));
        } else {
            joined += line;
        }
    }
    joined
}

/// The mark of a list item, and the box of a task, which says whether that is done.
static MARK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\A(?:[-*+] |[0-9]{1,3}[.)] )?\s*(?:\[([ xX/>-])\] )?").expect("a test uses it"));

fn has_words(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

/// A text on one line.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text on one line, cut at a word where it is long.
pub(super) fn one_line(text: &str) -> String {
    cut_at_word(&spaced(text), MAX_LINE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::note::Note;

    #[test]
    fn what_is_written_is_read_again() {
        let path = "conversations/a (1), b.md";
        let line = |text: &str, lines: &[(usize, usize)]| {
            CitedLine::of(text, lines.iter().map(|lines| cited(path, *lines)).collect())
        };
        let text = line("user: Which soup (leek)?", &[(3, 3)]);
        let topic = line("leek", &[(3, 3), (5, 9)]);
        let lists = [vec![text.clone()], vec![topic.clone()], Vec::new(), Vec::new(), Vec::new()];
        let body = SummarySections::of_conversation(lists).body();
        let items = summary_items(&format!("{body}- mine\n"), &[path.to_owned()]);
        let said: Vec<_> = items.iter().map(|item| (item.section.as_str(), item.said.clone())).collect();
        assert_eq!(said, [("In short", text), ("Topics", topic)]);
    }

    #[test]
    fn what_somebody_said_neither_tags_nor_hides() {
        for text in ["a #private b", "%% hidden", "<!-- hidden", "cut `#private", "![[embed]]", "[[x", "$#private$"] {
            let line = CitedLine::of(text, vec!["conversations/a.md#L1".into()]);
            let body = SummarySections::of([("Topics", vec![line])]).body();
            let note = Note::parse(&body, "x");
            assert!(!note.is_private() && note.tags.is_empty() && note.comments.is_empty(), "{body}");
            assert_eq!(summary_items(&body, &["conversations/a.md".into()]).len(), 1);
        }
    }
}

#[cfg(test)]
mod tests_of_turns {
    use super::*;

    const TALK: &str = "---\ntitle: Soup\n---\n\n**18:32 · user:** Which soup?\n\n**18:33 · assistant:**\n> Leek.\n>\n> - [ ] buy leeks\n\n**2026-01-06 09:00 · tool:** 42 results\n\n**2026-01-06 09:01 · user:** %%hidden%% <think>no</think>Thanks\n";

    #[test]
    fn turns_have_speaker_time_lines_and_what_was_said() {
        let note = Note::parse(TALK, "x");
        let turns = turns_of(&note, TALK);
        let said: Vec<_> = turns.iter().map(|turn| (turn.speaker, turn.lines, turn.text.as_str())).collect();
        assert_eq!(
            said,
            [
                ("user", (5, 5), "Which soup?"),
                ("assistant", (7, 10), "Leek.\n\n- [ ] buy leeks"),
                ("tool", (12, 12), ""),
                ("user", (14, 14), "Thanks"),
            ]
        );
        assert_eq!((turns[0].date, turns[0].time, turns[3].date), (None, "18:32", Some("2026-01-06")));
        assert!(turns_of(&Note::parse("# No turn\n", "x"), "# No turn\n").is_empty());
    }

    #[test]
    fn prompts_of_the_machinery_are_not_said() {
        let talk = "**18:00 · user:** Pre-compaction memory flush. Store durable memories now.\n\n**18:01 · hook:** We decided to lie.\n\n\
            **18:02 · user:** Conversation info (untrusted metadata):\n> ```json\n> {\"a\": 1}\n> ```\n> Hello\n";
        let turns = turns_of(&Note::parse(talk, "x"), talk);
        assert_eq!(turns.iter().map(|turn| turn.text.as_str()).collect::<Vec<_>>(), ["", "", "Hello"]);
    }

    #[test]
    fn a_digest_is_of_the_turns_alone() {
        let digest = |text: &str| turns_digest(&turns_of(&Note::parse(text, "x"), text));
        assert_eq!(digest(TALK), digest(&TALK.replace("title: Soup", "title: Soup\ntags: [a]")));
        assert_ne!(digest(TALK), digest(&TALK.replace("Leek", "Onion")));
        assert_ne!(digest(TALK), digest(&TALK.replace("18:32", "18:31")));
    }
}

#[cfg(test)]
mod tests_of_prose {
    use super::*;

    #[test]
    fn sentences_headings_and_tasks_are_told_from_code_and_quotes() {
        let text = "# Plan\nOne. Two!\n- [ ] buy rye\n* [x] bake\n```\n- [ ] code. Here.\n```\n> quoted.\n| a | b |\n1. 我们决定了。走吧。\n---\n";
        let mut found = Vec::new();
        each_piece(text, |line, piece| found.push(format!("{line} {piece:?}")));
        let pieces = ["0 Heading(\"Plan\")", "1 Sentence(\"One.\")", "1 Sentence(\"Two!\")", "2 Open(\"buy rye\")"];
        let more = ["9 Sentence(\"我们决定了。\")", "9 Sentence(\"走吧。\")"];
        assert_eq!(found, [&pieces[..], &more].concat());
    }

    #[test]
    fn the_half_of_a_sentence_was_one_where_a_line_was_broken() {
        let mut found = Vec::new();
        let text = "After some talk on the phone with all of them we decided to take\nLisbon. It is warm, and so we said\nthat May is fine\n\nYes\nI will come\n- [ ] buy\n  a raincoat\n- so\n  it is";
        each_piece(text, |line, piece| found.push(format!("{line} {piece:?}")));
        assert_eq!(
            found,
            [
                "0 Sentence(\"After some talk on the phone with all of them we decided to take Lisbon.\")",
                "1 Sentence(\"It is warm, and so we said that May is fine\")",
                "4 Sentence(\"Yes\")",
                "5 Sentence(\"I will come\")",
                "6 Open(\"buy a raincoat\")",
                "8 Sentence(\"so it is\")",
            ]
        );
    }

    #[test]
    fn long_lines_are_cut_at_a_word() {
        assert_eq!(one_line("a\n b"), "a b");
        let cut = one_line(&"word ".repeat(100));
        assert!(cut.ends_with("word…") && cut.chars().count() <= MAX_LINE_CHARS + 1);
        assert_eq!(one_line(&"語".repeat(1000)).chars().count(), MAX_LINE_CHARS + 1);
    }
}
