//! Changes a note's text as a person would: lines of its frontmatter, and every other byte of it stays.

use serde_json::{Map, Value};

use super::Note;
use super::compose::compose;
use super::frontmatter::key_of;

/// The note with another body, and with `set` in its frontmatter. Its lines stay as they are, but for those of what is set;
/// tags join those that are there.
///
/// All of the frontmatter stays as it is where it is TOML, or something of `set` is neither absent nor a list nor a plain `key: value` on
/// a line of its own: what a line editor cannot do surely, it does not do. Tags that are not a list in brackets or of `- tag`
/// lines stay likewise.
pub(crate) fn revise(
    source: &str,
    stem: &str,
    title: &str,
    set: &Map<String, Value>,
    tags: &[String],
    body: &str,
) -> String {
    let note = Note::parse(source, stem);
    let end = if source.contains("\r\n") { "\r\n" } else { "\n" };
    let body = body.replace("\r\n", "\n");
    let body = format!("{}\n", body.trim_start_matches('\n').trim_end()).replace('\n', end);
    let head = &source[..note.body.start];
    let opening = head.trim_start_matches('\u{feff}').lines().next().unwrap_or_default().trim_end();
    if opening.is_empty() {
        let mut frontmatter = Map::from_iter([("title".to_owned(), title.into())]);
        frontmatter.extend(set.clone());
        if !tags.is_empty() {
            frontmatter.insert("tags".into(), tags.into());
        }
        return format!("{head}{}", compose(&frontmatter, &body).replace("\r\n", "\n").replace('\n', end));
    }
    let text = format!("{head}{}{end}{body}", if head.ends_with('\n') { "" } else { end });
    let mut new = set.iter().filter(|(key, value)| note.metadata.get(*key) != Some(value));
    let set = new.try_fold(text.clone(), |text, (key, value)| with_property(&text, key, value));
    // It may have been called after a heading that goes now.
    let titled = set.and_then(|text| match Note::parse(&text, stem).title == title {
        true => Some(text),
        false => with_property(&text, "title", &title.into()),
    });
    let Some(text) = titled else { return text };
    // A tag may have stood in the body that goes.
    let has = Note::parse(&text, stem);
    let new = tags.iter().filter(|tag| !has.tags.iter().any(|had| had.eq_ignore_ascii_case(tag)));
    let new: Vec<Value> = new.map(|tag| tag.as_str().into()).collect();
    let all = match has.metadata.get("tags") {
        _ if new.is_empty() => return text,
        None | Some(Value::Null) => new,
        Some(Value::Array(had)) => [&had[..], &new[..]].concat(),
        Some(_) => return text,
    };
    with_property(&text, "tags", &all.into()).unwrap_or(text)
}

/// The note with a value in its frontmatter under `key`: a list, or what stands on one line, and every other byte as it was; `None` where that cannot be done surely.
pub(crate) fn with_property(source: &str, key: &str, value: &Value) -> Option<String> {
    let note = Note::parse(source, "");
    let end = if source.contains("\r\n") { "\r\n" } else { "\n" };
    let (head, body) = source.split_at(note.body.start);
    let opening = head.trim_start_matches('\u{feff}').lines().next().unwrap_or_default().trim_end();
    let text = match opening {
        "" => format!("{head}---{end}{key}: {value}{end}---{end}{body}"),
        "---" => {
            let lines = head.split_inclusive('\n').map(str::to_owned).collect();
            format!("{}{body}", with_value(lines, key, value, end)?.concat())
        }
        _ => return None,
    };
    let mut expected = note.metadata.clone();
    expected.insert(key.to_owned(), value.clone());
    let after = Note::parse(&text, "");
    let says = after.problems.len() <= note.problems.len() && after.metadata == expected;
    (says && text.get(after.body.clone()) == Some(body)).then_some(text)
}

fn with_value(mut lines: Vec<String>, key: &str, value: &Value, end: &str) -> Option<Vec<String>> {
    let key = scalar(&Value::from(key));
    let line = format!("{key}: {}", value.as_array().map_or_else(|| scalar(value), |items| listed(items)));
    match find(&lines, &key) {
        None => lines.insert(lines.len() - 1, format!("{line}{end}")),
        Some(at) if value.is_array() => lines = with_list(lines, at, &key, value.as_array()?, end)?,
        Some(at) => {
            let old = lines[at].split_once(':')?.1.trim();
            let plain = !old.is_empty() && !old.starts_with(['|', '>', '&', '*', '!', '{', '[', '#']);
            let goes_on = |next: &String| next.starts_with([' ', '\t', '-']) && next.trim_end() != "---";
            if !plain || lines.get(at + 1).is_some_and(goes_on) {
                return None;
            }
            let comment = match old.find(" #") {
                Some(_) if old.starts_with(['"', '\'']) => return None,
                Some(start) => &old[start..],
                None => "",
            };
            lines[at] = format!("{line}{comment}{end}");
        }
    }
    Some(lines)
}

