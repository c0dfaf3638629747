//! Which events were there already.

use std::collections::{HashSet, VecDeque};

/// Maximum number of keys that are remembered.
pub(super) const MAX_SEEN: usize = 100_000;

/// The keys of the last events that had an id.
#[derive(Debug, Default)]
pub(super) struct Seen {
    known: HashSet<u64>,
    order: VecDeque<u64>,
}

impl Seen {
    pub(super) fn has(&self, key: u64) -> bool {
        self.known.contains(&key)
    }

    pub(super) fn add(&mut self, key: u64) {
        if self.known.insert(key) {
            self.order.push_back(key);
        }
        if self.order.len() > MAX_SEEN
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}
