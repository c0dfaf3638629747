//! Whether lines say a quote of themselves: as a clause of its own, and not as a question, a condition, somebody else's words or what once was.

use crate::config::StemmerLanguage;
use crate::derive::said::plain;
use crate::derive::stop_words;
use crate::derive::words::{is_parted_within, plain_words};

/// What makes a sentence one that is not simply so, in lower case between blanks.
const HEDGES: &str = "if|unless|whether|used to|might|maybe|perhaps|probably|would|could|should|said|says|told|asked|thinks|think|thought|believe|believes|\
    guess|suppose|wonder|wondering|wish|hope|imagine|pretend|assuming|apparently|allegedly|supposedly|joke|joking|kidding|almost|formerly|may be|\
    i may|may have|as if|dreamed|dreamt|claims|claimed|\
    wenn|falls|ob|sofern|vielleicht|vermutlich|wahrscheinlich|würde|würden|könnte|könnten|hätte|wäre|sollte|soll|sagt|sagte|meint|meinte|behauptet|\
    fragt|fragte|angeblich|glaube|früher|damals|\
    si|peut être|dit|disait|disent|pense|pensait|demande|pourrait|pourrais|serait|serais|aurait|aurais|voudrais|autrefois|avant|\
    quizá|quizás|tal vez|acaso|dijo|dice|dicen|decía|podría|sería|pienso|creo|solía|ojalá|supongo|\
    se|forse|ha detto|disse|potrebbe|potrei|sarebbe|penso|credo|vorrei|una volta|\
    talvez|disseram|diz|poderia|seria|acho|costumava|antigamente|\
    als ik|indien|misschien|waarschijnlijk|zei|zegt|zou|zouden|vroeger|\
    om jag|kanske|sa|sade|säger|skulle|brukade|hvis|måske|kanskje|sagde|siger|sier|ville|plejede|pleide|\
    если|бы|ли|может|возможно|наверное|сказал|сказала|говорит|сказали|раньше|думаю|кажется|\
    jeśli|jeżeli|gdyby|może|podobno|powiedział|powiedziała|mówi|kiedyś|chyba|\
    eğer|belki|dedi|jos|ehkä|sanoi";
/// The same within sentences whose words no blanks part, or whose words take endings.
const HEDGES_WITHIN: &[&str] = &[
    "如果",
    "要是",
    "假如",
    "也许",
    "可能",
    "大概",
    "听说",
    "据说",
    "他说",
    "她说",
    "人说",
    "说我",
    "以前",
    "曾",
    "吗",
    "もし",
    "かもしれ",
    "たら",
    "なら",
    "と言",
    "そうだ",
    "らしい",
    "以前",
    "ですか",
    "ますか",
    "昔",
    "만약",
    "만일",
    "아마",
    "라고",
    "다고",
    "예전",
    "다면",
    "ถ้า",
    "หาก",
    "อาจ",
    "เคย",
    "บอกว่า",
    "إذا",
    "لو ",
    "ربما",
    "قال",
    "अगर",
    "यदि",
    "शायद",
    "कहा",
    "אם ",
    "אולי",
    "אמר",
];
/// Words with which a clause goes on, as they are compared.
const JOINING: &str = "and but so und aber y pero et mais e ma mas en maar och men og i ale и но а ve ama";
/// The person who speaks, as compared.
const FIRST: &str =
    "i we im ive ich wir je nous yo nosotros io noi eu nos ik wij jag vi jeg я мы ja my ben biz me mi mir mich";
const FIRST_SIGNS: [&str; 9] = ["我们", "我", "私たちは", "私は", "僕は", "俺は", "私", "나는", "저는"];
/// Whom else a clause is about, as compared.
const OTHERS: &str = "my our your his her its their he she they it you mein meine unser unsere dein deine sein seine ihr ihre er sie es mon ma mes notre \
    nos ton sa son ses leur il elle ils elles mi mis su sus tu el ella ellos mio mia suo sua lui lei meu minha seu ele ela mijn ons onze zijn haar hij zij";
const CLAUSE_ENDS: &[char] = &[',', ';', ':', '(', ')', '–', '—', '，', '、', '；', '：', '…'];
const SENTENCE_ENDS: &[char] = &['.', '!', '?', '。', '！', '？', '؟', '।'];
const QUESTIONS: &[char] = &['?', '？', '؟', '¿'];
const QUOTATION_MARKS: &[char] = &['"', '“', '”', '„', '«', '»', '‹', '›', '「', '」', '『', '』'];

