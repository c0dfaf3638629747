//! What a note may be asked for by, as numbers: the names by which it is meant as a whole, its properties, and the names it links to.

use serde_json::{Map, Value};

use super::links::{document_targets, note_links, target_name};
use super::properties::{Property, properties};
use super::relations::{Relation, described};
use super::words::{fold, plain_words};
use crate::base::path::{AttachmentKind, folded};
use crate::text::note::{BlockKind, Link, LinkKind, Note, aliases};

/// Maximum number of other names of a note.
const MAX_ALIASES: usize = 64;
/// Maximum number of words of a name that is known by how they begin.
const MAX_NAME_WORDS: usize = 12;
/// Minimum length of a beginning of a word, in letters; shorter words are known as they are.
const MIN_BEGINNING: usize = 3;
/// Maximum number of labels of links and relations together. A note with more is data of some program, and not found by the rest.
const MAX_MORE: usize = 40_000;

/// A name of a note, or a property with a value or with any: the first eight bytes of a BLAKE3, which nobody makes meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(u64);

impl Label {
    /// Of a name. Case, accents, marks and blanks do not count; `None` where there is nothing else.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::named("name", name)
    }

    /// Of a name of so many words, of which one begins so.
    pub(crate) fn of_beginning(words: usize, beginning: &str) -> Self {
        Self::new("name begins", &format!("{words}\0{beginning}"))
    }

    /// All beginnings of a name's words; a number is meant as it stands.
    fn of_beginnings(name: &str) -> Vec<Self> {
        let words = plain_words(name, false);
        if words.len() > MAX_NAME_WORDS {
            return Vec::new();
        }
        let ends = |word: &str| {
            let may_be_half = !word.contains(char::is_numeric);
            let halves = word.char_indices().skip(MIN_BEGINNING).map(|(at, _)| at).take_while(|_| may_be_half);
            halves.chain([word.len()]).collect::<Vec<_>>()
        };
        let beginnings = words.iter().flat_map(|word| ends(word).into_iter().map(|end| &word[..end]));
        beginnings.map(|beginning| Self::of_beginning(words.len(), beginning)).collect()
    }

    /// Of a link to what has a name; the same names are the same.
    pub(crate) fn of_link(name: &str) -> Option<Self> {
        Self::named("to", name)
    }

    /// Of a link to an attachment with a text, by its file's name, wherever that lies; `None` of what is none. Case does not count.
    pub(crate) fn of_document_link(path: &str) -> Option<Self> {
        let name = path.trim().rsplit('/').next()?;
        AttachmentKind::of(name)?.is_document().then(|| Self::new("to document", &folded(name)))
    }

    /// The same of a link that has the name of a relation.
    pub(crate) fn of_named_link(name: &str) -> Option<Self> {
        Self::named("related to", name)
    }

    fn named(kind: &str, name: &str) -> Option<Self> {
        let words = plain_words(name, true);
        let folded = if words.is_empty() { fold(name.trim()) } else { words.join(" ") };
        (!folded.is_empty()).then(|| Self::new(kind, &folded))
    }

    /// Of a property, with a value or with any. Case and accents do not count.
    pub(crate) fn of_property(key: &str, value: Option<&str>) -> Self {
        let (kind, value) = value.map_or(("property", String::new()), |value| ("value", fold(value.trim())));
        Self::new(kind, &format!("{}\0{value}", fold(key.trim())))
    }

    /// Of what a note's text has: `link`, `image`, `code`, `table`, `quote`, `task` or `tag`. `None` of anything else.
    pub(crate) fn of_content(kind: &str) -> Option<Self> {
        CONTENTS.contains(&kind).then(|| Self::new("has", kind))
    }

    /// Of a conversation, by its id. Case and accents do not count.
    pub(crate) fn of_conversation(id: &str) -> Self {
        Self::new("conversation", &fold(id.trim()))
    }

    /// Of who speaks in a conversation, by the [term](super::speaker_term).
    pub(crate) fn of_speaker(term: &str) -> Self {
        Self::new("speaker", term)
    }

    /// Of a relation that a note has to another, by its name, or of any that has a name. Case and accents do not count.
    pub(crate) fn of_relation(name: Option<&str>) -> Self {
        name.map_or_else(|| Self::new("related", ""), |name| Self::new("relation", &fold(name.trim())))
    }

    /// Of what a program has captured, as its frontmatter says.
    pub(crate) fn of_capture() -> Self {
        Self::new("captured", "")
    }

    /// Of a language, by its code.
    pub(crate) fn of_language(code: &str) -> Self {
        Self::new("language", code)
    }

    /// All of a note: title, file name and aliases with how their words begin, properties, inline fields, what its text has, what it links to and how, its conversation, its language by
    /// its code, and who speaks in it; sorted, each once.
    pub(crate) fn all<'a>(
        note: &Note,
        stem: &str,
        source: &str,
        language: Option<&str>,
        speakers: impl Iterator<Item = &'a String>,
    ) -> Box<[Self]> {
        let aliases = aliases(&note.metadata);
        let names = [note.title.as_str(), stem].into_iter().chain(aliases.iter().take(MAX_ALIASES).map(String::as_str));
        let mut labels: Vec<Self> = names.clone().filter_map(Self::of_name).collect();
        labels.extend(names.flat_map(Self::of_beginnings));
        labels.extend(Self::of_properties(&note.metadata));
        labels.extend(language.map(Self::of_language));
        labels.extend(note.metadata.get("session").and_then(Value::as_str).map(Self::of_conversation));
        labels.extend(is_captured(&note.metadata).then(Self::of_capture));
        // None of these is left out: what is linked may be private for it, and a tool that speaks is trusted less.
        labels.extend(document_targets(note).iter().filter_map(|target| Self::of_document_link(target)));
        labels.extend(speakers.map(|term| Self::of_speaker(term)));
        let links = note_links(note, source);
        labels.extend(contents(note, source, &links).into_iter().filter_map(Self::of_content));
        let mut more: Vec<Self> = links.iter().filter_map(|link| Self::of_link(target_name(&link.target))).collect();
        for Relation { name, link, .. } in described(note, source, links) {
            let Some(name) = name else { continue };
            more.extend([Self::of_relation(None), Self::of_relation(Some(&name))]);
            more.extend(Self::of_named_link(target_name(&link.target)));
        }
        more.sort_unstable();
        more.dedup();
        more.truncate(MAX_MORE);
        labels.extend(more);
        labels.sort_unstable();
        labels.dedup();
        labels.into()
    }

    fn of_properties(metadata: &Map<String, Value>) -> Vec<Self> {
        let mut labels = Vec::new();
        for Property { key, values } in properties(metadata) {
            labels.push(Self::of_property(&key, None));
            labels.extend(values.iter().map(|value| Self::of_property(&key, Some(value))));
        }
        labels
    }

    /// The same bits as a number, for stores that keep numbers.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The inverse of [`Label::to_bits`].
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    fn new(kind: &str, text: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(kind.as_bytes()).update(b"\0").update(text.as_bytes());
        let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
        Self(u64::from_le_bytes([a, b, c, d, e, f, g, h]))
    }
}

