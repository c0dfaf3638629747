//! Card numbers: so many digits, of a known issuer, with the right check digit.

use std::ops::Range;

/// The text without its card numbers; `None` when it has none.
pub(super) fn redact(text: &str) -> Option<String> {
    let mut redacted = String::new();
    let mut kept = 0;
    for run in runs(text) {
        if is_card(&text[run.clone()]) {
            redacted.push_str(&text[kept..run.start]);
            redacted.push_str("[redacted: card number]");
            kept = run.end;
        }
    }
    (kept > 0).then(|| redacted + &text[kept..])
}

/// Digits, in groups with one space or hyphen between them, that no word or longer number holds.
fn runs(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + bytes.get(at..)?.iter().position(u8::is_ascii_digit)?;
            let mut end = start;
            while let Some(next) = bytes.get(end) {
                let joins = matches!(next, b' ' | b'-') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
                if !next.is_ascii_digit() && !joins {
                    break;
                }
                end += 1;
            }
            at = end;
            let before = text[..start].chars().next_back();
            let holds = |c: char| c.is_alphanumeric() || matches!(c, '_' | '+' | '-' | '/' | '.' | '=');
            // A full stop ends a sentence; with more behind it, it is part of a number or an address.
            let after = text[end..].chars().next().is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
            if !before.is_some_and(|c| holds(c) && c != '=') && !after {
                return Some(start..end);
            }
        }
    })
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
    let groups: Vec<usize> = run.split([' ', '-']).map(str::len).collect();
    let printed = matches!(groups.as_slice(), [_] | [4, 6, 4 | 5] | [4, 4, 4, 4] | [4, 4, 4, 4, 3]);
    issued && printed && luhn(&digits)
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
