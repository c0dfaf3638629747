//! The names of places in notes, as they are written in answers, addresses and commands.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Splits `a.md:3-5`, `a.md:3` or `a.md#L3-L5` into the path and its first and last line, the last if it is said. What
/// [`citation`] makes is read again.
pub(crate) fn split_lines(text: &str) -> (&str, Option<(usize, Option<usize>)>) {
    let number = |text: &str| text.strip_prefix('L').unwrap_or(text).parse().ok();
    let parse = |range: &str| match range.split_once('-') {
        Some((first, last)) => Some((number(first)?, Some(number(last)?))),
        None => number(range).map(|line| (line, None)),
    };
    [text.rsplit_once("#L"), text.rsplit_once(':')]
        .into_iter()
        .flatten()
        .find_map(|(path, range)| Some((path, Some(parse(range)?))))
        .unwrap_or((text, None))
}

/// Where a passage begins, as a line below its text.
pub(crate) fn source_line(path: &str, first: u32) -> String {
    format!("Source: {path}#{first}")
}

/// Names lines of a note: `notes/api.md#L42-L58`, or `notes/api.md#L42` for one.
pub(crate) fn citation(path: &str, first: u32, last: u32) -> String {
    if first == last { format!("{path}#L{first}") } else { format!("{path}#L{first}-L{last}") }
}

/// Names a passage of a file: its page where it has pages, as `files/report.pdf#page=3`, else its lines.
pub(crate) fn passage_citation(path: &str, page: Option<u32>, first: u32, last: u32) -> String {
    page.map_or_else(|| citation(path, first, last), |page| format!("{path}#page={page}"))
}

/// Splits `report.pdf#page=3` into the path and the page.
pub(crate) fn split_page(text: &str) -> Option<(&str, u32)> {
    let (path, page) = text.rsplit_once("#page=")?;
    Some((path, page.parse().ok().filter(|page| *page > 0)?))
}

/// RFC 3986's unreserved characters.
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const WITHOUT_SLASH: AsciiSet = UNRESERVED.remove(b'/');

/// Percent-encodes a text for a URL: all but RFC 3986's unreserved characters.
pub(crate) fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, &UNRESERVED).to_string()
}

/// Takes back what a URL cannot hold; what is no text then stays as it is.
pub(crate) fn percent_decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), std::borrow::Cow::into_owned)
}

/// The same for a path, whose slashes stay.
pub(crate) fn percent_encode_path(path: &str) -> String {
    utf8_percent_encode(path, &WITHOUT_SLASH).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_named_and_read_again() {
        assert_eq!(passage_citation("a.pdf", Some(3), 7, 9), "a.pdf#page=3");
        assert_eq!(passage_citation("a.md", None, 7, 9), "a.md#L7-L9");
        assert_eq!(split_page("notes/a#page=1.pdf#page=12"), Some(("notes/a#page=1.pdf", 12)));
        for none in ["a.pdf", "a.pdf#page=0", "a.pdf#page=x"] {
            assert_eq!(split_page(none), None);
        }
    }

    #[test]
    fn what_a_search_names_is_read_again() {
        for (text, path, lines) in [
            ("notes/a.md", "notes/a.md", None),
            ("notes/a.md:3", "notes/a.md", Some((3, None))),
            ("notes/a.md:3-5", "notes/a.md", Some((3, Some(5)))),
            ("notes/#1.md#L3-L5", "notes/#1.md", Some((3, Some(5)))),
            ("notes/10:30 talk.md", "notes/10:30 talk.md", None),
        ] {
            assert_eq!(split_lines(text), (path, lines), "{text}");
        }
        assert_eq!(split_lines(&citation("a.md", 2, 9)), ("a.md", Some((2, Some(9)))));
    }
}
