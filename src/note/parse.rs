//! The way from source to note.

use super::{Lines, Note, PrivateReason, Visibility, blocks, body, fields, frontmatter, visibility};

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
        let tags = tags.into_vec();

        let mut problems = std::mem::take(&mut frontmatter.problems);
        problems.extend(fields.problems);
        problems.extend(body.problems);

        let mut visibility = visibility::decide(&frontmatter, &tags, body.hidden_private);
        if visibility == Visibility::Public
            && let Some(problem) = visibility::commented_tag(source, &lines, &frontmatter)
        {
            visibility = Visibility::Private(PrivateReason::Ambiguous);
            problems.push(problem);
        }

        let mut headings = body.headings.iter();
        let title = headings.find(|heading| heading.level == 1 && !heading.text.is_empty());
        let title = title.map_or(stem, |heading| &heading.text);
        let title = fields.title.unwrap_or_else(|| title.to_owned());
        let span = frontmatter.body_start..source.len();
        let blocks = blocks::cover(source, &lines, span.clone(), body.blocks, &body.comments);
        Self {
            title,
            visibility,
            metadata: frontmatter.metadata,
            tags,
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