/// The lines with another list in the place of the one at `at`. Items that stay keep their lines with the comments above and
/// behind them, and the comments above those that go stay too.
fn with_list(mut lines: Vec<String>, at: usize, key: &str, items: &[Value], end: &str) -> Option<Vec<String>> {
    let old = lines[at].split_once(':')?.1.trim();
    let (value, comment) = match old.strip_prefix('[') {
        Some(list) => {
            let (_, after) = list.split_once(']')?;
            ("[", after.trim())
        }
        None => match old.find('#').filter(|at| *at == 0 || old[..*at].ends_with(' ')) {
            Some(start) => (old[..start].trim(), &old[start..]),
            None => (old, ""),
        },
    };
    if !(comment.is_empty() || comment.starts_with('#')) || value.starts_with(['|', '>', '&', '*', '!', '{', '"', '\''])
    {
        return None;
    }
    let space = if comment.is_empty() { "" } else { " " };
    let in_line = |items: &[Value]| format!("{key}: {}{space}{comment}{end}", listed(items));
    let between = |line: &&String| line.trim().is_empty() || line.trim_start().starts_with(['-', '#']);
    let delimiter = lines.len() - 1;
    let below: Vec<String> = lines[at + 1..delimiter].iter().take_while(between).cloned().collect();
    let is_item = |line: &String| line.trim_start().starts_with('-');
    let count = below.iter().rposition(is_item).map_or(0, |last| last + 1);
    // What goes on over lines is left alone.
    let goes_on = lines[at + 1 + count..delimiter].first().is_some_and(|next| {
        next.starts_with([' ', '\t']) && !next.trim().is_empty() && !next.trim_start().starts_with('#')
    });
    if goes_on || (count > 0 && !value.is_empty()) {
        return None;
    }
    if count == 0 {
        lines[at] = in_line(items);
        return Some(lines);
    }
    let mut indent = "";
    let (mut known, mut above) = (Vec::new(), Vec::new());
    for line in &below[..count] {
        above.push(line.clone());
        if let Some(item) = line.trim_start().strip_prefix('-') {
            indent = &line[..line.len() - line.trim_start().len()];
            known.push((serde_yaml::from_str::<Value>(item).ok()?, std::mem::take(&mut above)));
        }
    }
    let mut list = Vec::new();
    for item in items {
        match known.iter().position(|(had, _)| had == item) {
            Some(place) => list.extend(known.remove(place).1),
            None => list.push(format!("{indent}- {}{end}", scalar(item))),
        }
    }
    let mut left: Vec<String> = known.into_iter().flat_map(|(_, lines)| lines).filter(|line| !is_item(line)).collect();
    if items.is_empty() {
        lines[at] = in_line(items);
    }
    left.extend(list);
    lines.splice(at + 1..at + 1 + count, left);
    Some(lines)
}

/// The line of a key at the top level, between the delimiters.
fn find(lines: &[String], key: &str) -> Option<usize> {
    let bare = key.trim_matches(['"', '\'']);
    (1..lines.len().saturating_sub(1)).find(|at| key_of(&lines[*at]) == Some(bare))
}

/// A value that is no list, on one line.
fn scalar(value: &Value) -> String {
    let yaml = match value {
        Value::Array(_) | Value::Object(_) => None,
        value => serde_yaml::to_string(value).ok(),
    };
    let yaml = yaml.map(|yaml| yaml.trim_end().to_owned()).filter(|yaml| !yaml.contains('\n'));
    // JSON is YAML. A comma would part what stands in brackets.
    yaml.filter(|yaml| !yaml.contains([',', '[', ']', '{', '}'])).unwrap_or_else(|| value.to_string())
}

/// A list on one line: words as they are, other texts in quotes.
fn listed(items: &[Value]) -> String {
    let is_word = |text: &str| text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '/'));
    let word = |item: &Value| item.as_str().filter(|text| is_word(text) && scalar(item) == *text).map(str::to_owned);
    let words: Option<Vec<String>> = items.iter().map(word).collect();
    words.map_or_else(|| Value::from(items).to_string(), |words| format!("[{}]", words.join(", ")))
}

/// What a summary is called.
const KEY: &str = "summary";

