//! Generated files: Markdown that the program makes of other notes. Its frontmatter says so, names the sources, and has a digest of the
//! body as it was made, so that what a person has edited since is known, and is theirs. Its lines cite their sources in brackets, or in notes
//! of their own, at the end.

use std::collections::HashSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::entries::{EntriesFile, shelf_of};
use super::words::fold;
use crate::base::path::VaultPath;
use crate::text::note::{Note, compose, sources};

/// Says in frontmatter that a file was generated.
const GENERATED: &str = "generated";
/// The notes that it was made of.
const SOURCES: &str = "sources";
/// The digest of its body as it was made.
const DIGEST: &str = "digest";

/// Says in frontmatter by whose word something is.
pub(crate) const TRUST: &str = "trust";
/// What it says of notes that are not to be trusted, the least trusted first.
const DOUBTS: [&str; 3] = ["untrusted", "web", "tool"];

/// A generated file, as it is now.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GeneratedNote {
    /// The whole frontmatter, in the order written.
    pub(crate) metadata: Map<String, Value>,
    /// The body, without blank lines around it.
    pub(crate) body: String,
    /// Whether a person has edited the body since it was made.
    pub(crate) is_edited: bool,
}

impl GeneratedNote {
    /// Reads a file. `None` where it does not say that it was generated, or its frontmatter cannot be read: then it is the person's.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let note = Note::parse(text, "");
        if !is_generated(&note.metadata) {
            return None;
        }
        let body = &text[note.body];
        let is_edited = note.metadata.get(DIGEST).and_then(Value::as_str) != Some(&body_digest(body));
        Some(Self { metadata: note.metadata, body: trimmed(body).to_owned(), is_edited })
    }

    /// A text of its frontmatter.
    pub(crate) fn text_of(&self, key: &str) -> Option<&str> {
        self.metadata.get(key)?.as_str()
    }

    /// The notes that it was made of, as it names them.
    pub(crate) fn sources(&self) -> Vec<String> {
        crate::text::note::sources(&self.metadata)
    }
}

/// Whether frontmatter says that its file was generated. Such a file is no source of anything that is derived.
pub(crate) fn is_generated(metadata: &Map<String, Value>) -> bool {
    metadata.get(GENERATED) == Some(&Value::Bool(true))
}

/// What frontmatter says where it says that a note is not to be trusted: `untrusted`, `web` or `tool`. What is made of it says so, too.
pub(crate) fn doubt_of(metadata: &Map<String, Value>) -> Option<&'static str> {
    let said: Vec<String> = match metadata.get(TRUST)? {
        Value::Array(words) => words.iter().filter_map(Value::as_str).map(|word| fold(word.trim())).collect(),
        word => vec![fold(word.as_str()?.trim())],
    };
    DOUBTS.into_iter().find(|doubt| said.iter().any(|word| word == doubt))
}

/// Of two of them the one that trusts less.
pub(crate) fn greater_doubt(one: Option<&'static str>, other: Option<&'static str>) -> Option<&'static str> {
    DOUBTS.into_iter().find(|doubt| one == Some(doubt) || other == Some(doubt))
}

/// A generated file that would not be read again as one: its frontmatter would be too large, and it would count as the person's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its frontmatter would be too large; shorten what you added to it")]
pub(crate) struct FrontmatterTooLarge;

/// The bytes that a text of a list takes in frontmatter.
pub(crate) fn listed_bytes(text: &str) -> usize {
    const AROUND: usize = "---\nsources:\n---\n\n\n".len();
    let list = Map::from_iter([(SOURCES.to_owned(), vec![text].into())]);
    compose(&list, "").len().saturating_sub(AROUND)
}

/// The text of a generated file. `own` is what the program says in its frontmatter beside `generated`, `sources` and `digest`. What else a
/// person has put into the frontmatter of the file that it takes the place of stays: `private: true`, tags, a key of their own.
///
/// # Errors
/// When it would not be read again as a generated file that nobody has edited.
pub(crate) fn compose_generated(
    own: &Map<String, Value>,
    sources: &[String],
    body: &str,
    before: Option<&GeneratedNote>,
) -> Result<String, FrontmatterTooLarge> {
    let mut front = own.clone();
    front.insert(GENERATED.into(), true.into());
    front.insert(SOURCES.into(), sources.into());
    front.insert(DIGEST.into(), body_digest(body).into());
    for (key, value) in before.iter().flat_map(|before| &before.metadata) {
        front.entry(key.clone()).or_insert_with(|| value.clone());
    }
    let text = compose(&front, body);
    let is_read_again = GeneratedNote::read(&text).is_some_and(|read| !read.is_edited);
    is_read_again.then_some(text).ok_or(FrontmatterTooLarge)
}

