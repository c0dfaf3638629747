//! The lines of a text outside of code.

use std::ops::Range;

use crate::text::note::code;

/// The code that a place is in.
pub(crate) fn code_at(code: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    code.get(code.partition_point(|range| range.end <= at)).filter(|range| range.start <= at)
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
            ("```\na\n```\nb", vec!["```\na\n```"]),
            ("~~~~\n~~~\n```\n~~~~\n`x`", vec!["~~~~\n~~~\n```\n~~~~", "`x`"]),
            ("````\n```\n````", vec!["````\n```\n````"]),
            ("```a``` b", vec!["```a```"]),
            ("x `y\n```\nz", vec!["```\nz"]),
            ("> ```\n> a\n> ```\nb", vec!["```\n> a\n> ```"]),
            ("<a>\n`b` [`c`](d)", vec!["`b`", "`c`"]),
            ("é`é`é", vec!["`é`"]),
        ] {
            let found: Vec<&str> = code(text).into_iter().map(|range| text[range].trim_end()).collect();
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
