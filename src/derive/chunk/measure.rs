//! How long a text is, in about the tokens that a WordPiece model makes of it.

/// Blanks that count as a token.
const BLANKS: usize = 32;

/// Estimates the WordPiece tokens of `text` from its characters, without a model, so that a change of model cuts nothing
/// anew: a word of up to 7 Latin letters is one token and each 4 letters more another, 3 digits are one, as is every
/// mark and every letter of other scripts. Blank space counts too, 32 characters for one, so that megabytes of it make no
/// endless chunk.
pub fn token_estimate(text: &str) -> usize {
    let (mut tokens, mut blanks) = (0, 0_usize);
    let (mut letters, mut digits) = (0_usize, 0_usize);
    for character in text.chars() {
        let (was_letters, was_digits) = (letters, digits);
        (letters, digits) = match character {
            'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' => (letters + 1, 0),
            '0'..='9' => (0, digits + 1),
            _ => (0, 0),
        };
        if letters == 0 {
            tokens += word_tokens(was_letters);
        }
        if digits == 0 {
            tokens += was_digits.div_ceil(3);
        }
        if character.is_whitespace() {
            blanks += 1;
            tokens += usize::from(blanks.is_multiple_of(BLANKS));
        } else {
            blanks = 0;
            tokens += usize::from(letters == 0 && digits == 0);
        }
    }
    tokens + word_tokens(letters) + digits.div_ceil(3)
}

/// The tokens of a text that grows part by part. Blank space across the seams counts; a word across one counts as two.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TokenTally {
    pub(super) tokens: usize,
    /// Blanks at the end.
    blanks: usize,
}

impl TokenTally {
    /// With one more part.
    pub(super) fn with(self, part: &str) -> Self {
        let blanks = |part: &str| part.chars().count();
        let (rest, body) = (part.trim_start(), part.trim_end());
        let leading = blanks(&part[..part.len() - rest.len()]);
        let across = (self.blanks + leading) / BLANKS - self.blanks / BLANKS - leading / BLANKS;
        Self {
            tokens: self.tokens + token_estimate(part) + across,
            blanks: if rest.is_empty() { self.blanks + leading } else { blanks(&part[body.len()..]) },
        }
    }
}

fn word_tokens(letters: usize) -> usize {
    match letters {
        0 => 0,
        1..=7 => 1,
        _ => 1 + (letters - 7).div_ceil(4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_about_as_wordpiece_does() {
        for (text, tokens) in [
            ("", 0),
            ("  \n", 0),
            ("the quick brown fox", 4),
            ("internationalization", 5),
            ("v1.96.1000", 7),
            ("東京", 2),
            ("naïve", 1),
            ("a-b", 3),
        ] {
            assert_eq!(token_estimate(text), tokens, "{text:?}");
        }
    }
}
