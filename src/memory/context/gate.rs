//! Whether anything is worth giving for a question, and of which kind; the time that a question names, as days, and which days summaries and
//! digests are of. Pure.

use std::sync::LazyLock;

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};

use super::matching::{GatePhrase, GateWords, PHRASES, TimeSpan, is_unspaced};
use crate::index::engine::FileEntry;
use crate::text::derive::calendar::{
    NamedDay, WEEKDAYS_WITHIN, is_month, monday_of, named_day, named_month, weekday_named,
};

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

impl Gated {
    /// One of a question that is looked for as it is.
    pub(super) fn of(gate: Gate, why: &str, query: &str) -> Self {
        Self { gate, why: why.to_owned(), rest: query.to_owned(), span: None }
    }
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
    let nothing = |why: &str| Gated::of(Gate::Nothing, why, query);
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
    match names {
        Some(name) => Gated::of(Gate::Entries, &format!("it names a known entity (`{name}`)"), query),
        None => Gated::of(Gate::Search, "notes and conversations were searched", query),
    }
}

/// The words of a text, folded.
fn plain(text: &str) -> String {
    GateWords::of(text).folded().collect::<Vec<_>>().join(" ")
}

/// A time that a question names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamedTime {
    /// What names it: a phrase, or a day.
    by: String,
    /// The places of its words.
    places: Vec<usize>,
    /// Its days; `None` where nobody knows which.
    span: Option<DaySpan>,
}

/// The time before now that a question names, on the day on which it is asked: a date, or what people call a time.
fn named_time(query: &str, words: &GateWords<'_>, today: Date) -> Option<NamedTime> {
    let is_about_was = PHRASES.was.iter().any(|phrase| words.places_of(phrase).is_some());
    let written =
        |span: DaySpan| NamedTime { by: span.first.to_string(), places: places_of_date(words), span: Some(span) };
    let not_after = |day: &Date| *day <= today;
    let last_of = |of: &dyn Fn(i16) -> Option<Date>| {
        let of = |year: i16| of(year).filter(not_after);
        of(today.year()).or_else(|| of(today.year() - 1)).filter(|_| is_about_was)
    };
    let day = named_day(query);
    if let Some(NamedDay::Dated(day)) = day
        && not_after(&day)
    {
        return Some(written(DaySpan::day(day)));
    }
    // What goes on is a time of which something was only where the question says so.
    let now = PHRASES.now.iter().filter(|_| is_about_was);
    let rows = PHRASES.ago.iter().chain(&PHRASES.past).chain(now);
    let phrase = rows.flat_map(|row| row.phrases.iter().map(|phrase| (row.span, phrase))).find_map(|(span, phrase)| {
        let places = words.places_of(phrase)?;
        let number = words.number(&places).filter(|_| phrase.has_number());
        Some(NamedTime { by: words.at(&places), span: days(span, number, today), places })
    });
    if phrase.is_some() {
        return phrase;
    }
    if let Some(NamedDay::OfSomeYear { month, day }) = day
        && let Some(day) = last_of(&|year| Date::new(year, month, day).ok())
    {
        return Some(written(DaySpan::day(day)));
    }
    if let Some((number, places)) = weekday(words).filter(|_| is_about_was) {
        // The last day of that name before today.
        let since = (i64::from(today.weekday().to_monday_zero_offset()) - number as i64 + 6) % 7 + 1;
        let span = today.checked_sub(since.days()).ok().map(DaySpan::day);
        return Some(NamedTime { by: words.at(&places), places, span });
    }
    if let Some((month, year)) = named_month(query) {
        let of = |year: i16| Date::new(year, month, 1).ok();
        let first = year.map_or_else(|| last_of(&of), |year| of(year).filter(not_after));
        if let Some(first) = first {
            return Some(written(DaySpan::month(first)));
        }
    }
    let (year, places) = named_year(words, today)?;
    let is_all = || words.without(&places).is_empty();
    let first = Date::new(year, 1, 1).ok().filter(|_| is_about_was || is_all())?;
    Some(NamedTime { by: year.to_string(), places, span: Some(DaySpan::from(first, first.last_of_year())) })
}

/// What stands before a year that is a time, folded.
const BEFORE_YEARS: [&str; 16] = [
    "in", "during", "year", "jahr", "jahre", "en", "annee", "ano", "em", "nel", "anno", "jaar", "w", "roku", "в",
    "году",
];

