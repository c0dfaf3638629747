//! What differs between two entries: the words, numbers, names and times that one has and the other has not. Pure; a model may add how alike
//! two texts are.

use super::entry::MemoryEntry;
use super::marks::{HALVES, Statement, is_in};
use super::opening::{ARTICLES, Opening, PERSON, are_same_form, is_of_subject, is_unparted, says_what_is_so};
use super::opposites::are_opposed;
use crate::config::MemoryKind;
use crate::derive::calendar_words::is_calendar_word;
use crate::derive::numerals::is_number;

/// Words that put one thing before another.
const COMPARING: &str = "over than rather prefer prefers preferred";

/// How alike the meaning of two texts is, 0 to 1; `None` where nobody can tell.
pub(crate) type Likeness<'a> = dyn Fn(&str, &str) -> Option<f64> + 'a;

/// What two entries are held to.
pub(crate) struct VerifyRules<'a> {
    /// The share of common words from which on two say the same.
    pub(crate) duplicate_words: f64,
    /// The likeness of meaning from which on two may say the same.
    pub(crate) duplicate_meaning: f64,
    /// Where there is a model.
    pub(crate) likeness: Option<&'a Likeness<'a>>,
}

/// Two entries, with what they state.
pub(super) struct Pair<'a> {
    pub(super) new: &'a MemoryEntry,
    pub(super) known: &'a MemoryEntry,
    pub(super) says: &'a Statement,
    pub(super) said: &'a Statement,
    pub(super) rules: &'a VerifyRules<'a>,
}

