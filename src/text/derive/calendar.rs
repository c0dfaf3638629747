//! The names of the days of the week and of the months; and the days that a sentence names: as numbers, or with the name of a month.

use std::collections::HashMap;
use std::sync::LazyLock;

use jiff::civil::{Date, ISOWeekDate, Weekday};
use regex::{Captures, Regex};

use super::words::fold;

/// The days of the week from Monday, folded. A word counts where it is one or goes on with an ending.
const WEEKDAYS: [&str; 7] = [
    "monday montag lundi lunes lunedi maandag mandag poniedzialek poniedzialk poniedziałek poniedziałk понедельник maanantai pazartesi",
    "tuesday dienstag mardi martes martedi dinsdag tisdag tirsdag wtorek wtork вторник tiistai",
    "wednesday mittwoch mercredi miercoles mercoledi woensdag onsdag sroda srode srody среда среду среды среде средам keskiviik carsamba",
    "thursday donnerstag jeudi jueves giovedi donderdag torsdag czwartek czwartk четверг torstai persembe",
    "friday freitag vendredi viernes venerdi vrijdag fredag piatek piatk пятниц perjantai cuma",
    "saturday samstag sonnabend samedi sabado sabato zaterdag lordag lørdag sobota sobote soboty суббот lauantai cumartesi",
    "sunday sonntag dimanche domingo domenica zondag sondag søndag niedziela niedziele воскресень sunnuntai",
];
/// The names of the months in full, folded, also as they are in a sentence that says in which: in the languages that most notes are in.
const MONTHS: [&str; 12] = [
    "january januar janvier enero gennaio janeiro januari января stycznia январе styczniu",
    "february februar fevrier febrero febbraio fevereiro februari февраля lutego феврале lutym",
    "march marz mars marzo marco maart марта marca марте marcu",
    "april avril abril aprile апреля kwietnia апреле kwietniu",
    "may mai mayo maggio maio mei мая maja мае maju",
    "june juni juin junio giugno junho июня czerwca июне czerwcu",
    "july juli juillet julio luglio julho июля lipca июле lipcu",
    "august aout agosto augustus августа sierpnia августе sierpniu",
    "september sept septembre septiembre settembre setembro сентября wrzesnia сентябре wrzesniu",
    "october oktober octobre octubre ottobre outubro октября pazdziernika октябре pazdzierniku",
    "november novembre noviembre novembro ноября listopada ноябре listopadzie",
    "december dezember decembre diciembre dicembre dezembro декабря grudnia декабре grudniu",
];
/// Their first three letters.
const SHORT_MONTHS: [&str; 12] = [
    "jan", "feb fev lut", "mar mrz", "apr avr abr", "maj mag", "jun giu", "jul lug lip", "aug ago", "sep set",
    "oct okt out ott", "nov", "dec dez dic",
];
/// The longest ending of a day's name; names that end so go on with any other word: `Montagabend`.
const LONGEST_ENDING: usize = 3;
const GOES_ON: [&str; 2] = ["tag", "dag"];

fn words_of(folded: &str) -> Vec<&str> {
    folded.split(|mark: char| !mark.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

/// The day of the week that a folded word names, 0 for Monday.
pub(crate) fn weekday_named(word: &str) -> Option<usize> {
    let is_of = |name: &str| {
        let ending = word.strip_prefix(name).map(|ending| ending.chars().count());
        ending.is_some_and(|ending| ending <= LONGEST_ENDING || GOES_ON.iter().any(|end| name.ends_with(end)))
    };
    WEEKDAYS.iter().position(|names| names.split(' ').any(is_of))
}

/// The months by their names, and whether those are in full: each word of a long text is looked up.
static MONTHS_BY_NAME: LazyLock<HashMap<&str, (i8, bool)>> = LazyLock::new(|| {
    let named = |names: &'static [&'static str; 12], in_full: bool| {
        (1..).zip(names).flat_map(move |(month, names)| names.split(' ').map(move |name| (name, (month, in_full))))
    };
    named(&SHORT_MONTHS, false).chain(named(&MONTHS, true)).collect()
});

/// Whether a folded word is the name of a month in full.
pub(crate) fn is_month(word: &str) -> bool {
    MONTHS_BY_NAME.get(word).is_some_and(|(_, in_full)| *in_full)
}

/// The month, 1 to 12, that a folded word names, in full or by three letters.
pub(crate) fn month_named(word: &str) -> Option<i8> {
    MONTHS_BY_NAME.get(word).map(|(month, _)| *month)
}

/// A day that a sentence names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedDay {
    /// One of a year.
    Dated(Date),
    /// A day of a year that is not said.
    OfSomeYear {
        /// 1 to 12.
        month: i8,
        /// 1 to 31.
        day: i8,
    },
}

/// What stands before a month alone, where it is one: `may` and `march` are more.
const BEFORE_MONTH: &[&str] = &["in", "im", "en", "em", "w", "we", "в", "last", "this", "letzten", "pasado"];
/// The years that are meant.
const YEARS: std::ops::Range<i16> = 1900..2200;
/// Words between a day, a month and a year.
const BETWEEN: &[&str] =
    &["of", "the", "de", "del", "den", "do", "di", "st", "nd", "rd", "th", "er", "г", "года", "r", "roku"];

/// The first day of a week: `2026-W47`.
pub(crate) fn monday_of(week: &str) -> Option<Date> {
    let (year, week) = week.split_once("-W").or_else(|| week.split_once("-w"))?;
    Some(ISOWeekDate::new(year.parse().ok()?, week.parse().ok()?, Weekday::Monday).ok()?.date())
}

