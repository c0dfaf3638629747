//! Text to token sequences within the model's limits.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use llama_cpp_2::token::LlamaToken;
use unicode_normalization::{UnicodeNormalization, is_nfd};

use super::super::Document;
use super::model::LoadedModel;

/// Title and headings may take this much of a document's sequence, so that a deep path leaves room for the text.
const CONTEXT_TOKENS: usize = 48;

/// Text beyond this many bytes a token is not even tokenized. The longest word pieces have 18 letters; the rest is room
/// for white space, which costs bytes but no tokens. It keeps a line of 5 MB from taking seconds.
const BYTES_PER_TOKEN: usize = 64;

/// A character for private use, which no vocabulary has: it becomes the token of what is unknown.
const NO_WORD: &str = "\u{e000}";

/// Makes token sequences that a context of the same model has room for.
pub(super) struct Tokenizer {
    model: Arc<LoadedModel>,
    pub(super) query_prefix: String,
    pub(super) document_prefix: String,
    /// The special tokens that the model wants before and after a text, `[CLS]` and `[SEP]` for BERT.
    head: Vec<LlamaToken>,
    tail: Vec<LlamaToken>,
}

impl Tokenizer {
    pub(super) fn new(model: Arc<LoadedModel>, query_prefix: &str, document_prefix: &str) -> Self {
        let bare = model.llama.vocab().tokenize(b"a", false, false);
        let mut head = model.llama.vocab().tokenize(b"a", true, false);
        let mut tail = Vec::new();
        if let Some(start) = head.windows(bare.len().max(1)).position(|window| window == bare) {
            tail = head.split_off(start + bare.len());
            head.truncate(start);
        } else {
            head.clear();
        }
        Self { model, query_prefix: query_prefix.to_owned(), document_prefix: document_prefix.to_owned(), head, tail }
    }

    pub(super) fn query(&self, text: &str) -> Vec<LlamaToken> {
        self.sequence(format!("{}{}", self.query_prefix, self.cut(text)))
    }

    pub(super) fn document(&self, document: &Document) -> Vec<LlamaToken> {
        let context = self.cut_to_tokens(&document.context, CONTEXT_TOKENS.min(self.room() / 4));
        let between = if context.is_empty() { "" } else { "\n" };
        self.sequence(format!("{}{context}{between}{}", self.document_prefix, self.cut(&document.text)))
    }

    /// Whether a word is a piece of the vocabulary as it stands.
    pub(super) fn has_word(&self, word: &str) -> bool {
        let tokens = self.tokens(word);
        tokens.len() == 1 && tokens != self.tokens(NO_WORD)
    }

    /// The place of a text's own tokens in its sequence: without the prefix and the special ones.
    pub(super) fn text_in(&self, sequence: &[LlamaToken], prefix: &str) -> Range<usize> {
        let start = (self.head.len() + self.tokens(prefix.trim_end()).len()).min(sequence.len());
        start..(sequence.len() - self.tail.len().min(sequence.len())).max(start)
    }

    /// Returns how many tokens of text fit between the special ones.
    fn room(&self) -> usize {
        self.model.max_tokens - self.head.len() - self.tail.len()
    }

    /// Cuts the tokens of a text to the limit and puts the special ones around them, so that a cut sequence too ends as
    /// the model learned that sequences end.
    fn sequence(&self, text: String) -> Vec<LlamaToken> {
        let tokens = self.tokens(&text);
        let kept = &tokens[..tokens.len().min(self.room())];
        let mut sequence = [&self.head, kept, &self.tail].concat();
        if sequence.is_empty() {
            // A vocabulary without special tokens has none for an empty text either, and a sequence may not be empty.
            sequence.push(LlamaToken(self.model.llama.vocab().eos().0.max(0)));
        }
        sequence
    }

    /// Tokenizes a text as the words it is: `[SEP]` in a note is not the special token.
    fn tokens(&self, text: &str) -> Vec<LlamaToken> {
        // llama.cpp decomposes accents by a table that lacks the Korean syllables, which then all become [UNK]: cosine
        // 0.54 to the reference, and 0.9989 when it gets them as jamo.
        let text: Cow<str> = if self.model.decompose && !is_nfd(text) { text.nfd().collect() } else { text.into() };
        self.model.llama.vocab().tokenize(text.as_bytes(), false, false)
    }

    /// Cuts what could not be read anyway. Only what is too long loses its leading white space.
    fn cut<'a>(&self, text: &'a str) -> &'a str {
        let bytes = self.model.max_tokens * BYTES_PER_TOKEN;
        if text.len() <= bytes {
            return text;
        }
        let text = text.trim_start();
        &text[..text.floor_char_boundary(bytes)]
    }

    /// Returns a beginning of a text that has about `limit` tokens, if it has more: all of them are taken to be as long as their mean.
    fn cut_to_tokens<'a>(&self, text: &'a str, limit: usize) -> &'a str {
        let text = &text[..text.floor_char_boundary(limit * BYTES_PER_TOKEN)];
        let count = self.tokens(text).len();
        if count <= limit {
            return text;
        }
        text[..text.floor_char_boundary(text.len() * limit / count)].trim_end()
    }
}
