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

/// Maximum number of questions of each. 256 vectors of 384 numbers are 400 kB, with the tokens of queries of ten words 1.5 MB.
const MAX_QUESTIONS: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");
/// Maximum length of a question that is remembered. Longer ones are pasted, not typed, and do not come twice.
const MAX_QUESTION_BYTES: usize = 1024;

/// What was answered to the last questions of each.
pub(super) struct ByAsker<T>(Mutex<LruCache<ModelAsker, LruCache<String, T>>>);

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
        let Some(asker) = asker.filter(|_| question.len() <= MAX_QUESTION_BYTES) else { return ask() };
        let all = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all().get_mut(asker).and_then(|answers| answers.get(question).cloned());
        if let Some(known) = known {
            return Ok(known);
        }
        let answer = ask()?;
        let new = || LruCache::new(MAX_QUESTIONS);
        all().get_or_insert_mut(asker.clone(), new).put(question.to_owned(), answer.clone());
        Ok(answer)
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
        let answers = ByAsker::default();
        let is_known = |question: &str| {
            let mut is_known = true;
            let ask = || {
                is_known = false;
                Ok::<_, ()>(())
            };
            answers.get_or(Some(&ModelAsker::Person), question, ask).unwrap();
            is_known
        };
        for number in 0..MAX_QUESTIONS.get() {
            assert!(!is_known(&number.to_string()));
        }
        assert!(is_known("0") && !is_known("new"));
        assert!(is_known("0") && is_known("new"));
        assert!(!is_known("1"));
        let long = "x".repeat(MAX_QUESTION_BYTES + 1);
        assert!(!is_known(&long) && !is_known(&long));
    }
}
