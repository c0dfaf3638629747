//! Which numbers the files of one name have, so that many of the same name cost no more than one.

use std::collections::HashMap;

/// Files that are remembered; those forgotten are looked at again.
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

fn hash(key: &str) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *blake3::hash(key.as_bytes()).as_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