/// The year up to now that a question names, and the places of its words: `in 2025`, `2025年`, `2025년`.
fn named_year(words: &GateWords<'_>, today: Date) -> Option<(i16, Vec<usize>)> {
    let year = |word: &str| {
        let (digits, rest) = word.split_at_checked(4)?;
        let year = digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        let is_one = (1900..=today.year()).contains(&year) && (rest.is_empty() || rest.starts_with('년'));
        is_one.then_some((year, !rest.is_empty()))
    };
    let before = words.places(|word| BEFORE_YEARS.contains(&word));
    let signs = words.places(|word| word == "年");
    words.places(|word| year(word).is_some()).into_iter().find_map(|at| {
        let (year, is_marked) = year(&words.at(&[at]))?;
        let by = at.checked_sub(1).filter(|by| before.contains(by)).or(Some(at + 1).filter(|by| signs.contains(by)));
        let is_one = is_marked || by.is_some();
        is_one.then(|| (year, [at].into_iter().chain(by).collect()))
    })
}

/// The names of the days of the week, from Monday, that are several words or such as no blanks part from others.
static DAYS_WITHIN: LazyLock<Vec<Vec<GatePhrase>>> =
    LazyLock::new(|| WEEKDAYS_WITHIN.iter().map(|day| day.split('|').map(GatePhrase::read).collect()).collect());

/// The first day of the week that a question names, 0 for Monday, and the places of its words.
fn weekday(words: &GateWords<'_>) -> Option<(usize, Vec<usize>)> {
    DAYS_WITHIN.iter().enumerate().find_map(|(number, phrases)| {
        let by_word = || words.places(|word| weekday_named(word) == Some(number)).first().map(|at| vec![*at]);
        let places = phrases.iter().find_map(|phrase| words.places_of(phrase)).or_else(by_word)?;
        Some((number, places))
    })
}

fn days(span: TimeSpan, said: Option<u32>, today: Date) -> Option<DaySpan> {
    use TimeSpan::{DaysAgo, LastDays, LastMonths, LastWeeks, LastYears, MonthsAgo, SomeTime, WeeksAgo, YearsAgo};
    let number = |usual: u32| i64::from(said.unwrap_or(usual)).min(36_500);
    let ago = match span {
        DaysAgo(usual) | LastDays(usual) => number(usual).days(),
        WeeksAgo(usual) | LastWeeks(usual) => number(usual).weeks(),
        MonthsAgo(usual) | LastMonths(usual) => number(usual).months(),
        YearsAgo(usual) | LastYears(usual) => number(usual).min(5_000).years(),
        SomeTime => return None,
    };
    let then = today.checked_sub(ago).ok()?;
    match span {
        DaysAgo(_) => Some(DaySpan::day(then)),
        WeeksAgo(_) => DaySpan::week(then.checked_sub(i64::from(then.weekday().to_monday_zero_offset()).days()).ok()?),
        MonthsAgo(_) => Some(DaySpan::month(then)),
        YearsAgo(_) => Some(DaySpan::from(then.first_of_year(), then.last_of_year())),
        LastDays(_) | LastWeeks(_) | LastMonths(_) | LastYears(_) | SomeTime => Some(DaySpan::from(then, today)),
    }
}

/// The places of the words that a written date has: numbers, months, and the signs behind a number (`10月`).
fn places_of_date(words: &GateWords<'_>) -> Vec<usize> {
    let is_number = |word: &str| {
        let rest = word.trim_start_matches(|digit: char| digit.is_ascii_digit());
        rest.len() < word.len() && (rest.is_empty() || rest.starts_with(['년', '월', '일']))
    };
    let mut places = words.places(|word| is_month(word) || is_number(word));
    let signs = words.places(|word| matches!(word, "年" | "月" | "日" | "号" | "號"));
    let behind = signs.into_iter().filter(|at| at.checked_sub(1).is_some_and(|before| places.contains(&before)));
    places.extend(behind.collect::<Vec<_>>());
    places.sort_unstable();
    places
}

/// Where summaries are.
pub(super) const SUMMARIES: &str = "summaries/";

/// The day or the week that the digest at a path is of, `2026-W47`, and its days.
pub(super) fn digest_at(path: &str) -> Option<(&str, DaySpan)> {
    let name = path.strip_prefix(SUMMARIES)?.strip_suffix(".md")?;
    if let Some(day) = name.strip_prefix("days/") {
        return Some((day, DaySpan::day(day.parse().ok()?)));
    }
    let week = name.strip_prefix("weeks/")?;
    Some((week, DaySpan::week(monday_of(week)?)?))
}

