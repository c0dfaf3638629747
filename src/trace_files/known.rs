//! What was forgotten before, looked for within texts: by digests, so that only whole sentences are known.

use crate::forgotten::{ForgottenLookup, TombstoneScope, WithoutForgotten};

/// What stays of a text of an event; `None` where nothing of it was forgotten. Beside its own sentences those count that a prompt has put a
/// citation behind.
pub(crate) fn without_known(
    known: &ForgottenLookup<'_>,
    text: &str,
    reach: TombstoneScope<'_>,
) -> Option<WithoutForgotten> {
    if known.is_empty() {
        return None;
    }
    let whole = known.without(text, reach);
    let mut tombstone = whole.as_ref().map(|left| left.tombstone);
    let rest = match &whole {
        Some(left) => left.text.as_deref().unwrap_or_default(),
        None => text,
    };
    let mut left = String::with_capacity(rest.len());
    for piece in pieces(rest) {
        match known.without(piece, reach).filter(|found| found.text.is_none()) {
            Some(found) => {
                tombstone.get_or_insert(found.tombstone);
            }
            None => left.push_str(piece),
        }
    }
    Some(WithoutForgotten { text: (!left.trim().is_empty()).then_some(left), tombstone: tombstone? })
}

/// A text in pieces: each ends with a line, with the mark of a sentence, or before a bracket.
fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut start) = (Vec::new(), 0);
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let behind = at + character.len_utf8();
        let next = characters.peek().map(|(_, next)| *next);
        let ends = match character {
            '\n' | '\u{3002}' => true,
            '.' | '!' | '?' => next.is_none_or(char::is_whitespace),
            _ => next == Some('('),
        };
        if ends {
            pieces.push(&text[start..behind]);
            start = behind;
        }
    }
    pieces.push(&text[start..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_sentences_and_before_brackets() {
        let text = "One. (notes/a.md#L1) Two!\n- Three (b.md) four";
        assert_eq!(pieces(text), ["One.", " ", "(notes/a.md#L1) Two!", "\n", "- Three ", "(b.md) four"]);
        assert_eq!(pieces(text).concat(), text);
    }
}
