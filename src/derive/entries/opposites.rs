//! Words that stand where their opposite may stand: a model takes sentences with either for nearly the same.

use super::marks::is_akin;

/// Pairs of opposites, folded; forms of a word are known by its beginning.
const OPPOSITES: &str = "before/after open/shut open/close opened/closed buy/sell bought/sold for/against like/hate likes/hates like/dislike \
    likes/dislikes love/hate loves/hates start/end starts/ends begin/end begins/ends pass/fail passed/failed win/lose won/lost lend/borrow \
    lent/borrowed always/rarely often/rarely often/seldom daily/rarely more/less most/least first/last early/late old/new old/young big/small \
    large/small long/short high/low hot/cold warm/cold fast/slow left/right north/south east/west up/down in/out on/off with/without above/below \
    over/under inside/outside upstairs/downstairs true/false public/private accept/reject accepts/rejects allow/forbid allows/forbids \
    enable/disable enabled/disabled increase/decrease rise/fall push/pull import/export married/divorced mother/father brother/sister \
    husband/wife son/daughter uncle/aunt black/white green/red morning/evening day/night summer/winter import/export client/server \
    vor/nach offen/zu kaufen/verkaufen kauft/verkauft gekauft/verkauft fur/gegen mag/hasst liebt/hasst oft/selten immer/selten mehr/weniger \
    fruh/spat alt/neu alt/jung gross/klein lang/kurz hoch/niedrig warm/kalt schnell/langsam links/rechts mit/ohne mutter/vater bruder/schwester \
    mann/frau sohn/tochter sommer/winter tag/nacht morgens/abends";

/// Whether one text has a word that the other does not have, and the other its opposite.
pub(super) fn are_opposed(one: &[String], other: &[String]) -> bool {
    let lacking = |one: &[String], other: &[String]| {
        one.iter().filter(|word| !other.contains(word)).cloned().collect::<Vec<String>>()
    };
    let (one, other) = (lacking(one, other), lacking(other, one));
    let has = |words: &[String], meant: &str| words.iter().any(|word| word == meant || is_akin(word, meant));
    !one.is_empty()
        && !other.is_empty()
        && OPPOSITES.split_whitespace().filter_map(|pair| pair.split_once('/')).any(|(first, second)| {
            (has(&one, first) && has(&other, second)) || (has(&one, second) && has(&other, first))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposites_are_told_in_their_forms() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (one, other, opposed) in [
            ("comes before lunch", "comes after lunch", true),
            ("opens the office", "closed the office", true),
            ("hat es gekauft", "hat es verkauft", true),
            ("fears spiders", "is afraid of spiders", false),
            ("likes cold tea in summer", "likes iced tea in summer", false),
        ] {
            assert_eq!(are_opposed(&words(one), &words(other)), opposed, "{one} / {other}");
        }
    }
}
