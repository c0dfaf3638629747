//! What a part of a query like `tag:travel` or `[rating:>3]` asks of a note.

use std::cmp::Ordering;

use jiff::Timestamp;

use crate::base::clock::{Edge, moment};
use crate::base::config::MemoryLayer;
use crate::index::engine::{Condition, Predicate};
use crate::text::derive::{CONVERSATIONS, Label, without_links};

/// Each way of asking, as whoever asks is told of it: by `vault search --help`, the page, the description of the API and MCP.
pub const OPERATORS: &[&str] = &[
    "phrase\"", "+word", "-word", "begin*", "tag:", "in:", "path:", "title:", "before:", "after:", "has:", "role:",
    "conversation:", "layer:", "type:", "status:done", "[rating:>3]", "lex:", "vec:", "hyde:", "intent:",
];

/// The conditions that are no properties, by each of their names.
pub(super) const CONDITIONS: [&str; 12] =
    ["tag", "tags", "in", "collection", "path", "title", "before", "after", "has", "role", "conversation", "layer"];

/// Those of conversations. Where there is nothing of the kind they are keys like any other.
const OF_TURNS: [&str; 2] = ["role", "conversation"];

/// Whether a key is that of a condition, whatever the properties are called and whatever notes there are.
pub(super) fn is_condition(key: &str) -> bool {
    let key = key.to_lowercase();
    CONDITIONS.contains(&key.as_str()) && !OF_TURNS.contains(&key.as_str())
}

/// What decides how an operator is read.
pub(super) struct Surroundings<'a> {
    /// Now, for `after:7d`.
    pub(super) at: Timestamp,
    /// Whether a note that is seen has a property.
    pub(super) has_property: &'a dyn Fn(&str) -> bool,
    /// Whether a note that is seen is so.
    pub(super) is_there: &'a dyn Fn(&Predicate) -> bool,
}

/// What `key:value` asks for; `None` when it asks for nothing, and is words.
pub(super) fn condition(key: &str, value: &str, negated: bool, around: &Surroundings<'_>) -> Option<Condition> {
    let value = value.trim();
    let name = key.to_lowercase();
    let wanted = match name.as_str() {
        _ if value.is_empty() => return None,
        "tag" | "tags" => Predicate::Tag(value.to_owned()),
        "in" | "collection" => Predicate::Collection(value.trim_end_matches('/').to_owned()),
        "role" => of_turns(Predicate::Speaker(value.to_owned()), (key, value), around)?,
        "conversation" => of_turns(Predicate::Conversation(value.to_owned()), (key, value), around)?,
        // Whatever other layers there are, they are of a property.
        "layer" => match MemoryLayer::named(value) {
            Some(layer) => Predicate::Layer(layer),
            None => (around.has_property)(key).then(|| property(key, value))?,
        },
        "path" => Predicate::Path(value.to_owned()),
        "title" => Predicate::Title(value.to_owned()),
        "before" => Predicate::Updated(i64::MIN, moment(value, Edge::Start, around.at)?),
        "after" => Predicate::Updated(moment(value, Edge::Start, around.at)?, i64::MAX),
        "has" => Predicate::Labelled(Label::of_content(value.to_lowercase().trim_end_matches('s'))?),
        _ if (around.has_property)(key) => property(key, value),
        _ => return None,
    };
    Some(Condition { wanted, negated })
}

/// What `role:` or `conversation:` asks for: a speaker or a conversation that there is; else a property that a note has; else, among
/// conversations, one that there is not, of which whoever asks is told. `None` where there are none.
fn of_turns(wanted: Predicate, (key, value): (&str, &str), around: &Surroundings<'_>) -> Option<Predicate> {
    if (around.is_there)(&wanted) {
        return Some(wanted);
    }
    if (around.has_property)(key) {
        return Some(property(key, value));
    }
    (around.is_there)(&Predicate::Collection(CONVERSATIONS.to_owned())).then_some(wanted)
}

