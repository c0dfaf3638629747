//! Whether anything is worth giving for a question, and of which kind. Pure.

use std::sync::LazyLock;

use jiff::civil::Date;

use super::matching::{GatePhrase, GateWords, PHRASES, is_unspaced};
use super::times::{DaySpan, named_time};

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
    /// The question without the words that decided, to be looked for; empty where nothing else is left.
    pub(crate) rest: String,
    /// The days that it names.
    pub(crate) span: Option<DaySpan>,
}

/// Minimum length of a question, in characters: shorter ones say nothing of what they want.
const MIN_CHARS: usize = 3;

/// The kinds that phrases tell. The first that has one decides; a time does before the last one.
static TABLE: LazyLock<[(Gate, &[GatePhrase], &str); 4]> = LazyLock::new(|| {
    [
        (Gate::Transcript, &PHRASES.verbatim, "it asks for the exact words"),
        (Gate::Profile, &PHRASES.about_oneself, "it is about the user"),
        (Gate::Summaries, &PHRASES.decided, "it asks what was discussed or decided"),
        (Gate::Entries, &PHRASES.remembered, "it asks to remember"),
    ]
});
/// How many kinds of the table go before a time.
const BEFORE_TIMES: usize = 3;
static NO_QUESTIONS: LazyLock<Vec<String>> =
    LazyLock::new(|| PHRASES.small_talk.iter().map(|said| plain(said)).collect());

/// Decides by the words of a question. `names` is a known entity that it names, if any; `today` is the day on which it is asked.
pub(crate) fn gate(query: &str, names: Option<&str>, today: Date) -> Gated {
    let query = query.trim();
    let words = GateWords::of(query);
    let is_short = || words.folded().flat_map(str::chars).take(MIN_CHARS).count() < MIN_CHARS;
    let nothing = |why: &str| Gated { gate: Gate::Nothing, why: why.to_owned(), rest: query.to_owned(), span: None };
    if query.starts_with('/') {
        return nothing("it is a command");
    }
    if is_short() && names.is_none() && !query.chars().any(is_unspaced) {
        return nothing("it is too short");
    }
    if NO_QUESTIONS.contains(&plain(query)) {
        return nothing("it is not a question");
    }
    let time = named_time(query, &words, today);
    let (first, last) = TABLE.split_at(BEFORE_TIMES);
    let in_table = |table: &[(Gate, &[GatePhrase], &str)]| {
        table.iter().find_map(|(gate, phrases, why)| {
            let places = phrases.iter().find_map(|phrase| words.places_of(phrase))?;
            Some((*gate, format!("{why} (`{}`)", words.at(&places)), places))
        })
    };
    let of_time =
        || time.as_ref().map(|time| (Gate::Summaries, format!("it names a time (`{}`)", time.by), Vec::new()));
    if let Some((gate, why, mut places)) = in_table(first).or_else(of_time).or_else(|| in_table(last)) {
        places.extend(time.iter().flat_map(|time| &time.places));
        return Gated { gate, why, rest: words.without(&places), span: time.and_then(|time| time.span) };
    }
    let (gate, why) = match names {
        Some(name) => (Gate::Entries, format!("it names a known entity (`{name}`)")),
        None => (Gate::Search, "notes and conversations were searched".to_owned()),
    };
    Gated { gate, why, rest: query.to_owned(), span: None }
}

