//! Which part of a chunk is shown, and which of its words are those searched for.

use std::collections::HashSet;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::query::ParsedQuery;
use crate::base::config::StemmerLanguage;
use crate::text::derive::words::{Stemming, is_parted_within, plain_words};
use crate::text::derive::{TextLanguage, stop_words};

/// Finds the words of a query in texts: those that say what is looked for, and phrases as they are.
pub struct Highlighter {
    telling: Vec<String>,
    /// Their stems in the language that was turned to.
    stems: HashSet<String>,
    phrases: Vec<Vec<String>>,
    stemming: Stemming,
}

impl Highlighter {
    /// For a query as typed. Of words that every text has ("who", "has", "the") none is marked, but where the query has no others.
    pub fn new(query: &str, stemmer: StemmerLanguage) -> Self {
        let query = ParsedQuery::new(query).keyword;
        let all: Vec<&String> = query.words.iter().chain(query.phrases.iter().flatten()).collect();
        let telling = stop_words::without(&all, stemmer);
        let telling = if telling.is_empty() && query.phrases.is_empty() { all } else { telling };
        let telling = telling.into_iter().cloned().collect();
        let stemming = Stemming::new(stemmer);
        let mut new = Self { telling, stems: HashSet::new(), phrases: query.phrases, stemming };
        new.turn_to(None);
        new
    }

    /// Turns to texts in a language, by whose word forms the words are found; those of the configuration where it is not known.
    pub fn turn_to(&mut self, language: Option<TextLanguage>) {
        self.stemming.turn_to(language.and_then(TextLanguage::stemmer));
        self.stems = self.telling.iter().map(|word| self.stemming.stem(word).to_owned()).collect();
    }

    /// The bytes of `text` that are words of the query, in order.
    pub fn matches(&mut self, text: &str) -> Vec<Range<usize>> {
        let words = placed(text);
        let Self { stems, stemming, .. } = self;
        let mut found: Vec<bool> =
            words.iter().map(|(.., parts)| parts.iter().any(|part| stems.contains(stemming.stem(part)))).collect();
        for phrase in &self.phrases {
            for start in 0..words.len() {
                if let Some(end) = ends(&words[start..], phrase) {
                    found[start..start + end].fill(true);
                }
            }
        }
        let found = words.iter().zip(found).filter(|(_, found)| *found);
        let mut ranges: Vec<Range<usize>> = found.map(|((at, word, _), _)| *at..at + word.len()).collect();
        for sign in
            self.telling.iter().filter(|word| word.starts_with(is_parted_within) && word.chars().nth(1).is_none())
        {
            ranges.extend(text.match_indices(sign.as_str()).map(|(at, _)| at..at + sign.len()));
        }
        ranges.sort_by_key(|range| (range.start, range.end));
        // Pairs overlap.
        ranges.dedup_by(|next, last| {
            let overlaps = next.start < last.end;
            last.end = if overlaps { last.end.max(next.end) } else { last.end };
            overlaps
        });
        ranges
    }
}

/// The words of a text, where each stands, and its parts as they are looked for. What no blanks part is taken a part at a time.
fn placed(text: &str) -> Vec<(usize, &str, Vec<String>)> {
    let mut words = Vec::new();
    let mut segments = text.unicode_word_indices().peekable();
    while let Some((at, word)) = segments.next() {
        if !word.starts_with(is_parted_within) {
            words.push((at, word, plain_words(word, true)));
            continue;
        }
        let mut end = at + word.len();
        while let Some((_, more)) = segments.next_if(|(next, more)| *next == end && more.starts_with(is_parted_within))
        {
            end += more.len();
        }
        let (mut at, mut rest) = (at, &text[at..end]);
        for part in plain_words(rest, false) {
            // What was folded stands there in another form, and is not marked.
            let Some(found) = rest.find(&part) else { continue };
            words.push((at + found, &rest[found..found + part.len()], vec![part]));
            let next = found + rest[found..].chars().next().map_or(0, char::len_utf8);
            (at, rest) = (at + next, &rest[next..]);
        }
    }
    words
}

