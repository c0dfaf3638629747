//! How a sentence begins: whom it is about, and by which verb. "Likes tea" says it of the person, as "User likes tea" does.

use super::marks::{NEGATIONS, Statement, is_akin, is_in};
use crate::derive::words::is_parted_within;

pub(super) const ARTICLES: &str =
    "the a an der die das ein eine le la les l un une el los las il lo i gli o os as de het een en ett";
/// Those of them that stand before nouns alone, and are no pronouns.
const OF_NOUNS: &str = "the der die das ein eine la l un une el los las il o os as de het een en ett";
/// Words for the person whose memory it is, folded.
pub(super) const PERSON: &str = "user i ich je yo eu io ik ja я nutzer nutzerin benutzer benutzerin anwender utilisateur utilisatrice usuario usuaria utente \
    gebruiker anvandaren brugeren brukeren пользователь uzytkownik kullanici";
/// Words for somebody else, who was named before.
const OTHERS: &str =
    "he she it they er sie il elle ils elles ella ellos lui lei loro hij zij ze han hon hun он она они on ona";
/// Forms of "to be": what follows is no verb.
const COPULAS: &str = "is are was were be am isnt arent wasnt werent ist sind war bin est etait suis es esta era soy estoy e foi sou estou sono zijn \
    jest był byla ar var";
/// Verbs that others follow.
const AUXILIARIES: &str = "has have had does do did can could will would should must hasnt havent hadnt doesnt dont didnt cannot cant couldnt wont \
    wouldnt shouldnt mustnt hat hatte kann konnte muss wird peut doit va puede debe tiene ha pode deve tem puo kan heeft wil har vil";
/// Small words between a subject and its verb.
const BETWEEN: &str = "se me te ne n y lui leur li mi ti ci vi si also always really auch immer aussi toujours tambien siempre anche sempre ook altijd";
/// Verbs of which one thing alone can be so at once.
const OF_ONE: &str = "live lives lived reside resides weigh weighs called named wohnt lebt wiegt heisst habite vit pese appelle vive reside pesa llama \
    mora chama abita chiama woont weegt heet живет зовут bor heter mieszka";

/// Forms of one small word at the same time: which of them stands there says nothing.
const SAME_FORMS: &[&str] = &[
    "is am are",
    "was were",
    "has have",
    "do does",
    "ist bin sind",
    "hat habe haben",
    "est suis",
    "es soy",
    "tiene tengo",
];

/// Whether two words are forms of one small word.
pub(super) fn are_same_form(one: &str, other: &str) -> bool {
    SAME_FORMS.iter().any(|forms| is_in(forms, one) && is_in(forms, other))
}

/// Whether a verb that says what somebody is, or of which one thing alone can be so, stands before a place among the words, and no verb behind
/// it: what stands there is then no part of whom it is about.
pub(super) fn says_what_is_so(says: &Statement, at: usize) -> bool {
    let is_verb = |word: &String| is_in(COPULAS, word) || is_in(OF_ONE, word);
    says.words.iter().take(at).any(is_verb) && !is_of_subject(says, at)
}

/// Whether a place among the words is in what a sentence is about: a verb stands behind it, or its subject right before.
pub(super) fn is_of_subject(says: &Statement, at: usize) -> bool {
    let is_verb = |word: &String| is_in(COPULAS, word) || is_in(AUXILIARIES, word);
    let follows = says.words.iter().skip(at + 1).any(is_verb) && !says.words.iter().take(at).any(is_verb);
    let opening = Opening::of(says);
    let is_right_behind = at > 0 && opening.verb.is_none() && opening.subject == Some(says.words[at - 1].as_str());
    follows || is_right_behind
}

/// How a sentence begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opening<'a> {
    /// What it is about by its own words; `None` is the person.
    subject: Option<&'a str>,
    /// What is its verb, or may be: without a subject the first word is one.
    verb: Option<&'a str>,
}

impl<'a> Opening<'a> {
    pub(super) fn of(says: &'a Statement) -> Self {
        let is_no_article = |word: &&str| !is_in(ARTICLES, word) || is_in(PERSON, word);
        let mut words = says.words.iter().map(String::as_str).filter(is_no_article).peekable();
        if is_unparted(says) {
            return Self { subject: words.next(), verb: None };
        }
        let (mut is_persons, mut is_copula, mut other) = (false, false, None);
        while let Some(word) = words.peek().copied() {
            if is_in(COPULAS, word) {
                is_copula = true;
            } else if is_in(PERSON, word) || is_in(AUXILIARIES, word) {
                is_persons = true;
            } else if other.is_none() && is_in(OTHERS, word) {
                other = Some(word);
            } else if !is_in(NEGATIONS, word) && !is_in(BETWEEN, word) {
                break;
            }
            words.next();
        }
        let first = words.next();
        let verb = first.filter(|_| !is_copula);
        if is_persons || is_copula || other.is_some() {
            return Self { subject: other, verb };
        }
        let is_noun = says.is_labelled || says.words.first().is_some_and(|word| is_in(OF_NOUNS, word));
        let is_name = is_noun || words.next().is_some_and(|next| is_in(COPULAS, next) || is_in(AUXILIARIES, next));
        Self { subject: first, verb: verb.filter(|_| !is_name) }
    }

    /// Whether two sentences are about the same.
    pub(super) fn is_about_the_same(&self, other: &Self) -> bool {
        let is_verb_of = |persons: &Self, verb: &str| persons.verb.is_some_and(|own| own == verb || is_akin(own, verb));
        match (self.subject, other.subject) {
            (None, None) => true,
            (Some(one), Some(two)) => one == two,
            // "Likes tea": its first word is the verb of what the other says of the person.
            (Some(verb), None) => self.verb == Some(verb) && is_verb_of(other, verb),
            (None, Some(verb)) => other.verb == Some(verb) && is_verb_of(self, verb),
        }
    }
}

/// Whether the words of a sentence are cut by signs, so that nobody knows which is the first.
pub(super) fn is_unparted(says: &Statement) -> bool {
    says.words.iter().any(|word| word.starts_with(is_parted_within))
}

/// The words of a sentence that say something besides of whom it is, and its verb.
pub(super) fn besides_the_verb<'a>(says: &'a Statement, opening: &Opening<'_>) -> Vec<&'a String> {
    let is_beside = |word: &&String| {
        let is_verb = opening.verb == Some(word.as_str()) && !is_in(OF_ONE, word);
        is_unparted(says) || !is_verb && !is_in(PERSON, word)
    };
    says.content.iter().filter(is_beside).collect()
}
