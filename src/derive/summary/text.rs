//! A summary as Markdown, and read again: lists under headings, each item with what it was made of in brackets at its end.

use super::prose::one_line;
use crate::derive::citations::CitedPaths;
use crate::derive::conversation::{Turn, turns};
use crate::note::{Note, untagged};

/// The heading of a short text, a sentence a line.
pub(crate) const IN_SHORT: &str = "In short";
/// Maximum number of places that one line cites.
pub(crate) const MAX_CITED: usize = 5;

/// A line of a summary, with what it was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CitedLine {
    /// What it says, on one line.
    pub(crate) text: String,
    /// What it was made of: `conversations/x.md#L3-L4`.
    pub(crate) citations: Vec<String>,
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

/// What a conversation was about, each line with the turns that it was made of. By rules or by a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ConversationSummary {
    /// A short text, a sentence a line.
    pub(crate) text: Vec<CitedLine>,
    /// Headings, and the words that say most.
    pub(crate) topics: Vec<CitedLine>,
    /// What was decided.
    pub(crate) decisions: Vec<CitedLine>,
    /// Days that were named.
    pub(crate) dates: Vec<CitedLine>,
    /// What is to be done.
    pub(crate) actions: Vec<CitedLine>,
}

impl ConversationSummary {
    /// Its lists, to take lines out of.
    pub(crate) fn lists(&mut self) -> [&mut Vec<CitedLine>; 5] {
        [&mut self.text, &mut self.topics, &mut self.decisions, &mut self.dates, &mut self.actions]
    }

    /// Whether there is nothing to say.
    pub(crate) fn is_empty(&self) -> bool {
        [&self.text, &self.topics, &self.decisions, &self.dates, &self.actions].iter().all(|lines| lines.is_empty())
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

/// The body of a conversation's summary.
pub(crate) fn summary_body(summary: &ConversationSummary) -> String {
    let sections: [(&str, &[CitedLine]); 5] = [
        (IN_SHORT, &summary.text),
        ("Topics", &summary.topics),
        ("Decisions", &summary.decisions),
        ("Dates", &summary.dates),
        ("Action items", &summary.actions),
    ];
    sections_body(sections.iter().copied())
}

/// Lists under headings; nothing of a list that is empty.
pub(super) fn sections_body<'l>(sections: impl IntoIterator<Item = (&'l str, &'l [CitedLine])>) -> String {
    let mut body = String::new();
    for (heading, lines) in sections {
        if lines.is_empty() {
            continue;
        }
        if !body.is_empty() {
            body.push('\n');
        }
        body.push_str("## ");
        body.push_str(heading);
        body.push_str("\n\n");
        for line in lines {
            let cited: Vec<&str> = line.citations.iter().take(MAX_CITED).map(String::as_str).collect();
            body.push_str(&format!("- {} ({})\n", line.text, cited.join(", ")));
        }
    }
    body
}

/// The body of a digest with a short text at its top.
pub(crate) fn with_short_text(text: &[CitedLine], body: &str) -> String {
    let short = sections_body([(IN_SHORT, text)]);
    if short.is_empty() { body.to_owned() } else { format!("{short}\n{body}") }
}

/// The body of a digest without the short text at its top: what rules have made.
pub(crate) fn without_short_text(body: &str) -> &str {
    let begins = body.strip_prefix("## ").is_some_and(|rest| rest.lines().next() == Some(IN_SHORT));
    let rest = body.find("\n## ").filter(|_| begins).map(|at| &body[at + 1..]);
    rest.unwrap_or(body)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::Note;

    #[test]
    fn what_is_written_is_read_again() {
        let path = "conversations/a (1), b.md";
        let line = |text: &str, lines: &[(usize, usize)]| {
            CitedLine::of(text, lines.iter().map(|lines| cited(path, *lines)).collect())
        };
        let summary = ConversationSummary {
            text: vec![line("user: Which soup (leek)?", &[(3, 3)])],
            topics: vec![line("leek", &[(3, 3), (5, 9)])],
            ..ConversationSummary::default()
        };
        let body = summary_body(&summary);
        let items = summary_items(&format!("{body}- mine\n"), &[path.to_owned()]);
        let said: Vec<_> = items.iter().map(|item| (item.section.as_str(), item.said.clone())).collect();
        assert_eq!(said, [("In short", summary.text[0].clone()), ("Topics", summary.topics[0].clone())]);
    }

    #[test]
    fn a_short_text_is_put_before_a_body_and_taken_off_again() {
        let line = CitedLine::of("We went.", vec!["notes/a.md#L1".into()]);
        let body = "## Topics\n\n- leek (notes/a.md#L1)";
        let with = with_short_text(&[line], body);
        assert_eq!(with, format!("## In short\n\n- We went. (notes/a.md#L1)\n\n{body}"));
        assert_eq!((without_short_text(&with), without_short_text(body)), (body, body));
        assert_eq!(with_short_text(&[], body), body);
    }

    #[test]
    fn what_somebody_said_neither_tags_nor_hides() {
        for text in ["a #private b", "%% hidden", "<!-- hidden", "cut `#private", "![[embed]]", "[[x", "$#private$"] {
            let line = CitedLine::of(text, vec!["conversations/a.md#L1".into()]);
            let body = sections_body([("Topics", [line].as_slice())]);
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