/// The digest of a body. Blank lines around it, and the ends of its lines, are not what anybody wrote.
fn body_digest(body: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    for line in trimmed(body).lines() {
        hasher.update(line.trim_end().as_bytes()).update(b"\n");
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

fn trimmed(body: &str) -> &str {
    body.trim_start_matches(['\n', '\r']).trim_end()
}

/// Maximum number of brackets of a line that are tried for the first that cites: a text may have some of its own.
const MAX_BRACKETS: usize = 16;
/// Maximum bytes of a path; a longer one leads to no file.
const MAX_PATH_BYTES: usize = 4096;
/// Maximum number of `#` and `,` at which a path may end that are looked at: a path may have some itself.
const MAX_ENDS: usize = 64;

/// The paths that a file says it was made of.
#[derive(Debug)]
pub(crate) struct CitedPaths<'p>(HashSet<&'p str>);

impl<'p> CitedPaths<'p> {
    /// Of these paths.
    pub(crate) fn new(paths: &'p [String]) -> Self {
        let may_be = |path: &&str| (1..=MAX_PATH_BYTES).contains(&path.len());
        Self(paths.iter().map(String::as_str).filter(may_be).collect())
    }

    /// The longest path that a text begins with, alone or with a place in it. A path may have a comma, or a `#`.
    pub(crate) fn at_begin(&self, text: &str) -> Option<&'p str> {
        let ends = text.match_indices(['#', ',']).map(|(at, _)| at).take(MAX_ENDS).chain([text.len()]);
        let may_be = ends.take_while(|end| *end <= MAX_PATH_BYTES);
        may_be.filter_map(|end| self.0.get(&text[..end]).copied()).last()
    }

    /// Where in a line, that has no blank space at its end, `(a.md#L3, b.md)` begins, with the blank before it.
    pub(crate) fn in_brackets(&self, line: &str) -> Option<usize> {
        let inside = line.strip_suffix(')')?;
        let brackets = inside.rmatch_indices(" (").take(MAX_BRACKETS);
        brackets.filter(|(at, open)| self.at_begin(&inside[at + open.len()..]).is_some()).map(|(at, _)| at).last()
    }

    /// Where in a line, that has no blank space at its end, its last `^[a.md#L3]` begin, with the blank before them.
    fn in_notes(&self, line: &str) -> Option<usize> {
        let mut start = None;
        let mut rest = line;
        while let Some(inside) = rest.strip_suffix(']')
            && let Some(at) = inside.rfind(" ^[")
            && self.at_begin(&inside[at + " ^[".len()..]).is_some()
        {
            start = Some(at);
            rest = &rest[..at];
        }
        start
    }
}

/// Where the lines of a note cite what it was made of, in order: of a generated file, what is said of its sources is no part of what it says.
/// A meeting's name in the path of its minutes would else be in each line of their summary.
pub(crate) fn citation_spans(note: &Note, source: &str) -> Vec<Range<usize>> {
    if !is_generated(&note.metadata) {
        return Vec::new();
    }
    let paths = sources(&note.metadata);
    let cited = CitedPaths::new(&paths);
    let mut spans = Vec::new();
    let mut start = note.body.start;
    for line in source[note.body.clone()].split_inclusive('\n') {
        let said = line.trim_end();
        if let Some(at) = cited.in_brackets(said).or_else(|| cited.in_notes(said)) {
            spans.push(start + at..start + said.len());
        }
        start += line.len();
    }
    spans
}

/// The notes that a note was made of, by their paths in the vault: those that its frontmatter names, and those that each entry cites, also
/// where a person wrote it. `within` is its path in its folder. In a folder `elsewhere` what is named lies in that folder: a note of the
/// same name in the vault says nothing of how private it is.
pub(crate) fn note_sources(note: &Note, within: &VaultPath, elsewhere: Option<&VaultPath>, text: &str) -> Vec<String> {
    let mut all = sources(&note.metadata);
    if let Some((_, shelf)) = shelf_of(within) {
        let entries = EntriesFile::read(text, shelf).entries;
        let cited: Vec<String> = entries.into_iter().flat_map(|entry| entry.sources).collect();
        all.extend(sources(&Map::from_iter([("sources".to_owned(), cited.into())])));
        all.sort_unstable();
        all.dedup();
    }
    match elsewhere {
        Some(folder) => all.iter().map(|source| format!("{folder}/{source}")).collect(),
        None => all,
    }
}

