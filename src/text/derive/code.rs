//! Where code stands in a text, between fences or backticks: what is in it was said as it is.

use std::collections::HashMap;
use std::ops::Range;

/// The places of code in a text, in their order. A fence that is never closed goes on to the end.
pub(crate) fn code(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut fence, mut at) = (Vec::new(), None, 0);
    // Lines without a blank one between, in which what a backtick opens may be closed.
    let mut paragraph = 0..0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        match (fence, fence_of(line)) {
            (None, Some((mark, length, _))) => {
                spans(text, &paragraph, &mut found);
                fence = Some((mark, length, at));
            }
            (Some((mark, length, start)), Some((closing, most, true))) if closing == mark && most >= length => {
                found.push(start..end);
                fence = None;
                paragraph = end..end;
            }
            (Some(_), _) => {}
            (None, None) if line.trim().is_empty() => {
                spans(text, &paragraph, &mut found);
                paragraph = end..end;
            }
            (None, None) => paragraph.end = end,
        }
        at = end;
    }
    match fence {
        Some((.., start)) => found.push(start..text.len()),
        None => spans(text, &paragraph, &mut found),
    }
    found
}

/// The code that a place is in.
pub(crate) fn code_at(code: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    code.get(code.partition_point(|range| range.end <= at)).filter(|range| range.start <= at)
}

/// The mark of the fence that a line is, its length, and whether nothing follows it, as behind one that closes.
fn fence_of(line: &str) -> Option<(char, usize, bool)> {
    let line = line.trim_start_matches([' ', '\t', '>']);
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let length = line.len() - rest.len();
    // Several backticks on one line are code within it.
    (length >= 3 && !(mark == '`' && rest.contains('`'))).then(|| (mark, length, rest.trim().is_empty()))
}

/// What stands between backticks, each time as many at its end as at its beginning.
fn spans(text: &str, paragraph: &Range<usize>, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let (mut runs, mut at) = (Vec::new(), paragraph.start);
    while let Some(start) = text[at..paragraph.end].find('`').map(|found| at + found) {
        let length = bytes[start..paragraph.end].iter().take_while(|byte| **byte == b'`').count();
        runs.push(start..start + length);
        at = start + length;
    }
    // For each run where the next one like it is, found from the end on: many of them cost no more than other text.
    let (mut next, mut ends) = (HashMap::new(), vec![None; runs.len()]);
    for (at, run) in runs.iter().enumerate().rev() {
        ends[at] = next.insert(run.len(), at);
    }
    let mut at = 0;
    while at < runs.len() {
        match ends[at] {
            Some(end) => {
                found.push(runs[at].start..runs[end].end);
                at = end + 1;
            }
            None => at += 1,
        }
    }
}

/// A text without those of its lines, outside of code, of which `goes` holds; `None` where there is none.
pub(crate) fn without_lines(text: &str, goes: impl Fn(&str) -> bool) -> Option<String> {
    if !text.lines().any(&goes) {
        return None;
    }
    changed_lines(text, |line| (!goes(line)).then_some(line))
}

/// A text with what is `left` of its lines outside of code; `None` where that is all of it.
pub(crate) fn changed_lines<'t>(text: &'t str, left: impl Fn(&'t str) -> Option<&'t str>) -> Option<String> {
    let (code, mut kept, mut at) = (code(text), String::with_capacity(text.len()), 0);
    for line in text.split_inclusive('\n') {
        let said = line.trim_end_matches(['\n', '\r']);
        if let Some(left) = if code_at(&code, at).is_some() { Some(said) } else { left(said) } {
            kept.push_str(left);
            kept.push_str(&line[said.len()..]);
        }
        at += line.len();
    }
    (kept.len() < text.len()).then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_what_stands_between_fences_and_backticks() {
        for (text, expected) in [
            ("a `b` c", vec!["`b`"]),
            ("a ``b ` c`` d `e", vec!["``b ` c``"]),
            ("`a\nb` c", vec!["`a\nb`"]),
            ("`a\n\nb`", vec![]),
            ("```\na\n```\nb", vec!["```\na\n```\n"]),
            ("~~~~\n~~~\n```\n~~~~\n`x`", vec!["~~~~\n~~~\n```\n~~~~\n", "`x`"]),
            ("````\n```\n````", vec!["````\n```\n````"]),
            ("```a``` b", vec!["```a```"]),
            ("x `y\n```\nz", vec!["```\nz"]),
            ("> ```\n> a\n> ```\nb", vec!["> ```\n> a\n> ```\n"]),
            ("é`é`é", vec!["`é`"]),
        ] {
            let found: Vec<&str> = code(text).into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn lines_of_code_stay() {
        assert_eq!(without_lines("a\nx\n```\nx\n```\nx", |line| line == "x").as_deref(), Some("a\n```\nx\n```\n"));
        assert_eq!(without_lines("```\nx\n```", |line| line == "x"), None);
        assert_eq!(without_lines("a", |line| line == "x"), None);
    }
}
