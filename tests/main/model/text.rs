//! What a note of the model holds.

use proptest::prelude::*;

/// What stands at the top of a note.
pub type Front = &'static str;

const BROKEN: [Front; 2] = ["---\nbroken: [\n---\n", "---\nnever: closed\n"];
const PRIVATE: [Front; 2] = ["---\nprivate: true\n---\n", "---\ntags: [tea, private]\n---\n"];

pub const FRONTS: [Front; 8] = [
    "",
    "---\ntitle: The green garden\n---\n",
    "---\ntags: [work, tea]\nupdated: 2025-01-02\n---\n",
    "---\ntags: work/plan\ncreated: 2024-03-04\nupdated: 2026-01-01T10:00:00Z\n---\n",
    PRIVATE[0],
    PRIVATE[1],
    BROKEN[0],
    BROKEN[1],
];

/// The text of a note. Each block ends in a word that was never used before.
#[derive(Debug, Clone)]
pub struct Text {
    pub front: Front,
    pub blocks: Vec<String>,
    /// Whether bytes that are no text follow.
    pub garbled: bool,
}

impl Text {
    pub fn bytes(&self) -> Vec<u8> {
        let end = if self.blocks.is_empty() { "" } else { "\n" };
        let mut bytes = format!("{}{}{end}", self.front, self.blocks.join("\n\n")).into_bytes();
        bytes.extend(self.garbled.then_some(0xff));
        bytes
    }

    /// Whether nobody but the owner may find the note.
    pub fn is_private(&self) -> bool {
        PRIVATE.contains(&self.front) || self.is_broken()
    }

    /// Whether its frontmatter cannot be read.
    pub fn is_broken(&self) -> bool {
        BROKEN.contains(&self.front)
    }

    /// The words that this note and its copies alone have.
    pub fn marks(&self) -> impl Iterator<Item = &str> {
        self.blocks.iter().flat_map(|block| block.split_whitespace()).filter(|word| word.starts_with(PREFIX))
    }
}

const PREFIX: &str = "z0";

/// The nth mark: six letters and digits that no stemmer shortens and nobody takes for a slip of the finger, so that one can take another's place without a change of length.
pub fn mark(number: usize) -> String {
    let letters = b"bcdfghjkmnpqrtvw";
    let digits = (0..4).rev().map(|digit| char::from(letters[number >> (4 * digit) & 15]));
    PREFIX.chars().chain(digits).collect()
}

fn sentence() -> impl Strategy<Value = String> {
    let words = vec![
        "river", "rivers", "boat", "garden", "gardening", "green", "apple", "apples", "tea", "code_name", "the", "of",
        "and", "stone", "#work", "東京の庭", "naïve", "it's",
    ];
    prop::collection::vec(prop::sample::select(words), 3..40).prop_map(|words| words.join(" "))
}

/// A block of Markdown, without its mark.
pub fn block() -> impl Strategy<Value = String> {
    let heading =
        |(level, text): (usize, String)| format!("{} {}", "#".repeat(level), text.chars().take(20).collect::<String>());
    prop_oneof![
        6 => sentence(),
        1 => (1usize..4, sentence()).prop_map(heading),
        1 => prop::collection::vec(sentence(), 1..4).prop_map(|items| format!("- {}", items.join("\n- "))),
        1 => Just("green apple green apple".to_owned()),
        1 => Just("%% a comment of tea %%\n".to_owned()),
    ]
}
