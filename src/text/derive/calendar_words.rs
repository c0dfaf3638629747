//! The names of the days of the week and of the months, and which of them a text names.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

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
