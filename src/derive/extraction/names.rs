//! The names that a session has: words that it writes with a capital alone. A sentence that leaves the capital away names them all the same. By
//! rules.

use std::collections::{BTreeMap, BTreeSet};

use unicode_segmentation::UnicodeSegmentation;

use super::claims::{PERSON_WORDS, SaidWords, begins_plainly};
use crate::derive::calendar_words::is_calendar_word;
use crate::derive::stop_words;
use crate::derive::words::fold;

/// What joins two names.
const JOINING: [&str; 6] = ["and", "und", "y", "e", "et", "en"];
/// Verbs that often stand behind a name, folded, beside those of English that end with `s`.
const VERBS: &str = "is was has had will can owes does did said says ist war hat hatte wird kann mag will kommt kam geht ging wohnt lebt arbeitet spielt \
    heisst sagt sagte es era esta fue tiene vive trabaja llega juega quiere dice dijo est etait vit habite travaille veut dit ha vuole lavora abita mora \
    tem gosta";
/// What stands before a noun of German, folded: one that has it is no name.
const BEFORE_NOUNS: &str = "der die das den dem des ein eine einen einem einer eines mein meine meinen meinem meiner dein deine sein seine ihr ihre unser \
    unsere kein keine keinen keinem keiner zum zur im vom beim ins ans jeden jede jedes dieser diese dieses diesen diesem";

/// The names of a session, folded.
#[derive(Debug, Default)]
pub(super) struct SpokenNames(BTreeSet<String>);

/// How a word is written.
#[derive(Default)]
struct WordUse {
    is_name: bool,
    /// In lower case, or as a noun of German.
    is_word: bool,
}

impl SpokenNames {
    /// Those of some lines.
    pub(super) fn of<'t>(lines: impl Iterator<Item = &'t str>) -> Self {
        let mut words: BTreeMap<String, WordUse> = BTreeMap::new();
        for line in lines.flat_map(str::lines) {
            let there: Vec<(usize, &str)> = line.unicode_word_indices().collect();
            for (at, (start, word)) in there.iter().enumerate() {
                let written = words.entry(fold(word)).or_default();
                if !is_capital(word) {
                    written.is_word = true;
                    continue;
                }
                let before = at.checked_sub(1).map(|before| fold(there[before].1));
                written.is_word |= before.is_some_and(|before| is_in(BEFORE_NOUNS, &before));
                let next = there.get(at + 1).map(|(_, next)| *next);
                written.is_name |=
                    !begins(&line[..*start]) || is_subject(word, next, there.get(at + 2).map(|(_, third)| *third));
            }
        }
        let is_one = |word: &str| {
            !stop_words::is_one(word)
                && !PERSON_WORDS.contains(&word)
                && !is_calendar_word(word)
                && word.chars().nth(1).is_some()
        };
        words.retain(|word, written| written.is_name && !written.is_word && is_one(word));
        Self(words.into_keys().collect())
    }

    /// The first of them that a sentence has in lower case and the lines have not.
    pub(super) fn lacking<'s>(&self, sentence: &'s str, lines: &SaidWords) -> Option<&'s str> {
        sentence.unicode_words().find(|word| {
            let folded = fold(word);
            !is_capital(word) && self.0.contains(&folded) && !lines.has(&folded)
        })
    }
}

/// Whether a word begins with a capital, and goes on in lower case.
fn is_capital(word: &str) -> bool {
    word.starts_with(char::is_uppercase)
}

/// Whether a sentence begins behind a text.
fn begins(before: &str) -> bool {
    let before = before.trim_end_matches(|mark: char| {
        mark.is_whitespace()
            || matches!(
                mark,
                '"' | '\'' | '“' | '„' | '«' | '»' | '(' | '[' | '*' | '_' | '-' | '–' | '—' | '¿' | '¡' | '#'
            )
    });
    before.is_empty() || before.ends_with(['.', '!', '?', ':', ';', '…', '。'])
}

/// Whether a word that begins a sentence is somebody: a verb stands behind it, or another name.
fn is_subject(word: &str, next: Option<&str>, third: Option<&str>) -> bool {
    let (folded, Some(next)) = (fold(word), next) else { return false };
    let behind = fold(next);
    if word.contains(['\'', '’']) {
        return false;
    }
    let joins = JOINING.contains(&behind.as_str()) && third.is_some_and(is_capital);
    let is_verb = is_in(VERBS, &behind)
        || (behind.len() > 3
            && behind.ends_with('s')
            && !behind.ends_with("ss")
            && !is_capital(next)
            && !stop_words::is_one(&behind));
    (joins || is_verb) && !begins_plainly(&folded, Some(next))
}

fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lacking(session: &[&str], lines: &str, sentence: &str) -> Option<String> {
        SpokenNames::of(session.iter().copied()).lacking(sentence, &SaidWords::of(lines)).map(str::to_owned)
    }

    #[test]
    fn a_name_in_lower_case_is_one_wherever_nouns_have_capitals_or_not() {
        let english =
            ["Alice owes me 20 euros.", "Bob plays chess.", "I told Carla. Remember to buy bread. Will you bike?"];
        let german = [
            "Alice schuldet mir 20 Euro.",
            "Bob spielt am Abend Schach.",
            "Ich trinke gern Tee und mag den Hund von Carla.",
        ];
        let spanish =
            ["Alicia me debe 20 euros.", "Bruno juega al ajedrez.", "Ayer vi a Carla en la plaza con el perro."];
        for (session, lines, sentence, lacks) in [
            (&english[..], english[0], "bob owes the user 20 euros", Some("bob")),
            (&english, english[0], "carla owes the user 20 euros", Some("carla")),
            (&english, english[0], "alice owes the user 20 euros", None),
            (&english, english[0], "has to remember and buy what alice will get", None),
            (&german, german[0], "bob schuldet dem nutzer 20 euro", Some("bob")),
            (&german, german[0], "carla schuldet dem nutzer 20 euro", Some("carla")),
            (&german, german[0], "alice schuldet dem nutzer 20 euro", None),
            (&german, german[2], "trinkt gern tee und mag den hund von carla", None),
            (&german, german[1], "spielt schach am abend mit dem hund", None),
            (&spanish, spanish[0], "bruno debe 20 euros al usuario", Some("bruno")),
            (&spanish, spanish[0], "carla debe 20 euros al usuario", Some("carla")),
            (&spanish, spanish[0], "alicia debe 20 euros al usuario", None),
            (&spanish, spanish[2], "vio a carla en la plaza con el perro", None),
        ] {
            assert_eq!(lacking(session, lines, sentence).as_deref(), lacks, "{sentence}");
        }
    }

    #[test]
    fn what_is_written_in_lower_case_as_well_is_no_name() {
        let session =
            ["Ask Mark about it.", "Mark the day, and mark the hour.", "May we see Rose?", "A rose is a rose."];
        for sentence in ["has to mark the day", "likes a rose in may"] {
            assert_eq!(lacking(&session, "x", sentence), None, "{sentence}");
        }
        assert_eq!(lacking(&["NASA called, USA too.", "用户 wohnt"], "x", ""), None);
    }
}
