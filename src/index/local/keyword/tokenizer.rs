//! Words for tantivy: those of [`Words`](crate::text::derive::words::Words), split again at their spaces.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::text::derive::words::BESIDE;

/// Splits at spaces.
#[derive(Debug, Clone, Default)]
pub(super) struct SpaceTokenizer {
    token: Token,
}

pub(super) struct SpaceStream<'a> {
    rest: &'a str,
    next_position: usize,
    token: &'a mut Token,
}

impl Tokenizer for SpaceTokenizer {
    type TokenStream<'a> = SpaceStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> SpaceStream<'a> {
        self.token.reset();
        SpaceStream { rest: text, next_position: 0, token: &mut self.token }
    }
}

impl TokenStream for SpaceStream<'_> {
    fn advance(&mut self) -> bool {
        if self.rest.is_empty() {
            return false;
        }
        let (word, rest) = self.rest.split_once(' ').unwrap_or((self.rest, ""));
        self.rest = rest;
        self.token.position = self.next_position;
        self.token.text.clear();
        match word.strip_prefix(BESIDE) {
            Some(whole) => self.token.text.push_str(whole),
            None => {
                self.token.text.push_str(word);
                self.next_position += 1;
            }
        }
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::StemmerLanguage;
    use crate::text::derive::words::Stemming;

    #[test]
    fn positions_are_kept() {
        let words = Stemming::new(StemmerLanguage::English).words("Running serde_json runs");
        let mut tokenizer = SpaceTokenizer::default();
        let mut stream = tokenizer.token_stream(&words.plain);
        let mut positions = Vec::new();
        stream.process(&mut |token| positions.push((token.text.clone(), token.position)));
        let expected = [("running", 0), ("serde_json", 1), ("serde", 1), ("json", 2), ("runs", 3)];
        assert_eq!(positions, expected.map(|(word, position)| (word.to_owned(), position)));
    }
}
