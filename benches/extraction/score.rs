//! How much of what conversations say a chat model finds, and how much it invents: snippets with what is to be found in them, and the
//! shares. The benchmark asks a real endpoint with it; a test asks servers whose score is known.

use std::fs;
use std::path::Path;

/// A snippet of a conversation, and what is to be found in it.
pub struct Snippet {
    pub language: String,
    pub name: String,
    /// Who speaks, and what.
    pub turns: Vec<(String, String)>,
    pub wanted: Vec<Predicate>,
}

/// What is to be found.
pub struct Predicate {
    /// The turn that says it, from 1.
    pub turn: usize,
    pub kind: String,
    /// How it may be said.
    pub text: String,
    /// The words without which it is something else.
    pub words: Vec<String>,
}

/// What was found, and what was not there to be found.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Score {
    pub wanted: usize,
    pub found: usize,
    pub entries: usize,
    pub invented: usize,
}

impl Score {
    /// The share of what was to be found which was.
    pub fn found_share(self) -> f64 {
        self.found as f64 / self.wanted.max(1) as f64
    }

    /// The share of the entries that say nothing which was to be found.
    pub fn invented_share(self) -> f64 {
        self.invented as f64 / self.entries.max(1) as f64
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            wanted: self.wanted + other.wanted,
            found: self.found + other.found,
            entries: self.entries + other.entries,
            invented: self.invented + other.invented,
        }
    }
}

/// The snippets of `benches/extraction`, in the order of the languages' names.
pub fn snippets() -> Vec<Snippet> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/extraction");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    files.sort();
    files.iter().flat_map(|file| read(&fs::read_to_string(file).unwrap())).collect()
}

fn read(text: &str) -> Vec<Snippet> {
    let (language, rest) = text.strip_prefix("# ").and_then(|text| text.split_once('\n')).expect("a language");
    let read = |snippet: &str| {
        let (name, lines) = snippet.split_once('\n').expect("a name and turns");
        let turn = |line: &str| line.strip_prefix("- ")?.split_once(": ").map(|(who, said)| (who.into(), said.into()));
        let wanted = |line: &str| {
            let (turn, rest) = line.strip_prefix("=> ")?.split_once(' ')?;
            let mut parts = rest.split(" | ");
            let (kind, text, words) = (parts.next()?.into(), parts.next()?.into(), parts.next()?);
            let words = words.split(", ").map(str::to_owned).collect();
            Some(Predicate { turn: turn.parse().ok()?, kind, text, words })
        };
        let (turns, wanted) = (lines.lines().filter_map(turn).collect(), lines.lines().filter_map(wanted).collect());
        Snippet { language: language.trim().into(), name: name.into(), turns, wanted }
    };
    rest.split("\n## ").skip(1).map(read).collect()
}

/// The snippet as the file of a conversation. Its first turn is on line 1, the next on line 3, and so on.
pub fn as_conversation(snippet: &Snippet) -> String {
    let turns: Vec<String> = snippet.turns.iter().map(|(who, said)| format!("**18:32 · {who}:** {said}\n")).collect();
    turns.join("\n")
}

/// The texts of the entries in a file.
pub fn entries_of(file: &str) -> Vec<String> {
    let items = file.lines().filter_map(|line| line.strip_prefix("- "));
    let texts = items.map(|item| {
        let item = if item.starts_with('[') { item.split_once("] ").map_or(item, |(_, rest)| rest) } else { item };
        item.rsplit_once(" (").map_or(item, |(text, _)| text).to_owned()
    });
    texts.collect()
}

/// Holds the entries that were found in a snippet against what is to be found there. Each of both counts once.
pub fn score(snippet: &Snippet, entries: &[String]) -> Score {
    let mut left: Vec<&Predicate> = snippet.wanted.iter().collect();
    let mut invented = 0;
    for entry in entries {
        let entry = entry.to_lowercase();
        let says = |wanted: &&Predicate| wanted.words.iter().all(|word| entry.contains(&word.to_lowercase()));
        match left.iter().position(says) {
            Some(at) => drop(left.remove(at)),
            None => invented += 1,
        }
    }
    let wanted = snippet.wanted.len();
    Score { wanted, found: wanted - left.len(), entries: entries.len(), invented }
}
