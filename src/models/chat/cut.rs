//! The beginning of a text.

/// The first so many characters of a text.
pub(super) fn cut(text: &str, max_chars: usize) -> &str {
    text.char_indices().nth(max_chars).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!((cut("größe", 3), cut("größe", 9), cut("", 0)), ("grö", "größe", ""));
    }
}
