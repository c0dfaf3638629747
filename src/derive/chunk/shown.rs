//! What is shown of a note: all but comments, and in a generated file what its lines cite.

use std::borrow::Cow;
use std::ops::Range;

use crate::derive::citations::citation_spans;
use crate::note::{Note, outside};

/// A note's source, and what of it is shown.
#[derive(Debug)]
pub(super) struct Shown<'s> {
    /// The source, of the same length and lines: blank where something is cited, so that it makes no chunk longer.
    pub(super) source: Cow<'s, str>,
    /// What is not shown, in order.
    hidden: Cow<'s, [Range<usize>]>,
}

impl<'s> Shown<'s> {
    /// `source` must be what the note was parsed from.
    pub(super) fn of(note: &'s Note, source: &'s str) -> Self {
        let cited = citation_spans(note, source);
        if cited.is_empty() {
            return Self { source: source.into(), hidden: Cow::Borrowed(&note.comments) };
        }
        let (mut blank, mut at) = (String::with_capacity(source.len()), 0);
        for span in &cited {
            blank.push_str(&source[at..span.start]);
            blank.extend(std::iter::repeat_n(' ', span.len()));
            at = span.end;
        }
        blank.push_str(&source[at..]);
        let mut hidden: Vec<Range<usize>> = Vec::new();
        let mut all = [note.comments.clone(), cited].concat();
        all.sort_unstable_by_key(|span| (span.start, span.end));
        for span in all {
            match hidden.last_mut().filter(|last| span.start <= last.end) {
                Some(last) => last.end = last.end.max(span.end),
                None => hidden.push(span),
            }
        }
        Self { source: blank.into(), hidden: hidden.into() }
    }

    /// What is shown of a span.
    pub(super) fn text(&self, span: Range<usize>) -> Cow<'_, str> {
        outside(&self.hidden, &self.source, span)
    }
}

#[cfg(test)]
mod tests {
    use crate::derive::chunk;
    use crate::note::Note;
    use crate::path::VaultPath;

    #[test]
    fn what_a_generated_line_cites_is_in_no_chunk_and_takes_no_room() {
        let (path, meeting) =
            (VaultPath::new("summaries/m.md").unwrap(), "conversations/2026-01-05-tool-library-meeting.md");
        let line = |at: usize| format!("- Word{at} %%aside%% ({meeting}#L{at}, {meeting}#L{at}-L{})\n", at + 1);
        let lines: String = (1..=6).map(line).collect();
        let source = format!("---\ngenerated: true\nsources: [{meeting}]\n---\n## Topics\n\n{lines}");
        let chunks = chunk(&path, &Note::parse(&source, "m"), &source);
        let [one] = chunks.as_slice() else { panic!("{chunks:#?}") };
        let said: Vec<String> = (1..=6).map(|at| format!("- Word{at}")).collect();
        let shown: Vec<&str> = one.body().lines().map(str::trim_end).collect();
        assert_eq!(shown, said);
        assert_eq!(one.lines, (5, 12), "all of it is cited");
        assert_eq!(source[one.bytes.clone()], source[source.find("## ").unwrap()..].trim_end().to_owned());
    }
}
