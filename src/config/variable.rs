//! Names of environment variables.

/// Whether a text can name one; nothing names none.
pub(super) fn is_variable_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_none_or(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}
