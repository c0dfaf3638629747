//! Names that most likely were meant, by the letters that differ. Callers give the names that whoever asks may see.

use crate::base::path::{VaultPath, folded};

/// How many letters are changed, put in, left out or exchanged with their neighbour between two words (optimal string alignment).
pub(crate) fn edits(one: &str, other: &str) -> usize {
    strsim::osa_distance(one, other)
}

/// Maximum length of a name that is compared letter by letter, which takes time and memory by the product of both lengths.
const MAX_NAME_BYTES: usize = 400;

/// How many letters may be wrong in a name.
fn slips(name: &str) -> usize {
    name.chars().count().div_ceil(4)
}

/// The name that most likely was meant: one that goes on as it begins, else one with few letters changed.
pub(crate) fn nearest(wanted: &str, there: &[&str]) -> Option<String> {
    if wanted.len() > MAX_NAME_BYTES {
        return None;
    }
    let wanted = folded(wanted);
    let distance = |name: &str| match folded(name) {
        name if !wanted.is_empty() && name.starts_with(&wanted) => 0,
        name if name.len() > MAX_NAME_BYTES => usize::MAX,
        name => edits(&name, &wanted),
    };
    let found = there.iter().map(|name| (distance(name), *name)).min();
    found.filter(|(distance, _)| *distance <= slips(&wanted)).map(|(_, name)| name.to_owned())
}

/// The notes that a name most likely means: those called so, else those whose names go on as it begins, else those that have it, else those
/// with few letters changed, and no digit: another day is another note. Of the first of these that are any, all, in the order of their
/// paths. What has folders is held against the end of the paths.
pub(crate) fn nearest_notes<'a>(name: &str, there: &'a [VaultPath]) -> Vec<&'a VaultPath> {
    let folded_name = folded(name.trim());
    let extension = [".md", ".markdown"].into_iter().find_map(|extension| folded_name.strip_suffix(extension));
    let wanted = extension.unwrap_or(&folded_name).trim_start_matches('/');
    if wanted.is_empty() || wanted.len() > MAX_NAME_BYTES {
        return Vec::new();
    }
    let parts = wanted.matches('/').count() + 1;
    let named: Vec<(String, &VaultPath)> = there
        .iter()
        .map(|path| {
            let folder = path.as_str().rsplit_once('/').map_or("", |(folder, _)| folder);
            let around: Vec<&str> = folder.rsplit('/').filter(|part| !part.is_empty()).take(parts - 1).collect();
            let names: Vec<&str> = around.into_iter().rev().chain([path.stem()]).collect();
            (folded(&names.join("/")), path)
        })
        .collect();
    let digits = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>();
    let wanted_digits = digits(wanted);
    let tier = |name: &str| match name {
        name if name == wanted => 0,
        name if name.starts_with(wanted) => 1,
        name if name.contains(wanted) => 2,
        name if digits(name) == wanted_digits => 3 + edits(name, wanted),
        _ => usize::MAX,
    };
    let mut named: Vec<(usize, &VaultPath)> = named.iter().map(|(name, path)| (tier(name), *path)).collect();
    let best = named.iter().map(|(tier, _)| *tier).min().filter(|best| *best <= 3 + slips(wanted));
    named.retain(|(tier, _)| Some(*tier) == best);
    named.sort_unstable();
    named.dedup();
    named.into_iter().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_one_that_may_have_been_meant() {
        let there = ["notes", "snippets", "travel/2026", "work"];
        assert_eq!(nearest("Note", &there).as_deref(), Some("notes"));
        assert_eq!(nearest("sniptes", &there).as_deref(), Some("snippets"));
        assert_eq!(nearest("travel", &there).as_deref(), Some("travel/2026"));
        assert_eq!(nearest("garden", &there), None);
        assert_eq!(nearest("", &[]), None);
    }

    #[test]
    fn a_note_is_meant_by_its_name_by_a_part_of_it_or_by_a_slip() {
        let there = [
            "notes/Sourdough.md", "notes/rye sourdough.md", "notes/plan.md", "work/plan.md", "notes/plant.md",
            "daily/2026-01-05.md",
        ];
        let there = there.map(|path| VaultPath::new(path).unwrap());
        let found =
            |name: &str| -> Vec<&str> { nearest_notes(name, &there).into_iter().map(VaultPath::as_str).collect() };
        for (name, paths) in [
            ("sourdough", &["notes/Sourdough.md"][..]),
            ("SOUR", &["notes/Sourdough.md"]),
            ("rye", &["notes/rye sourdough.md"]),
            ("dough", &["notes/Sourdough.md", "notes/rye sourdough.md"]),
            ("sourdoguh.md", &["notes/Sourdough.md"]),
            ("plan", &["notes/plan.md", "work/plan.md"]),
            ("work/plan", &["work/plan.md"]),
            ("work/paln.md", &["work/plan.md"]),
            ("plam", &["notes/plan.md", "work/plan.md"]),
            ("zeppelin", &[]),
            ("2026-01-06", &[]),
            ("2026-01", &["daily/2026-01-05.md"]),
            ("", &[]),
        ] {
            assert_eq!(found(name), paths, "{name}");
        }
    }
}
