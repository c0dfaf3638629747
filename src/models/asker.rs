//! What a model said lately, apart for each who had it asked: people search as they type, go back a letter, and page through results.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use lru::LruCache;

/// Maximum number of those for whom something is remembered: more than anybody has agents.
const MAX_ASKERS: NonZeroUsize = NonZeroUsize::new(64).expect("not zero");

/// For whom a model is asked. No one learns by how soon it is answered what another has looked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ModelAsker {
    /// The person.
    Person,
    /// An agent, by its folder's name.
    Agent(String),
}

/// What was answered to the last questions of each.
pub(super) struct ByAsker<T>(Mutex<LruCache<ModelAsker, QueryCache<T>>>);

impl<T> Default for ByAsker<T> {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MAX_ASKERS)))
    }
}

impl<T: Clone> ByAsker<T> {
    /// What was answered, or what is now, which is then remembered; a failure is not. For nobody nothing is remembered.
    pub(super) fn get_or<E>(
        &self,
        asker: Option<&ModelAsker>,
        question: &str,
        ask: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let Some(asker) = asker else { return ask() };
        let of_asker = |then: &mut dyn FnMut(&mut QueryCache<T>)| {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            then(all.get_or_insert_mut(asker.clone(), QueryCache::default));
        };
        let mut known = None;
        of_asker(&mut |answers| known = answers.get(question));
        if let Some(known) = known {
            return Ok(known);
        }
        let answer = ask()?;
        of_asker(&mut |answers| answers.put(question, &answer));
        Ok(answer)
    }
}

/// Maximum number of queries. 256 vectors of 384 numbers are 400 kB, with the tokens of queries of ten words 1.5 MB.
const MAX_QUERIES: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

/// Maximum length of a query that is remembered. Longer ones are pasted, not typed, and do not come twice.
const MAX_QUERY_BYTES: usize = 1024;

/// Remembers what was made of the most recently used queries, unless told otherwise their vectors.
struct QueryCache<T = Vec<f32>>(LruCache<String, T>);

impl<T> Default for QueryCache<T> {
    fn default() -> Self {
        Self(LruCache::new(MAX_QUERIES))
    }
}

impl<T: Clone> QueryCache<T> {
    fn get(&mut self, query: &str) -> Option<T> {
        self.0.get(query).cloned()
    }

    fn put(&mut self, query: &str, made: &T) {
        if query.len() <= MAX_QUERY_BYTES {
            self.0.put(query.to_owned(), made.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_remembered_for_whoever_asked_and_for_nobody_else() {
        let answers = ByAsker::default();
        let mut asked = 0;
        let mut ask = |asker: Option<&ModelAsker>| {
            let answer = answers.get_or(asker, "bread", || {
                asked += 1;
                if asked == 1 { Err(()) } else { Ok(asked) }
            });
            answer.unwrap_or_default()
        };
        let (ada, bob) = (ModelAsker::Agent("ada".into()), ModelAsker::Agent("bob".into()));
        assert_eq!(ask(Some(&ada)), 0, "a failure is not remembered");
        assert_eq!([ask(Some(&ada)), ask(Some(&ada))], [2, 2]);
        assert_eq!([ask(Some(&bob)), ask(Some(&ModelAsker::Person))], [3, 4]);
        assert_eq!([ask(None), ask(None), ask(Some(&ada))], [5, 6, 2]);
    }

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
