//! Which lines of a history count, and in which order: they may have been copied, merged and moved. Pure.

use std::collections::HashMap;

use super::change::FactChange;

/// The changes without those that say under one name what an earlier one says. One that says something else under the name of another is that
/// line's copy, edited, and counts under a name of its own. Says, too, whether there is
/// such a copy.
pub(super) fn once_each(changes: Vec<FactChange>) -> (Vec<FactChange>, bool) {
    let mut named: HashMap<String, Vec<usize>> = HashMap::with_capacity(changes.len());
    let mut once: Vec<FactChange> = Vec::with_capacity(changes.len());
    let mut has_copies = false;
    for mut change in changes {
        let of_name = named.entry(change.id.clone()).or_default();
        if of_name.iter().any(|at| once[*at].says_as(&change)) {
            continue;
        }
        let is_taken = !of_name.is_empty();
        of_name.push(once.len());
        if is_taken {
            has_copies = true;
            change.name_alone();
            named.entry(change.id.clone()).or_default().push(once.len());
        }
        once.push(change);
    }
    (once, has_copies)
}

/// Places of changes so that none comes before one that it follows; else as they are.
pub(super) fn chained(changes: &[FactChange], places: &[usize]) -> Vec<usize> {
    let before =
        |at: usize| places.iter().copied().find(|other| *other != at && changes[at].follows(&changes[*other].id));
    let mut left: Vec<(usize, Option<usize>)> = places.iter().map(|at| (*at, before(*at))).collect();
    let mut chain = Vec::with_capacity(places.len());
    while !left.is_empty() {
        let is_next = |(_, before): &(usize, Option<usize>)| before.is_none_or(|before| chain.contains(&before));
        let next = left.iter().position(is_next).unwrap_or_default();
        chain.push(left.remove(next).0);
    }
    chain
}