/// Bytes before the words of a clause that are left out at most: they join it to others, or are the person who speaks.
const LONGEST_BEGINNING: usize = 64;

/// Whether one of the lines says a sentence of itself: by a quote, or in the sentence's own words, `own`, without the person's. `own` and
/// `quote` are plain.
pub(super) fn asserts(lines: &[&str], own: &str, quote: &str) -> bool {
    let is_by_quote = !quote.is_empty() && is_of_same_subject(own, quote);
    let said = lines.iter().filter(|line| !is_quoted(line)).flat_map(|line| plain_sentences(line));
    said.into_iter().any(|clauses| is_of_clauses(&clauses, own) || is_by_quote && is_of_clauses(&clauses, quote))
}

/// Whether a line is somebody else's, as a quote within what was said.
fn is_quoted(line: &str) -> bool {
    line.starts_with('>') || line.contains(" > ")
}

/// The sentences of a line that simply say something, each as its clauses, which are plain.
fn plain_sentences(line: &str) -> Vec<Vec<String>> {
    let mut sentences = Vec::new();
    let mut is_open = false;
    let mut start = 0;
    let mut ends: Vec<usize> =
        line.char_indices().filter(|(at, end)| is_end(line, *at, *end)).map(|(at, end)| at + end.len_utf8()).collect();
    ends.push(line.len());
    for end in ends {
        let sentence = &line[start..end];
        start = end;
        let has_marks = sentence.contains(QUOTATION_MARKS) || begins_with_apostrophe(sentence);
        if !is_open && !has_marks && !sentence.contains(QUESTIONS) && !is_hedged(sentence) {
            sentences.push(clauses(sentence));
        }
        for mark in sentence.chars().filter(|mark| QUOTATION_MARKS.contains(mark)) {
            is_open = match mark {
                '"' | '“' => !is_open,
                '„' | '«' | '‹' | '「' | '『' => true,
                _ => false,
            };
        }
    }
    sentences
}

/// Whether a sign ends a sentence: a full stop within a number or an address does not.
fn is_end(line: &str, at: usize, sign: char) -> bool {
    let is_before_blank = || line[at + sign.len_utf8()..].chars().next().is_none_or(|next| !next.is_alphanumeric());
    SENTENCE_ENDS.contains(&sign) && (sign != '.' || is_before_blank())
}

fn begins_with_apostrophe(sentence: &str) -> bool {
    let is_one = |word: &str| word.len() > 1 && word.starts_with(['\'', '\u{2018}']);
    sentence.split_whitespace().any(is_one)
}

