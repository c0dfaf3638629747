//! Sets of files: what a scope and the filters of a query allow, and what filters ask for, kept so that a filtered search need not visit
//! every file.
//!
//! Of 121,000 chunks, on one index, two builds in turns, p50: 0.45 ms at 1 % of the notes, 0.8 at 10 %, 4.0 at 50 %, unfiltered 3.3.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, OnceLock};

use super::bm25::{QueryTerms, Statistics, WordQuery};
use super::file::FileEntry;
use super::names::Names;
use crate::base::config::StemmerLanguage;
use crate::base::path::folded;
use crate::text::derive::{Label, TextLanguage};

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

    /// All of it, the lowest ids in the lowest bits of the first byte.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
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
    /// Made when it is asked for: most states are never asked.
    names: OnceLock<Arc<Names>>,
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

    /// Their names.
    pub(crate) fn names(&self) -> &Names {
        self.names.get_or_init(|| Arc::new(Names::of(self.iter())))
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
        self.facets.counts(scope).for_each(|(statistics, _)| sum.add_all(statistics));
        sum
    }

    /// Chunks that have something to embed, of the files of a scope (all when `None`).
    pub fn embeddable(&self, scope: Option<&FileSet>) -> usize {
        self.facets.counts(scope).map(|(_, embeddable)| *embeddable).sum()
    }

    /// Of a scope: how many chunks have their vector, and how many have something to embed, given how many have one in all and are to have
    /// one, and whether the model is given private notes.
    pub(crate) fn embedded(
        &self,
        scope: Option<&FileSet>,
        (embedded, embeddable, withholds_private): (usize, usize, bool),
        is_embedded: impl Fn(u64) -> bool,
    ) -> (usize, usize) {
        let Some(scope) = scope else { return (embedded, embeddable) };
        let mut scope = scope.clone();
        if withholds_private {
            scope.subtract(self.facets().private());
        }
        let of = self.embeddable(Some(&scope));
        if embedded == embeddable {
            return (of, of);
        }
        let chunks = scope.iter().filter_map(|file| self.get(file)).flat_map(|file| &file.chunks);
        (chunks.filter(|chunk| is_embedded(chunk.row)).count(), of)
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
        self.names.take();
        Arc::make_mut(&mut self.facets).insert(&file);
        self.by_id.insert(file.id, file);
    }

    pub(crate) fn remove(&mut self, id: u32) {
        if let Some(file) = self.by_id.remove(&id) {
            self.names.take();
            Arc::make_mut(&mut self.facets).remove(&file);
        }
    }
}

/// The files of each collection and tag, and when each was updated.
///
/// Asking every one of 20,000 files took 6 to 11 ms a search, most of it waiting for memory; sets take microseconds. Cloning is
/// cheap: what does not change is shared.
#[derive(Debug, Clone, Default)]
pub struct Facets {
    all: FileSet,
    private: FileSet,
    derived: FileSet,
    /// The attachments, each with the label of the notes that link to it.
    documents: HashMap<u32, Label>,
    /// By a hash of the path; the path is to be compared.
    by_path: HashMap<u64, u32>,
    collections: HashMap<Arc<str>, Arc<FileSet>>,
    /// By tag, [`folded`].
    tags: HashMap<Arc<str>, Arc<FileSet>>,
    /// By what may be meant as one, likewise.
    doubtful: HashMap<Arc<str>, Arc<FileSet>>,
    /// One file of each that the file system knows, by [`Same`].
    by_file: HashMap<Same, u32>,
    /// All of them, where it is indexed under several names (hard links).
    linked: HashMap<Same, Vec<u32>>,
    labels: LabelIndex,
    /// By row id; anything where there is no file.
    updated_ms: Vec<i64>,
    /// By row id: what each file adds to the statistics of a scope, and how many of its chunks have something to embed.
    counts: Vec<(Statistics, usize)>,
}

/// What all names of a file have in common, and two files by no chance: number, time of change and size. (A further name changes
/// the time of the inode.)
type Same = (u64, i64, u64);

fn same(file: &FileEntry) -> Option<Same> {
    let stamp = &file.stamp;
    // An empty file has nothing to hide.
    (stamp.inode != 0 && stamp.size != 0).then_some((stamp.inode, stamp.mtime_ns, stamp.size))
}

impl Facets {
    /// All files.
    pub fn all(&self) -> &FileSet {
        &self.all
    }

    fn counts<'a>(&'a self, scope: Option<&'a FileSet>) -> impl Iterator<Item = &'a (Statistics, usize)> {
        scope.unwrap_or(&self.all).iter().filter_map(|file| self.counts.get(file as usize))
    }

    /// Those that only the owner sees.
    pub fn private(&self) -> &FileSet {
        &self.private
    }

    /// Those that were made of others.
    pub fn derived(&self) -> &FileSet {
        &self.derived
    }

    /// The attachments, each with the label of the notes that link to it.
    pub fn documents(&self) -> impl Iterator<Item = (u32, Label)> {
        self.documents.iter().map(|(id, label)| (*id, *label))
    }