/// The words of a text, folded.
fn plain(text: &str) -> String {
    GateWords::of(text).folded().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_gate() {
        let day = Date::constant(2026, 11, 23);
        for (gate_of, queries) in TABLE_OF_QUESTIONS {
            for query in *queries {
                let gated = gate(query, None, day);
                assert_eq!(gated.gate, *gate_of, "{query}: {}", gated.why);
            }
        }
    }

    #[test]
    fn what_is_known_by_its_name_asks_for_entries_unless_more_is_said() {
        let day = Date::constant(2026, 11, 23);
        assert_eq!(gate("Project Kestrel status", Some("Project Kestrel"), day).gate, Gate::Entries);
        assert_eq!(gate("what did we decide on Project Kestrel", Some("Project Kestrel"), day).gate, Gate::Summaries);
        let gated = gate("What did I say about the tent?", None, day);
        assert_eq!((gated.rest.as_str(), gated.span), ("about the tent", None));
        let gated = gate("What happened yesterday?", None, day);
        assert_eq!(gated.span.map(|span| span.first), Some(Date::constant(2026, 11, 22)));
        let gated = gate("What did we decide about the roof last week?", None, day);
        assert_eq!((gated.gate, gated.rest.as_str()), (Gate::Summaries, "What about the roof"));
        assert!(gated.span.is_some_and(|span| span.has(Date::constant(2026, 11, 16))));
    }

    #[test]
    fn a_question_of_a_megabyte_is_decided_in_time() {
        let long = "what did the words of this paste mean ".repeat(27_000);
        let since = std::time::Instant::now();
        assert_eq!(gate(&long, None, Date::constant(2026, 11, 23)).gate, Gate::Search);
        assert!(since.elapsed().as_secs() < 5);
    }

    const TABLE_OF_QUESTIONS: &[(Gate, &[&str])] = &[
        (
            Gate::Profile,
            &[
                "Who am I?",
                "what do you know about me",
                "What's my name?",
                "what is my favourite tea",
                "What are my hobbies?",
                "Do you know my name?",
                "Wie heiße ich?",
                "Was ist mein Beruf?",
                "Was weißt du über mich?",
                "Que sais-tu de moi ?",
                "¿Qué sabes de mí?",
                "¿Qué sabes sobre mí?",
                "Cosa sai di me?",
                "O que você sabe sobre mim?",
                "Wat weet je over mij?",
                "Что ты знаешь обо мне?",
                "你知道我什么",
                "我是谁？",
                "私について何を知っていますか",
                "나에 대해 뭘 알아?",
                "내 이름이 뭐야?",
                "मेरे बारे में क्या जानते हो",
                "ماذا تعرف عني؟",
                "Co o mnie wiesz?",
            ],
        ),
        (
            Gate::Transcript,
            &[
                "What did I say about the tent?",
                "What did I exactly say?",
                "Quote it verbatim",
                "what exactly did she write",
                "Was habe ich gesagt zum Zelt?",
                "Was habe ich zum Dach gesagt?",
                "wortwörtlich bitte",
                "Qu'est-ce que j'ai dit sur la tente ?",
                "¿Qué dije exactamente?",
                "co powiedziałem o namiocie",
                "что я сказал о палатке",
                "我说过什么关于帐篷",
                "正確に何と言った",
            ],
        ),
        (
            Gate::Summaries,
            &[
                "What did we decide about the roof?", "What have we finally decided?", "we discussed tents",
                "What happened yesterday?", "what happened last week", "what did I do last week?", "last week's plan",
                "what happened on Monday", "what happened today", "what did we do this week",
                "what happened on 20 November 2026", "am 20.11.2026", "what happened in 2026",
                "what did I do in the past week", "what happened in the last 3 days", "what did we do in October",
                "Was haben wir beschlossen?", "Was haben wir zum Dach beschlossen?",
                "wat hebben we over het dak besloten", "was war letzte Woche", "letzte Woche",
                "Qu'avons-nous décidé ?", "Qu'avons-nous finalement décidé ?", "la semaine dernière",
                "¿Qué decidimos?", "что мы решили", "我们决定了什么", "昨天", "先週の話",
                "what happened on 2026-03-02", "지난주", "지난주에 뭐 했어?", "우리가 무엇을 결정했어?",
                "Co było w zeszłym tygodniu?",
            ],
        ),
        (
            Gate::Entries,
            &[
                "Do you remember the wifi?", "do you remember which editors I use", "do you recall teas I like",
                "recall the plan", "Erinnerst du dich an das Zelt?", "te souviens-tu", "помнишь ли ты план",
                "还记得吗", "기억해?",
            ],
        ),
        (Gate::Nothing, &["", "ok", "Thanks!", "/compact now", "?!", "hi", "Danke.", "好的。", "x"]),
        (
            Gate::Search,
            &[
                "How do I bake rye bread?",
                "Which editor should I configure?",
                "How do I set up vim",
                "the exact sciences of rust",
                "teamwork",
                "yesterdays",
                "東京の天気",
                "a sword-by-sword account",
                "what are my notes on sourdough",
                "busca notas sobre mi viaje a Roma",
                "what is my plan for the roof",
                "关于我们的屋顶计划",
                "你知道我们的项目吗",
                "rename my name field in the struct",
                "what is my mistake in this loop",
                "what exactly is a monad",
                "what is the weather today",
                "remind yourself: the release is on 2027-01-01",
                "내일 이름을 짓자",
                "Haben wir Brot? Das ist beschlossen.",
            ],
        ),
    ];
}