fn is_hedged(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace(['\'', '\u{2019}'], "");
    let words: Vec<&str> = lower.split(|mark: char| !mark.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let spaced = format!(" {} ", words.join(" "));
    HEDGES.split('|').any(|hedge| spaced.contains(&format!(" {} ", hedge.trim())))
        || HEDGES_WITHIN.iter().any(|hedge| lower.contains(hedge))
}

/// The clauses of a sentence; what stands behind a colon may be somebody's words, and is none.
fn clauses(sentence: &str) -> Vec<String> {
    let mut clauses = vec![String::new()];
    let mut before = ' ';
    for (at, character) in sentence.char_indices() {
        let is_in_number =
            || before.is_numeric() && sentence[at + character.len_utf8()..].starts_with(char::is_numeric);
        if CLAUSE_ENDS.contains(&character) && !is_in_number() {
            if matches!(character, ':' | '：') {
                break;
            }
            clauses.push(String::new());
        } else if let Some(clause) = clauses.last_mut() {
            clause.push(character);
        }
        before = character;
    }
    let mut parted = Vec::new();
    for clause in clauses {
        let clause = plain(&clause);
        let mut part: Vec<&str> = Vec::new();
        for word in clause.split(' ') {
            if is_in(JOINING, word) && !part.is_empty() {
                parted.push(part.join(" "));
                part.clear();
            }
            part.push(word);
        }
        parted.push(part.join(" "));
    }
    parted.retain(|clause| !clause.is_empty());
    parted
}

/// Whether words are one clause or several that follow each other, but for the word that joins them to others and the person who speaks.
fn is_of_clauses(clauses: &[String], words: &str) -> bool {
    let words = without_beginning(words);
    !words.is_empty()
        && (0..clauses.len()).any(|from| {
            let mut together = String::new();
            let mut joined = clauses[from..].iter().map_while(|clause| {
                if !together.is_empty() {
                    together.push(' ');
                }
                together.push_str(clause);
                (together.len() <= words.len() + LONGEST_BEGINNING).then(|| without_beginning(&together) == words)
            });
            joined.any(|is_it| is_it)
        })
}

fn without_beginning(words: &str) -> &str {
    let mut rest = words;
    for list in [JOINING, FIRST] {
        if let Some((first, after)) = rest.split_once(' ')
            && is_in(list, first)
        {
            rest = after;
        }
    }
    let sign = FIRST_SIGNS.iter().find_map(|sign| rest.strip_prefix(sign));
    sign.map_or(rest, str::trim_start)
}

/// Whether what a sentence leaves out at the beginning of a quote is nobody but the person who speaks.
fn is_of_same_subject(own: &str, quote: &str) -> bool {
    let rest = without_beginning(quote);
    if rest.contains(is_parted_within) {
        return own.chars().next().is_some_and(|first| rest.starts_with(first));
    }
    let (own, words) = (plain_words(own, false), plain_words(rest, false));
    let is_own = |word: &String| own.iter().any(|own| own == word || super::claims::is_like(own, word));
    let before: Vec<&String> = words.iter().take_while(|word| !is_own(word)).collect();
    let has_person = rest.len() < quote.len();
    let telling = stop_words::without(&before, StemmerLanguage::None).len();
    !before.iter().any(|word| is_in(OTHERS, word)) && telling <= usize::from(has_person)
}

fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_assumed_reported_or_over_is_not_asserted() {
        for (line, own, quote, is_so) in [
            ("If I win the lottery I will buy a boat.", "will buy a boat", "I will buy a boat", false),
            ("If I win the lottery, I will buy a boat.", "will buy a boat", "I will buy a boat", false),
            ("I used to work at Acme.", "work at acme", "work at Acme", false),
            ("Ben said I like opera.", "likes opera", "I like opera", false),
            ("Do I like chess?", "likes chess", "I like chess", false),
            ("Ben: I like opera.", "likes opera", "I like opera", false),
            ("The sign read \"I like opera. I like chess.\"", "likes chess", "I like chess", false),
            ("> I own a yacht", "owns a yacht", "I own a yacht", false),
            ("Here is the article: > I own a yacht", "owns a yacht", "I own a yacht", false),
            ("Yesterday my sister Anna moved to Bonn.", "moved to bonn", "moved to Bonn", false),
            ("My sister Anna moved to Bonn.", "moved to bonn", "My sister Anna moved to Bonn", false),
            ("Wenn ich gewinne, kaufe ich ein Boot.", "kauft ein boot", "kaufe ich ein Boot", false),
            ("Früher habe ich in Bonn gewohnt.", "hat in bonn gewohnt", "habe ich in Bonn gewohnt", false),
            ("Si je gagne, j'achète un bateau.", "achete un bateau", "j'achète un bateau", false),
            ("Als ik win, koop ik een boot.", "koopt een boot", "koop ik een boot", false),
            ("Quizás vivo en Madrid.", "vive en madrid", "vivo en Madrid", false),
            ("如果中奖，我买船。", "买船", "我买船", false),
            ("我妹妹搬到了波恩。", "搬到了波恩", "我妹妹搬到了波恩", false),
            (
                "I really prefer tabs over spaces, and Bob owes Anna money.",
                "prefers tabs over spaces",
                "I really prefer tabs over spaces",
                true,
            ),
            (
                "Yes. I moved to Bonn on 3 May 2026 with 2 cats.",
                "moved to bonn with 2 cats",
                "I moved to Bonn on 3 May 2026 with 2 cats",
                true,
            ),
            ("My sister Anna moved to Bonn.", "sister anna moved to bonn", "My sister Anna moved to Bonn", true),
            ("You like dogs. We decided to use tabs.", "decided to use tabs", "", true),
            ("Me gusta el té.", "gusta el te", "Me gusta el té", true),
            ("Ich mag Tee und Kaffee.", "mag tee und kaffee", "Ich mag Tee und Kaffee", true),
            ("我喜欢喝绿茶。", "喜欢喝绿茶", "", true),
        ] {
            assert_eq!(asserts(&[line], own, &plain(quote)), is_so, "{line} / {quote}");
        }
    }
}
