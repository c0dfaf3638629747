//! The last texts whose tokens were computed: a search is asked again in other words, of the same notes.

use lru::LruCache;

use super::super::{ContentHash, TokenVectors};

/// Maximum number of bytes. A chunk of 110 tokens takes 42 kB of the bundled model, so that about 750 fit.
const MAX_BYTES: usize = 32_000_000;

/// Remembers the tokens of the most recently used texts.
pub(super) struct TokenCache {
    texts: LruCache<ContentHash, TokenVectors>,
    bytes: usize,
}

impl Default for TokenCache {
    fn default() -> Self {
        Self { texts: LruCache::unbounded(), bytes: 0 }
    }
}

impl TokenCache {
    pub(super) fn get(&mut self, text: &ContentHash) -> Option<TokenVectors> {
        self.texts.get(text).cloned()
    }

    pub(super) fn put(&mut self, text: ContentHash, tokens: &TokenVectors) {
        self.bytes += tokens.bytes();
        if let Some((_, before)) = self.texts.push(text, tokens.clone()) {
            self.bytes -= before.bytes();
        }
        while self.bytes > MAX_BYTES
            && let Some((_, oldest)) = self.texts.pop_lru()
        {
            self.bytes -= oldest.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Document;
    use super::*;

    #[test]
    fn the_least_recently_used_goes_first_and_all_is_counted() {
        let mut cache = TokenCache::default();
        let name = |text: &str| {
            ContentHash::of(&Document { context: String::new(), text: text.to_owned(), ..Document::default() })
        };
        let tokens = TokenVectors::new(MAX_BYTES / 3, &vec![1.0; MAX_BYTES / 3]);
        for text in ["a", "b", "a", "c"] {
            cache.put(name(text), &tokens);
        }
        assert!(cache.get(&name("a")).is_some());
        cache.put(name("d"), &tokens);
        let kept = ["a", "b", "c", "d"].map(|text| cache.get(&name(text)).is_some());
        assert_eq!(kept, [true, false, true, true]);
        assert!(cache.bytes <= MAX_BYTES);
    }
}
