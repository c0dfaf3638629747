//! The last queries and what a model made of them: people search as they type, go back a letter, and page through results.

use std::num::NonZeroUsize;

use lru::LruCache;

/// Maximum number of queries. 256 vectors of 384 numbers are 400 kB, with the tokens of queries of ten words 1.5 MB.
const MAX_QUERIES: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

/// Maximum length of a query that is remembered. Longer ones are pasted, not typed, and do not come twice.
const MAX_QUERY_BYTES: usize = 1024;

/// Remembers what was made of the most recently used queries, unless told otherwise their vectors.
pub(super) struct QueryCache<T = Vec<f32>>(LruCache<String, T>);

impl<T> Default for QueryCache<T> {
    fn default() -> Self {
        Self(LruCache::new(MAX_QUERIES))
    }
}

impl<T: Clone> QueryCache<T> {
    pub(super) fn get(&mut self, query: &str) -> Option<T> {
        self.0.get(query).cloned()
    }

    pub(super) fn put(&mut self, query: &str, made: &T) {
        if query.len() <= MAX_QUERY_BYTES {
            self.0.put(query.to_owned(), made.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_query_goes_first() {
        let mut cache = QueryCache::default();
        for i in 0..MAX_QUERIES.get() {
            cache.put(&i.to_string(), &vec![i as f32]);
        }
        assert_eq!(cache.get("0"), Some(vec![0.0]));
        cache.put("new", &vec![1.0]);
        assert!(cache.get("0").is_some() && cache.get("new").is_some());
        assert!(cache.get("1").is_none());
        cache.put(&"x".repeat(MAX_QUERY_BYTES + 1), &vec![1.0]);
        assert_eq!(cache.0.len(), MAX_QUERIES.get());
    }
}
