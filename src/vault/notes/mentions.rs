//! Where notes write a note's name without a link to it.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use jiff::Timestamp;
use regex::{Regex, RegexBuilder};

use crate::access::request::{LinkTargets, Owner, ReadScope, RequestError, line_text, read_seen};
use crate::base::config::Mode;
use crate::index::engine::Filter;
use crate::index::search::SearchRequest;
use crate::serve::wire::{MentionView, MentionsView, TextParams};
use crate::text::note::{BlockKind, Note};

/// Maximum number of mentions that are given.
const MENTIONS: usize = 50;
/// Maximum number of passages that are looked at for each name.
const PASSAGES: usize = 200;
/// Maximum number of a note's names that are looked for.
const NAMES: usize = 8;
/// Minimum length of such a name: shorter ones are in every other line.
const MIN_NAME_CHARS: usize = 3;

/// Text between backticks.
static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new("`+[^`]*`+").expect("it is a pattern"));

/// The lines of other notes that have a note's title or an alias, as whole words and in any case, outside of links and code.
///
/// # Errors
/// When there is no such note, or the index cannot be read.
pub(crate) fn mentions(owner: &Owner, params: &TextParams) -> Result<MentionsView, RequestError> {
    let scope = owner.settled_scope()?;
    let (file, _) = read_seen(&scope, &params.path)?;
    let mut names = LinkTargets::of(&scope).names(file);
    let mut known = HashSet::new();
    names.retain(|name| name.trim().chars().count() >= MIN_NAME_CHARS && known.insert(name.to_lowercase()));
    names.truncate(NAMES);
    let mut view = MentionsView { mentions: Vec::new(), cut: false };
    if names.is_empty() {
        return Ok(view);
    }
    let pattern: Vec<String> = names.iter().map(|name| regex::escape(name.trim())).collect();
    let pattern = RegexBuilder::new(&pattern.join("|")).case_insensitive(true).build();
    let pattern = pattern.map_err(|error| RequestError::invalid(format!("`{}`: {error}", file.path)))?;
    for path in candidates(&scope, &names)?.into_iter().filter(|path| *path != file.path.as_str()) {
        scope.go_on()?;
        // What cannot be read now is a problem of its own, which the status has.
        let Ok((from, source)) = read_seen(&scope, &path) else { continue };
        let note = Note::of(&from.path, &source.text);
        for line in lines_naming(&pattern, &note, &source.text) {
            if view.mentions.len() == MENTIONS {
                view.cut = true;
                return Ok(view);
            }
            let text = line_text(&source.text[note.lines.span(line)]);
            view.mentions.push(MentionView { path: path.clone(), title: from.title.clone(), line, text });
        }
    }
    Ok(view)
}

/// The notes that may have one of the names, in the order of their paths.
fn candidates(scope: &ReadScope, names: &[String]) -> Result<BTreeSet<String>, RequestError> {
    let mut found = BTreeSet::new();
    for name in names {
        let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let request = SearchRequest {
            text: words.join(" "),
            mode: Mode::Keyword,
            limit: PASSAGES,
            filter: Filter::default(),
            parts: Vec::new(),
            // No word of a name is a time.
            at: Timestamp::UNIX_EPOCH,
            min_relevance: None,
            context: Some(0),
            turn: scope.turn().clone(),
        };
        let hits = scope.search_with(None, &scope.workspace().config.search, &request)?.hits;
        found.extend(hits.iter().filter(|hit| scope.gives(&hit.file)).map(|hit| hit.file.path.to_string()));
    }
    Ok(found)
}

/// The lines of a note in whose text a name stands by itself.
fn lines_naming(names: &Regex, note: &Note, text: &str) -> Vec<usize> {
    let is_text = |kind| !matches!(kind, BlockKind::Code | BlockKind::Html | BlockKind::Comment | BlockKind::Other);
    let mut lines = Vec::new();
    for block in note.blocks.iter().filter(|block| is_text(block.kind)) {
        let within = &text[block.span.clone()];
        let in_file = |range: Range<usize>| range.start + block.span.start..range.end + block.span.start;
        let code: Vec<Range<usize>> = CODE.find_iter(within).map(|code| in_file(code.range())).collect();
        for name in names.find_iter(within).map(|name| in_file(name.range())) {
            let mut taken = code.iter().chain(note.links.iter().map(|link| &link.span)).chain(&note.comments);
            let parts_words = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
            let is_whole =
                parts_words(text[..name.start].chars().next_back()) && parts_words(text[name.end..].chars().next());
            if is_whole && !taken.any(|taken| taken.start < name.end && name.start < taken.end) {
                lines.push(note.lines.line_of(name.start));
            }
        }
    }
    lines.dedup();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_mentioned_where_it_stands_in_text_as_whole_words() {
        let names = RegexBuilder::new("sea salt|salz").case_insensitive(true).build().unwrap();
        let text = "---\ntitle: Sea salt\n---\n# Of sea salt\n\nSea SALT, twice: sea salt.\nIt is [[Sea Salt]], `sea salt` or \
                    [sea salt](x.md).\nOversea salt, sea salts, Salzburg.\n\n- salz!\n\n```\nsea salt\n```\n%% salz %%\n";
        assert_eq!(lines_naming(&names, &Note::parse(text, "n"), text), [4, 6, 10]);
    }
}
