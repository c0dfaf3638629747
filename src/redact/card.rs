//! Card numbers: so many digits, of a known issuer, with the right check digit.

use std::ops::Range;

/// The text without its card numbers; `None` when it has none.
pub(super) fn redact(text: &str) -> Option<String> {
    let mut redacted = String::new();
    let mut kept = 0;
    for card in runs(text).flat_map(|run| cards(text, &run)) {
        redacted.push_str(&text[kept..card.start]);
        redacted.push_str("[redacted: card number]");
        kept = card.end;
    }
    (kept > 0).then(|| redacted + &text[kept..])
}

/// Digits with none between them, and what stands before them in a run.
struct Group {
    digits: Range<usize>,
    gap: Option<Gap>,
}

/// What stands between the groups of a number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    Space,
    Hyphen,
    Dot,
}

/// The gap that a text begins with, when digits follow it: a hyphen, a dot, or one or two spaces of whatever width.
fn gap(text: &str) -> Option<(Gap, usize)> {
    let is_space = |c: &char| c.is_whitespace() && !c.is_control();
    let first = text.chars().next()?;
    let gap = match first {
        '-' | '\u{2010}'..='\u{2012}' => Gap::Hyphen,
        '.' => Gap::Dot,
        space if is_space(&space) => Gap::Space,
        _ => return None,
    };
    let mut length = first.len_utf8();
    if gap == Gap::Space {
        length += text[length..].chars().next().filter(is_space).map_or(0, char::len_utf8);
    }
    text[length..].starts_with(|c: char| c.is_ascii_digit()).then_some((gap, length))
}

/// Groups of digits with gaps between them, that no word or longer number holds.
fn runs(text: &str) -> impl Iterator<Item = Vec<Group>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + bytes.get(at..)?.iter().position(u8::is_ascii_digit)?;
            let (mut groups, mut begin, mut before) = (Vec::new(), start, None);
            let end = loop {
                let length = bytes[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                let end = begin + length;
                groups.push(Group { digits: begin..end, gap: before });
                let Some((gap, length)) = gap(&text[end..]) else { break end };
                (begin, before) = (end + length, Some(gap));
            };
            at = end;
            let before = text[..start].chars().next_back();
            let holds = |c: char| c.is_alphanumeric() || matches!(c, '_' | '+' | '-' | '/' | '.');
            // A full stop ends a sentence; with more behind it, it is part of a number or an address.
            let after = text[end..].chars().next().is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
            if !before.is_some_and(holds) && !after {
                return Some(groups);
            }
        }
    })
}

/// The card numbers of a run: all of it, or groups as they are printed, with short ones beside them for a date or a code.
fn cards(text: &str, run: &[Group]) -> Vec<Range<usize>> {
    const PRINTED: [&[usize]; 5] = [&[4, 4, 4, 4, 3], &[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4], &[]];
    let length = |at: usize| run.get(at).map_or(0, |group| group.digits.len());
    let ends = |at: usize| run.get(at).is_none_or(|group| group.gap.is_none_or(|gap| gap == Gap::Space));
    let mut found = Vec::new();
    let mut at = 0;
    while at < run.len() {
        let card = PRINTED.iter().find_map(|printed| {
            let next = at + printed.len().max(1);
            let groups = run.get(at..next)?;
            let like = printed.is_empty() || groups.iter().map(|group| group.digits.len()).eq(printed.iter().copied());
            let alike = groups.iter().skip(2).all(|group| group.gap == groups[1].gap);
            let aside = ends(at) && ends(next) && length(next) < 4 && (at == 0 || length(at - 1) < 4);
            let span = groups.first()?.digits.start..groups.last()?.digits.end;
            (like && alike && aside && is_card(&text[span.clone()])).then_some((span, next))
        });
        match card {
            Some((span, next)) => {
                found.push(span);
                at = next;
            }
            None => at += 1,
        }
    }
    found
}

fn is_card(run: &str) -> bool {
    let digits: Vec<u32> = run.chars().filter_map(|c| c.to_digit(10)).collect();
    let number = |count: usize| digits.iter().take(count).fold(0, |number, digit| number * 10 + digit);
    let (two, three, four) = (number(2), number(3), number(4));
    let issued = match digits.len() {
        14 => matches!(two, 36 | 38 | 39) || (300..=305).contains(&three),
        15 => matches!(two, 34 | 37),
        16 => {
            digits[0] == 4
                || (51..=55).contains(&two)
                || (2221..=2720).contains(&four)
                || four == 6011
                || two == 65
                || (644..=649).contains(&three)
                || (3528..=3589).contains(&four)
                || two == 62
        }
        19 => digits[0] == 4 || matches!(two, 62 | 65),
        _ => false,
    };
    issued && luhn(&digits)
}

fn luhn(digits: &[u32]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| match digit * (1 + at as u32 % 2) {
            doubled @ 10.. => doubled - 9,
            digit => digit,
        })
        .sum();
    sum.is_multiple_of(10)
}
