//! What is done to engines, at random: notes of few words, so that they meet, and all that can happen to them.

use proptest::prelude::*;

pub(super) const PATHS: [&str; 13] = [
    "conversations/x.md", "notes/a.md", "notes/b.md", "notes/c.md", "work/a.md", "work/deep/d.md",
    "diary/2026-01-05.md", "e.md", "conversations/y.md", "conversations/deep/z.md", "memories/user.md",
    "agents/ann/entries.md", "summaries/s.md",
];
const WORDS: [&str; 18] = [
    "**18:32 · Ann:** river", "**18:33 · user:** boat", "river", "rivers", "Flüsse", "Fluss", "boat", "boating",
    "garden", "apple", "green apple", "code_name", "C++", "café", "東京タワー", "don't", "v1.2", "water",
];
pub(super) const DIMENSIONS: [usize; 3] = [16, 24, 32];
/// What is done to an engine.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Write(usize, String),
    /// Something beside a place, or beside everything, is skipped.
    Skip(usize, bool),
    Remove(usize),
    /// Removed, and nothing is left of its texts: not either when they were with the model at that moment.
    Forget(usize, bool),
    /// Seen unchanged, with another stamp.
    Touch(usize),
    /// Of the texts that wait, those whose names are divisible get their vectors.
    Embed(u8),
    /// All that wait are taken, a file is removed, and then the same as `Embed` for those that were taken.
    Overtaken(usize, u8),
    /// Turns to the model with vectors of this length.
    UseModel(usize),
    /// Has that model make its vectors beside those that serve.
    Prepare(usize),
    /// The same as `Embed` for it.
    Fill(u8),
    /// Has it serve.
    Serve,
    /// Closes and opens it, where that means something.
    Restart,
}

fn text() -> impl Strategy<Value = String> {
    let words = prop::collection::vec(prop::sample::select(&WORDS[..]), 1..40);
    // One line, or a word a line: several may speak in one paragraph.
    let between = prop::sample::select(vec![" ", " ", "\n"]);
    let paragraph = (words, between).prop_map(|(words, between)| words.join(between));
    let section = (prop::option::of(prop::sample::select(&WORDS[..])), prop::collection::vec(paragraph, 1..4));
    // Some notes are frontmatter alone.
    let sections = prop::collection::vec(section, 0..4);
    let tags = prop::sample::subsequence(vec!["x", "x/y", "private", "z"], 0..3);
    // Made of another note, which may be there or not.
    let source = prop::option::weighted(0.2, prop::sample::select(&PATHS[..]));
    let mood = prop::option::weighted(
        0.3,
        prop::sample::select(vec!["calm", "calm\ntype: Person", "[calm, wild river]", "{at: sea}"]),
    );
    let alias = prop::option::weighted(0.2, prop::sample::select(&WORDS[..]));
    let lang = prop::option::weighted(0.4, prop::sample::select(vec!["de", "fr", "Norwegian", "en", "ja"]));
    (tags, 1..5_u8, source, (mood, alias, lang), sections).prop_map(
        |(tags, day, source, (mood, alias, lang), sections)| {
            let mut text = format!("---\ntags: [{}]\nupdated: 2026-01-0{day}T00:00:00Z\n", tags.join(", "));
            text.extend(source.map(|source| format!("sources: [{source}]\n")));
            text.extend(mood.map(|mood| format!("mood: {mood}\n")));
            text.extend(lang.map(|lang| format!("lang: {lang}\n")));
            text.extend(alias.map(|alias| format!("aliases: [\"{alias}\"]\n")));
            text += "---\n";
            for (heading, paragraphs) in sections {
                text.extend(heading.map(|heading| format!("\n# {heading}\n")));
                paragraphs.iter().for_each(|paragraph| text.push_str(&format!("\n{paragraph}\n")));
            }
            text
        },
    )
}

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..PATHS.len(), text()).prop_map(|(at, text)| Step::Write(at, text)),
        1 => (0..PATHS.len(), any::<bool>()).prop_map(|(at, whole)| Step::Skip(at, whole)),
        2 => (0..PATHS.len()).prop_map(Step::Remove),
        1 => (0..PATHS.len(), any::<bool>()).prop_map(|(at, in_flight)| Step::Forget(at, in_flight)),
        1 => (0..PATHS.len()).prop_map(Step::Touch),
        2 => (1u8..4).prop_map(Step::Embed),
        1 => (0..PATHS.len(), 1u8..4).prop_map(|(at, divisor)| Step::Overtaken(at, divisor)),
        1 => prop::sample::select(&DIMENSIONS[..]).prop_map(Step::UseModel),
        1 => prop::sample::select(&DIMENSIONS[..]).prop_map(Step::Prepare),
        2 => (1u8..4).prop_map(Step::Fill),
        1 => Just(Step::Serve),
        1 => Just(Step::Restart),
    ];
    prop::collection::vec(step, 1..14)
}