    /// The files that are indexed under several names: the names of each.
    pub fn linked(&self) -> impl Iterator<Item = &[u32]> {
        self.linked.values().map(Vec::as_slice)
    }

    /// The file that may be at a path: another path may have the same hash.
    pub(super) fn at(&self, path: &str) -> Option<u32> {
        self.by_path.get(&hash(path)).copied()
    }

    /// The files of the collections for whose names `wanted` holds.
    pub fn of_collections(&self, wanted: impl Fn(&str) -> bool) -> FileSet {
        union(&self.collections, wanted)
    }

    /// The collections that files of a scope (all when `None`) are in.
    pub fn collection_names(&self, scope: Option<&FileSet>) -> Vec<&str> {
        within(&self.collections, scope)
    }

    /// The tags that files of a scope (all when `None`) have, [`folded`].
    pub fn tag_names(&self, scope: Option<&FileSet>) -> Vec<&str> {
        within(&self.tags, scope)
    }

    /// The files with a tag, given [`folded`].
    pub(crate) fn tagged(&self, tag: &str) -> Option<&FileSet> {
        self.tags.get(tag).map(AsRef::as_ref)
    }

    /// The files with a tag for which `wanted` holds, given the tag [`folded`].
    pub fn with_tags(&self, wanted: impl Fn(&str) -> bool) -> FileSet {
        union(&self.tags, wanted)
    }

    /// The files that have something which may be meant as a tag, and hides: such as a mark of a session.
    pub fn with_doubtful(&self, wanted: impl Fn(&str) -> bool) -> FileSet {
        union(&self.doubtful, wanted)
    }

    /// The files that are called so, or have such a property.
    pub fn labelled(&self, label: Label) -> FileSet {
        self.labels.files(label).collect()
    }

    /// Whether a file of a scope (all when `None`) has a label.
    pub(crate) fn has_label(&self, label: Label, scope: Option<&FileSet>) -> bool {
        self.labels.has(label, scope)
    }

    /// The languages with word forms that files of a scope (all when `None`) are in, but for the usual one: whether a note is in that one
    /// is not worth asking, and where it is none no language has any.
    pub(crate) fn stemmed_languages(&self, usual: StemmerLanguage, scope: Option<&FileSet>) -> Vec<StemmerLanguage> {
        if usual == StemmerLanguage::None {
            return Vec::new();
        }
        let others = TextLanguage::stemmed().iter().filter(|(_, stemmer, _)| *stemmer != usual);
        others.filter(|(.., label)| self.labels.has(*label, scope)).map(|(_, stemmer, _)| *stemmer).collect()
    }

    /// The files that were updated at a time for which `wanted` holds, given in milliseconds since 1970.
    pub fn updated(&self, wanted: impl Fn(i64) -> bool) -> FileSet {
        self.all.iter().filter(|file| wanted(self.updated_ms[*file as usize])).collect()
    }

    pub(super) fn insert(&mut self, file: &FileEntry) {
        self.all.insert(file.id);
        if file.private {
            self.private.insert(file.id);
        }
        if !file.sources.is_empty() {
            self.derived.insert(file.id);
        }
        if let Some(label) = Label::of_document_link(file.path.as_str()) {
            self.documents.insert(file.id, label);
        }
        self.by_path.insert(hash(file.path.as_str()), file.id);
        add(&mut self.collections, file.path.collection(), file.id);
        for tag in &file.tags {
            add(&mut self.tags, &folded(tag), file.id);
        }
        for tag in &file.doubtful {
            add(&mut self.doubtful, &folded(tag), file.id);
        }
        self.labels.insert(&file.labels, file.id);
        if let Some(same) = same(file) {
            match self.by_file.entry(same) {
                Entry::Vacant(entry) => drop(entry.insert(file.id)),
                Entry::Occupied(one) => {
                    self.linked.entry(same).or_insert_with(|| vec![*one.get()]).push(file.id);
                }
            }
        }
        let at = file.id as usize;
        self.updated_ms.resize(self.updated_ms.len().max(at + 1), 0);
        self.updated_ms[at] = file.updated_ms;
        self.counts.resize_with(self.updated_ms.len(), Default::default);
        self.counts[at] = (file.statistics(), file.chunks.iter().filter(|chunk| chunk.content.is_some()).count());
    }

    pub(super) fn remove(&mut self, file: &FileEntry) {
        self.all.remove(file.id);
        self.private.remove(file.id);
        self.derived.remove(file.id);
        self.documents.remove(&file.id);
        self.counts[file.id as usize] = Default::default();
        if let Entry::Occupied(entry) = self.by_path.entry(hash(file.path.as_str()))
            && *entry.get() == file.id
        {
            entry.remove();
        }
        self.labels.remove(&file.labels, file.id);
        if let Some(same) = same(file) {
            let names = self.linked.get_mut(&same);
            let left = names.and_then(|names| {
                names.retain(|id| *id != file.id);
                names.first().map(|first| (*first, names.len()))
            });
            match left {
                Some((first, count)) => {
                    self.by_file.insert(same, first);
                    if count < 2 {
                        self.linked.remove(&same);
                    }
                }
                None => drop(self.by_file.remove(&same)),
            }
        }
        take(&mut self.collections, file.path.collection(), file.id);
        for tag in &file.tags {
            take(&mut self.tags, &folded(tag), file.id);
        }
        for tag in &file.doubtful {
            take(&mut self.doubtful, &folded(tag), file.id);
        }
    }
}

