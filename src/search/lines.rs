//! Lines of a query that ask one side alone: `lex:` the words, `vec:` and `hyde:` the meaning; `intent:` says what it is about.

/// Which side a line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// The words and the meaning: a line that does not say.
    Both,
    /// The words: `lex: …`.
    Words,
    /// The meaning: `vec: …` is a question, `hyde: …` what an answer might say.
    Meaning,
    /// What it is about, where something is looked for besides: `intent: …`.
    Intent,
}

const NAMES: [(&str, LineKind); 4] = [
    ("lex:", LineKind::Words),
    ("vec:", LineKind::Meaning),
    ("hyde:", LineKind::Meaning),
    ("intent:", LineKind::Intent),
];

/// The lines of a query, without their names. Where a line begins with such a name, further ones may stand in it, each between blanks. An
/// `intent:` without anything to look for is words.
pub(super) fn lines(text: &str) -> Vec<(LineKind, &str)> {
    let mut found = Vec::new();
    for line in text.lines() {
        match name(line.trim_start()) {
            None => found.push((LineKind::Both, line)),
            Some(_) => split(line.trim_start(), &mut found),
        }
    }
    if found.iter().all(|(kind, line)| *kind == LineKind::Intent || line.trim().is_empty()) {
        return vec![(LineKind::Both, text)];
    }
    // What names no side is one text, whatever lines it is written in.
    if found.iter().all(|(kind, _)| *kind == LineKind::Both) {
        return vec![(LineKind::Both, text)];
    }
    found
}

/// The name that a text begins with, and what follows.
fn name(text: &str) -> Option<(LineKind, &str)> {
    NAMES.iter().find_map(|(name, kind)| {
        let (start, rest) = text.split_at_checked(name.len())?;
        start.eq_ignore_ascii_case(name).then_some((*kind, rest))
    })
}

fn split<'a>(line: &'a str, found: &mut Vec<(LineKind, &'a str)>) {
    let Some((kind, rest)) = name(line) else { return };
    let next = rest.match_indices(char::is_whitespace).map(|(at, blank)| at + blank.len()).find(|at| {
        let follows = name(&rest[*at..]).map(|(_, after)| after);
        follows.is_some_and(|after| after.starts_with(char::is_whitespace))
    });
    found.push((kind, rest[..next.unwrap_or(rest.len())].trim()));
    if let Some(next) = next {
        split(&rest[next..], found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LineKind::{Both, Intent, Meaning, Words};

    #[test]
    fn lines_say_which_side_they_are_for() {
        for (text, found) in [
            ("plain words", vec![(Both, "plain words")]),
            ("lex: serde -json", vec![(Words, "serde -json")]),
            (
                "LEX:serde\nvec: how is it read\nhyde: It is read so.",
                vec![(Words, "serde"), (Meaning, "how is it read"), (Meaning, "It is read so.")],
            ),
            (
                "lex: serde vec: how is it read intent: a parser",
                vec![(Words, "serde"), (Meaning, "how is it read"), (Intent, "a parser")],
            ),
            ("both\nintent: a parser", vec![(Both, "both"), (Intent, "a parser")]),
            // Alone it is what is looked for; and what stands within a text is part of it.
            ("intent: a parser", vec![(Both, "intent: a parser")]),
            ("what is lex: for", vec![(Both, "what is lex: for")]),
            ("two\nlines", vec![(Both, "two\nlines")]),
            ("lex: a vec:b", vec![(Words, "a vec:b")]),
            ("lex:", vec![(Both, "lex:")]),
            ("", vec![(Both, "")]),
        ] {
            assert_eq!(lines(text), found, "{text}");
        }
    }
}
