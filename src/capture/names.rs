//! Which numbers the files of one name have, so that many of the same name cost no more than one.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Maximum number of files that are remembered; those forgotten are looked at again.
const MAX_KNOWN: usize = 200_000;

/// What the files `base.md`, `base-2.md`, … have, as far as they were looked at.
#[derive(Debug, Default)]
pub(super) struct Names {
    bases: HashMap<String, Base>,
    known: usize,
}

#[derive(Debug, Default)]
struct Base {
    /// All before it were looked at.
    last: usize,
    /// The number of the file that has a key, by the key's hash: whoever asks looks whether it is so.
    numbers: HashMap<u64, usize>,
    /// The numbers of those in which no key could be read.
    keyless: Vec<usize>,
}

impl Names {
    /// The number of the file that had a key.
    pub(super) fn find(&self, base: &str, key: &str) -> Option<usize> {
        self.bases.get(base)?.numbers.get(&hash(key)).copied()
    }

    /// The first number that was not looked at.
    pub(super) fn next(&self, base: &str) -> usize {
        self.bases.get(base).map_or(0, |base| base.last) + 1
    }

    /// The numbers of the files in which no key could be read.
    pub(super) fn keyless(&self, base: &str) -> Vec<usize> {
        self.bases.get(base).map(|base| base.keyless.clone()).unwrap_or_default()
    }

    /// Notes which keys a file has.
    pub(super) fn remember(&mut self, base: &str, at: usize, keys: &[String]) {
        // Only between two names: within one it would be looked at from the first again and again.
        if self.known >= MAX_KNOWN && !self.bases.contains_key(base) {
            self.forget();
        }
        let known = self.bases.entry(base.to_owned()).or_default();
        known.last = known.last.max(at);
        if keys.is_empty() {
            known.keyless.push(at);
        }
        known.numbers.extend(keys.iter().map(|key| (hash(key), at)));
        self.known += 1 + keys.len();
    }

    /// Looks at all again.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

/// Which files a folder of conversations has, as it was listed once for a batch: listed for each conversation, many would cost the square
/// of their number.
#[derive(Debug, Default)]
pub(super) struct SessionNames {
    names: Vec<String>,
    /// Places in `names`, by the hash of what is between date and number.
    places: HashMap<u64, Vec<usize>>,
}

impl SessionNames {
    /// Those of a folder; none where it is not there.
    pub(super) fn of(folder: &Path) -> Self {
        let mut listed = Self::default();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Some(stem) = stem(&name) else { continue };
            let numbered = stem.rsplit_once('-').filter(|(_, number)| is_number(number)).map(|(stem, _)| hash(stem));
            for key in std::iter::once(hash(stem)).chain(numbered) {
                listed.places.entry(key).or_default().push(listed.names.len());
            }
            listed.names.push(name);
        }
        listed
    }

    /// Those that have a name between their date and their number, the last first.
    pub(super) fn with(&self, name: &str) -> Vec<&str> {
        let places = self.places.get(&hash(name)).into_iter().flatten();
        let is_it = |found: &&str| {
            let rest = stem(found).and_then(|stem| stem.strip_prefix(name));
            rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('-').is_some_and(is_number))
        };
        let mut found: Vec<&str> =
            places.filter_map(|at| self.names.get(*at)).map(String::as_str).filter(is_it).collect();
        found.sort_unstable_by_key(|name| (name.get(..10), name.len(), *name));
        found.reverse();
        found
    }
}

/// The name of a conversation's file without its date.
fn stem(name: &str) -> Option<&str> {
    name.get(11..)?.strip_suffix(".md")
}

/// Whether a text is digits alone.
pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn hash(key: &str) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *blake3::hash(key.as_bytes()).as_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_conversation_are_found_by_its_name_the_last_first() {
        let folder = tempfile::tempdir().unwrap();
        let files =
            ["2026-01-05-a.md", "2026-01-05-a-2.md", "2026-01-05-a-10.md", "2026-01-06-a-2.md", "2026-01-05-a-b.md"];
        for name in files.iter().chain(&["a.md", "2026-01-05-a.txt", "2026-01-05-ä.md"]) {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let names = SessionNames::of(folder.path());
        assert_eq!(
            names.with("a"),
            ["2026-01-06-a-2.md", "2026-01-05-a-10.md", "2026-01-05-a-2.md", "2026-01-05-a.md"]
        );
        assert_eq!(names.with("a-2"), ["2026-01-06-a-2.md", "2026-01-05-a-2.md"], "it may be called so itself");
        assert_eq!((names.with("a-b"), names.with("b")), (vec!["2026-01-05-a-b.md"], vec![]));
        assert!(SessionNames::of(&folder.path().join("nowhere")).with("a").is_empty());
    }
}
