//! Character references of HTML, as `&amp;` and `&#x6b;`, read as Markdown has them.

use std::borrow::Cow;

use pulldown_cmark::{Event, Parser};

/// Maximum length of a reference, in bytes; the longest name has 33.
const MAX_BYTES: usize = 40;

/// A text with the characters that its references stand for.
pub(crate) fn without_entities(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, from)) = rest.find('&').map(|at| rest.split_at(at)) {
        let end = from.bytes().take(MAX_BYTES).position(|byte| byte == b';').map_or(0, |at| at + 1);
        let reference = &from[..end];
        let is_one = reference.len() > 2
            && reference[1..end - 1].trim_start_matches('#').bytes().all(|byte| byte.is_ascii_alphanumeric());
        let text_of = |event| if let Event::Text(text) = event { Some(text.into_string()) } else { None };
        let read = is_one.then(|| Parser::new(reference).filter_map(text_of).collect::<String>());
        out.push_str(before);
        match read {
            Some(read) => out.push_str(&read),
            None => out.push_str(&from[..end.max(1)]),
        }
        rest = &from[end.max(1)..];
    }
    if out.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(out + rest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_what_they_stand_for_and_all_else_stays() {
        assert_eq!(without_entities("k&#101;y&nbsp;&#x6b; &uuml;&amp;"), "key\u{a0}k ü&");
        for text in ["", "no & b;", "&", "&;", "&nothing;", "a & b", "&é;", "&#;", "AT&T; x"] {
            assert_eq!(without_entities(text), text);
        }
    }
}
