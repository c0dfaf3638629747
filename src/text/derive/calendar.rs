//! The names of the days of the week and of the months, and which of them a text names; and the days that a sentence names: as numbers, or with
//! the name of a month.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use jiff::civil::{Date, ISOWeekDate, Weekday};

use super::words::{fold, numerals};

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
/// Those that are looked for in the whole text, parted by `|`: several words, or such as no blanks part from others.
pub(crate) const WEEKDAYS_WITHIN: [&str; 7] = [
    "segunda feira|周一|星期一|礼拜一|週一|月曜|월요일|सोमवार|الاثنين|الإثنين",
    "terca feira|周二|星期二|礼拜二|週二|火曜|화요일|मंगलवार|الثلاثاء",
    "quarta feira|周三|星期三|礼拜三|週三|水曜|수요일|बुधवार|الأربعاء|الاربعاء",
    "quinta feira|周四|星期四|礼拜四|週四|木曜|목요일|गुरुवार|बृहस्पतिवार|वीरवार|الخميس",
    "sexta feira|周五|星期五|礼拜五|週五|金曜|금요일|शुक्रवार|يوم الجمعة",
    "周六|星期六|礼拜六|週六|土曜|토요일|शनिवार|السبت",
    "周日|周天|星期日|星期天|礼拜天|週日|日曜|일요일|रविवार|इतवार|يوم الأحد|يوم الاحد",
];
/// What people write for short, and what may be something else: it says a day, and claims none.
const SHORT: [&str; 7] = [
    "mon mo lun segunda пн", "tue tues di mar terca вт", "wed mi mer mie quarta ср",
    "thu thur thurs do jeu jue quinta чт", "fri fr ven vie sexta пт", "sat sa sam sab сб", "sun so dim dom вс",
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
/// Names of months that are other words as well: they count beside a number, or behind one of `IN`.
const AMBIGUOUS: &str = "may march marco marca maja mars";
const IN: &str = "in im en em of de since until by seit bis w";
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

/// The days of the week that a text names in full, 0 for Monday.
pub(crate) fn weekdays(text: &str) -> BTreeSet<usize> {
    let folded = fold(text);
    let words = words_of(&folded);
    let spaced = words.join(" ");
    let within = (0..7).filter(|day| WEEKDAYS_WITHIN[*day].split('|').any(|name| spaced.contains(&fold(name))));
    words.iter().filter_map(|word| weekday_named(word)).chain(within).collect()
}

/// Those that it may name, short names among them.
pub(crate) fn perhaps_weekdays(text: &str) -> BTreeSet<usize> {
    let folded = fold(text);
    let words = words_of(&folded);
    let short = (0..7).filter(|day| SHORT[*day].split(' ').any(|name| words.contains(&name)));
    weekdays(text).into_iter().chain(short).collect()
}

/// The months that a text names in full, 1 to 12.
pub(crate) fn months(text: &str) -> BTreeSet<i8> {
    let folded = fold(text);
    let words = words_of(&folded);
    let is_number =
        |at: Option<usize>| at.and_then(|at| words.get(at)).is_some_and(|word| word.contains(char::is_numeric));
    let is_meant = |at: usize| {
        !AMBIGUOUS.split(' ').any(|word| word == words[at])
            || is_number(Some(at + 1))
            || is_number(at.checked_sub(1))
            || at > 0 && IN.split(' ').any(|word| word == words[at - 1])
    };
    let named = words.iter().enumerate().filter(|(at, word)| is_month(word) && is_meant(*at));
    named.filter_map(|(_, word)| month_named(word)).collect()
}

/// Those that it may name: by short names and in numbers, too.
pub(crate) fn perhaps_months(text: &str) -> BTreeSet<i8> {
    let folded = fold(text);
    let named = words_of(&folded).into_iter().filter_map(month_named).collect::<Vec<_>>();
    let said = numerals(text);
    let parts = said.iter().flat_map(|number| number.date_parts()).filter_map(|part| part.parse().ok());
    let signed = ['月', '월'].into_iter().flat_map(|sign| folded.split(sign)).filter_map(|before| {
        let digits = before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        before[digits..].parse().ok()
    });
    named.into_iter().chain(parts).chain(signed).filter(|month| (1..=12).contains(month)).collect()
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
/// Words between a day, a month and a year.
const BETWEEN: &[&str] =
    &["of", "the", "de", "del", "den", "do", "di", "st", "nd", "rd", "th", "er", "г", "года", "r", "roku"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DateToken {
    Number(u32, usize),
    Month(i8),
    Sign(char),
    Word,
}

/// The first day of a week: `2026-W47`.
pub(crate) fn monday_of(week: &str) -> Option<Date> {
    let (year, week) = week.split_once("-W").or_else(|| week.split_once("-w"))?;
    Some(ISOWeekDate::new(year.parse().ok()?, week.parse().ok()?, Weekday::Monday).ok()?.date())
}

/// The first day that a sentence names.
pub(crate) fn named_day(sentence: &str) -> Option<NamedDay> {
    if !sentence.contains(|character: char| character.is_numeric()) {
        return None;
    }
    let text = fold(sentence);
    let tokens = tokens(&text);
    (0..tokens.len()).find_map(|at| starting_at(&tokens, at))
}

/// The first month that a sentence names, 1 to 12, by its name in full or as `10月`, and its year, if that is said.
pub(crate) fn named_month(sentence: &str) -> Option<(i8, Option<i16>)> {
    let text = fold(sentence);
    if let Some(named) = signed_month(&text) {
        return Some(named);
    }
    let words = words_of(&text);
    words.iter().enumerate().find_map(|(at, word)| {
        let month = month_named(word).filter(|_| is_month(word))?;
        let behind = words[at + 1..].iter().find(|word| !BETWEEN.contains(word));
        let year = behind.and_then(|word| word.parse().ok()).filter(|year| (1900..2200).contains(year));
        let is_one = year.is_some() || at.checked_sub(1).is_some_and(|before| BEFORE_MONTH.contains(&words[before]));
        is_one.then_some((month, year))
    })
}

/// The first month that a folded text writes with a sign, and no day of it: `10月`, `2025年10月`, `10월`.
fn signed_month(text: &str) -> Option<(i8, Option<i16>)> {
    use DateToken::{Number, Sign};
    if !text.contains(['月', '월']) {
        return None;
    }
    let tokens = tokens(text);
    (0..tokens.len()).find_map(|at| {
        let month = match tokens[at..] {
            [_, Sign('月' | '월'), Number(_, 1 | 2), Sign('日' | '일' | '号' | '號'), ..] => return None,
            [Number(month, 1 | 2), Sign('月' | '월'), ..] => i8::try_from(month).ok()?,
            _ => return None,
        };
        let year = match tokens[..at] {
            [.., Number(year, 4), Sign('年' | '년')] => {
                i16::try_from(year).ok().filter(|year| (1900..2200).contains(year))
            }
            _ => None,
        };
        (1..=12).contains(&month).then_some((month, year))
    })
}

fn tokens(text: &str) -> Vec<DateToken> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = |is: fn(char) -> bool| rest.find(|character| !is(character)).unwrap_or(rest.len());
        let length = if first.is_ascii_digit() {
            let length = run(|character| character.is_ascii_digit());
            tokens.push(DateToken::Number(rest[..length].parse().unwrap_or(u32::MAX), length));
            length
        } else if first.is_alphabetic() && !is_sign_of_date(first) {
            let length = run(|character| character.is_alphabetic() && !is_sign_of_date(character));
            let word = &rest[..length];
            match month_named(word) {
                Some(month) => tokens.push(DateToken::Month(month)),
                None if BETWEEN.contains(&word) => {}
                None => tokens.push(DateToken::Word),
            }
            length
        } else {
            if !first.is_whitespace() {
                tokens.push(DateToken::Sign(first));
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}

fn is_sign_of_date(character: char) -> bool {
    matches!(character, '年' | '月' | '日' | '号' | '號' | '년' | '월' | '일')
}

fn starting_at(tokens: &[DateToken], at: usize) -> Option<NamedDay> {
    use DateToken::{Month, Number, Sign};
    let dated = |year: u32, month: u32, day: u32| {
        let (year, month, day) = (i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?);
        Date::new(year, month, day).ok().filter(|_| (1900..2200).contains(&year)).map(NamedDay::Dated)
    };
    let is_part = |at: Option<usize>| {
        at.and_then(|at| tokens.get(at)).is_some_and(|token| matches!(token, Number(..) | Sign('.' | '-' | '/')))
    };
    let of_some_year = |month: i8, day: u32| {
        let day = i8::try_from(day).ok()?;
        // Of a year that has all days.
        Date::new(2024, month, day).ok().map(|_| NamedDay::OfSomeYear { month, day })
    };
    match tokens[at..] {
        [Number(year, 4), Sign(one @ ('-' | '/' | '.')), Number(month, 1 | 2), Sign(other), Number(day, 1 | 2), ..]
            if one == other =>
        {
            dated(year, month, day)
        }
        [Number(year, 4), Sign('年' | '년'), Number(month, _), Sign('月' | '월'), Number(day, _), ..] => {
            dated(year, month, day)
        }
        [Number(month, 1 | 2), Sign('月' | '월'), Number(day, 1 | 2), Sign('日' | '일' | '号' | '號'), ..]
            if (1..=12).contains(&month) =>
        {
            of_some_year(month as i8, day)
        }
        [Number(day, 1 | 2), Sign('.'), Number(month, 1 | 2), Sign('.'), Number(year, 4), ..]
            if !is_part(at.checked_sub(1)) =>
        {
            dated(year, month, day)
        }
        [Number(day, 1 | 2), Month(month), Number(year, 4), ..]
        | [Number(day, 1 | 2), Sign('.' | 'º'), Month(month), Number(year, 4), ..] => dated(year, month as u32, day),
        [Month(month), Number(day, 1 | 2), Sign(','), Number(year, 4), ..]
        | [Month(month), Number(day, 1 | 2), Number(year, 4), ..] => dated(year, month as u32, day),
        [Number(day, 1 | 2), Month(month), ..] | [Number(day, 1 | 2), Sign('.' | 'º'), Month(month), ..] => {
            of_some_year(month, day)
        }
        [Month(month), Number(day, 1 | 2), ..] => of_some_year(month, day),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_months_are_found_in_many_languages() {
        for (text, days) in [
            ("anna on wednesday", vec![2]),
            ("le mercredi prochain", vec![2]),
            ("в среду, во вторник", vec![1, 2]),
            ("среди друзей", vec![]),
            ("jeden Montagabend, el miércoles", vec![0, 2]),
            ("na terça-feira", vec![1]),
            ("星期五给小王打电话", vec![4]),
            ("水曜日に会う", vec![2]),
            ("the sun is out", vec![]),
        ] {
            assert_eq!(weekdays(text).into_iter().collect::<Vec<_>>(), days, "{text}");
        }
        for (text, named) in [
            ("el 5 de marzo", vec![3]),
            ("may move to Bonn", vec![]),
            ("on 3 may 2027 and in march", vec![3, 5]),
            ("Marco mag Tee", vec![]),
            ("в марте", vec![3]),
        ] {
            assert_eq!(months(text).into_iter().collect::<Vec<_>>(), named, "{text}");
        }
        assert!(perhaps_weekdays("Tue at noon").contains(&1) && perhaps_months("on 2027-05-03").contains(&5));
        assert!(perhaps_months("3 Sept").contains(&9) && perhaps_months("5月3日").contains(&5));
    }
}

#[cfg(test)]
mod tests_of_days {
    use super::*;

    #[test]
    fn months_are_read_as_people_write_them() {
        for (text, expected) in [
            ("in October 2025", Some((10, Some(2025)))),
            ("10月に何をした", Some((10, None))),
            ("2025年10月的计划", Some((10, Some(2025)))),
            ("10월에 뭐 했어", Some((10, None))),
            ("11月21日に会う", None),
            ("11月21号见", None),
            ("上个月", None),
            ("三个月前", None),
            ("第十月", None),
            ("13月", None),
        ] {
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