/// What `[key]` or `[key:value]` asks for.
pub(super) fn bracketed(inner: &str, negated: bool, around: &Surroundings<'_>) -> Option<Condition> {
    match inner.split_once(':') {
        Some((key, value)) => {
            let value = value.trim().trim_matches(['"', '\u{201c}', '\u{201d}']);
            let asks = !value.is_empty() && (around.has_property)(key.trim());
            asks.then(|| Condition { wanted: property(key.trim(), value), negated })
        }
        None => (around.has_property)(inner.trim())
            .then(|| Condition { wanted: Predicate::Labelled(Label::of_property(inner, None)), negated }),
    }
}

fn property(key: &str, value: &str) -> Predicate {
    let value = &*without_links(value);
    let signs: [(&str, &[Ordering]); 4] = [
        (">=", &[Ordering::Greater, Ordering::Equal]),
        ("<=", &[Ordering::Less, Ordering::Equal]),
        (">", &[Ordering::Greater]),
        ("<", &[Ordering::Less]),
    ];
    let compared = signs.iter().find_map(|(sign, ordering)| Some((value.strip_prefix(sign)?.trim(), ordering)));
    match compared.filter(|(with, _)| !with.is_empty()) {
        Some((with, ordering)) => {
            Predicate::Compared { key: key.to_owned(), ordering: ordering.to_vec(), with: with.to_owned() }
        }
        None => Predicate::Labelled(Label::of_property(key, Some(value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_is_one_and_is_told() {
        let around = Surroundings { at: Timestamp::UNIX_EPOCH, has_property: &|_| false, is_there: &|_| true };
        for key in CONDITIONS {
            let value = match key {
                "before" | "after" => "2026-01-05",
                "has" => "task",
                "layer" => "graph",
                _ => "x",
            };
            assert!(condition(key, value, false, &around).is_some(), "{key}");
            let told = OPERATORS.contains(&format!("{key}:").as_str());
            assert!(told || ["tags", "collection"].contains(&key), "{key}: only other names are not told");
        }
        assert!(is_condition("TAG") && !is_condition("status") && !is_condition("Role"));
        assert!(condition("status", "x", false, &around).is_none(), "a property is one where a note has it");
        let around = Surroundings { at: Timestamp::UNIX_EPOCH, has_property: &|_| true, is_there: &|_| true };
        let asked = |value: &str| condition("categories", value, false, &around);
        assert_eq!((asked("[[Books]]"), asked("[[lists/Books|Books]]")), (asked("Books"), asked("Books")));
        assert_eq!(bracketed("categories:[[Books]]", false, &around), asked("Books"));
    }

    #[test]
    fn a_property_called_role_was_who_speaks() {
        let asked = |there: &'static [Predicate], properties: &'static [&str], key: &str| {
            let (is_there, has_property) =
                (|wanted: &Predicate| there.contains(wanted), |key: &str| properties.contains(&key));
            let around = Surroundings { at: Timestamp::UNIX_EPOCH, has_property: &has_property, is_there: &is_there };
            condition(key, "ann", false, &around).map(|condition| condition.wanted)
        };
        for (key, wanted) in
            [("role", Predicate::Speaker("ann".into())), ("conversation", Predicate::Conversation("ann".into()))]
        {
            let all: &'static [Predicate] = vec![wanted.clone(), Predicate::Collection(CONVERSATIONS.into())].leak();
            let property = || Some(Predicate::Labelled(Label::of_property(key, Some("ann"))));
            assert_eq!(asked(all, &["role", "conversation"], key), Some(wanted.clone()), "she speaks");
            assert_eq!(asked(&all[1..], &["role", "conversation"], key), property(), "she does not");
            assert_eq!(asked(&all[1..], &[], key), Some(wanted), "nothing is found, which is said");
            assert_eq!(asked(&[], &["role", "conversation"], key), property(), "there are no conversations");
            assert_eq!(asked(&[], &[], key), None, "nor anything else: they are words");
        }
    }
}
