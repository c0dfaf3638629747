//! The way from source to note.

use gray_matter::engine::Engine;
use gray_matter::{Matter, Pod};
use pulldown_cmark::Options;
use serde_json::{Map, Value};

use super::conflicts::{CONFLICT_MARKS, first_mark};
use super::tags::TagSet;
use super::turn::{ParsedBlock, from_float, hand_over};
use super::yaml::Yaml;
use super::{
    Block, BlockKind, Heading, Lines, Note, PrivateReason, Problem, Visibility, blocks, body, doubts, fields,
    frontmatter, tags, visibility,
};
use crate::access::rules::session_marks;

impl Note {
    /// Reads a note. `stem` is the file's name without extension: the title of last resort.
    ///
    /// Any text is a note; what could not be read is in [`Note::problems`].
    pub fn parse(source: &str, stem: &str) -> Self {
        let lines = Lines::new(source);
        let mut frontmatter = frontmatter::read(source, &lines);
        let fields = fields::read(source, &lines, &frontmatter);
        let mut tags = fields.tags;
        let body = body::read(source, frontmatter.markdown_start, &lines, &mut tags);
        let mut doubts = TagSet::default();
        let commented = doubts::in_frontmatter(source, &lines, &frontmatter, &mut doubts);
        let has_more_tags = tags.has_more || doubts.has_more || body.doubtful.has_more;
        body.doubtful.into_vec().iter().for_each(|tag| doubts.add(tag));
        // A tag with blanks in it, as a list may have one, may be several.
        tags.iter().flat_map(|tag| tags::pieces(tag)).for_each(|piece| doubts.add(piece));
        let mut doubtful = doubts.into_vec();
        doubtful.retain(|tag| !tags.has(tag));
        // From where a session comes hides it as a tag does.
        doubtful.extend(session_marks(&frontmatter.metadata));
        let tags = tags.into_vec();

        let mut problems = std::mem::take(&mut frontmatter.problems);
        problems.extend(fields.problems);
        problems.extend(body.problems);
        problems.extend(first_mark(source).map(|line| Problem::new(line, CONFLICT_MARKS.to_owned())));

        let mut visibility = visibility::decide(&frontmatter, &tags, &doubtful);
        problems.extend(commented.filter(|_| visibility == Visibility::Private(PrivateReason::Ambiguous)));

        // A tag that hides the note from an agent, or from all, may be among what was not read.
        let too_much = [
            (body.end < source.len(), lines.line_of(body.end), "too much Markdown from here on, which is not indexed"),
            (has_more_tags, 1, "too many tags; some are ignored"),
        ];
        for (_, line, what) in too_much.iter().filter(|(is_so, ..)| *is_so) {
            if visibility == Visibility::Public {
                visibility = Visibility::Private(PrivateReason::Ambiguous);
            }
            problems.push(Problem::new(*line, format!("{what}; until the note is split, only you see it")));
        }

        let span = frontmatter.body_start..source.len();
        // Lines of the text as it was read: the last of them may go on.
        let read = &source[..body.end];
        let lines_read = (read.len() < source.len()).then(|| Lines::new(read));
        let lines_read = lines_read.as_ref().unwrap_or(&lines);
        let blocks = blocks::cover(read, lines_read, span.start..read.len(), body.blocks, &body.comments);
        // Above the first heading of a note whose frontmatter cannot be read stands that.
        let title = match frontmatter.broken {
            true => body
                .headings
                .iter()
                .find(|heading| heading.level == 1 && !heading.text.is_empty())
                .map(|one| one.text.as_str()),
            false => title_of(&blocks, &body.headings),
        };
        let title = fields.title.unwrap_or_else(|| title.unwrap_or(stem).to_owned());
        Self {
            title,
            visibility,
            metadata: frontmatter.metadata,
            tags,
            doubtful,
            aliases: fields.aliases,
            created: fields.created,
            updated: fields.updated,
            headings: body.headings,
            blocks,
            links: body.links,
            comments: body.comments,
            problems,
            body: span,
            lines,
        }
    }
}