/// The day of a summary, as that of its conversation's last turn, or the day or the week that a digest is of.
pub(super) fn day_of(file: &FileEntry) -> Option<String> {
    let path = file.path.as_str();
    let of_digest = digest_at(path).map(|(name, _)| name.to_owned());
    of_digest.or_else(|| Some(day_at(file.created_ms).filter(|_| path.starts_with(SUMMARIES))?.to_string()))
}

/// The day of a moment, in milliseconds since 1970.
pub(super) fn day_at(ms: i64) -> Option<Date> {
    Some(Timestamp::from_millisecond(ms).ok()?.to_zoned(jiff::tz::TimeZone::system()).date())
}

/// The digests of some days among the paths of files, the newest first. A week that is not given takes no day's place.
pub(super) fn digests_of<'p>(
    span: DaySpan,
    paths: impl Iterator<Item = &'p str>,
    is_given: impl Fn(&str) -> bool,
) -> Vec<&'p str> {
    let digests = paths.filter_map(|path| Some((digest_at(path)?.1, path)));
    let of_span = digests.filter(|(days, _)| span.has_all(days));
    let (mut found, days): (Vec<_>, Vec<_>) = of_span.partition(|(days, _)| days.first != days.last);
    found.retain(|(_, path)| is_given(path));
    let of_no_week = |(day, _): &(DaySpan, &str)| !found.iter().any(|(week, _)| week.has(day.first));
    let days: Vec<_> = days.into_iter().filter(of_no_week).collect();
    found.extend(days);
    found.sort_unstable_by_key(|(days, path)| std::cmp::Reverse((days.first, *path)));
    found.into_iter().map(|(_, path)| path).collect()
}

/// Days, the first and the last included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DaySpan {
    /// The first.
    pub(crate) first: Date,
    /// The last.
    pub(crate) last: Date,
}

impl DaySpan {
    /// Whether a day is in it.
    pub(crate) fn has(&self, day: Date) -> bool {
        (self.first..=self.last).contains(&day)
    }

    /// Whether all of these days are in it.
    pub(super) fn has_all(&self, days: &Self) -> bool {
        self.has(days.first) && self.has(days.last)
    }

    /// From a day to another.
    pub(super) fn from(first: Date, last: Date) -> Self {
        Self { first, last }
    }

    /// A day alone.
    pub(super) fn day(day: Date) -> Self {
        Self::from(day, day)
    }

    /// The week from a Monday on.
    fn week(monday: Date) -> Option<Self> {
        Some(Self::from(monday, monday.checked_add(6.days()).ok()?))
    }

    /// The month that a day is of.
    pub(super) fn month(of: Date) -> Self {
        Self::from(of.first_of_month(), of.last_of_month())
    }
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

#[cfg(test)]
mod tests_of_times {
    use super::*;

