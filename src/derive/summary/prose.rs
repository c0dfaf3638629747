//! The lines of a text that somebody wrote as prose: their sentences, headings and open tasks. Code, tables and quotes of others are none.

use crate::derive::sentences::sentence_bounds;

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
    /// A task that is done.
    Done(&'t str),
    /// A sentence.
    Sentence(&'t str),
}

/// A line with those that it goes on in.
#[derive(Debug)]
struct WrappedLine {
    text: String,
    /// Where each of its lines begins in it, and their numbers.
    starts: Vec<(usize, usize)>,
}

impl WrappedLine {
    /// Whether it goes on in the next line: a line that was broken ends no sentence, and is long or the next one begins small.
    fn goes_on(&self, next: &str) -> bool {
        let last = &self.text[self.starts.last().map_or(0, |(at, _)| *at)..];
        let ends = last.ends_with(['.', '!', '?', ':', '…', '。', '！', '？']);
        let is_broken = last.chars().count() >= LONG_LINE || next.starts_with(char::is_lowercase);
        let begins = ["```", "~~~", ">", "|"].iter().any(|mark| next.starts_with(mark));
        let is_other = next.is_empty() || begins || heading(next).is_some() || without_marker(next) != next;
        !ends && is_broken && !is_other
    }

    fn pieces(&self, found: &mut impl FnMut(usize, ProsePiece<'_>)) {
        let item = without_marker(&self.text);
        let number_at = |part: &str| {
            let at = part.as_ptr() as usize - self.text.as_ptr() as usize;
            self.starts.iter().rev().find(|(start, _)| *start <= at).map_or(0, |(_, number)| *number)
        };
        match task(item) {
            Some((is_done, rest)) if has_words(rest) => {
                found(number_at(rest), if is_done { ProsePiece::Done(rest) } else { ProsePiece::Open(rest) });
            }
            Some(_) => {}
            None => {
                let sentences = sentence_bounds(item).map(str::trim).filter(|sentence| has_words(sentence));
                sentences.for_each(|sentence| found(number_at(sentence), ProsePiece::Sentence(sentence)));
            }
        }
    }
}

/// Calls with the line, from 0, and each piece of a text.
pub(super) fn each_piece(text: &str, mut found: impl FnMut(usize, ProsePiece<'_>)) {
    let mut fence: Option<&str> = None;
    let mut open: Option<WrappedLine> = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(open) = open.as_mut().filter(|open| open.goes_on(line)) {
            open.text.push(' ');
            open.starts.push((open.text.len(), number));
            open.text.push_str(line);
            continue;
        }
        if let Some(open) = open.take() {
            open.pieces(&mut found);
        }
        if let Some(open) = fence {
            if line.starts_with(open) {
                fence = None;
            }
            continue;
        }
        fence = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        if fence.is_some() || line.starts_with(['>', '|']) {
            continue;
        }
        if let Some(heading) = heading(line) {
            found(number, ProsePiece::Heading(heading));
            continue;
        }
        open = Some(WrappedLine { text: line.to_owned(), starts: vec![(0, number)] });
    }
    if let Some(open) = open {
        open.pieces(&mut found);
    }
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    let text = text.strip_prefix(' ')?.trim().trim_end_matches('#').trim_end();
    ((1..=6).contains(&level) && has_words(text)).then_some(text)
}

/// A line without the mark of a list item.
fn without_marker(line: &str) -> &str {
    if let Some(rest) = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)) {
        return rest.trim_start();
    }
    let rest = line.trim_start_matches(|character: char| character.is_ascii_digit());
    let digits = line.len() - rest.len();
    let after = rest.strip_prefix(['.', ')']).and_then(|rest| rest.strip_prefix(' '));
    after.filter(|_| (1..4).contains(&digits)).map_or(line, str::trim_start)
}

/// Whether a task is done, and what it is.
fn task(item: &str) -> Option<(bool, &str)> {
    let rest = item.strip_prefix('[')?;
    let mark = rest.chars().next()?;
    let text = rest[mark.len_utf8()..].strip_prefix("] ")?.trim();
    matches!(mark, ' ' | 'x' | 'X' | '-' | '/' | '>').then_some((matches!(mark, 'x' | 'X' | '-'), text))
}

fn has_words(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

/// A text on one line, cut at a word where it is long.
pub(super) fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((end, _)) = line.char_indices().nth(MAX_LINE_CHARS) else { return line };
    let cut = &line[..end];
    let cut = cut.rsplit_once(' ').filter(|(words, _)| words.len() * 2 > cut.len()).map_or(cut, |(words, _)| words);
    format!("{}…", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_headings_and_tasks_are_told_from_code_and_quotes() {
        let text = "# Plan\nOne. Two!\n- [ ] buy rye\n* [x] bake\n```\n- [ ] code. Here.\n```\n> quoted.\n| a | b |\n1. 我们决定了。走吧。\n---\n";
        let mut found = Vec::new();
        each_piece(text, |line, piece| found.push(format!("{line} {piece:?}")));
        let pieces = ["0 Heading(\"Plan\")", "1 Sentence(\"One.\")", "1 Sentence(\"Two!\")", "2 Open(\"buy rye\")"];
        let more = ["3 Done(\"bake\")", "9 Sentence(\"我们决定了。\")", "9 Sentence(\"走吧。\")"];
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
