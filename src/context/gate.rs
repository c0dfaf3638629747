//! Whether anything is worth giving for a question, and of which kind. Pure.

use jiff::civil::Date;

use super::phrases::{ABOUT_ONESELF, DECIDED, GatePhrases, REMEMBERED, TIMES, VERBATIM, YESTERDAY};
use crate::derive::words::fold;

/// What decided about a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    /// It is about the person.
    Profile,
    /// It is about what was said, word by word.
    Transcript,
    /// It is about a time, or what was decided.
    Summaries,
    /// It names what is known, or asks to remember.
    Entries,
    /// Something that was found answers it.
    Search,
    /// Nothing is worth it.
    Nothing,
    /// All layers were asked for.
    Full,
    /// The sections were named.
    Asked,
}

impl Gate {
    /// Its word in answers.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Profile => "profile",
            Self::Transcript => "transcript",
            Self::Summaries => "summaries",
            Self::Entries => "entries",
            Self::Search => "search",
            Self::Nothing => "nothing",
            Self::Full => "full",
            Self::Asked => "asked",
        }
    }
}

/// What a gate makes of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gated {
    /// The kind.
    pub(crate) gate: Gate,
    /// Why, as the receipt says it.
    pub(crate) why: String,
    /// The question without the words that decided, to be looked for; as it was where nothing else is left.
    pub(crate) rest: String,
    /// The day that it names.
    pub(crate) day: Option<Date>,
}

/// Minimum length of a question, in characters: shorter ones say nothing of what they want.
const MIN_CHARS: usize = 3;

/// The words of a question that are no more than a yes.
const SMALL_TALK: GatePhrases = &[
    "ok",
    "okay",
    "yes",
    "no",
    "yes please",
    "no thanks",
    "thanks",
    "thank you",
    "go on",
    "continue",
    "hi",
    "hello",
    "hey",
    "good morning",
    "ja",
    "nein",
    "danke",
    "weiter",
    "hallo",
    "guten morgen",
    "oui",
    "non",
    "merci",
    "bonjour",
    "continue",
    "si",
    "gracias",
    "hola",
    "sigue",
    "grazie",
    "ciao",
    "obrigado",
    "ola",
    "dank je",
    "hoi",
    "да",
    "нет",
    "спасибо",
    "привет",
    "好",
    "好的",
    "谢谢",
    "你好",
    "继续",
    "はい",
    "ありがとう",
    "こんにちは",
    "네",
    "감사합니다",
    "안녕하세요",
];

/// Decides by the words of a question. `names` is a known entity that it names, if any; `today` is the day on which it is asked.
pub(crate) fn gate(query: &str, names: Option<&str>, today: Date) -> Gated {
    let query = query.trim();
    let folded = spaced(query);
    let nothing = |why: &str| Gated { gate: Gate::Nothing, why: why.to_owned(), rest: query.to_owned(), day: None };
    if query.starts_with('/') {
        return nothing("it is a command");
    }
    if folded.trim().chars().count() < MIN_CHARS && names.is_none() && !folded.chars().any(is_unspaced) {
        return nothing("it is too short to say what is wanted");
    }
    if SMALL_TALK.iter().any(|phrase| spaced(phrase) == folded) {
        return nothing("it asks nothing");
    }
    let day = day_in(query, &folded, today);
    let found = |gate: Gate, phrase: &str, why: &str| {
        let rest = without(&folded, phrase);
        Gated {
            gate,
            why: format!("{why} (`{phrase}`)"),
            rest: if rest.is_empty() { query.to_owned() } else { rest },
            day,
        }
    };
    let table: [(Gate, GatePhrases, &str); 5] = [
        (Gate::Transcript, VERBATIM, "it asks for what was said, word by word"),
        (Gate::Profile, ABOUT_ONESELF, "it is about the person"),
        (Gate::Summaries, DECIDED, "it asks what was discussed or decided"),
        (Gate::Summaries, TIMES, "it names a time"),
        (Gate::Entries, REMEMBERED, "it asks to remember"),
    ];
    for (gate, phrases, why) in table {
        if let Some(phrase) = phrases.iter().find(|phrase| has(&folded, phrase)) {
            return found(gate, phrase, why);
        }
    }
    if let Some(day) = day {
        let why = format!("it names a time ({day})");
        return Gated { gate: Gate::Summaries, why, rest: query.to_owned(), day: Some(day) };
    }
    if let Some(name) = names {
        let why = format!("it names what is known (`{name}`)");
        return Gated { gate: Gate::Entries, why, rest: query.to_owned(), day: None };
    }
    let why = "notes and conversations were searched".to_owned();
    Gated { gate: Gate::Search, why, rest: query.to_owned(), day: None }
}

