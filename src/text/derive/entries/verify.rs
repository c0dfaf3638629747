//! Compares a new entry with those that are there: the same, near it, or new. Pure; a model may add how alike two texts are.

use std::collections::BTreeSet;

use super::entry::MemoryEntry;
use crate::base::config::MemoryKind;
use crate::text::derive::stop_words;
use crate::text::derive::words::{fold, is_the_person, plain_words};

/// The share of common words (Jaccard) from which on two entries are near each other.
const NEAR_WORDS: f64 = 0.6;
/// The share from which on an entry with all words of another and more is about the same.
const MIN_OVERLAP: f64 = 0.3;
/// Minimum length of two sentences of which one has one word in the place of another of the other, in words: "lives in Bonn", but not "likes opera".
const MIN_FRAME: usize = 3;

/// English words that deny, folded. Without them what denies an entry would be the same by its meaning.
const NEGATIONS: &str = "not no never none nor neither without cannot cant dont doesnt didnt isnt arent wasnt werent wont wouldnt shouldnt \
    couldnt havent hasnt hadnt hardly";

/// English numbers in words, folded: one is too often an article.
const NUMBERS: &str = "two three four five six seven eight nine ten eleven twelve both";

/// How alike the meaning of two texts is, 0 to 1; `None` where nobody can tell.
pub(crate) type Likeness<'a> = dyn Fn(&str, &str) -> Option<f64> + 'a;

/// What a new entry is to those that are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing of the kind is known.
    New,
    /// That one says it already.
    Duplicate(String),
    /// That one is near it and says something else; which is right is for a person.
    Contradicts(String),
    /// It takes the place of that one: it says the same and more, corrects it, is so later, or is the preference the other way round.
    Supersedes(String),
}