    /// 2026-11-23 is a Monday.
    #[test]
    fn times_are_read_as_people_name_them() {
        let today = Date::constant(2026, 11, 23);
        for (query, expected) in [
            ("what happened yesterday", "2026-11-22"),
            ("vorgestern", "2026-11-21"),
            ("what happened last week", "2026-11-16 2026-11-22"),
            ("was war letzte Woche", "2026-11-16 2026-11-22"),
            ("Co było w zeszłym tygodniu?", "2026-11-16 2026-11-22"),
            ("지난주에 뭐 했어?", "2026-11-16 2026-11-22"),
            ("on Monday, what did we do", "2026-11-16"),
            ("what happened on Sunday", "2026-11-22"),
            ("was haben wir am Freitag gemacht", "2026-11-20"),
            ("¿qué pasó el viernes?", "2026-11-20"),
            ("星期五我们做了什么", "2026-11-20"),
            ("what happened today", "2026-11-23"),
            ("what happened this week", "2026-11-23 2026-11-29"),
            ("what did we do on 20 November 2026", "2026-11-20"),
            ("am 20.11.2026", "2026-11-20"),
            ("log of 2026-03-02", "2026-03-02"),
            ("what was said on 5 May", "2026-05-05"),
            ("what did I do on 24 December", "2025-12-24"),
            ("what did we do in October", "2026-10-01 2026-10-31"),
            ("was haben wir im Dezember besprochen", "2025-12-01 2025-12-31"),
            ("что мы делали в октябре", "2026-10-01 2026-10-31"),
            ("October 2025", "2025-10-01 2025-10-31"),
            ("10月に何をした？", "2026-10-01 2026-10-31"),
            ("我们10月决定了什么", "2026-10-01 2026-10-31"),
            ("2025年10月的计划", "2025-10-01 2025-10-31"),
            ("10월에 뭐 했어?", "2026-10-01 2026-10-31"),
            ("11月21号我们说了什么", "2026-11-21"),
            ("10个月前我们说了什么", "2026-01-01 2026-01-31"),
            ("सोमवार को क्या हुआ था?", "2026-11-16"),
            ("शुक्रवार को हमने क्या तय किया", "2026-11-20"),
            ("हमने रविवार को किस बारे में बात की थी", "2026-11-22"),
            ("ماذا حدث يوم الجمعة؟", "2026-11-20"),
            ("ماذا قررنا الاثنين", "2026-11-16"),
            ("عن ماذا تحدثنا يوم الأحد؟", "2026-11-22"),
            ("three days ago", "2026-11-20"),
            ("vor 2 Wochen", "2026-11-09 2026-11-15"),
            ("the release of 24/12/2026", ""),
            ("and/or 1/2", ""),
            ("what happened in 2026", "2026-01-01 2026-12-31"),
            ("was haben wir im Jahr 2025 beschlossen", "2025-01-01 2025-12-31"),
            ("qu'avons-nous fait en 2025", "2025-01-01 2025-12-31"),
            ("2025年に何をした？", "2025-01-01 2025-12-31"),
            ("2025년에 뭐 했어?", "2025-01-01 2025-12-31"),
            ("in 2024", "2024-01-01 2024-12-31"),
            ("the best cars in 2026", ""),
            ("what did we plan in 2030", ""),
            ("what happened in the past week", "2026-11-16 2026-11-23"),
            ("in the last 3 days", "2026-11-20 2026-11-23"),
            ("past two weeks", "2026-11-09 2026-11-23"),
            ("the last 2 months", "2026-09-23 2026-11-23"),
            ("in den letzten drei Tagen", "2026-11-20 2026-11-23"),
            ("les 3 derniers jours", "2026-11-20 2026-11-23"),
            ("过去3天", "2026-11-20 2026-11-23"),
            ("the last few days", "2026-11-16 2026-11-23"),
            ("last month", "2026-10-01 2026-10-31"),
            ("three years ago", "2023-01-01 2023-12-31"),
            ("the year before last", "2024-01-01 2024-12-31"),
            ("上上周", "2026-11-09 2026-11-15"),
            ("l'année dernière", "2025-01-01 2025-12-31"),
            ("last time", "?"),
            ("what is the weather today", ""),
            ("plan this week", ""),
            ("remind me on Friday", ""),
            ("we meet on 5 December", ""),
            ("10月の予定", ""),
            ("शुक्रवार को याद दिलाना", ""),
            ("ذكرني يوم الجمعة", ""),
            ("ذكر هذا الأحد", ""),
            ("the release of 2027-01-01", ""),
            ("it may be in order", ""),
            ("how do I set up vim", ""),
            ("yesterdays", ""),
        ] {
            assert_eq!(said(query, today), expected, "{query}");
        }
    }

    fn said(query: &str, today: Date) -> String {
        named_time(query, &GateWords::of(query), today).map_or_else(String::new, |time| match time.span {
            Some(DaySpan { first, last }) if first == last => first.to_string(),
            Some(DaySpan { first, last }) => format!("{first} {last}"),
            None => "?".into(),
        })
    }

    #[test]
    fn the_digest_of_a_whole_week_stands_for_its_days() {
        let paths = [
            "summaries/days/2026-11-14.md", "summaries/days/2026-11-16.md", "summaries/weeks/2026-W47.md",
            "summaries/days/2026-11-23.md", "summaries/weeks/2026-W46.md", "summaries/days/none.md",
            "summaries/tent.md", "notes/days/2026-11-16.md",
        ];
        let of = |first: Date, last: Date| digests_of(DaySpan::from(first, last), paths.into_iter(), |_| true);
        let day = |day: i8| Date::constant(2026, 11, day);
        assert_eq!(of(day(16), day(22)), ["summaries/weeks/2026-W47.md"]);
        assert_eq!(of(day(16), day(16)), ["summaries/days/2026-11-16.md"]);
        let week = DaySpan::from(day(16), day(22));
        assert_eq!(digests_of(week, paths.into_iter(), |_| false), ["summaries/days/2026-11-16.md"]);
        assert_eq!(
            of(day(14), day(23)),
            ["summaries/days/2026-11-23.md", "summaries/weeks/2026-W47.md", "summaries/days/2026-11-14.md"]
        );
    }
}