impl Pair<'_> {
    /// Whether both say when they are so, and never at once.
    pub(super) fn is_at_other_times(&self) -> bool {
        let ends_before = |one: &MemoryEntry, other: &MemoryEntry| {
            let begin = other.window.from.as_ref().and_then(|from| from.ms);
            one.window.end().zip(begin).is_some_and(|(end, begin)| end <= begin)
        };
        ends_before(self.new, self.known) || ends_before(self.known, self.new)
    }

    /// Whether both are of one kind, or of such as say the same things.
    pub(super) fn is_of_same_kind(&self) -> bool {
        let is_plain = |kind| matches!(kind, MemoryKind::Fact | MemoryKind::Correction | MemoryKind::Decision);
        self.new.kind == self.known.kind
            || is_plain(self.new.kind) && is_plain(self.known.kind)
            || self.new.kind == MemoryKind::Correction
    }

    /// Whether there may be many of the kind with the same words: one promise does not undo another.
    pub(super) fn is_many_at_once(&self) -> bool {
        let of = |kind| matches!(kind, MemoryKind::Commitment | MemoryKind::Relationship | MemoryKind::Skill);
        of(self.new.kind) && of(self.known.kind)
    }

    /// Whether one prefers what the other does not: the same words in another order, "tea over coffee", "coffee over tea".
    pub(super) fn is_turned_around(&self) -> bool {
        let is_preference = |entry: &MemoryEntry| entry.kind == MemoryKind::Preference;
        let compares = || self.says.words.iter().any(|word| is_in(COMPARING, word));
        let content = |statement: &Statement| {
            let words = statement.content.iter().filter(|word| !is_in(PERSON, word));
            words.cloned().collect::<Vec<_>>()
        };
        let (mut says, mut said) = (content(self.says), content(self.said));
        let is_other_order = says != said;
        says.sort_unstable();
        said.sort_unstable();
        is_other_order
            && says == said
            && !self.says.differs(self.said)
            && (compares() || is_preference(self.new) && is_preference(self.known))
    }

    /// Whether one is in a script without capitals.
    pub(super) fn is_caseless(&self) -> bool {
        self.says.is_caseless || self.said.is_caseless
    }

    /// Whether both mean the same, as far as a model can tell and no word says otherwise.
    pub(super) fn is_alike(&self) -> bool {
        let rules = self.rules;
        // The model last: most pairs are about something else by their words.
        Opening::of(self.says).is_about_the_same(&Opening::of(self.said))
            && self.says.content.last() == self.said.content.last()
            && !self.has_other_small_words()
            && !are_opposed(&self.says.words, &self.said.words)
            && rules.likeness.is_some_and(|likeness| {
                likeness(&self.new.text, &self.known.text).is_some_and(|alike| alike >= rules.duplicate_meaning)
            })
    }

    /// Whether each side has a word that the other lacks, small ones included: they may say something else by that alone.
    pub(super) fn has_others(&self) -> bool {
        let has_own = |one: &Statement, other: &Statement| {
            one.words.iter().any(|word| is_own(word, other) && (one.content.contains(word) || is_telling(word)))
        };
        has_own(self.says, self.said) && has_own(self.said, self.says)
    }

    /// Whether each side has a small word that the other lacks, as "my" and "her".
    fn has_other_small_words(&self) -> bool {
        let has_own = |one: &Statement, other: &Statement| {
            one.words.iter().any(|word| is_own(word, other) && !one.content.contains(word) && is_telling(word))
        };
        has_own(self.says, self.said) && has_own(self.said, self.says)
    }

    /// Whether each side has a number that the other lacks.
    pub(super) fn has_other_numbers(&self) -> bool {
        let (new, known) = (&self.says.numbers, &self.said.numbers);
        !new.is_subset(known) && !known.is_subset(new)
    }

    /// Whether numbers, dates or names alone were replaced by others, at one place that is none of what the sentences are about. A name by
    /// another says something else of the same only where it says what is so.
    pub(super) fn replaces_values(&self, replaced: &[(&str, &str)]) -> bool {
        if is_unparted(self.says) || is_unparted(self.said) {
            return false;
        }
        let is_date = |word: &str| is_number(word) || is_calendar_word(word) || is_in(HALVES, word);
        let is_of = |says: &Statement, word: &str| {
            let at = says.words.iter().position(|there| there == word).unwrap_or_default();
            let is_name = || says.names.contains(word) && says_what_is_so(says, at);
            !is_of_subject(says, at) && (is_date(word) || is_name())
        };
        let has_same_kind = |(one, other): &(&str, &str)| is_date(one) == is_date(other);
        let is_value =
            |pair: &(&str, &str)| is_of(self.says, pair.0) && is_of(self.said, pair.1) && has_same_kind(pair);
        replaced.iter().all(is_value)
    }

    /// Words that say something and stand in the place of others, each with one of those.
    pub(super) fn replaced(&self) -> Vec<(&str, &str)> {
        let only = |one: &'_ Statement, other: &Statement| {
            let only = one.content.iter().filter(|word| !other.content.contains(word));
            only.cloned().collect::<Vec<_>>()
        };
        let (new, known) = (only(self.says, self.said), only(self.said, self.says));
        if new.is_empty() || known.is_empty() {
            return Vec::new();
        }
        let of = |statement: &'_ Statement, word: &String| {
            statement.content.iter().position(|had| had == word).unwrap_or_default()
        };
        let known_at = |word: &String| self.said.content[of(self.said, word)].as_str();
        let new_at = |word: &String| self.says.content[of(self.says, word)].as_str();
        // The same numbers may be written in other ways.
        let has_same_numbers = self.says.numbers == self.said.numbers;
        let is_the_same = |(one, other): &(&str, &str)| has_same_numbers && is_number(one) && is_number(other);
        (0..new.len().max(known.len()))
            .map(|at| (new_at(&new[at.min(new.len() - 1)]), known_at(&known[at.min(known.len() - 1)])))
            .filter(|pair| !is_the_same(pair))
            .collect()
    }
}

/// Whether another sentence does not have a word, nor another form of it.
fn is_own(word: &str, other: &Statement) -> bool {
    !other.words.iter().any(|there| there == word || are_same_form(word, there))
}

/// Whether a word is no article, and not the person.
fn is_telling(word: &str) -> bool {
    !is_in(ARTICLES, word) && !is_in(PERSON, word)
}