/// Compares a new entry with active ones. `is_alike` says whether two texts mean the same; `None` where nobody can tell.
pub(crate) fn verify(
    new: &MemoryEntry,
    known: &[&MemoryEntry],
    is_alike: impl Fn(&str, &str) -> Option<bool>,
) -> Verdict {
    let says = Statement::of(&new.text);
    let verdicts = known.iter().filter_map(|entry| {
        let said = Statement::of(&entry.text);
        let overlap = jaccard(&says.words, &said.words);
        let rank = judge((new, &says), (entry, &said), overlap, &is_alike)?;
        Some((rank, overlap, entry))
    });
    // The strongest, then the one with most in common, then the first.
    let best = verdicts.reduce(|best, next| if (next.0, next.1) > (best.0, best.1) { next } else { best });
    match best {
        None => Verdict::New,
        Some((Rank::Duplicate, _, entry)) => Verdict::Duplicate(entry.id.clone()),
        Some((Rank::Supersedes, _, entry)) => Verdict::Supersedes(entry.id.clone()),
        Some((Rank::Contradicts, _, entry)) => Verdict::Contradicts(entry.id.clone()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Contradicts,
    Supersedes,
    Duplicate,
}

/// What a new entry is to a known one.
fn judge(
    (new, says): (&MemoryEntry, &Statement),
    (known, said): (&MemoryEntry, &Statement),
    overlap: f64,
    is_alike: &dyn Fn(&str, &str) -> Option<bool>,
) -> Option<Rank> {
    if is_at_other_times(new, known) {
        return None;
    }
    if says.words == said.words && says.numbers == said.numbers {
        return Some(Rank::Duplicate);
    }
    let differs = says.differs(said);
    // The same words in another order: the preference the other way round.
    let is_preference = [new, known].iter().any(|entry| entry.kind == MemoryKind::Preference);
    if is_preference && overlap == 1.0 && says.words.len() == said.words.len() && !differs {
        return Some(Rank::Supersedes);
    }
    if !is_of_same_kind(new, known) {
        return None;
    }
    let (is_within, says_more) = (is_within(&says.words, &said.words), is_within(&said.words, &says.words));
    // One word between the others may deny them, in whatever language: "Mag Tee", "Mag keinen Tee". A number says more.
    let is_other_within =
        overlap >= NEAR_WORDS && (is_within || says_more) && !says.goes_around(said) && says.numbers == said.numbers;
    let is_less = overlap >= NEAR_WORDS && is_within;
    // The model last, and of what ends alike alone: most pairs are about something else.
    let is_alike = || {
        says.words.last() == said.words.last()
            && !says.has_other_small_words(said)
            && is_alike(&new.text, &known.text) == Some(true)
    };
    if !differs && !is_other_within && (is_less || is_alike()) {
        return Some(Rank::Duplicate);
    }
    if says.is_negated != said.is_negated {
        return (overlap >= NEAR_WORDS || says.is_denied_by(said)).then_some(Rank::Contradicts);
    }
    // One promise does not undo another, and what is promised to one more is another promise.
    let of_many = |kind| matches!(kind, MemoryKind::Commitment | MemoryKind::Relationship | MemoryKind::Skill);
    let is_many = of_many(new.kind) && of_many(known.kind);
    let says_more = says_more && said.words.len() < says.words.len() && said.numbers.is_subset(&says.numbers);
    if says_more && overlap >= MIN_OVERLAP && !is_other_within && !(is_many && differs) {
        return Some(Rank::Supersedes);
    }
    if is_many || !(overlap >= NEAR_WORDS || says.has_other_value(said)) {
        return None;
    }
    let later = |entry: &MemoryEntry| entry.window.begin();
    let is_newer = later(new).zip(later(known)).is_some_and(|(new, known)| new > known);
    let takes_place = new.kind == MemoryKind::Correction || is_newer && new.kind == MemoryKind::Fact;
    Some(if takes_place { Rank::Supersedes } else { Rank::Contradicts })
}

/// Whether both say when they are so, and never at once.
fn is_at_other_times(one: &MemoryEntry, other: &MemoryEntry) -> bool {
    let ends_before = |one: &MemoryEntry, other: &MemoryEntry| {
        let begin = other.window.begin();
        one.window.end().zip(begin).is_some_and(|(end, begin)| end <= begin)
    };
    ends_before(one, other) || ends_before(other, one)
}

/// Whether both are of one kind, or of such as say the same things.
fn is_of_same_kind(new: &MemoryEntry, known: &MemoryEntry) -> bool {
    let is_plain = |kind| matches!(kind, MemoryKind::Fact | MemoryKind::Correction | MemoryKind::Decision);
    new.kind == known.kind || is_plain(new.kind) && is_plain(known.kind) || new.kind == MemoryKind::Correction
}

/// A sentence as it is compared.
#[derive(Debug)]
struct Statement {
    /// Its words in their order, as engines count them, without the person at its beginning.
    words: Vec<String>,
    /// What stands before its first colon, in words: "Editor: vim".
    key: Option<Vec<String>>,
    /// Its numbers as they are written, with the signs around them: in another currency it is another.
    numbers: BTreeSet<String>,
    /// Its words with a capital letter.
    names: BTreeSet<String>,
    /// Its words without those that deny.
    affirmed: Vec<String>,
    /// Whether it denies.
    is_negated: bool,
}

impl Statement {
    fn of(text: &str) -> Self {
        let words = words_of(text);
        let affirmed: Vec<String> = words.iter().filter(|word| !has_word(NEGATIONS, word)).cloned().collect();
        let capital = text.split_whitespace().map(|word| word.trim_start_matches(|mark: char| !mark.is_alphanumeric()));
        let names =
            capital.filter(|word| word.starts_with(char::is_uppercase)).flat_map(|word| plain_words(word, false));
        let marks = ['*', '_', '`', '"', '\'', '(', ')', '[', ']', '.', ',', ';', ':', '!', '?'];
        let bare = text.split_whitespace().map(|word| fold(word.trim_matches(marks)));
        let is_number = |word: &String| word.contains(char::is_numeric) || has_word(NUMBERS, word);
        Self {
            key: text.split_once(": ").map(|(key, _)| plain_words(key, false)),
            numbers: bare.filter(is_number).collect(),
            names: names.filter(|word| !is_the_person(word)).collect(),
            is_negated: affirmed.len() < words.len(),
            affirmed,
            words,
        }
    }

    /// Whether its numbers, names or negation are others. A word that one begins with may stand in the middle of the other.
    fn differs(&self, other: &Self) -> bool {
        let in_both = |name: &String| self.words.contains(name) && other.words.contains(name);
        self.numbers != other.numbers
            || self.is_negated != other.is_negated
            || !self.names.symmetric_difference(&other.names).all(in_both)
    }

    /// Whether one has all words of the other, and more only before or behind them.
    fn goes_around(&self, other: &Self) -> bool {
        let around = |long: &[String], short: &[String]| long.starts_with(short) || long.ends_with(short);
        around(&self.words, &other.words) || around(&other.words, &self.words)
    }

    /// Whether each has a small word that the other lacks, as "before" and "after", which a model hardly tells apart.
    fn has_other_small_words(&self, other: &Self) -> bool {
        let has_own = |one: &Self, other: &Self| {
            one.words.iter().any(|word| stop_words::is_one(word) && !other.words.contains(word))
        };
        has_own(self, other) && has_own(other, self)
    }

    /// Whether one of them, but for what denies, is part of the other: "smokes", "does not smoke".
    fn is_denied_by(&self, other: &Self) -> bool {
        let of = |one: &Self, other: &Self| {
            let has_form = |word: &String| other.affirmed.iter().any(|there| there == word || is_akin(word, there));
            !one.affirmed.is_empty() && one.affirmed.iter().all(has_form)
        };
        of(self, other) || of(other, self)
    }

    /// Whether it gives the same key another value, or has one word in the place of another.
    fn has_other_value(&self, other: &Self) -> bool {
        let others = || self.words.iter().zip(&other.words).filter(|(one, other)| one != other).count();
        self.key.is_some() && self.key == other.key
            || self.words.len() == other.words.len() && self.words.len() >= MIN_FRAME && others() == 1
    }
}

/// The words of a text in their order, without the person at its beginning.
fn words_of(text: &str) -> Vec<String> {
    let mut words = plain_words(text, false);
    let person = words.iter().take(2).position(|word| is_the_person(word));
    words.drain(..person.map_or(0, |at| at + 1));
    words
}

/// Whether a list has a word.
fn has_word(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// Whether two words are forms of one, as far as their beginnings tell.
fn is_akin(one: &str, other: &str) -> bool {
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    same >= 3 && one.chars().count().max(other.chars().count()) - same <= 3
}

/// The share of words that two texts have in common.
fn jaccard(one: &[String], other: &[String]) -> f64 {
    let (one, other): (BTreeSet<&String>, BTreeSet<&String>) = (one.iter().collect(), other.iter().collect());
    let union = one.union(&other).count();
    if union == 0 { 0.0 } else { one.intersection(&other).count() as f64 / union as f64 }
}

/// Whether one has all words of the other in their order.
fn is_within(one: &[String], other: &[String]) -> bool {
    let mut rest = other.iter();
    !one.is_empty() && one.iter().all(|word| rest.any(|next| next == word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::derive::facts::{Moment, Validity};

    fn verify(new: &MemoryEntry, known: &[&MemoryEntry]) -> Verdict {
        super::verify(new, known, |_, _| None)
    }

    fn entry(id: &str, kind: MemoryKind, text: &str) -> MemoryEntry {
        MemoryEntry { id: id.into(), ..MemoryEntry::new(kind, text) }
    }

    fn verdict(kind: MemoryKind, known: &str, new: &str) -> &'static str {
        word(&verify(&entry("new", kind, new), &[&entry("e-1", kind, known)]))
    }

    fn word(verdict: &Verdict) -> &'static str {
        match verdict {
            Verdict::New => "new",
            Verdict::Duplicate(_) => "duplicate",
            Verdict::Contradicts(_) => "contradicts",
            Verdict::Supersedes(_) => "supersedes",
        }
    }

    fn dated(mut entry: MemoryEntry, from: Option<&str>, until: Option<&str>) -> MemoryEntry {
        let moment = |text: &str| Moment::read(text).unwrap();
        entry.window = Validity { from: from.map(moment), until: until.map(moment), ..Validity::default() };
        entry
    }

    #[test]
    fn what_is_so_later_or_corrects_takes_the_place_and_else_a_person_says_which() {
        let fact = |id: &str, text: &str| entry(id, MemoryKind::Fact, text);
        let (berlin, hamburg) = (fact("e-1", "User lives in Berlin"), fact("e-2", "User lives in Hamburg"));
        assert_eq!(verify(&hamburg, &[&berlin]), Verdict::Contradicts("e-1".into()));
        let since = |entry: &MemoryEntry, day: &str| dated(entry.clone(), Some(day), None);
        let (before, after) = (since(&berlin, "2024-01-01"), since(&hamburg, "2026-01-01"));
        assert_eq!(verify(&after, &[&before]), Verdict::Supersedes("e-1".into()));
        assert_eq!(verify(&before, &[&after]), Verdict::Contradicts("e-2".into()));
        // Both are so, at different times.
        let first = dated(berlin, Some("2020-01-01"), Some("2024-01-01"));
        assert_eq!(verify(&since(&hamburg, "2024-01-01"), &[&first]), Verdict::New);
        let correction = entry("e-4", MemoryKind::Correction, "The meeting is on Wednesday");
        assert_eq!(
            verify(&correction, &[&fact("e-3", "The meeting is on Tuesday")]),
            Verdict::Supersedes("e-3".into())
        );
    }

    #[test]
    fn what_says_the_same_or_less_is_a_duplicate_and_what_says_more_takes_the_place() {
        for (known, new, is) in [
            ("User prefers tabs over spaces", "The user prefers **tabs** over spaces.", "duplicate"),
            ("Prefers tabs over spaces", "User prefers tabs over spaces", "duplicate"),
            ("Der Nutzer wohnt in Köln", "Nutzer wohnt in Köln!", "duplicate"),
            ("用户喜欢喝绿茶", "用户喜欢喝绿茶。", "duplicate"),
            ("User likes green tea in mornings", "User likes green tea", "duplicate"),
            ("User likes tea", "User likes green tea in the morning", "supersedes"),
            ("Mag Tee", "Mag Tee am Morgen", "supersedes"),
            ("User likes green tea in mornings", "User likes 2 green tea", "new"),
            ("User prefers tabs", "The kitchen is blue", "new"),
        ] {
            assert_eq!(verdict(MemoryKind::Preference, known, new), is, "{known} / {new}");
        }
    }

    #[test]
    fn what_is_near_and_differs_contradicts() {
        use MemoryKind::{Commitment, Fact, Preference};
        for (kind, known, new, is) in [
            (Preference, "Likes tea", "Does not like tea", "contradicts"),
            (Preference, "Does not like tea", "User likes tea", "contradicts"),
            (Preference, "Mag Tee", "Mag keinen Tee", "contradicts"),
            (Preference, "Mag keinen Tee", "Mag Tee", "contradicts"),
            (Preference, "用户喜欢喝茶", "用户不喜欢喝茶", "new"),
            (Fact, "Smokes", "Does not smoke", "contradicts"),
            (Fact, "Lives in Berlin", "Lives in Hamburg", "contradicts"),
            (Fact, "Has two children", "Has three children", "contradicts"),
            (Fact, "Editor: vim", "Editor: emacs", "contradicts"),
            (Fact, "Salary is $5,000", "Salary is €5,000", "contradicts"),
            (Fact, "The temperature is -5 degrees", "The temperature is 5 degrees", "contradicts"),
            (Preference, "Prefers tea over coffee", "Prefers coffee over tea", "supersedes"),
            (Preference, "Likes coffee before the gym", "Likes coffee after the gym", "contradicts"),
            (Preference, "Likes opera", "Likes chess", "new"),
            (Preference, "Likes opera", "Does not like chess", "new"),
            (Fact, "Is vegan", "Is not married", "new"),
            (Commitment, "Plans to call Alice on Monday", "Plans to call Bob on Monday", "new"),
            (Commitment, "Call Alice", "Call Alice and Bob", "new"),
        ] {
            assert_eq!(verdict(kind, known, new), is, "{known} / {new}");
        }
    }

    #[test]
    fn meaning_makes_duplicates_where_no_number_name_or_negation_differs() {
        let held = |known: &str, new: &str| {
            let (new, known) = (entry("n", MemoryKind::Fact, new), entry("e-1", MemoryKind::Fact, known));
            word(&super::verify(&new, &[&known], |_, _| Some(true)))
        };
        assert_eq!(held("User enjoys drinking strong coffee", "User likes to drink coffee"), "duplicate");
        for (known, new) in [
            ("User drinks 2 cups of coffee", "User likes 3 cups of coffee"),
            ("User met Alice for coffee", "User saw Bob over coffee"),
            ("User enjoys coffee", "User cannot stand coffee"),
            ("User comes before lunch", "User comes after lunch"),
        ] {
            assert_ne!(held(known, new), "duplicate", "{new}");
        }
        let (one, other) =
            (entry("n", MemoryKind::Fact, "User enjoys coffee"), entry("e-1", MemoryKind::Fact, "User likes coffee"));
        assert_eq!(verify(&one, &[&other]), Verdict::New);
    }
}
