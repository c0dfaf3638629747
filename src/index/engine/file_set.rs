//! The set of files a search may look at.

use std::collections::HashMap;
use std::sync::Arc;

use super::bm25::Statistics;
use super::entry::FileEntry;
use super::facets::Facets;
use super::query_terms::{QueryTerms, WordQuery};
use crate::base::config::StemmerLanguage;

/// A set of file row ids: what a scope and the filters of a query allow.
///
/// A bitmap, because file ids are small, dense integers and the set is asked once per row scanned. Rows of vectors and nodes of
/// their graph are marked in such sets, too.
#[derive(Clone, Debug, Default)]
pub struct FileSet {
    words: Vec<u64>,
}

impl FileSet {
    /// Creates an empty set, which allows no file.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty set with room for the ids below `length`.
    pub(crate) fn of_length(length: usize) -> Self {
        Self { words: vec![0; length.div_ceil(64)] }
    }

    /// Adds a file; tells whether it was missing.
    pub fn insert(&mut self, file: u32) -> bool {
        let (word, bit) = place(file);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let missing = self.words[word] & bit == 0;
        self.words[word] |= bit;
        missing
    }

    /// Removes a file; tells whether it was there.
    pub fn remove(&mut self, file: u32) -> bool {
        let (word, bit) = place(file);
        let there = self.contains(file);
        if there {
            self.words[word] &= !bit;
        }
        there
    }

    /// Tells whether a file is in the set.
    #[inline]
    pub fn contains(&self, file: u32) -> bool {
        let (word, bit) = place(file);
        self.words.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// Counts the files in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Tells whether no file is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Lists the files, smallest id first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words
            .iter()
            .enumerate()
            .flat_map(|(at, &word)| ones(word).map(move |bit| at as u32 * u64::BITS + bit as u32))
    }

    /// Those of the 64 ids from `64 * at` on that are in the set, as bits.
    pub(crate) fn word(&self, at: usize) -> u64 {
        self.words.get(at).copied().unwrap_or_default()
    }

    /// Keeps only the files that `other` has too.
    pub fn intersect(&mut self, other: &FileSet) {
        self.words.truncate(other.words.len());
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Drops every file of `other`.
    pub fn subtract(&mut self, other: &FileSet) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// Adds every file of `other`.
    pub fn union(&mut self, other: &FileSet) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }
}

/// Two sets are equal when they hold the same files, whatever room they have reserved.
impl PartialEq for FileSet {
    fn eq(&self, other: &Self) -> bool {
        let (short, long) = if self.words.len() < other.words.len() { (self, other) } else { (other, self) };
        let (same, rest) = long.words.split_at(short.words.len());
        same == short.words && rest.iter().all(|&word| word == 0)
    }
}

impl Eq for FileSet {}

impl FromIterator<u32> for FileSet {
    fn from_iter<I: IntoIterator<Item = u32>>(files: I) -> Self {
        let mut set = FileSet::new();
        set.extend(files);
        set
    }
}

impl Extend<u32> for FileSet {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, files: I) {
        for file in files {
            self.insert(file);
        }
    }
}

/// Lists the positions of the bits that are set, lowest first.
pub(crate) fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (at < u64::BITS).then_some(at as usize)
    })
}

fn place(file: u32) -> (usize, u64) {
    ((file / u64::BITS) as usize, 1 << (file % u64::BITS))
}

/// All files, by row id.
#[derive(Debug, Clone, Default)]
pub struct FileTable {
    by_id: HashMap<u32, Arc<FileEntry>>,
    facets: Arc<Facets>,
}

impl FileTable {
    /// The file with a row id.
    pub fn get(&self, id: u32) -> Option<&Arc<FileEntry>> {
        self.by_id.get(&id)
    }

    /// The file at a path.
    pub fn at(&self, path: &str) -> Option<&Arc<FileEntry>> {
        self.get(self.facets.at(path)?).filter(|file| file.path.as_str() == path)
    }

    /// The files, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<FileEntry>> {
        self.by_id.values()
    }

    /// Those of a set that are so.
    pub(crate) fn which(&self, set: &FileSet, is_so: impl Fn(&FileEntry) -> bool) -> FileSet {
        set.iter().filter(|file| self.get(*file).is_some_and(|file| is_so(file))).collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Chunks and words of the files of a scope (all when `None`).
    pub fn statistics(&self, scope: Option<&FileSet>) -> Statistics {
        let mut sum = Statistics::default();
        let mut add = |file: &Arc<FileEntry>| sum.add_all(&file.statistics());
        match scope {
            None => self.iter().for_each(&mut add),
            Some(scope) => scope.iter().filter_map(|file| self.get(file)).for_each(&mut add),
        }
        sum
    }

    /// The terms of a query in a scope, given the usual language. Whatever is outside the scope has no part in them.
    pub(crate) fn terms(&self, query: &WordQuery, usual: StemmerLanguage, scope: Option<&FileSet>) -> QueryTerms {
        QueryTerms::new(query, usual, &self.facets.stemmed_languages(usual, scope))
    }

    /// What filters ask of them.
    pub fn facets(&self) -> &Facets {
        &self.facets
    }

    pub(crate) fn insert(&mut self, file: Arc<FileEntry>) {
        self.remove(file.id);
        Arc::make_mut(&mut self.facets).insert(&file);
        self.by_id.insert(file.id, file);
    }

    pub(crate) fn remove(&mut self, id: u32) {
        if let Some(file) = self.by_id.remove(&id) {
            Arc::make_mut(&mut self.facets).remove(&file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_was_inserted_and_nothing_else() {
        let mut set = FileSet::new();
        assert!(set.is_empty());
        assert!(set.insert(3) && set.insert(64) && set.insert(1000));
        assert!(!set.insert(64));
        assert_eq!(set.len(), 3);
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 64, 1000]);
        assert!(set.contains(1000) && !set.contains(1001) && !set.contains(u32::MAX));
    }

    #[test]
    fn unites_and_intersects_sets_of_different_lengths() {
        let short: FileSet = [1, 2].into_iter().collect();
        let long: FileSet = [2, 500].into_iter().collect();
        for (a, b) in [(&short, &long), (&long, &short)] {
            let (mut both, mut either) = (a.clone(), a.clone());
            both.intersect(b);
            either.union(b);
            assert_eq!(both, [2].into_iter().collect());
            assert_eq!(either, [1, 2, 500].into_iter().collect());
            either.subtract(b);
            both = a.clone();
            both.remove(2);
            assert_eq!(either, both);
        }
    }
}
