//! The last queries and their vectors: people search as they type, go back a letter, and page through results.

use std::collections::HashMap;

/// 256 vectors of 384 numbers are 400 kB.
const MOST_QUERIES: usize = 256;

/// Longer queries are pasted, not typed, and do not come twice.
const LONGEST_QUERY_BYTES: usize = 1024;

/// Remembers the vectors of the most recently used queries.
#[derive(Default)]
pub(super) struct QueryCache {
    entries: HashMap<String, (u64, Vec<f32>)>,
    uses: u64,
}

impl QueryCache {
    pub(super) fn get(&mut self, query: &str) -> Option<Vec<f32>> {
        let (used, vector) = self.entries.get_mut(query)?;
        self.uses += 1;
        *used = self.uses;
        Some(vector.clone())
    }

    pub(super) fn put(&mut self, query: &str, vector: &[f32]) {
        if query.len() > LONGEST_QUERY_BYTES {
            return;
        }
        if self.entries.len() >= MOST_QUERIES && !self.entries.contains_key(query) {
            let oldest = self.entries.iter().min_by_key(|(_, (used, _))| *used).map(|(query, _)| query.clone());
            oldest.and_then(|oldest| self.entries.remove(&oldest));
        }
        self.uses += 1;
        self.entries.insert(query.to_owned(), (self.uses, vector.to_vec()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_query_goes_first() {
        let mut cache = QueryCache::default();
        for i in 0..MOST_QUERIES {
            cache.put(&i.to_string(), &[i as f32]);
        }
        assert_eq!(cache.get("0"), Some(vec![0.0]));
        cache.put("new", &[1.0]);
        assert!(cache.get("0").is_some() && cache.get("new").is_some());
        assert!(cache.get("1").is_none());
        cache.put(&"x".repeat(LONGEST_QUERY_BYTES + 1), &[1.0]);
        assert_eq!(cache.entries.len(), MOST_QUERIES);
    }
}