/// The ways in which a day is written in a folded text. Each names the year, the month and the day, as far as it has them.
static DAYS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let between = format!(r"(?:\s*(?:{})\b)*\s*", BETWEEN.join("|"));
    let (begin, end) = ("(?:^|[^0-9])", "(?:[^0-9]|$)");
    let (year, day) = ("(?P<y>[0-9]{4})", "(?P<d>[0-9]{1,2})");
    let (month, name) = ("(?P<m>[0-9]{1,2})", r"(?P<m>[^\W\d_]+)");
    let from_year = ["-", "/", r"\."].map(|sign| format!(r"{begin}{year}\s*{sign}\s*{month}\s*{sign}\s*{day}{end}"));
    let others = [
        format!(r"{begin}{year}\s*[年년]\s*{month}\s*[月월]\s*{day}{end}"),
        format!(r"{begin}{month}\s*[月월]\s*{day}\s*[日일号號]"),
        format!(r"(?:^|[^0-9./-]){day}\s*\.\s*{month}\s*\.\s*{year}{end}"),
        format!(r"{begin}{day}{between}\.?{between}{name}(?:{between}{year}{end})?"),
        format!(r"\b{name}{between}{day}(?:{between},?{between}{year})?{end}"),
    ];
    from_year.iter().chain(&others).map(|pattern| Regex::new(pattern).expect("a test uses each")).collect()
});

/// The first day that a sentence names.
pub(crate) fn named_day(sentence: &str) -> Option<NamedDay> {
    if !sentence.contains(char::is_numeric) {
        return None;
    }
    let text = fold(sentence);
    let found = DAYS.iter().filter_map(|pattern| {
        pattern.captures_iter(&text).find_map(|found| Some((found.get_match().start(), day_of(&found)?)))
    });
    found.min_by_key(|(start, _)| *start).map(|(_, day)| day)
}

fn day_of(found: &Captures<'_>) -> Option<NamedDay> {
    let (month, day) = (&found["m"], found["d"].parse().ok()?);
    let month = month_named(month).or_else(|| month.parse().ok())?;
    match found.name("y") {
        Some(year) => {
            let year = year.as_str().parse().ok().filter(|year| YEARS.contains(year))?;
            Date::new(year, month, day).ok().map(NamedDay::Dated)
        }
        // Of a year that has all days.
        None => Date::new(2024, month, day).ok().map(|_| NamedDay::OfSomeYear { month, day }),
    }
}

/// The first month that a sentence names, 1 to 12, by its name in full, and its year, if that is said.
pub(crate) fn named_month(sentence: &str) -> Option<(i8, Option<i16>)> {
    let text = fold(sentence);
    let words = words_of(&text);
    words.iter().enumerate().find_map(|(at, word)| {
        let month = month_named(word).filter(|_| is_month(word))?;
        let behind = words[at + 1..].iter().find(|word| !BETWEEN.contains(word));
        let year = behind.and_then(|word| word.parse().ok()).filter(|year| YEARS.contains(year));
        let is_one = year.is_some() || at.checked_sub(1).is_some_and(|before| BEFORE_MONTH.contains(&words[before]));
        is_one.then_some((month, year))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_the_week_are_known_in_many_languages() {
        for (word, day) in [
            ("wednesday", Some(2)),
            ("mercredi", Some(2)),
            ("среду", Some(2)),
            ("вторник", Some(1)),
            ("среди", None),
            ("montagabend", Some(0)),
            ("miercoles", Some(2)),
            ("sun", None),
        ] {
            assert_eq!(weekday_named(word), day, "{word}");
        }
    }
}

#[cfg(test)]
mod tests_of_days {
    use super::*;

    #[test]
    fn months_are_read_as_people_write_them() {
        for (text, expected) in
            [("in October 2025", Some((10, Some(2025)))), ("im Oktober", Some((10, None))), ("it may rain", None)]
        {
            assert_eq!(named_month(text), expected, "{text}");
        }
    }

    #[test]
    fn days_are_read_as_people_write_them() {
        let day = |text: &str| match named_day(text) {
            Some(NamedDay::Dated(date)) => date.to_string(),
            Some(NamedDay::OfSomeYear { .. }) => "some year".into(),
            None => String::new(),
        };
        for (text, expected) in [
            ("The train leaves on 2026-11-21 at noon.", "2026-11-21"),
            ("Am 21.11.2026 fahren wir.", "2026-11-21"),
            ("On 3 March 2026 we meet.", "2026-03-03"),
            ("on March 3rd, 2026", "2026-03-03"),
            ("am 3. März 2026", "2026-03-03"),
            ("le 3 août 2026", "2026-08-03"),
            ("el 3 de marzo de 2026", "2026-03-03"),
            ("3 мая 2026 года", "2026-05-03"),
            ("2026年11月21日出发", "2026-11-21"),
            ("11月21日に会う", "some year"),
            ("11月21号见", "some year"),
            ("See you on 5 May.", "some year"),
            ("May 5 is fine", "some year"),
            ("It may rain, 5 of them.", ""),
            ("version 4.1.2.2026 and 2026-13-45", ""),
            ("He ate 4 apples in 2026.", ""),
            ("mark 5", ""),
            ("plain", ""),
        ] {
            assert_eq!(day(text), expected, "{text}");
        }
    }
}
