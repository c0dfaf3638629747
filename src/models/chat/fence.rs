//! A mark between which texts are data, whatever they say.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A line that no text can know, and none of these has.
pub(crate) fn fence(texts: &[&str]) -> String {
    loop {
        let part = || RandomState::new().build_hasher().finish();
        let fence = format!("=== {:016x}{:016x} ===", part(), part());
        if texts.iter().all(|text| !text.contains(&fence)) {
            return fence;
        }
    }
}

/// The first so many characters of a text.
pub(super) fn cut(text: &str, max_chars: usize) -> &str {
    text.char_indices().nth(max_chars).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_another_one_each_time() {
        assert_ne!(fence(&[]), fence(&[]));
        assert_eq!((cut("größe", 3), cut("größe", 9), cut("", 0)), ("grö", "größe", ""));
    }
}
