//! Files that wait to be read, and in what order.

use std::collections::{HashMap, VecDeque};

use crate::base::path::VaultPath;

/// Files that wait to be read. Those that the watcher named go before those that a scan found. Among the former each folder
/// has its turn, and in it notes that are known and those that are new, the newest first: what a person saves does not wait
/// behind the thousands that a checkout or a sync brings into another folder, or beside it.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// The newest last.
    named: HashMap<BacklogTurn, Vec<VaultPath>>,
    turns: VecDeque<BacklogTurn>,
    bulk: VecDeque<VaultPath>,
    /// Which of the two each path waits in; what stands elsewhere is skipped.
    waiting: HashMap<VaultPath, Lane>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct BacklogTurn {
    folder: String,
    known: bool,
}

impl BacklogTurn {
    fn of(path: &VaultPath, known: bool) -> Self {
        let folder = path.as_str().rsplit_once('/').map_or("", |(folder, _)| folder);
        Self { folder: folder.to_owned(), known }
    }
}

/// Why a file waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// The watcher named it.
    Named,
    /// A scan found it.
    Bulk,
}

impl Backlog {
    /// Puts a file that the watcher named before the others of its folder; `known` says that it is in the index.
    pub(super) fn push_named(&mut self, path: VaultPath, known: bool) {
        if self.waiting.insert(path.clone(), Lane::Named) == Some(Lane::Named) {
            return;
        }
        let turn = BacklogTurn::of(&path, known);
        let waiting = self.named.entry(turn.clone()).or_default();
        if waiting.is_empty() {
            self.turns.push_back(turn);
        }
        waiting.push(path);
    }

    /// Puts a file that a scan found behind all others, unless it waits already.
    pub(super) fn push(&mut self, path: VaultPath) {
        if !self.waiting.contains_key(&path) {
            self.waiting.insert(path.clone(), Lane::Bulk);
            self.bulk.push_back(path);
        }
    }

    /// Why the next file waits.
    pub(super) fn next_lane(&self) -> Option<Lane> {
        match (self.turns.is_empty(), self.is_empty()) {
            (false, _) => Some(Lane::Named),
            (true, false) => Some(Lane::Bulk),
            (true, true) => None,
        }
    }

    /// Takes the next file. It is no longer waiting: when it is named meanwhile, it is read again.
    pub(super) fn pop(&mut self) -> Option<(VaultPath, Lane)> {
        if let Some(turn) = self.turns.pop_front() {
            let waiting = self.named.get_mut(&turn)?;
            let path = waiting.pop()?;
            if waiting.is_empty() {
                self.named.remove(&turn);
            } else {
                self.turns.push_back(turn);
            }
            self.waiting.remove(&path);
            return Some((path, Lane::Named));
        }
        loop {
            let path = self.bulk.pop_front()?;
            if self.waiting.get(&path) == Some(&Lane::Bulk) {
                self.waiting.remove(&path);
                return Some((path, Lane::Bulk));
            }
        }
    }

    /// Puts a file that was taken and not read back before all others of its kind.
    pub(super) fn put_back(&mut self, path: VaultPath, lane: Lane, known: bool) {
        if self.waiting.contains_key(&path) {
            return;
        }
        self.waiting.insert(path.clone(), lane);
        match lane {
            Lane::Bulk => self.bulk.push_front(path),
            Lane::Named => {
                let turn = BacklogTurn::of(&path, known);
                self.turns.retain(|other| *other != turn);
                self.named.entry(turn.clone()).or_default().push(path);
                self.turns.push_front(turn);
            }
        }
    }

    /// Forgets all files.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// How many files wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> VaultPath {
        VaultPath::new(text).unwrap()
    }

    fn all(backlog: &mut Backlog) -> Vec<String> {
        std::iter::from_fn(|| backlog.pop()).map(|(path, _)| path.to_string()).collect()
    }

    #[test]
    fn one_save_does_not_wait_for_a_storm() {
        let mut backlog = Backlog::default();
        (0..1000).for_each(|at| backlog.push(path(&format!("old/{at}.md"))));
        (0..1000).for_each(|at| backlog.push_named(path(&format!("storm/{at}.md")), false));
        backlog.push_named(path("notes/mine.md"), false);
        backlog.push_named(path("storm/known.md"), true);
        let order = all(&mut backlog);
        let place = |path: &str| order.iter().position(|found| found == path).unwrap();
        assert!(place("notes/mine.md") < 3 && place("storm/known.md") < 3, "{:?}", &order[..5]);
        assert!(place("storm/999.md") < place("storm/0.md") && place("storm/0.md") < place("old/0.md"));
        assert_eq!((order.len(), backlog.len()), (2002, 0));
    }

    #[test]
    fn what_was_not_read_is_next() {
        let mut backlog = Backlog::default();
        ["x/a.md", "x/b.md", "y/c.md"].iter().for_each(|named| backlog.push_named(path(named), false));
        ["d.md", "e.md"].iter().for_each(|found| backlog.push(path(found)));
        let taken: Vec<_> = std::iter::from_fn(|| backlog.pop()).collect();
        let order: Vec<String> = taken.iter().map(|(path, _)| path.to_string()).collect();
        assert_eq!(order, ["x/b.md", "y/c.md", "x/a.md", "d.md", "e.md"]);
        taken.into_iter().skip(1).rev().for_each(|(path, lane)| backlog.put_back(path, lane, false));
        assert_eq!((all(&mut backlog), backlog.len()), (order[1..].to_vec(), 0));
    }

    #[test]
    fn a_file_waits_once_and_where_it_is_read_first() {
        let mut backlog = Backlog::default();
        backlog.push(path("a.md"));
        backlog.push(path("b.md"));
        backlog.push_named(path("b.md"), true);
        backlog.push_named(path("b.md"), true);
        backlog.push(path("b.md"));
        assert_eq!(backlog.len(), 2);
        assert_eq!(all(&mut backlog), ["b.md", "a.md"]);
        assert!(backlog.is_empty());
        backlog.push(path("a.md"));
        backlog.clear();
        assert_eq!(all(&mut backlog), [""; 0]);
    }
}
