//! Random edits of a vault's notes, and what the notes must hold after them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{contents, write_file};

/// Numbers that are the same for the same seed (SplitMix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

const WORDS: [&str; 16] = [
    "river", "boat", "garden", "green", "apple", "tea", "code_name", "stone", "bridge", "winter", "letter", "of",
    "and", "über", "東京の庭", "#work",
];
const FOLDERS: [&str; 4] = ["notes", "notes/deep", "journal", "work/x y"];

/// Questions to which notes made of those words give different answers.
pub const QUERIES: [&str; 3] = ["river boat", "\"green apple\" -stone", "a letter in winter"];

/// The notes of a vault: edited at random, at most so many, each with so many paragraphs.
pub struct Notes {
    root: PathBuf,
    files: BTreeMap<String, Vec<u8>>,
    pub random: Random,
    most: usize,
    paragraphs: usize,
}

impl Notes {
    pub fn new(root: &Path, seed: u64, most: usize, paragraphs: usize) -> Self {
        let (root, random) = (root.to_owned(), Random::new(seed));
        let mut notes = Self { root, files: BTreeMap::new(), random, most, paragraphs };
        (0..most).for_each(|_| notes.create());
        notes
    }

    /// Changes one note in one of the ways in which people and programs do.
    pub fn edit(&mut self) {
        // So that there are about as many all the time.
        let few = self.files.len() * 4 < self.most * 3;
        match if few { 0 } else { self.random.below(16) } {
            0..2 => self.create(),
            2..7 => self.change(),
            7..9 => self.relocate(),
            9 => self.remove(),
            10..12 => self.save_as_it_is(),
            12 => self.write("notes/not text.md".into(), vec![b'x', 0xFF, b'y']),
            _ => self.rewrite(),
        }
    }

    /// Panics unless the Markdown files are what was written here, and nothing else but agents' pages.
    #[track_caller]
    pub fn assert_untouched(&self) {
        let own = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name == ".vault" || name == "memory.toml" || name == "agents")
        };
        let entries = fs::read_dir(&self.root).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.filter(|path| !own(path)).flat_map(|folder| contents(&folder));
        let found: BTreeMap<String, Vec<u8>> = files
            .map(|(path, bytes)| (path.strip_prefix(&self.root).unwrap().to_str().unwrap().to_owned(), bytes))
            .collect();
        let differing: Vec<&String> =
            found.keys().chain(self.files.keys()).filter(|path| found.get(*path) != self.files.get(*path)).collect();
        assert!(differing.is_empty(), "indexing changed {differing:?}");
    }

    fn path(&mut self) -> String {
        format!("{}/{}.md", self.random.pick(&FOLDERS), self.random.below(self.most * 4))
    }

    fn create(&mut self) {
        if self.files.len() < self.most {
            let path = self.path();
            let text = self.text();
            self.write(path, text);
        }
    }

    fn rewrite(&mut self) {
        if let Some(path) = self.any() {
            let text = self.text();
            self.write(path, text);
        }
    }

    /// Changes one paragraph, and leaves the others.
    fn change(&mut self) {
        let Some(path) = self.any() else { return };
        let text = String::from_utf8_lossy(&self.files[&path]).into_owned();
        let mut paragraphs: Vec<&str> = text.split("\n\n").collect();
        let (at, new) = (self.random.below(paragraphs.len()), self.paragraph());
        paragraphs[at] = &new;
        self.write(path, paragraphs.join("\n\n").into_bytes());
    }

    fn relocate(&mut self) {
        let Some(from) = self.any() else { return };
        let to = self.path();
        fs::create_dir_all(self.root.join(&to).parent().unwrap()).unwrap();
        fs::rename(self.root.join(&from), self.root.join(&to)).unwrap();
        let bytes = self.files.remove(&from).unwrap();
        self.files.insert(to, bytes);
    }

    fn remove(&mut self) {
        if let Some(path) = self.any() {
            fs::remove_file(self.root.join(&path)).unwrap();
            self.files.remove(&path);
        }
    }

    fn save_as_it_is(&mut self) {
        if let Some(path) = self.any() {
            let bytes = self.files[&path].clone();
            self.write(path, bytes);
        }
    }

    fn any(&mut self) -> Option<String> {
        let at = self.random.below(self.files.len().max(1));
        self.files.keys().nth(at).cloned()
    }

    pub fn write(&mut self, path: String, bytes: Vec<u8>) {
        let target = self.root.join(&path);
        write_file(target, &bytes);
        self.files.insert(path, bytes);
    }

    fn text(&mut self) -> Vec<u8> {
        let dated = "---\ncreated: 2025-01-02\nupdated: 2025-07-08\n---\n";
        let front = *self.random.pick(&["", "", "---\ntags: [work]\n---\n", dated, "---\nbroken: [\n---\n"]);
        let paragraphs: Vec<String> = (0..self.paragraphs).map(|_| self.paragraph()).collect();
        format!("{front}{}\n", paragraphs.join("\n\n")).into_bytes()
    }

    fn paragraph(&mut self) -> String {
        let (start, words) = (*self.random.pick(&["", "", "", "- ", "# "]), 5 + self.random.below(40));
        let words: Vec<&str> = (0..words).map(|_| *self.random.pick(&WORDS)).collect();
        // A number of its own, so that no two are embedded as one.
        format!("{start}{} {}", words.join(" "), self.random.below(100_000))
    }
}