/// Folded, with a blank between the words and at both ends.
fn spaced(text: &str) -> String {
    let folded = fold(text);
    let words =
        folded.split(|character: char| !crate::derive::words::is_word(character)).filter(|word| !word.is_empty());
    words.fold(" ".to_owned(), |line, word| line + word + " ")
}

/// Whether a script has no blanks between its words.
fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Whether a text, [`spaced`], has a phrase: as words, or anywhere in what has no blanks.
fn has(text: &str, phrase: &str) -> bool {
    let phrase = spaced(phrase);
    if phrase.chars().any(is_unspaced) { text.contains(phrase.trim()) } else { text.contains(&phrase) }
}

fn without(text: &str, phrase: &str) -> String {
    let phrase = spaced(phrase);
    let rest =
        if phrase.chars().any(is_unspaced) { text.replace(phrase.trim(), " ") } else { text.replace(&phrase, " ") };
    rest.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A day that is written out, or yesterday.
fn day_in(query: &str, folded: &str, today: Date) -> Option<Date> {
    let written = query.split(|character: char| !character.is_ascii_digit() && character != '-');
    let written = written.filter(|word| word.len() == "2026-01-05".len()).find_map(|word| word.parse().ok());
    let yesterday = || YESTERDAY.iter().any(|phrase| has(folded, phrase)).then(|| today.yesterday().ok()).flatten();
    written.or_else(yesterday)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str) -> Gate {
        gate(query, None, Date::constant(2026, 11, 23)).gate
    }

    #[test]
    fn the_table_of_the_gate() {
        for (gate, queries) in [
            (
                Gate::Profile,
                &[
                    "Who am I?",
                    "what do you know about me",
                    "What's my name?",
                    "Wie heiße ich?",
                    "Was weißt du über mich?",
                    "Que sais-tu de moi ?",
                    "¿Qué sabes de mí?",
                    "Cosa sai di me?",
                    "O que você sabe sobre mim?",
                    "Wat weet je over mij?",
                    "Что ты знаешь обо мне?",
                    "你知道我什么",
                    "我是谁？",
                    "私について何を知っていますか",
                    "나에 대해 뭘 알아?",
                    "मेरे बारे में क्या जानते हो",
                    "ماذا تعرف عني؟",
                    "Co o mnie wiesz?",
                ][..],
            ),
            (
                Gate::Transcript,
                &[
                    "What did I say about the tent?",
                    "Quote it verbatim",
                    "what exactly did she write",
                    "Was habe ich gesagt zum Zelt?",
                    "wortwörtlich bitte",
                    "Qu'est-ce que j'ai dit sur la tente ?",
                    "¿Qué dije exactamente?",
                    "что я сказал о палатке",
                    "我说过什么关于帐篷",
                    "正確に何と言った",
                ],
            ),
            (
                Gate::Summaries,
                &[
                    "What did we decide about the roof?",
                    "we discussed tents",
                    "What happened yesterday?",
                    "last week's plan",
                    "Was haben wir beschlossen?",
                    "letzte Woche",
                    "Qu'avons-nous décidé ?",
                    "la semaine dernière",
                    "¿Qué decidimos?",
                    "что мы решили",
                    "我们决定了什么",
                    "昨天",
                    "先週の話",
                    "what happened on 2026-03-02",
                    "지난주",
                ],
            ),
            (
                Gate::Entries,
                &[
                    "Do you remember the wifi?",
                    "recall the plan",
                    "Erinnerst du dich an das Zelt?",
                    "te souviens-tu",
                    "помнишь ли ты план",
                    "还记得吗",
                ],
            ),
            (Gate::Nothing, &["", "ok", "Thanks!", "/compact now", "?!", "hi", "Danke.", "好的。", "x"]),
            (
                Gate::Search,
                &[
                    "How do I bake rye bread?",
                    "the exact sciences of rust",
                    "teamwork",
                    "yesterdays",
                    "東京の天気",
                    "a sword-by-sword account",
                ],
            ),
        ] {
            for query in queries {
                assert_eq!(of(query), gate, "{query}");
            }
        }
    }

    #[test]
    fn what_is_known_by_its_name_asks_for_entries_unless_more_is_said() {
        let day = Date::constant(2026, 11, 23);
        assert_eq!(gate("Project Kestrel status", Some("Project Kestrel"), day).gate, Gate::Entries);
        assert_eq!(gate("what did we decide on Project Kestrel", Some("Project Kestrel"), day).gate, Gate::Summaries);
        let gated = gate("What did I say about the tent?", None, day);
        assert_eq!((gated.rest.as_str(), gated.day), ("about the tent", None));
        let gated = gate("What happened yesterday?", None, day);
        assert_eq!(gated.day, Some(Date::constant(2026, 11, 22)));
        assert_eq!(gate("log of 2026-03-02", None, day).day, Some(Date::constant(2026, 3, 2)));
    }
}