/// What the first block says where it is a level-1 heading with text. Further down such a heading is of a part: of what was clipped, say.
fn title_of<'a>(blocks: &[Block], headings: &'a [Heading]) -> Option<&'a str> {
    let first = blocks.iter().find(|block| block.kind != BlockKind::Comment)?;
    let heading = (first.kind == BlockKind::Heading(1)).then(|| headings.get(first.section?)).flatten()?;
    Some(heading.text.as_str()).filter(|text| !text.is_empty())
}

/// CommonMark as Obsidian extends it. Math is on so that `$#x$` holds no tag and `$a%%b$` no comment. GFM is off: it is
/// only about callouts, of which it knows five, none with a title; here every quote that starts `[!` is one.
pub(super) const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_WIKILINKS)
    .union(Options::ENABLE_MATH);

/// The two languages of frontmatter, by their delimiter line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Yaml,
    Toml,
}

impl Language {
    pub(super) fn delimiter(self) -> &'static str {
        match self {
            Self::Yaml => "---",
            Self::Toml => "+++",
        }
    }
}

/// Reads the text between two delimiter lines. Its lines must end in `\n`; lines of [`ParsedBlock::Invalid`] count the opening
/// delimiter as line 1.
pub(super) fn read(language: Language, text: &str) -> ParsedBlock {
    let delimiter = language.delimiter();
    // gray_matter trims the text before its engine sees it, which would break indented YAML and shift lines. A comment
    // in front, in place of the delimiter, keeps both as they are.
    let wrapped = format!("{delimiter}\n#\n{text}\n{delimiter}\n");
    let parsed = match language {
        Language::Yaml => with::<Yaml>(delimiter, &wrapped),
        Language::Toml => with::<Toml>(delimiter, &wrapped),
    };
    parsed.unwrap_or_else(|message| ParsedBlock::Invalid { line: None, message })
}

/// What a text of YAML says, read as frontmatter is: hostile text costs no more than it does there.
///
/// # Errors
/// Why it is no mapping, as a sentence without its end.
pub(crate) fn yaml_mapping(text: &str) -> Result<Map<String, Value>, String> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let text = text.strip_prefix("---\n").unwrap_or(&text);
    if text.lines().any(|line| line.trim_end() == Language::Yaml.delimiter()) {
        return Err("it is several documents".into());
    }
    match read(Language::Yaml, text) {
        ParsedBlock::Mapping(mapping) => Ok(mapping),
        ParsedBlock::NotMapping => Err("it is not made of `key: value` lines".into()),
        ParsedBlock::Duplicate(key) => Err(format!("it has the key `{key}` twice")),
        ParsedBlock::Invalid { message, .. } => Err(message.trim().to_owned()),
    }
}

fn with<E: Engine>(delimiter: &str, wrapped: &str) -> Result<ParsedBlock, String> {
    let mut matter = Matter::<E>::new();
    matter.delimiter = delimiter.to_owned();
    let parsed = matter.parse::<String>(wrapped).map_err(|error| error.to_string())?;
    match parsed.data {
        Some(json) => serde_json::from_str(&json).map_err(|error| error.to_string()),
        None => Ok(ParsedBlock::Mapping(Map::new())),
    }
}

struct Toml;

impl Engine for Toml {
    fn parse(content: &str) -> gray_matter::Result<Pod> {
        hand_over(&match content.parse::<toml::Table>() {
            Ok(table) => ParsedBlock::Mapping(table.into_iter().map(|(k, v)| (k, from_toml(v))).collect()),
            Err(error) => ParsedBlock::Invalid {
                line: error.span().map(|span| content.bytes().take(span.start).filter(|&b| b == b'\n').count() + 1),
                message: error.message().to_owned(),
            },
        })
    }
}

/// Recursion is bounded: the `toml` crate refuses more than 80 levels.
fn from_toml(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => from_float(number),
        toml::Value::Boolean(truth) => Value::Bool(truth),
        toml::Value::Datetime(date) => Value::String(date.to_string()),
        toml::Value::Array(values) => values.into_iter().map(from_toml).collect(),
        toml::Value::Table(table) => table.into_iter().map(|(k, v)| (k, from_toml(v))).collect(),
    }
}
