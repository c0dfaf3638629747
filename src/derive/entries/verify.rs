//! A new entry, held against those that are there. Pure; a model may add how alike two texts are.
//!
//! Words alone cannot tell "likes tea" from "likes coffee": a number, a date, a name, a negation or a word in another's place that differs
//! forbids that two entries count as the same, and what takes another's place is only what refines or corrects it.

use std::collections::BTreeSet;

use super::entry::MemoryEntry;
use super::marks::{Statement, is_akin};
use super::opening::{Opening, besides_the_verb};
use super::opposites::are_opposed;
use super::pair::{Pair, VerifyRules};
use crate::config::MemoryKind;

/// Minimum share of common words from which two entries may be about the same.
const MIN_OVERLAP: f64 = 0.3;

/// What a new entry is to those that are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing of the kind is known.
    New,
    /// That one says it already.
    Duplicate(String),
    /// That one says something else of the same; which is right is for a person.
    Contradicts(String),
    /// It says the same as that one, and more.
    Supersedes(String),
    /// It says something else than that one in its place: it corrects it, is so later, or is the preference the other way round.
    Replaces(String),
}

/// Holds a new entry against active ones.
pub(crate) fn verify(new: &MemoryEntry, known: &[&MemoryEntry], rules: &VerifyRules<'_>) -> Verdict {
    let verdicts = known.iter().filter_map(|entry| {
        let says = Statement::beside(&new.text, &entry.text);
        let said = Statement::beside(&entry.text, &new.text);
        let (rank, overlap) = Pair { new, known: entry, says: &says, said: &said, rules }.judge()?;
        Some((rank, overlap, entry))
    });
    // The strongest, then the one with most in common, then the first.
    let best = verdicts.reduce(|best, next| if (next.0, next.1) > (best.0, best.1) { next } else { best });
    match best {
        None => Verdict::New,
        Some((Rank::Duplicate, _, entry)) => Verdict::Duplicate(entry.id.clone()),
        Some((Rank::Supersedes, _, entry)) => Verdict::Supersedes(entry.id.clone()),
        Some((Rank::Replaces, _, entry)) => Verdict::Replaces(entry.id.clone()),
        Some((Rank::Contradicts, _, entry)) => Verdict::Contradicts(entry.id.clone()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Contradicts,
    Replaces,
    Supersedes,
    Duplicate,
}

impl Pair<'_> {
    /// What the new one is to the known one, and the share of words that they have in common.
    fn judge(&self) -> Option<(Rank, f64)> {
        let Self { new, known, says, said, rules } = self;
        let overlap = jaccard(&says.words, &said.words);
        if self.is_at_other_times() {
            return None;
        }
        if says.words == said.words && !says.differs(said) {
            return Some((Rank::Duplicate, 1.0));
        }
        if self.is_turned_around() {
            return Some((Rank::Replaces, overlap));
        }
        if !self.is_of_same_kind() {
            return None;
        }
        let replaced = self.replaced();
        let less = is_within(&says.content, &said.content);
        let more = is_within(&said.content, &says.content);
        let is_other = self.has_others() || are_opposed(&says.words, &said.words);
        if !says.differs(said) && replaced.is_empty() && !is_other {
            let by_words = overlap >= rules.duplicate_words && less;
            if by_words {
                return Some((Rank::Duplicate, overlap));
            }
        }
        if !says.differs(said) && !self.is_caseless() && self.is_alike() {
            return Some((Rank::Duplicate, overlap));
        }
        let (opens, opened) = (Opening::of(says), Opening::of(said));
        if !opens.is_about_the_same(&opened) || says.is_past != said.is_past {
            return None;
        }
        let (object, other_object) = (besides_the_verb(says, &opens), besides_the_verb(said, &opened));
        if says.is_negated != said.is_negated {
            // "Smokes", "does not smoke": there is nothing besides the verb.
            let is_same = object.is_empty() && other_object.is_empty() || akin_share(&object, &other_object) >= 0.5;
            return is_same.then_some((Rank::Contradicts, overlap));
        }
        // It says the same and more. What is promised to one more is another promise.
        let is_recounted = self.has_other_numbers();
        let adds = more && replaced.is_empty() && !is_other && !is_recounted;
        if adds && overlap >= MIN_OVERLAP && !(self.is_many_at_once() && says.differs(said)) {
            return Some((Rank::Supersedes, overlap));
        }
        // By their verb alone, or as both say what somebody is, two are not about the same: "likes opera", "likes chess".
        let has_ground = object.iter().any(|word| other_object.contains(word));
        let is_another = !replaced.is_empty() || is_recounted;
        if overlap < MIN_OVERLAP || !is_another || self.is_many_at_once() || !has_ground {
            return None;
        }
        if new.kind == MemoryKind::Correction {
            return Some((Rank::Replaces, overlap));
        }
        // Works and worked are so at different times.
        if !replaced.is_empty() && replaced.iter().all(|(one, other)| is_akin(one, other)) {
            return None;
        }
        // What is said of the subject stands at the end, in most languages: else it is about something else with the same words.
        let ends_alike = says.content.last() == said.content.last();
        let is_value = !ends_alike || says.is_verb_final || self.replaces_values(&replaced);
        let later = |entry: &MemoryEntry| entry.window.from.as_ref().and_then(|from| from.ms);
        let is_newer = later(new).zip(later(known)).is_some_and(|(new, known)| new > known);
        match (is_value, is_newer && new.kind == MemoryKind::Fact) {
            (false, _) => None,
            (true, true) => Some((Rank::Replaces, overlap)),
            (true, false) => Some((Rank::Contradicts, overlap)),
        }
    }
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
    one.iter().all(|word| rest.any(|next| next == word))
}

/// The share of the fewer words that have a form of theirs in the other.
fn akin_share(one: &[&String], other: &[&String]) -> f64 {
    let (few, many) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let akin = few.iter().filter(|word| many.iter().any(|other| *word == other || is_akin(word, other))).count();
    if few.is_empty() { 0.0 } else { akin as f64 / few.len() as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::facts::{Moment, Validity};

    const RULES: VerifyRules<'_> = VerifyRules { duplicate_words: 0.6, duplicate_meaning: 0.85, likeness: None };

    fn entry(id: &str, kind: MemoryKind, text: &str) -> MemoryEntry {
        MemoryEntry { id: id.into(), ..MemoryEntry::new(kind, text) }
    }

    fn verdict(kind: MemoryKind, known: &str, new: &str) -> &'static str {
        word(&verify(&entry("new", kind, new), &[&entry("e-1", kind, known)], &RULES))
    }

    fn word(verdict: &Verdict) -> &'static str {
        match verdict {
            Verdict::New => "new",
            Verdict::Duplicate(_) => "duplicate",
            Verdict::Contradicts(_) => "contradicts",
            Verdict::Supersedes(_) => "supersedes",
            Verdict::Replaces(_) => "replaces",
        }
    }

    fn dated(mut entry: MemoryEntry, from: Option<&str>, until: Option<&str>) -> MemoryEntry {
        let moment = |text: &str| Moment::read(text).unwrap();
        entry.window = Validity { from: from.map(moment), until: until.map(moment) };
        entry
    }

    #[test]
    fn the_five_cases_of_contradiction() {
        let fact = |id: &str, text: &str| entry(id, MemoryKind::Fact, text);
        // A: one takes the place of the other; without dates a person says which.
        let (berlin, hamburg) = (fact("e-1", "User lives in Berlin"), fact("e-2", "User lives in Hamburg"));
        assert_eq!(verify(&hamburg, &[&berlin], &RULES), Verdict::Contradicts("e-1".into()));
        let since = |entry: &MemoryEntry, day: &str| dated(entry.clone(), Some(day), None);
        let (before, after) = (since(&berlin, "2024-01-01"), since(&hamburg, "2026-01-01"));
        assert_eq!(verify(&after, &[&before], &RULES), Verdict::Replaces("e-1".into()));
        assert_eq!(verify(&before, &[&after], &RULES), Verdict::Contradicts("e-2".into()));
        // B: it says the same and more.
        assert_eq!(
            verdict(MemoryKind::Preference, "User likes tea", "User likes green tea in the morning"),
            "supersedes"
        );
        assert_eq!(verdict(MemoryKind::Fact, "User likes green tea in mornings", "User likes green tea"), "duplicate");
        // C: both are so, at different times.
        let (first, then) =
            (dated(berlin.clone(), Some("2020-01-01"), Some("2024-01-01")), since(&hamburg, "2024-01-01"));
        assert_eq!(verify(&then, &[&first], &RULES), Verdict::New);
        // D: a correction of a correction.
        let one = entry("e-3", MemoryKind::Correction, "The meeting is on Tuesday");
        let two = entry("e-4", MemoryKind::Correction, "The meeting is on Wednesday");
        assert_eq!(verify(&two, &[&one], &RULES), Verdict::Replaces("e-3".into()));
        assert_eq!(verify(&one, &[&fact("e-5", "The meeting is on Monday")], &RULES), Verdict::Replaces("e-5".into()));
        // E: the same words about another.
        for (known, new) in [
            ("User is allergic to nuts", "User's brother is allergic to nuts"),
            ("Alice's dog is called Rex", "Bob's dog is called Rex"),
            ("The deploy branch of mech is main", "The deploy branch of osaurus is main"),
            ("She likes tea", "He likes tea"),
            ("Alice manages Bob", "Bob manages Alice"),
        ] {
            assert_eq!(verdict(MemoryKind::Fact, known, new), "new", "{new}");
        }
    }

    #[test]
    fn what_differs_in_one_word_that_counts_is_no_duplicate() {
        use MemoryKind::{Commitment, Fact, Preference};
        for (kind, known, new, is) in [
            (Commitment, "Plans to call Alice on Monday", "Plans to call Bob on Monday", "new"),
            (Commitment, "Plans to call Alice on Monday", "Plans to call Alice on Friday", "new"),
            (Fact, "User works at Acme", "User worked at Acme", "new"),
            (Fact, "User works at Acme", "User formerly works at Acme", "new"),
            (Preference, "User likes tea", "User does not like tea", "contradicts"),
            (Preference, "User likes tea", "User likes coffee", "new"),
            (Preference, "User prefers as editor vim", "User prefers as editor emacs", "contradicts"),
            (Fact, "The editor of the user is vim", "The editor of the user is emacs", "contradicts"),
            (Preference, "User likes to drink tea in the morning", "User likes to drink coffee in the morning", "new"),
            (Fact, "The door code is 4711", "The door code is 4712", "contradicts"),
            (Fact, "User arbeitet bei Acme", "User arbeitete bei Acme", "new"),
            (Commitment, "Will am Montag Anna anrufen", "Will am Montag Berta anrufen", "new"),
            (Preference, "Der Nutzer mag Tee", "Der Nutzer mag keinen Tee", "contradicts"),
            (Preference, "L'utilisateur aime le thé", "L'utilisateur n'aime pas le thé", "contradicts"),
            (Preference, "A Marta le gusta el té", "A Marta no le gusta el té", "contradicts"),
            (Preference, "Пользователь любит чай", "Пользователь не любит чай", "contradicts"),
            (Commitment, "星期一给小王打电话", "星期一给小李打电话", "new"),
            (Preference, "用户喜欢喝茶", "用户不喜欢喝茶", "contradicts"),
            (Fact, "用户在Acme工作", "用户曾在Acme工作", "new"),
            (Preference, "ユーザーはお茶が好きです", "ユーザーはお茶が好きではない", "contradicts"),
            (Fact, "ユーザーは東京に住んでいます", "ユーザーは大阪に住んでいます", "contradicts"),
            (Preference, "ผู้ใช้ชอบดื่มชา", "ผู้ใช้ไม่ชอบดื่มชา", "contradicts"),
            (Fact, "ผู้ใช้ทำงานที่ Acme", "ผู้ใช้เคยทำงานที่ Acme", "new"),
        ] {
            let found = verdict(kind, known, new);
            assert_eq!(found, is, "{known} / {new}");
        }
    }

    #[test]
    fn a_preference_the_other_way_round_takes_the_place_of_the_one_before() {
        use MemoryKind::{Fact, Preference};
        for (kind, known, new, is) in [
            (Preference, "Tea over coffee", "coffee over tea", "replaces"),
            (Preference, "User prefers tea to coffee", "Prefers coffee to tea", "replaces"),
            (Preference, "Mag Tee lieber als Kaffee", "Mag Kaffee lieber als Tee", "replaces"),
            (Fact, "Tea over coffee", "coffee over tea", "replaces"),
            (Fact, "Prefers tea to coffee", "Prefers coffee to tea", "replaces"),
            (Preference, "Tea over coffee", "tea over coffee.", "duplicate"),
            (Preference, "Tea over coffee", "Tea over juice", "new"),
            (Fact, "Alice manages Bob", "Bob manages Alice", "new"),
        ] {
            assert_eq!(verdict(kind, known, new), is, "{known} / {new}");
        }
        let other_kind =
            verify(&entry("new", Fact, "coffee over tea"), &[&entry("e-1", Preference, "Tea over coffee")], &RULES);
        assert_eq!(other_kind, Verdict::Replaces("e-1".into()));
    }

    #[test]
    fn what_names_nobody_is_about_the_person() {
        use MemoryKind::{Correction, Fact, Preference};
        for (kind, known, new, is) in [
            (Preference, "Likes tea", "Does not like tea", "contradicts"),
            (Preference, "Does not like tea", "likes tea", "contradicts"),
            (Preference, "Likes tea", "Doesn't like tea", "contradicts"),
            (Preference, "User likes tea", "Does not like tea", "contradicts"),
            (Preference, "I like tea", "Never likes tea", "contradicts"),
            (Preference, "Aime le thé", "N'aime pas le thé", "contradicts"),
            (Preference, "Aime le thé", "N’aime pas le thé", "contradicts"),
            (Preference, "Le gusta el té", "No le gusta el té", "contradicts"),
            (Preference, "Gli piace il tè", "Non gli piace il tè", "contradicts"),
            (Preference, "Gosta de chá", "Não gosta de chá", "contradicts"),
            (Preference, "Mag Tee", "Mag keinen Tee", "contradicts"),
            (Preference, "Houdt van thee", "Houdt niet van thee", "contradicts"),
            (Preference, "Любит чай", "Не любит чай", "contradicts"),
            (Fact, "Speaks French", "Does not speak French", "contradicts"),
            (Fact, "Is vegan", "Is not vegan", "contradicts"),
            (Fact, "Is vegan", "Isn't vegan", "contradicts"),
            (Fact, "Smokes", "Does not smoke", "contradicts"),
            (Fact, "Lives in Berlin", "Lives in Hamburg", "contradicts"),
            (Fact, "Is married to Ana", "Is married to Eva", "contradicts"),
            (Fact, "Editor: vim", "Editor: emacs", "contradicts"),
            (Correction, "Meeting is on Tuesday", "Meeting is on Monday", "replaces"),
            (Correction, "Flight leaves at 9", "Flight leaves at 11", "replaces"),
            (Preference, "Likes tea", "Likes green tea in the morning", "supersedes"),
            (Preference, "Likes opera", "Does not like chess", "new"),
            (Preference, "Mag Oper", "Mag Schach", "new"),
            (Preference, "She likes opera", "She likes chess", "new"),
            (Fact, "Is vegan", "Is not married", "new"),
            (Fact, "Is vegan", "Is married", "new"),
            (Fact, "Ist Veganer", "Ist verheiratet", "new"),
            (Fact, "Est végétalien", "Est marié", "new"),
            (Fact, "Has a dog", "Has a cat", "new"),
            (Fact, "Can read Danish", "Can read Hungarian", "new"),
            (Correction, "Is vegan", "Is married", "new"),
            (Correction, "Likes opera", "Likes chess", "new"),
            (Correction, "User is vegan", "User is married", "new"),
        ] {
            assert_eq!(verdict(kind, known, new), is, "{known} / {new}");
        }
        for (known, new, is) in [
            ("Is vegan", "Is married", "new"),
            ("Likes opera", "Likes chess", "new"),
            ("User likes opera", "User likes chess", "new"),
            ("Lives in Berlin", "Lives in Hamburg", "replaces"),
        ] {
            let (known, new) = (entry("e-1", Fact, known), entry("e-2", Fact, new));
            let (known, new) = (dated(known, Some("2020-01-01"), None), dated(new, Some("2024-01-01"), None));
            assert_eq!(word(&verify(&new, &[&known], &RULES)), is, "{} / {}", known.text, new.text);
        }
    }

    #[test]
    fn a_small_word_a_sign_or_a_unit_that_differs_is_no_duplicate() {
        for (known, new, is) in [
            ("Likes coffee before the gym", "Likes coffee after the gym", "new"),
            ("The train to Rome leaves on Monday", "The train from Rome leaves on Monday", "new"),
            ("Keeps the spare key under the mat", "Keeps the spare key on the mat", "new"),
            ("My sister is allergic to nuts", "Her sister is allergic to nuts", "new"),
            ("Is able to come to all meetings", "Is able to come to some meetings", "new"),
            ("The shop closes at 3:30 pm", "The shop closes at 3:30 am", "contradicts"),
            ("The temperature is -5 degrees at the cabin", "The temperature is 5 degrees at the cabin", "contradicts"),
            ("Salary is $5,000", "Salary is €5,000", "contradicts"),
            ("Has to pay the plumber this week", "Had to pay the plumber this week", "new"),
            ("Mag Kaffee vor dem Sport", "Mag Kaffee nach dem Sport", "new"),
            ("Eats fish more than once a week", "Eats fish less than once a week", "new"),
            ("차를 좋아한다", "차를 안 좋아한다", "contradicts"),
            ("Possède un chien", "Possède rarement un chien", "contradicts"),
            ("Drinks coffee", "Hardly drinks coffee", "contradicts"),
            ("Isst Fisch", "Isst selten Fisch", "contradicts"),
            // What differs in nothing but an article, the person or how a number is written says nothing else.
            ("Salary is $5,000", "The salary is 5000 $", "new"),
            ("Likes coffee after the gym", "likes coffee after gym", "duplicate"),
        ] {
            for kind in [MemoryKind::Fact, MemoryKind::Preference] {
                assert_eq!(verdict(kind, known, new), is, "{known} / {new}");
            }
        }
    }

    #[test]
    fn another_value_contradicts_wherever_it_stands() {
        use MemoryKind::{Commitment, Fact};
        for (kind, known, new, is) in [
            (Fact, "Has two children", "Has three children", "contradicts"),
            (Fact, "The train leaves at 8:30", "The train leaves at 20:30", "contradicts"),
            (Fact, "The passport expires on 3 May 2027", "The passport expires on 5 March 2027", "contradicts"),
            (Fact, "Ist in Wien geboren", "Ist in Graz geboren", "contradicts"),
            (Fact, "Was born in Vienna in winter", "Was born in Graz in winter", "contradicts"),
            (Fact, "The meeting is on Monday at noon", "The meeting is on Friday at noon", "contradicts"),
            (Fact, "Has two children", "Has 2 children", "new"),
            (Fact, "The door of Bonn is red", "The door of Graz is red", "new"),
            (Fact, "The room 3 is blue", "The room 4 is blue", "new"),
            (Fact, "Met Anna at work", "Met Berta at work", "new"),
            (Commitment, "Call Alice on Monday", "Call Bob on Monday", "new"),
            (Commitment, "Call Alice on Monday at noon", "Call Alice on Friday at noon", "new"),
        ] {
            assert_eq!(verdict(kind, known, new), is, "{known} / {new}");
        }
    }

    #[test]
    fn the_same_in_other_words_is_a_duplicate() {
        for (known, new) in [
            ("User prefers tabs over spaces", "The user prefers tabs over spaces."),
            ("User prefers tabs over spaces", "user prefers **tabs** over spaces"),
            ("Der Nutzer wohnt in Köln", "Nutzer wohnt in Köln!"),
            ("用户喜欢喝绿茶", "用户喜欢喝绿茶。"),
            ("用户喜欢喝绿茶", "用户喜欢喝绿茶的"),
            ("ユーザーはお茶が好きです", "ユーザーはお茶が好きですよ。"),
            ("ผู้ใช้ชอบดื่มชาเขียว", "ผู้ใช้ชอบดื่มชาเขียว "),
            ("사용자는 녹차를 좋아한다", "사용자는 녹차를 좋아한다."),
        ] {
            assert_eq!(verdict(MemoryKind::Preference, known, new), "duplicate", "{known} / {new}");
        }
        assert_eq!(verdict(MemoryKind::Preference, "User prefers tabs", "The kitchen is blue"), "new");
    }

    #[test]
    fn meaning_makes_duplicates_but_no_difference_goes_unseen() {
        let always = |_: &str, _: &str| Some(0.99);
        let rules = VerifyRules { likeness: Some(&always), ..RULES };
        let held = |known: &str, new: &str| {
            word(&verify(&entry("n", MemoryKind::Fact, new), &[&entry("e-1", MemoryKind::Fact, known)], &rules))
        };
        assert_eq!(
            held("User really enjoys drinking strong coffee", "User very much likes to drink coffee"),
            "duplicate"
        );
        for (known, new) in [
            ("User drinks 2 cups of coffee", "User likes 3 cups of coffee"),
            ("User met Alice for coffee", "User saw Bob over coffee"),
            ("User enjoys coffee", "User cannot stand coffee"),
            ("User loves strong coffee", "User hates strong coffee"),
        ] {
            assert_ne!(held(known, new), "duplicate", "{new}");
        }
        let never = |_: &str, _: &str| None;
        let rules = VerifyRules { likeness: Some(&never), ..RULES };
        let (one, other) =
            (entry("n", MemoryKind::Fact, "User enjoys coffee"), entry("e-1", MemoryKind::Fact, "User likes coffee"));
        assert_eq!(verify(&one, &[&other], &rules), Verdict::New);
    }
}
