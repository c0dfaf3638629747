//! The links of a note that lead to other notes, and the name by which each means one.

use std::collections::HashMap;

use serde_json::Value;

use crate::text::note::{Link, LinkKind, LinkProperty, Note, has_scheme, texts_in, wikilinks_in};

/// What Obsidian shows that is no note. A wikilink to a note may have a full stop in its name.
const ATTACHMENTS: [&str; 23] = [
    "avif", "bmp", "gif", "jpeg", "jpg", "png", "svg", "webp", "3gp", "flac", "m4a", "mp3", "ogg", "opus", "wav",
    "webm", "mkv", "mov", "mp4", "ogv", "pdf", "canvas", "base",
];

/// The links of a note that may mean a note, in the order of its lines: those of its properties, then those of its text. Neither what leads
/// out of the vault is one, nor what stays within the note or means a picture; nor what stands in code or in a comment.
pub(crate) fn note_links(note: &Note, source: &str) -> Vec<Link> {
    let mut found = property_links(note, source);
    for link in &note.links {
        let may = match link.kind {
            LinkKind::Wiki | LinkKind::Embed => !is_attachment(&link.target),
            LinkKind::Markdown => !has_scheme(&link.target) && is_note(&link.target),
            LinkKind::Image => false,
        };
        if may && !link.target.is_empty() {
            found.push(link.clone());
        }
    }
    found
}

/// What the links of a note lead to within the vault, be it a note or not, however they are written.
pub(super) fn document_targets(note: &Note) -> Vec<String> {
    let of_text = note.links.iter().filter(|link| !has_scheme(&link.target)).map(|link| link.target.clone());
    let mut found: Vec<String> = of_text.collect();
    found.extend(texts_in(&note.metadata).into_iter().flat_map(wikilinks_in).map(|link| link.target));
    found
}

/// The name in a link's target, or in another name of a note: without folders and `.md`.
pub(crate) fn target_name(target: &str) -> &str {
    let name = target.trim().trim_end_matches('/');
    without_extension(name.rsplit('/').next().unwrap_or(name))
}

/// A name or a path of a note without its extension.
pub(crate) fn without_extension(name: &str) -> &str {
    let is_note = |extension: &str| ["md", "markdown"].iter().any(|known| known.eq_ignore_ascii_case(extension));
    name.rsplit_once('.')
        .filter(|(name, extension)| !name.is_empty() && is_note(extension))
        .map_or(name, |(name, _)| name)
}

/// The wikilinks in the values of the properties, each on the line where it is written.
fn property_links(note: &Note, source: &str) -> Vec<Link> {
    let frontmatter = source.get(..note.body.start).unwrap_or_default();
    if !frontmatter.contains("[[") {
        return Vec::new();
    }
    let mut left: Vec<(String, &Value)> = note.metadata.iter().rev().map(|(key, value)| (key.clone(), value)).collect();
    // Where to go on looking for what is written more than once.
    let mut looked: HashMap<&str, usize> = HashMap::new();
    let mut found = Vec::new();
    while let Some((key, value)) = left.pop() {
        match value {
            Value::String(text) => {
                for (mut link, behind) in wikilinks_apart(text).into_iter().filter(|(link, _)| !link.target.is_empty())
                {
                    let written = &text[link.span.clone()];
                    let from = looked.entry(written).or_default();
                    let at = frontmatter[*from..].find(written).map(|at| *from + at);
                    *from = at.map_or(*from, |at| at + written.len());
                    if is_attachment(&link.target) {
                        continue;
                    }
                    link.line = at.map_or(1, |at| note.lines.line_of(at));
                    link.property = Some(LinkProperty { key: key.clone(), behind: behind.to_owned() });
                    found.push(link);
                }
            }
            Value::Array(items) => left.extend(items.iter().rev().map(|item| (key.clone(), item))),
            Value::Object(fields) => {
                left.extend(fields.iter().rev().map(|(inner, value)| (format!("{key}.{inner}"), value)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found.sort_by_key(|link| link.line);
    found
}

/// The wikilinks of a text that is no Markdown, each with what stands behind it, up to the next one.
pub(super) fn wikilinks_apart(text: &str) -> Vec<(Link, &str)> {
    let links = wikilinks_in(text);
    let ends: Vec<usize> = links.iter().skip(1).map(|link| link.span.start).chain([text.len()]).collect();
    links
        .into_iter()
        .zip(ends)
        .map(|(link, end)| {
            let behind = &text[link.span.end..end];
            (link, behind)
        })
        .collect()
}

fn is_attachment(target: &str) -> bool {
    let extension = target.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| ATTACHMENTS.contains(&extension.as_str()))
}

/// Whether the target of a Markdown link may be a note: `plan.md`, or as Obsidian has it, `plan`.
fn is_note(target: &str) -> bool {
    let name = target.rsplit('/').next().unwrap_or(target);
    !name.is_empty() && (without_extension(name) != name || !name.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let show = |link: &Link| {
            let part =
                |mark: &str, part: &Option<String>| part.as_ref().map_or(String::new(), |part| format!("{mark}{part}"));
            let more = [part("#", &link.heading), part("^", &link.block), part("|", &link.text)].concat();
            format!("{}:{}{}{more}", link.line, if link.kind == LinkKind::Embed { "!" } else { "" }, link.target)
        };
        note_links(&Note::parse(text, "n"), text).iter().map(show).collect()
    }

    #[test]
    fn links_to_notes_are_told_from_all_others() {
        let text = "See [[Sea Salt|salt]], ![[plan#Week 1]] and [[plan#^day]].\n\n[a](../x/My%20note.md#part) [b](plan) \
                    <https://a.example> [c](https://a.example/x.md) [d](a.pdf) ![e](f.png) ![[g.PNG]] [[#here]] [[v1.2]]\n\n\
                    `[[code]]` %%[[hidden]]%% <!-- [[too]] -->\n\n```\n[[block]]\n```\n";
        let found = shown(text);
        assert_eq!(
            found,
            ["1:Sea Salt|salt", "1:!plan#Week 1", "1:plan^day", "3:../x/My note.md#part|a", "3:plan|b", "3:v1.2"]
        );
    }

    #[test]
    fn links_of_properties_stand_on_their_lines() {
        let text = "---\ndirector: \"[[Ridley Scott]]\"\ncast:\n  - \"[[people/Ford|Ford]]\"\n  - \"with [[Ridley Scott]]\"\n\
                    nested: [[no link]]\nposter: \"[[a.png]]\"\n---\n[[Ridley Scott]]\n";
        let found = shown(text);
        assert_eq!(found, ["2:Ridley Scott", "4:people/Ford|Ford", "5:Ridley Scott", "9:Ridley Scott"]);
    }

    #[test]
    fn a_target_has_a_name() {
        for (target, name) in [
            ("a/b/Sea Salt.md", "Sea Salt"),
            ("x.MARKDOWN", "x"),
            ("v1.2", "v1.2"),
            ("a/", "a"),
            (".md", ".md"),
            ("", ""),
        ] {
            assert_eq!(target_name(target), name, "{target}");
        }
    }
}