/// 64 bits of BLAKE3: nobody names two notes so that they meet.
fn hash(path: &str) -> u64 {
    let hash = blake3::hash(path.as_bytes());
    u64::from_le_bytes(std::array::from_fn(|at| hash.as_bytes()[at]))
}

fn union(sets: &HashMap<Arc<str>, Arc<FileSet>>, wanted: impl Fn(&str) -> bool) -> FileSet {
    let mut union = FileSet::new();
    sets.iter().filter(|(name, _)| wanted(name)).for_each(|(_, set)| union.union(set));
    union
}

fn within<'a>(sets: &'a HashMap<Arc<str>, Arc<FileSet>>, scope: Option<&FileSet>) -> Vec<&'a str> {
    let seen = |set: &FileSet| scope.is_none_or(|scope| set.iter().any(|file| scope.contains(file)));
    sets.iter().filter(|(_, set)| seen(set)).map(|(name, _)| name.as_ref()).collect()
}

fn add(sets: &mut HashMap<Arc<str>, Arc<FileSet>>, name: &str, file: u32) {
    match sets.get_mut(name) {
        Some(set) => {
            Arc::make_mut(set).insert(file);
        }
        None => {
            sets.insert(name.into(), Arc::new([file].into_iter().collect()));
        }
    }
}

fn take(sets: &mut HashMap<Arc<str>, Arc<FileSet>>, name: &str, file: u32) {
    if let Some(set) = sets.get_mut(name) {
        Arc::make_mut(set).remove(file);
        if set.is_empty() {
            sets.remove(name);
        }
    }
}

/// Number of bits of a label that say its part: 100,000 labels make parts of 100.
const PART_BITS: u32 = 10;

/// Labels with their files, in order.
type Part = Vec<(Label, u32)>;

/// Labels with the files that have them.
///
/// Every publication clones it: 1,024 shared parts, of which a change copies one.
#[derive(Debug, Clone)]
pub(super) struct LabelIndex {
    parts: Box<[Arc<Part>]>,
}

impl Default for LabelIndex {
    fn default() -> Self {
        Self { parts: vec![Arc::default(); 1 << PART_BITS].into() }
    }
}

impl LabelIndex {
    /// The files with a label.
    pub(super) fn files(&self, label: Label) -> impl Iterator<Item = u32> + '_ {
        let part = &self.parts[part_of(label)];
        let first = part.partition_point(|(other, _)| *other < label);
        part[first..].iter().take_while(move |(other, _)| *other == label).map(|(_, file)| *file)
    }

    /// Whether a file of a scope (all when `None`) has a label.
    pub(super) fn has(&self, label: Label, scope: Option<&FileSet>) -> bool {
        self.files(label).any(|file| scope.is_none_or(|scope| scope.contains(file)))
    }

    pub(super) fn insert(&mut self, labels: &[Label], file: u32) {
        for label in labels {
            let part = Arc::make_mut(&mut self.parts[part_of(*label)]);
            if let Err(at) = part.binary_search(&(*label, file)) {
                part.insert(at, (*label, file));
            }
        }
    }

    pub(super) fn remove(&mut self, labels: &[Label], file: u32) {
        for label in labels {
            let part = Arc::make_mut(&mut self.parts[part_of(*label)]);
            if let Ok(at) = part.binary_search(&(*label, file)) {
                part.remove(at);
            }
        }
    }
}

fn part_of(label: Label) -> usize {
    (label.to_bits() >> (u64::BITS - PART_BITS)) as usize
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

#[cfg(test)]
mod facets_tests {
    use super::*;

    #[test]
    fn a_state_keeps_what_it_had() {
        let labels: Vec<Label> =
            (0..5000u64).map(|at| Label::from_bits(at.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let mut index = LabelIndex::default();
        index.insert(&labels, 1);
        index.insert(&labels[..10], 2);
        let before = index.clone();
        index.remove(&labels[..5], 1);
        index.remove(&labels[..1], 7);
        let files = |index: &LabelIndex, at: usize| index.files(labels[at]).collect::<Vec<_>>();
        assert_eq!([files(&before, 0), files(&before, 4999)], [vec![1, 2], vec![1]]);
        assert_eq!([files(&index, 0), files(&index, 7), files(&index, 4999)], [vec![2], vec![1, 2], vec![1]]);
        assert!(index.files(Label::from_bits(1)).next().is_none());
        let two: FileSet = [2].into_iter().collect();
        assert_eq!([1, 7].map(|at| index.has(labels[at], Some(&two))), [true; 2]);
        assert!(index.has(labels[4999], None) && !index.has(labels[4999], Some(&two)));
    }
}