/// Whether a program has captured a note.
fn is_captured(metadata: &Map<String, Value>) -> bool {
    metadata.get("source").and_then(Value::as_str) == Some("capture")
}

/// What `has:` may be asked for.
pub(crate) const CONTENTS: [&str; 7] = ["link", "image", "code", "table", "quote", "task", "tag"];

fn contents(note: &Note, source: &str, links: &[Link]) -> Vec<&'static str> {
    let mut found = Vec::new();
    for link in &note.links {
        found.push(match link.kind {
            LinkKind::Wiki | LinkKind::Markdown => "link",
            LinkKind::Embed | LinkKind::Image => "image",
        });
    }
    for block in &note.blocks {
        match block.kind {
            BlockKind::Code => found.push("code"),
            BlockKind::TableRow => found.push("table"),
            BlockKind::Quote | BlockKind::Callout => found.push("quote"),
            BlockKind::ListItem if is_task(&source[block.span.clone()]) => found.push("task"),
            _ => {}
        }
    }
    // Links of properties are links.
    if links.iter().any(|link| link.kind != LinkKind::Embed) {
        found.push("link");
    }
    if !note.tags.is_empty() {
        found.push("tag");
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether a list item begins with a box to be ticked.
fn is_task(item: &str) -> bool {
    let item =
        item.trim_start_matches(|character: char| character.is_whitespace() || "-*+.)>0123456789".contains(character));
    matches!(item.as_bytes(), [b'[', _, b']', b' ' | b'\n', ..] | [b'[', _, b']'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_properties_are_told_apart_by_what_a_person_means() {
        let film =
            "---\ntitle: Blade Runner\naliases: [Do Androids Dream]\ndirector: \"[[Ridley Scott]]\"\nyear: 1982\n---\n";
        let labels = Label::all(&Note::parse(film, "br"), "blade-runner", film, None, [].iter());
        let named = |name| labels.contains(&Label::of_name(name).unwrap());
        assert!(named("  BLADE runner!") && named("do androids dream?") && !named("blade"));
        let has = |key, value| labels.contains(&Label::of_property(key, value));
        assert!(has("Director", Some("ridley scott")) && has("year", None) && has("year", Some("1982")));
        assert!(!has("director", Some("Ford")) && !has("rating", None) && !has("director", Some("")));
        let beginnings =
            ["bla blad blade run runn runne runner", "do and andr andro androi android androids dre drea dream"];
        for (count, beginnings) in [2, 3].into_iter().zip(beginnings) {
            assert!(
                beginnings.split(' ').all(|start| labels.contains(&Label::of_beginning(count, start))),
                "{beginnings}"
            );
        }
        assert_eq!(labels.len(), 11 + 7 + 10, "title and file name are one");
        assert!(labels.contains(&Label::of_link("ridley scott").unwrap()) && !named("ridley scott"));
        assert!(Label::of_name("C++") != Label::of_name("C") && Label::of_name("🚀") != Label::of_name("⭐"));
        assert_eq!(Label::of_name("  "), None);
        let captured = "---\nsource: capture\nurl: https://e.org\n---\n";
        let labels = Label::all(&Note::parse(captured, "n"), "n", captured, None, [].iter());
        assert!(labels.contains(&Label::of_capture()) && labels.contains(&Label::of_property("url", None)));
        assert!(!labels.contains(&Label::of_property("source", None)), "how a note came is none of what it is");
        let fields = "rating:: 8\n\nSeen [with:: Ann], std::vec. `code:: no`\n";
        let labels = Label::all(&Note::parse(fields, "n"), "n", fields, None, [].iter());
        assert!(!labels.contains(&Label::of_property("rating", None)), "what stands in the text is no property");
    }

    #[test]
    fn a_note_is_known_once_by_each_name_that_it_links_to() {
        let text = "[[a/Plan]] [[plan.md|again]] [x](PLAN.md) [[other]] `[[code]]`";
        let labels = Label::all(&Note::parse(text, "n"), "n", text, None, [].iter());
        assert!(labels.is_sorted_by(|one, other| one < other));
        assert!(["plan", "Other"].iter().all(|name| labels.contains(&Label::of_link(name).unwrap())));
    }

    #[test]
    fn an_attachment_that_a_note_shows_or_links_to_is_known_by_its_name() {
        let text = "---\nof: \"[[in/Deed.pdf]]\"\nall: [{x: \"[[list.docx]]\"}]\n---\n![[files/Report.pdf#page=3]] [x](<a b.html>) \
                    ![](y/scan.PDF) [z](https://e.org/web.pdf) [[photo.png]] [[note]] `[[code.pdf]]`";
        let note = Note::parse(text, "n");
        let labels = Label::all(&note, "n", text, None, [].iter());
        let has = |path: &str| labels.contains(&Label::of_document_link(path).unwrap());
        for path in ["report.pdf", "other/REPORT.pdf", "a b.html", "scan.pdf", "deed.pdf", "list.docx"] {
            assert!(has(path), "{path}");
        }
        assert!(!has("web.pdf") && !has("code.pdf") && Label::of_document_link("photo.png").is_none());
    }

    #[test]
    fn what_a_text_has_is_known() {
        let has = |text: &str| {
            let note = Note::parse(text, "n");
            contents(&note, text, &note_links(&note, text))
        };
        assert_eq!(has("See [[a]] and ![[b.png]].\n\n- [ ] do it\n- done\n"), ["image", "link", "task"]);
        assert_eq!(has("```\ncode\n```\n\n> said #work\n\n| a |\n|---|\n| b |\n"), ["code", "quote", "table", "tag"]);
        assert_eq!(has("---\nby: \"[[Ann]]\"\n---\nText.\n"), ["link"]);
        assert!(has("- [link](x.md)").iter().all(|kind| *kind == "link"));
        assert_eq!(Label::of_content("cheese"), None);
    }
}