/// What the summary of a note says; `None` where it has none.
pub(crate) fn summary_of(text: &str) -> Option<String> {
    let note = Note::parse(text, "");
    note.metadata.get(KEY).filter(|value| !value.is_null()).map(|value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

/// A note without its summary. Nothing but its lines goes; `None` where that cannot be so.
pub(crate) fn without_summary(text: &str) -> Option<String> {
    let note = Note::parse(text, "");
    let head = &text[..note.body.start];
    let mut span = None;
    let mut at = 0;
    for line in head.split_inclusive('\n') {
        let end = at + line.len();
        span = match span {
            None if key_of(line) == Some(KEY) => Some((at, end)),
            // What is indented, or an item of a list, belongs to it; blank lines do where such a line follows.
            Some((from, to)) if line.starts_with([' ', '\t']) || line.starts_with("- ") => {
                if to == at || text[to..at].trim().is_empty() { Some((from, end)) } else { Some((from, to)) }
            }
            other => other,
        };
        at = end;
    }
    let (from, to) = span?;
    let without = format!("{}{}", &text[..from], &text[to..]);
    let after = Note::parse(&without, "");
    let rest = |note: &Note| {
        let rest = note.metadata.iter().filter(|(key, _)| *key != KEY);
        rest.map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>()
    };
    let same = rest(&after) == rest(&note) && without[after.body.clone()] == text[note.body.clone()];
    (same && !after.metadata.contains_key(KEY) && after.is_private() == note.is_private()).then_some(without)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn revised(head: &str, set: Value, tags: &[&str]) -> String {
        let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
        let text = revise(&format!("{head}\nold\n"), "stem", "T", set.as_object().unwrap(), &tags, "new");
        text.strip_suffix("\nnew\n").unwrap_or_else(|| panic!("{text}")).to_owned()
    }

    #[test]
    fn every_line_but_those_that_are_set_stays() {
        let head = "---\n# mine\ntitle: T\nversion: 1.10 # as released\nbase: &b {x: 1}\nuse: *b\nstate: open # for now\n---\n";
        let set = json!({"updated": "2026-01-05", "state": "done"});
        let expected = head.replace("state: open", "state: done").replace("now\n---", "now\nupdated: 2026-01-05\n---");
        let revised = revised(head, set, &[]);
        assert_eq!(revised.replace('\'', ""), expected);
    }

    #[test]
    fn toml_and_what_spans_lines_stay_as_they_are() {
        for head in [
            "+++\ntitle = \"T\" # mine\n+++\n",
            "---\ntitle: T\nupdated: >\n  long\n  ago\n---\n",
            "---\ntitle: T\nupdated: &u 2020-01-01\nseen: *u\n---\n",
        ] {
            assert_eq!(revised(head, json!({"updated": "2026-01-05"}), &["a"]), head);
        }
    }

    #[test]
    fn tags_are_united() {
        for (tags, expected) in [
            ("", "tags: [b, c]\n"),
            ("tags: []\n", "tags: [b, c]\n"),
            ("tags: [a, b] # mine\n", "tags: [a, b, c] # mine\n"),
            ("tags:\n  - a\n  - b\n", "tags:\n  - a\n  - b\n  - c\n"),
            ("tags: a b\n", "tags: a b\n"),
        ] {
            let head = |tags: &str| format!("---\ntitle: T\n{tags}---\n");
            assert_eq!(revised(&head(tags), json!({}), &["b", "c"]), head(expected));
        }
    }

    #[test]
    fn line_ends_and_titles_stay() {
        let text = revise("---\r\na: 1\r\n---\r\n# T\r\nold\r\n", "stem", "T", &Map::new(), &[], "one\ntwo");
        assert_eq!(text, "---\r\na: 1\r\ntitle: T\r\n---\r\n\r\none\r\ntwo\r\n");
        let text = revise("# T\nold\n", "stem", "T", &Map::new(), &[], "new");
        assert_eq!(text, "---\ntitle: T\n---\n\nnew\n");
    }

    #[test]
    fn the_summary_goes_alone() {
        let without = without_summary;
        for summary in [
            "summary: One line.\n", "summary: >-\n  Two\n\n  lines.\n", "summary: |\n  # x\n  y: z\n",
            "summary:\n- a\n- b\n", "summary:\n  long\n",
        ] {
            let text = |summary: &str| format!("---\ntitle: T\n{summary}\ntags: [x]\n---\n\nsummary: of the body\n");
            assert_eq!(without(&text(summary)).unwrap(), text(""), "{summary}");
        }
        assert_eq!(without("+++\nsummary = \"x\"\na = 1\n+++\nText\n").unwrap(), "+++\na = 1\n+++\nText\n");
        assert_eq!(without("---\nsummary: &s x\nother: *s\n---\nText\n"), None, "something else leans on it");
        assert_eq!(without("---\na: 1\n---\nText\n"), None);
    }
}
