//! The way from source to note.

use pulldown_cmark::Options;

use super::conflicts::{CONFLICT_MARKS, first_mark};
use super::tags::TagSet;
use super::{Block, BlockKind, Heading, Lines, Note, Problem, Visibility, body, frontmatter, privacy, tags};
use crate::access::rules::{PRIVATE_TO, private_mark, session_marks};
use crate::base::path::folded;

impl Note {
    /// Reads a note. `stem` is the file's name without extension: the title of last resort.
    ///
    /// Any text is a note; what could not be read is in [`Note::problems`].
    pub fn parse(source: &str, stem: &str) -> Self {
        let lines = Lines::new(source);
        let mut frontmatter = frontmatter::read(source, &lines);
        let (mut note, mut tags) = frontmatter::fields(source, &lines, &frontmatter);
        let body = body::read(source, frontmatter.markdown_start, &lines, &mut tags);
        let mut doubts = TagSet::default();
        let commented = privacy::doubts_in_frontmatter(source, &lines, &frontmatter, &mut doubts);
        let has_more_tags = tags.has_more || doubts.has_more || body.doubtful.has_more;
        body.doubtful.tags.iter().for_each(|tag| doubts.add(tag));
        // A tag with blanks in it, as a list may have one, may be several.
        tags.tags.iter().flat_map(|tag| tags::pieces(tag)).for_each(|piece| doubts.add(piece));
        let mut doubtful = doubts.tags;
        // A mark is made here, and is nothing that anybody wrote.
        doubtful.retain(|tag| !tags.has(tag) && !folded(tag).starts_with(PRIVATE_TO));
        // From where a session comes hides it as a tag does.
        doubtful.extend(session_marks(&frontmatter.metadata));
        let tags = tags.tags;

        let mut problems = std::mem::take(&mut frontmatter.problems);
        problems.append(&mut note.problems);
        problems.extend(body.problems);
        problems.extend(first_mark(source).map(|line| Problem::new(line, CONFLICT_MARKS.to_owned())));

        let mut visibility = privacy::decide(&frontmatter, &tags, &doubtful);
        problems.extend(commented.filter(|_| visibility == Visibility::Ambiguous));

        // A tag that hides the note from an agent, or from all, may be among what was not read.
        let too_much = [
            (body.end < source.len(), lines.line_of(body.end), "too much Markdown from here on, which is not indexed"),
            (has_more_tags, 1, "too many tags; some are ignored"),
        ];
        for (_, line, what) in too_much.iter().filter(|(is_so, ..)| *is_so) {
            if visibility == Visibility::Public {
                visibility = Visibility::Ambiguous;
            }
            problems.push(Problem::new(*line, format!("{what}; until the note is split, only you see it")));
        }

        if too_much.iter().all(|(is_so, ..)| !is_so) {
            doubtful.extend(privacy::person(&frontmatter, &tags, &doubtful).map(|person| private_mark(&person)));
        }

        let span = frontmatter.body_start..source.len();
        // Lines of the text as it was read: the last of them may go on.
        let read = &source[..body.end];
        let lines_read = (read.len() < source.len()).then(|| Lines::new(read));
        let lines_read = lines_read.as_ref().unwrap_or(&lines);
        let blocks = body::cover(read, lines_read, span.start..read.len(), body.blocks, &body.comments);
        // Above the first heading of a note whose frontmatter cannot be read stands that.
        let title = match frontmatter.broken {
            true => body
                .headings
                .iter()
                .find(|heading| heading.level == 1 && !heading.text.is_empty())
                .map(|one| one.text.as_str()),
            false => title_of(&blocks, &body.headings),
        };
        if note.title.is_empty() {
            title.unwrap_or(stem).clone_into(&mut note.title);
        }
        Self {
            visibility,
            metadata: frontmatter.metadata,
            tags,
            doubtful,
            headings: body.headings,
            blocks,
            links: body.links,
            comments: body.comments,
            problems,
            body: span,
            lines,
            ..note
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