/// How many of the words a phrase takes that begins with the first.
fn ends(words: &[(usize, &str, Vec<String>)], phrase: &[String]) -> Option<usize> {
    let mut left = phrase;
    for (taken, (.., parts)) in words.iter().enumerate() {
        // Of an identifier the parts take places, not the whole.
        let own: Vec<&String> = parts.iter().filter(|part| parts.len() == 1 || !part.contains('_')).collect();
        let same = own.iter().zip(left).take_while(|(one, other)| **one == *other).count();
        left = match same {
            _ if own.is_empty() => left,
            _ if same == left.len() => return Some(taken + 1),
            _ if same == own.len() => &left[same..],
            _ => return None,
        };
    }
    None
}

/// A snippet of a chunk and of what stands around it: all of it where it fits, else the chunk's own snippet and what follows.
pub(crate) fn snippet_around(
    before: &str,
    own: &str,
    after: &str,
    highlighter: &mut Highlighter,
    max_chars: usize,
) -> String {
    let texts = [before, own, after].into_iter().filter(|text| !text.is_empty());
    let all = texts.collect::<Vec<_>>().join("\n\n");
    if after.is_empty() || all.chars().count() <= max_chars {
        return if after.is_empty() { snippet(own, highlighter, max_chars) } else { all };
    }
    // Half of it for what was found at least, and more where what follows is short.
    let follows = after.chars().count().min(max_chars / 2);
    let own = snippet(own, highlighter, max_chars.saturating_sub(follows + 2));
    let rest = max_chars.saturating_sub(own.chars().count() + 2);
    format!("{own}\n\n{}", snippet(after, highlighter, rest))
}