/// Its name, in the vault's own folder.
pub(crate) const USER_FILE: &str = "USER.md";

/// The content of `USER.md`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = UserView)]
pub struct UserPage {
    /// The name of the owner.
    pub name: Option<String>,
    /// Time zone, as an IANA name.
    pub timezone: Option<String>,
    /// Degrees north.
    pub latitude: Option<f64>,
    /// Degrees east.
    pub longitude: Option<f64>,
    /// The place in words.
    pub location_place: Option<String>,
    /// When the place was written.
    pub location_updated_at: Option<String>,
    /// The text below the frontmatter.
    pub text: String,
}

impl UserPage {
    /// Reads the frontmatter, without the text below it.
    pub(crate) fn read(frontmatter: &Map<String, Value>) -> Self {
        let text = |key: &str| {
            let text = frontmatter.get(key)?.as_str()?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let number = |key: &str| match frontmatter.get(key)? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        Self {
            name: text("name"),
            timezone: text("timezone"),
            latitude: number("latitude"),
            longitude: number("longitude"),
            location_place: text("location_place"),
            location_updated_at: text("location_updated_at"),
            text: String::new(),
        }
    }

    /// What a model is told of it, each with the key that says so. Where exactly somebody is, no model needs to know.
    pub(crate) fn told(&self) -> Vec<(&'static str, String)> {
        let name = self.name.as_ref().map(|name| ("name", format!("The user's name is {name}.")));
        let zone = self.timezone.as_ref().map(|zone| ("timezone", format!("The user's time zone is {zone}.")));
        let place = self.location_place.as_ref().map(|place| ("location_place", format!("The user is in {place}.")));
        [name, zone, place].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn composed(body: &str, before: Option<&GeneratedNote>) -> String {
        let own = json!({ "title": "Summary", "of": "conversations/a.md" });
        compose_generated(own.as_object().unwrap(), &["conversations/a.md".into()], body, before).unwrap()
    }

    #[test]
    fn what_was_generated_is_read_again() {
        let text = composed("## Topics\n\n- soup (conversations/a.md#L3)", None);
        let read = GeneratedNote::read(&text).unwrap();
        assert!(!read.is_edited);
        assert_eq!(read.body, "## Topics\n\n- soup (conversations/a.md#L3)");
        assert_eq!(read.sources(), ["conversations/a.md"]);
        assert_eq!(read.text_of("of"), Some("conversations/a.md"));
        assert_eq!(Note::parse(&text, "x").problems, []);
        assert!(is_generated(&read.metadata));
    }

    #[test]
    fn what_would_not_be_read_again_is_not_composed() {
        let sources: Vec<String> = (0..3_000).map(|at| format!("notes/a note of the person {at}.md")).collect();
        assert_eq!(compose_generated(&Map::new(), &sources, "one", None), Err(FrontmatterTooLarge));
        let all = composed("one", None).len();
        let with = |more: &str| {
            compose_generated(&Map::new(), &["conversations/a.md".into(), more.into()], "one", None).unwrap().len()
        };
        for path in ["notes/b.md", "notes/東京.md", "notes/a: \u{85}b.md", "notes/\u{1f600} #1.md"] {
            assert_eq!(with(path) - with("x"), listed_bytes(path) - listed_bytes("x"), "{path} {all}");
        }
    }

    #[test]
    fn an_edited_body_is_the_persons_and_other_ends_of_lines_are_no_edit() {
        let text = composed("one\ntwo", None);
        let is_edited = |text: &str| GeneratedNote::read(text).unwrap().is_edited;
        assert!(is_edited(&text.replace("two", "three")));
        assert!(is_edited(&format!("{text}- mine\n")));
        assert!(!is_edited(&text.replace('\n', "\r\n")));
        assert!(!is_edited(&format!("{text}\n\n")));
        assert!(is_edited(&text.replacen("digest:", "was:", 1)), "nobody knows what it was");
        assert!(!is_edited(&composed("", None)));
    }

    #[test]
    fn what_does_not_say_so_is_not_generated() {
        let text = composed("one", None);
        assert_eq!(GeneratedNote::read(&text.replace("generated: true", "generated: false")), None, "taken over");
        assert_eq!(GeneratedNote::read("one"), None);
        assert_eq!(GeneratedNote::read(&text.replacen("---\n", "---\n: [\n", 1)), None, "broken frontmatter");
        assert_eq!(GeneratedNote::read(""), None);
    }

    #[test]
    fn what_is_not_trusted_is_told_and_of_two_the_least() {
        let doubt = |trust: Value| doubt_of(json!({ "trust": trust }).as_object().unwrap());
        assert_eq!(doubt(json!(" Web")), Some("web"));
        assert_eq!(doubt(json!(["tool", "untrusted"])), Some("untrusted"));
        assert_eq!((doubt(json!("person")), doubt(json!(3)), doubt_of(&Map::new())), (None, None, None));
        assert_eq!(greater_doubt(Some("tool"), Some("web")), Some("web"));
        assert_eq!((greater_doubt(None, Some("tool")), greater_doubt(None, None)), (Some("tool"), None));
    }

    #[test]
    fn what_a_person_put_into_the_frontmatter_stays() {
        let text = composed("one", None).replacen("---\n", "---\nprivate: true\ntags: [mine]\n", 1);
        let before = GeneratedNote::read(&text).unwrap();
        assert!(!before.is_edited, "the body is what it was");
        let after = GeneratedNote::read(&composed("two", Some(&before))).unwrap();
        assert_eq!(after.metadata["private"], json!(true));
        assert_eq!(after.metadata["tags"], json!(["mine"]));
        assert_eq!((after.body.as_str(), after.is_edited), ("two", false));
    }
}

#[cfg(test)]
mod tests_of_user_page {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_it_says_is_told_but_for_the_exact_place() {
        let page = json!({"name": " Maya ", "timezone": "Europe/Vienna", "latitude": "48.2", "longitude": 16, "location_place": "Wien"});
        let page = UserPage::read(page.as_object().unwrap());
        assert_eq!((page.latitude, page.longitude), (Some(48.2), Some(16.0)));
        let told: Vec<String> = page.told().into_iter().map(|(_, told)| told).collect();
        assert_eq!(
            told,
            ["The user's name is Maya.", "The user's time zone is Europe/Vienna.", "The user is in Wien."]
        );
        assert_eq!(UserPage::read(json!({"name": 3, "latitude": "x"}).as_object().unwrap()), UserPage::default());
    }
}

#[cfg(test)]
mod tests_of_citations {
    use super::*;

    fn shown(front: &str, body: &str) -> String {
        let text = format!("---\n{front}sources: ['c/a (1), b.md', notes/x.md]\n---\n{body}");
        let note = Note::parse(&text, "x");
        let mut shown = text.clone();
        for span in citation_spans(&note, &text).into_iter().rev() {
            shown.replace_range(span, "");
        }
        shown[shown.find("\n---\n").unwrap() + 5..].to_owned()
    }

    #[test]
    fn a_text_begins_with_the_longest_path_that_ends_there() {
        let paths = ["a", "a.md", "a.md, b.md", "a.md#c.md", "é.md"].map(str::to_owned);
        let cited = CitedPaths::new(&paths);
        for (text, path) in [
            ("a.md#L3", Some("a.md")),
            ("a.md, b.md", Some("a.md, b.md")),
            ("a.md, b", Some("a.md")),
            ("a.md#c.md#L1", Some("a.md#c.md")),
            ("a.mdx", None),
            ("a,", Some("a")),
            ("é.md", Some("é.md")),
            ("", None),
        ] {
            assert_eq!(cited.at_begin(text), path, "{text}");
        }
    }

    #[test]
    fn what_a_generated_line_cites_is_told_from_what_it_says() {
        for (line, said) in [
            ("- tool (notes/x.md#L3)", "- tool"),
            ("- a (b) (c/a (1), b.md#L3-L4, notes/x.md#L1)  ", "- a (b)  "),
            ("- a (notes/x.md)", "- a"),
            ("Likes rye. ^[notes/x.md#L3] ^[c/a (1), b.md#L1]", "Likes rye."),
            ("- a (notes/y.md#L3)", "- a (notes/y.md#L3)"),
            ("- a (see notes/x.md#L3)", "- a (see notes/x.md#L3)"),
            ("- a (notes/x.md#L3) and more", "- a (notes/x.md#L3) and more"),
            ("- ä (notes/x.md#L3", "- ä (notes/x.md#L3"),
        ] {
            assert_eq!(shown("generated: true\n", &format!("{line}\nnext\n")), format!("{said}\nnext\n"));
            assert_eq!(shown("", line), line, "nobody made it of these");
        }
    }
}
