//! Where a note's frontmatter is, and what it says.

use super::privacy::{has_private_key, tags_in};
use super::yaml::{self, Language, ParsedBlock};
use super::{Lines, Problem, tags};
use serde_json::{Map, Value};
use std::ops::Range;

/// Maximum of what is read as frontmatter, in bytes. Real ones are under 2 KB; past this it is prose between two rules, or hostile.
const MAX_BYTES: usize = 64 << 10;

/// A note's frontmatter, read.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Frontmatter {
    pub(super) metadata: Map<String, Value>,
    /// Its text between the delimiter lines; empty when there is none or it is broken.
    pub(super) text: Range<usize>,
    pub(super) broken: bool,
    /// A block that says `private` stands where no frontmatter counts.
    pub(super) misplaced_private: bool,
    /// The tags that such a block may name.
    pub(super) misplaced_tags: Vec<String>,
    pub(super) problems: Vec<Problem>,
    /// Where the body starts. Broken frontmatter is body from its second line on.
    pub(super) body_start: usize,
    /// Where Markdown starts: after the closing line of a broken block too, which would turn it into a Setext heading.
    pub(super) markdown_start: usize,
}

/// Reads the frontmatter of a note: YAML between `---` lines, TOML between `+++` lines, at the very start or after a byte
/// order mark. Blanks after a delimiter do no harm; `...` closes nothing, as in Obsidian.
///
/// Unclosed or too large: all that follows the opening line is Markdown, since it was hardly meant as frontmatter. Closed
/// but unreadable: its lines are body, but not Markdown.
pub(super) fn read(source: &str, lines: &Lines) -> Frontmatter {
    let start = source.len() - source.trim_start_matches('\u{feff}').len();
    let first = &source[start..lines.span(1).end.max(start)];
    let language = match first.trim_end() {
        "---" => Language::Yaml,
        "+++" => Language::Toml,
        _ => return absent(source, lines, start),
    };
    let text_start = lines.span(1).end;
    let mut found = Frontmatter {
        text: text_start..text_start,
        body_start: text_start,
        markdown_start: text_start,
        ..Frontmatter::default()
    };
    let delimiter = language.delimiter();
    let closing = (2..=lines.count()).find(|&n| source[lines.span(n)].trim_end() == delimiter);
    let problem = match closing {
        None => Problem::new(
            1,
            format!(
                "frontmatter is opened by `{delimiter}` and never closed; close it, or put a blank line above the rule"
            ),
        ),
        Some(line) if lines.span(line).start - text_start > MAX_BYTES => {
            Problem::new(1, format!("frontmatter is larger than {} KiB; close it earlier", MAX_BYTES >> 10))
        }
        Some(line) => {
            let text = text_start..lines.span(line).start;
            found.markdown_start = lines.span(line).end;
            match yaml::read(language, &normalised(source, lines, 2..line)) {
                ParsedBlock::Mapping(metadata) => {
                    found.body_start = found.markdown_start;
                    return Frontmatter { metadata, text, ..found };
                }
                ParsedBlock::NotMapping => Problem::new(1, "frontmatter is not made of `key: value` lines"),
                ParsedBlock::Duplicate(key) => Problem::new(
                    key_line(source, lines, &text, &key, 2),
                    format!("frontmatter has the key `{key}` twice; remove one"),
                ),
                ParsedBlock::Invalid { line, message } => {
                    Problem::new(line, format!("frontmatter cannot be read: {}", message.trim()))
                }
            }
        }
    };
    found.broken = true;
    found.problems.push(problem);
    found
}

/// The key that a line of frontmatter has at the top level.
pub(crate) fn key_of(line: &str) -> Option<&str> {
    let (key, _) = line.split_once([':', '=']).filter(|_| !line.starts_with([' ', '\t', '#']))?;
    Some(key.trim_end().trim_matches(['"', '\'']))
}

/// Returns the 1-based line of the nth top-level use of a key, for messages.
pub(super) fn key_line(source: &str, lines: &Lines, text: &Range<usize>, key: &str, nth: usize) -> Option<usize> {
    let has_key = |n: &usize| key_of(&source[lines.span(*n)]) == Some(key);
    (lines.line_of(text.start)..lines.line_of(text.end)).filter(has_key).nth(nth.saturating_sub(1))
}

/// The lines with `\n` for whatever ended them, as the readers need them.
fn normalised(source: &str, lines: &Lines, numbers: Range<usize>) -> String {
    let mut text = String::new();
    for number in numbers {
        text.push_str(source[lines.span(number)].trim_end_matches(['\r', '\n']));
        text.push('\n');
    }
    text
}

/// A note without frontmatter by the letter. What was meant as one, but begins below a blank line, with blanks or invisible
/// characters, or with a delimiter that an editor made a dash of, still counts when it says that the note is private.
fn absent(source: &str, lines: &Lines, start: usize) -> Frontmatter {
    let mut found = Frontmatter { body_start: start, markdown_start: start, ..Frontmatter::default() };
    let invisible =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}');
    let opening = lines.line_of(source.len() - source.trim_start_matches(invisible).len());
    let text_of = |n: usize| source[lines.span(n)].trim_matches(invisible);
    let dashes = |text: &str| text != "-" && !text.is_empty() && text.chars().all(|c| "-—–+".contains(c));
    // Also `---yaml`, which other programs write.
    let named = text_of(opening).strip_prefix("---").map(str::trim_start);
    let named = named.is_some_and(|name| name.len() <= 8 && name.chars().all(char::is_alphanumeric));
    if !dashes(text_of(opening)) && !named {
        return found;
    }
    let limit = lines.line_of(lines.span(opening).end + MAX_BYTES);
    let Some(closing) = (opening + 1..=limit).find(|&n| dashes(text_of(n))) else {
        return found;
    };
    let language = if text_of(opening).starts_with('+') { Language::Toml } else { Language::Yaml };
    let text = normalised(source, lines, opening + 1..closing);
    let private = match yaml::read(language, &text) {
        ParsedBlock::Mapping(metadata) if metadata.is_empty() => return found,
        ParsedBlock::Mapping(metadata) => {
            found.misplaced_tags = tags_in(&metadata);
            found.misplaced_tags.extend(tags::words(&text).map(|(_, name)| name.to_owned()));
            has_private_key(&metadata)
        }
        ParsedBlock::NotMapping => return found,
        ParsedBlock::Duplicate(_) | ParsedBlock::Invalid { .. } => {
            let lower = text.to_lowercase();
            if lower.contains("tag") {
                // Whichever word of it was meant as one.
                let words = text.split(|c: char| c.is_whitespace() || ",;:[]{}\"'".contains(c));
                found.misplaced_tags = words.flat_map(tags::pieces).map(str::to_owned).collect();
            }
            if !lower.contains("private") && found.misplaced_tags.is_empty() {
                return found;
            }
            lower.contains("private")
        }
    };
    found.misplaced_private = private;
    found.problems.push(Problem::new(
        opening,
        "this looks like frontmatter, but frontmatter starts with `---` alone on the first line; it is read as text",
    ));
    found
}