/// The part of `text` with the most words of the query, of at most `max_chars` characters, cut at words where it can be;
/// `…` stands where something is left out.
pub fn snippet(text: &str, highlighter: &mut Highlighter, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text.to_owned();
    }
    let matches = highlighter.matches(text);
    // Bytes, not characters, choose the window: it is cut to characters below.
    let start = matches
        .iter()
        .max_by_key(|first| {
            let inside =
                matches.iter().filter(|other| other.start >= first.start && other.end <= first.start + max_chars);
            (inside.count(), std::cmp::Reverse(first.start))
        })
        .map_or(0, |best| best.start.saturating_sub(max_chars / 4));
    let mut start = text.floor_char_boundary(start);
    if start > 0 {
        let gap = text[start..].find(char::is_whitespace).filter(|gap| *gap < 40);
        start += gap.map_or(0, |gap| gap + text[start + gap..].chars().next().map_or(0, char::len_utf8));
    }
    let room = max_chars.saturating_sub(2);
    let rest = &text[start..];
    let mut end = rest.char_indices().nth(room).map_or(rest.len(), |(at, _)| at);
    if end < rest.len()
        && let Some(space) = rest[..end].rfind(char::is_whitespace).filter(|space| end - space < 40)
    {
        end = space;
    }
    let (before, after) = (if start > 0 { "…" } else { "" }, if end < rest.len() { "…" } else { "" });
    format!("{before}{}{after}", rest[..end].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_words_searched_for() {
        let text = format!("{} The zebra crossed the river. {}", "filler words ".repeat(80), "more text ".repeat(80));
        let mut highlighter = Highlighter::new("zebras river", StemmerLanguage::English);
        let shown = snippet(&text, &mut highlighter, 120);
        assert!(shown.contains("zebra crossed the river"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…') && shown.chars().count() <= 120);
        let words: Vec<&str> = highlighter.matches(&shown).into_iter().map(|range| &shown[range]).collect();
        assert_eq!(words, ["zebra", "river"]);
    }

    fn marked(query: &str, text: &str) -> Vec<String> {
        let mut highlighter = Highlighter::new(query, StemmerLanguage::English);
        highlighter.matches(text).into_iter().map(|range| text[range].to_owned()).collect()
    }

    #[test]
    fn stop_words_were_marked() {
        let text = "Who has the tile cutter? The cutter of tiles is what the neighbour has.";
        assert_eq!(marked("who has the tile cutter", text), ["tile", "cutter", "cutter", "tiles"]);
        assert_eq!(marked("what would make us go back to paper", "to go back to paper"), ["go", "back", "paper"]);
        assert_eq!(marked("to be or not to be", "not to be"), ["not", "to", "be"], "there is nothing else to mark");
        assert_eq!(marked("don't panic", "Don't. Panic!"), ["Panic"]);
        assert_eq!(marked("wer hat die Kelle", "die Kelle hat Bob, die hard"), ["Kelle"], "it is not English");
        assert_eq!(marked("die hard", "die hard"), ["die", "hard"]);
    }

    #[test]
    fn words_are_marked_by_the_forms_of_the_texts_language() {
        let text = "Die Bücher stehen im Keller.";
        assert_eq!(marked("buch", text), Vec::<String>::new(), "it is not English");
        let mut highlighter = Highlighter::new("buch keller", StemmerLanguage::English);
        let mut marked_in = |language: &str, text: &str| {
            highlighter.turn_to(TextLanguage::named(language));
            highlighter.matches(text).into_iter().map(|range| text[range].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(marked_in("de", text), ["Bücher", "Keller"]);
        assert_eq!(marked_in("en", text), ["Keller"]);
    }

    #[test]
    fn a_phrase_is_marked_as_it_is() {
        let text = "the end of the line, and the line of the end";
        assert_eq!(marked("\"the end of the line\"", text), ["the", "end", "of", "the", "line", "line", "end"]);
        assert_eq!(marked("\"to be\"", "to be or not to be: be"), ["to", "be", "to", "be"]);
        assert_eq!(marked("\"serde json\" x", "a serde_json y"), ["serde_json"]);
    }

    #[test]
    fn nothing_was_marked_where_no_blanks_part_words() {
        assert_eq!(marked("東京タワー", "きのう東京タワーに行く。東京"), ["東京タワー", "東京"]);
        assert_eq!(marked("\"東京タワー\"", "東京の東京タワー"), ["東京", "東京タワー"]);
        assert_eq!(marked("ขนาดรูปภาพ", "เปลี่ยนขนาดรูปภาพใน Obsidian"), ["ขนาด", "รูปภาพ"]);
        assert_eq!(marked("김치 obsidian", "신김치를 Obsidian東京"), ["김치", "Obsidian"]);
        assert_eq!(marked("书 瓦", "读书，瓦が"), ["书", "瓦"]);
        let long = format!("{}外婆的荠菜馄饨最好吃。{}", "今天天气很好。".repeat(60), "明天下雨。".repeat(60));
        let shown = snippet(&long, &mut Highlighter::new("荠菜馄饨", StemmerLanguage::English), 60);
        assert!(shown.contains("荠菜馄饨"), "{shown}");
    }

    #[test]
    fn what_follows_has_its_part_of_a_snippet() {
        let question = format!("{} who has the tile cutter? {}", "filler ".repeat(60), "filler ".repeat(60));
        let answer = format!("Ask Bob. {}", "He said more. ".repeat(60));
        let mut highlighter = Highlighter::new("tile cutter", StemmerLanguage::English);
        let shown = snippet_around("before", &question, &answer, &mut highlighter, 300);
        assert!(shown.contains("tile cutter") && shown.contains("\n\nAsk Bob."), "{shown}");
        assert!(shown.chars().count() <= 300);
        let shown = snippet_around("before", "own", "after", &mut highlighter, 300);
        assert_eq!(shown, "before\n\nown\n\nafter");
        assert_eq!(snippet_around("before", "own", "", &mut highlighter, 5), "own");
    }

    #[test]
    fn keeps_characters_whole() {
        let mut highlighter = Highlighter::new("東京", StemmerLanguage::English);
        let shown = snippet(&"東京の天気🌤️".repeat(100), &mut highlighter, 60);
        assert!(shown.chars().count() <= 60);
        // The ideographic space is three bytes long.
        let spaced = "天気は　晴れ　のち　東京の　".repeat(50);
        assert!(snippet(&spaced, &mut Highlighter::new("東京", StemmerLanguage::English), 100).contains("東京"));
    }
}
