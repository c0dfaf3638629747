//! The facts of a file: list items `- key: value` below headings, and what the file says after a change. Pure: exactly one line becomes
//! another, comes or goes; all else stays to the byte.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::Value;

use super::item::{Fact, Validity, is_key};
use super::value::{read_value, written_value};
use crate::text::derive::list_items::{
    CONFLICT, ItemEditError, ListItem, added_after, item_end, line_ending, lines_alone, list_items, with_parts,
    without_conflict_marks,
};
use crate::text::note::{Note, Problem};

/// Maximum length of a value. What is longer is prose, and reported.
pub(crate) const MAX_VALUE_BYTES: usize = 64 * 1024;

/// The facts of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FactsFile {
    facts: Vec<Fact>,
    /// Namespace, key → which of the facts counts: the last.
    by_name: BTreeMap<String, BTreeMap<String, usize>>,
    /// What could not be read as it was meant, with its line.
    pub(crate) problems: Vec<Problem>,
    /// Whether a merge left its marks, so that nobody but a person knows which side counts.
    pub(crate) has_conflict: bool,
}

impl FactsFile {
    /// Reads a file. No input makes it fail.
    pub(crate) fn read(source: &str) -> Self {
        let (plain, has_conflict) = without_conflict_marks(source);
        let note = Note::parse(&plain, "");
        let mut file = Self { has_conflict, ..Self::default() };
        if has_conflict {
            file.report(None, CONFLICT);
        }
        list_items(&note, &plain).for_each(|item| file.add(&note, &item));
        file
    }

    fn add(&mut self, note: &Note, item: &ListItem<'_>) {
        let Some((mut fact, problem)) = Fact::read(item.text.trim_end()) else { return };
        let (line, key) = (item.line, fact.key.clone());
        if fact.text.len() > MAX_VALUE_BYTES {
            return self.report(
                Some(line),
                &format!("the value of `{key}` is longer than {MAX_VALUE_BYTES} bytes, so it is not a fact"),
            );
        }
        if let Some(problem) = problem {
            self.report(Some(line), &format!("`{key}`: {problem}"));
        }
        fact.value = read_value(&fact.text).unwrap_or_else(|reason| {
            self.report(Some(line), &format!("the value of `{key}` cannot be read: {reason}; it counts as text"));
            Value::String(fact.text.clone())
        });
        fact.namespace = namespace(note, item.block.section);
        (fact.line, fact.last_line, fact.is_mixed) = (line, item.last_line, item.is_mixed);
        (fact.said, fact.span) = (item.offset(fact.said.start)..item.offset(fact.said.end), item.block.span.clone());
        let of_key = self.by_name.entry(fact.namespace.clone()).or_default();
        if let Some(before) = of_key.insert(key.clone(), self.facts.len()) {
            let message = format!("`{key}` is also at line {}; the last one counts", self.facts[before].line);
            self.report(Some(line), &message);
        }
        self.facts.push(fact);
    }

    fn report(&mut self, line: Option<usize>, message: &str) {
        self.problems.push(Problem { line, message: message.to_owned() });
    }

    /// The fact of a key, where there is one, or what is left of one that is struck out.
    pub(crate) fn get(&self, namespace: &str, key: &str) -> Option<&Fact> {
        self.by_name.get(namespace)?.get(key).map(|at| &self.facts[*at])
    }

    /// The facts that count, by namespace and key.
    pub(crate) fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.by_name.values().flat_map(|keys| keys.values()).map(|at| &self.facts[*at])
    }

    /// The facts of a key, in whichever namespace.
    pub(crate) fn called<'f>(&'f self, key: &'f str) -> impl Iterator<Item = &'f Fact> {
        self.by_name.values().filter_map(move |keys| keys.get(key)).map(|at| &self.facts[*at])
    }

    /// How many lines are of a key.
    pub(crate) fn times(&self, namespace: &str, key: &str) -> usize {
        self.facts.iter().filter(|fact| fact.namespace == namespace && fact.key == key).count()
    }
}

/// The headings above a block, but for those of level 1.
fn namespace(note: &Note, section: Option<usize>) -> String {
    let above = note.headings_above(section).map(|at| &note.headings[at]).filter(|heading| heading.level > 1);
    let mut names: Vec<String> = above.map(|heading| heading.text.trim().to_lowercase()).collect();
    names.reverse();
    names.join("/")
}

/// What is said of a key from now on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewFact<'a> {
    /// The value; lists and maps are written on one line.
    pub(crate) value: &'a Value,
    /// From when and until when.
    pub(crate) window: &'a Validity,
    /// Tags of the fact; `None` leaves those there are.
    pub(crate) tags: Option<&'a [String]>,
    /// Whether what was there was never true.
    pub(crate) is_correction: bool,
}

/// What becomes of a fact.
pub(crate) enum FactEdit<'a> {
    /// It has this value from now on: in its line, or as a new one at the end of its namespace, which is made where it is not there.
    Set(NewFact<'a>),
    /// It is true no more, and goes out of the file.
    Unset,
    /// It was never true, and is struck out.
    Retract,
    /// Its value stays as it is written, and this is said of when it is true.
    Window(Validity),
    /// It had another value in a span that is over. The file stays as it is.
    Was { text: String, window: Validity },
    /// What is known of it in a span that is over was never true. The file stays as it is.
    WasNot { span: Validity },
}

/// The file after a change of one fact. `file` is the source, read.
///
/// # Errors
/// When the fact is not there, the key or the namespace is none, or the file cannot be changed so.
pub(crate) fn edited(
    source: &str,
    file: &FactsFile,
    (namespace, key): (&str, &str),
    edit: &FactEdit<'_>,
) -> Result<String, ItemEditError> {
    match edit {
        FactEdit::Set(_) if !is_key(key) => return Err(ItemEditError::Key),
        FactEdit::Set(_) if !is_namespace(namespace) => return Err(ItemEditError::Namespace),
        _ => {}
    }
    if file.has_conflict {
        return Err(ItemEditError::Conflict);
    }
    let fact = file.get(namespace, key);
    if fact.is_some_and(|fact| fact.is_mixed) {
        return Err(ItemEditError::Mixed);
    }
    let part = match (edit, fact) {
        (FactEdit::Was { .. } | FactEdit::WasNot { .. }, _) => return Ok(source.to_owned()),
        (FactEdit::Set(new), Some(fact)) => set_in_line(source, fact, new)?,
        (FactEdit::Set(new), None) => {
            added(source, file, namespace, &format!("- {key}: {}{}", said_of(new), tags_of(new)))
        }
        (FactEdit::Unset, Some(fact)) => (lines_alone(source, &fact.span).ok_or(ItemEditError::Parent)?, String::new()),
        (FactEdit::Retract, Some(fact)) if !fact.text.is_empty() => (fact.said.clone(), format!("~~{}~~", fact.text)),
        (FactEdit::Window(window), Some(fact)) if !fact.text.is_empty() => {
            let said = source[fact.said.clone()].trim_end();
            let value = Validity::at_end(said).ok().flatten().map_or(said, |(value, _)| value);
            (fact.said.clone(), format!("{value} {window}").trim_end().to_owned())
        }
        (FactEdit::Unset | FactEdit::Retract | FactEdit::Window(_), _) => return Err(ItemEditError::Absent("fact")),
    };
    let text = with_parts(source, vec![part]);
    let now = FactsFile::read(&text);
    let found = now.get(namespace, key);
    let is_so = match edit {
        FactEdit::Set(new) => {
            found.is_some_and(|fact| fact.value == *new.value && fact.window.span() == new.window.span())
        }
        FactEdit::Retract => found.is_some_and(|fact| fact.text.is_empty()),
        FactEdit::Window(window) => found.is_some_and(|fact| fact.window == *window),
        _ => found.is_none(),
    };
    let is_well = is_so && others(file, namespace, key).eq(others(&now, namespace, key));
    if is_well { Ok(text) } else { Err(ItemEditError::Unreadable) }
}

/// The part of a fact's line that becomes another, where it is set.
fn set_in_line(source: &str, fact: &Fact, new: &NewFact<'_>) -> Result<(Range<usize>, String), ItemEditError> {
    // What was confirmed stays so while its value does; that it is never to be asked about stays in any case.
    let is_same = fact.value == *new.value;
    let check = fact.window.check.clone().filter(|check| is_same || check.ms.is_none());
    let confirmed = fact.window.confirmed.clone().filter(|_| is_same);
    let window = Validity { check, confirmed, ..new.window.clone() };
    let mut said = said_of(&NewFact { window: &window, ..*new });
    if new.is_correction && !fact.text.is_empty() {
        said = format!("~~{}~~ {said}", fact.text);
    }
    if fact.said.is_empty() {
        return Err(ItemEditError::Mixed);
    }
    if new.tags.is_some() {
        // Links lead to a block's name.
        let tail = source[fact.said.end..fact.span.end].split_whitespace().filter(|word| word.starts_with('^'));
        let blocks: String = tail.map(|word| format!(" {word}")).collect();
        return Ok((fact.said.start..fact.span.end, said + &tags_of(new) + &blocks));
    }
    // All of the item may be struck out.
    let is_struck = fact.text.is_empty() && source[fact.said.clone()].contains(&format!("{}:", fact.key));
    Ok((fact.said.clone(), if is_struck { format!("{}: {said}", fact.key) } else { said }))
}

fn said_of(new: &NewFact<'_>) -> String {
    let value = written_value(new.value);
    if new.window.is_empty() { value } else { format!("{value} {}", new.window) }
}

fn tags_of(new: &NewFact<'_>) -> String {
    new.tags.unwrap_or_default().iter().map(|tag| format!(" #{tag}")).collect()
}

/// The text without values that are meant: where a fact has one its item goes, with all below it; of what is struck out that alone.
pub(crate) fn without_values(source: &str, is_meant: impl Fn(&Fact, &str) -> bool) -> String {
    let file = FactsFile::read(source);
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    // Those that do not count, too.
    for fact in &file.facts {
        let struck: Vec<&str> = fact.retracted.iter().map(String::as_str).filter(|was| is_meant(fact, was)).collect();
        let item = || fact.span.start..item_end(source, &fact.span);
        if !fact.text.is_empty() && is_meant(fact, &fact.text) {
            edits.push((item(), String::new()));
        } else if !struck.is_empty() {
            // Nothing may be left of it.
            let left = without_struck(&source[fact.said.clone()], &struck).filter(|left| !left.is_empty());
            edits.push(left.map_or_else(|| (item(), String::new()), |left| (fact.said.clone(), left)));
        }
    }
    // What lies below an item that goes may be meant, too.
    with_parts(source, edits)
}

/// What is said of a key without the values that are struck out in it; `None` where not all of them stand there so.
fn without_struck(said: &str, struck: &[&str]) -> Option<String> {
    let (mut text, mut rest, mut found) = (String::new(), said, BTreeSet::new());
    while let Some((was, after)) = rest.strip_prefix("~~").and_then(|inner| inner.split_once("~~")) {
        // On several lines it is the same.
        let lines: Vec<&str> = was.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect();
        let next = after.trim_start();
        match struck.iter().find(|struck| **struck == lines.join(" ")) {
            Some(struck) => drop(found.insert(*struck)),
            None => text += &rest[..rest.len() - next.len()],
        }
        rest = next;
    }
    text += rest;
    let is_all = struck.iter().all(|struck| found.contains(struck));
    is_all.then(|| text.trim().to_owned())
}

/// What is said of every other key.
fn others<'f>(
    file: &'f FactsFile,
    namespace: &'f str,
    key: &'f str,
) -> impl Iterator<Item = (&'f str, &'f str, &'f str)> {
    let others = file.facts().filter(move |fact| fact.name() != (namespace, key));
    others.map(|fact| (fact.namespace.as_str(), fact.key.as_str(), fact.text.as_str()))
}

/// Whether a text can be a namespace: up to five headings in lower case, joined by `/`; empty for none.
pub(crate) fn is_namespace(namespace: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.trim() == name
            && name.to_lowercase() == name
            && !name.contains(|c: char| c.is_control() || "#`*_~[]<>\\%^".contains(c))
    };
    namespace.len() <= 500
        && (namespace.is_empty() || namespace.split('/').count() <= 5 && namespace.split('/').all(is_name))
}

/// Where a line at the end of a namespace comes, and its text.
fn added(source: &str, file: &FactsFile, wanted: &str, line: &str) -> (Range<usize>, String) {
    if let Some(last) = file.facts.iter().rev().find(|fact| fact.namespace == wanted) {
        return added_after(source, &last.span, &[line.to_owned()]);
    }
    let end = line_ending(source);
    let note = Note::parse(source, "");
    // The longest part of the namespace for which there are headings already.
    let known = |part: &str| (0..note.headings.len()).rev().find(|at| namespace(&note, Some(*at)) == part);
    let parts: Vec<&str> = wanted.split('/').filter(|part| !part.is_empty()).collect();
    let above = (1..=parts.len()).rev().find_map(|count| Some((known(&parts[..count].join("/"))?, count)));
    let (under, missing) = (above.map(|(at, _)| at), &parts[above.map_or(0, |(_, count)| count)..]);
    // Without a heading it stands before the first one that is no title.
    let level = under.map_or(1, |at| note.headings[at].level);
    let next = match under {
        Some(under) => note.headings[under + 1..].iter().find(|next| missing.is_empty() || next.level <= level),
        None if wanted.is_empty() => note.headings.iter().find(|heading| heading.level > 1),
        None => None,
    };
    let at = next.map_or(source.len(), |next| next.span.start);
    let before = source[..at].trim_end_matches(['\r', '\n']);
    let mut text = String::new();
    if !before.trim_start_matches('\u{feff}').is_empty() {
        text += end;
        text += end;
    }
    for (depth, name) in missing.iter().enumerate() {
        let marks = "#".repeat((usize::from(level) + 1 + depth).min(6));
        text += &format!("{marks} {name}{end}{end}");
    }
    text += line;
    let rest = &source[before.len()..];
    if !rest.starts_with(['\r', '\n']) || rest.trim().is_empty() && !rest.contains('\n') {
        text += end;
    }
    (before.len()..before.len(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "---\ntags: [x]\n---\n# Facts of mech\n\nProse: this is none.\n\n- owner: Jonas\n\n## Project\n\n- test_command: cargo test\n\
        - deploy_branch: release (from 2026-03-09) #deploy\n- version: 3.10\n- two words: no\n  - nested: no\n1. numbered: no\n\n### Conventions\n\n\
        * style: [a, 3.10]\n\n```\n- code: no\n```\n\n> - quoted: no\n\n## Stats\n- version: '1'\n";

    fn shown(file: &FactsFile) -> Vec<String> {
        file.facts().map(|fact| format!("{}/{}={} @{}", fact.namespace, fact.key, fact.value, fact.line)).collect()
    }

    #[test]
    fn facts_are_items_below_headings() {
        let file = FactsFile::read(FILE);
        assert_eq!(
            shown(&file),
            [
                "/owner=\"Jonas\" @8",
                "project/deploy_branch=\"release\" @13",
                "project/test_command=\"cargo test\" @12",
                "project/version=\"3.10\" @14",
                "project/conventions/style=[\"a\",\"3.10\"] @21",
                "stats/version=\"1\" @30",
            ]
        );
        assert_eq!(file.problems, []);
        let fact = file.get("project", "deploy_branch").unwrap();
        assert_eq!(&FILE[fact.said.clone()], "release (from 2026-03-09)");
        assert_eq!(fact.tags, ["deploy"]);
    }

    #[test]
    fn line_ends_tabs_and_indentation_do_not_matter() {
        let crlf = FactsFile::read(&FILE.replace('\n', "\r\n"));
        assert_eq!(shown(&crlf), shown(&FactsFile::read(FILE)));
        assert_eq!(shown(&FactsFile::read("  - a: 1\n  - b: 2\n")), ["/a=\"1\" @1", "/b=\"2\" @2"]);
        let numbered = "1. Step\n   - note: no\n- a: 1\n  ```\n  code\n  ```\n  - b: no\n";
        assert_eq!(shown(&FactsFile::read(numbered)), ["/a=\"1\" @3"]);
        assert_eq!(shown(&FactsFile::read("-\ta:\t1\n\t- b: 2\n- c: 3\n")), ["/a=\"1\" @1", "/c=\"3\" @3"]);
        let long = FactsFile::read("- a: one\n  two\n  three #t\n- b: x\n");
        assert_eq!(long.get("", "a").unwrap().text, "one two three");
        assert_eq!(&"- a: one\n  two\n  three #t"[long.get("", "a").unwrap().said.clone()], "one\n  two\n  three");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_kept() {
        let file = FactsFile::read("- a: [1\n- b: 2\n- b: 3\n- c: x (until 2026-02-31)\n");
        assert_eq!(shown(&file), ["/a=\"[1\" @1", "/b=\"3\" @3", "/c=\"x (until 2026-02-31)\" @4"]);
        assert_eq!(file.problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [Some(1), Some(3), Some(4)]);
        let long = format!("- a: {}\n- b: 1\n", "x".repeat(1_000_000));
        let file = FactsFile::read(&long);
        assert_eq!((shown(&file), file.problems.len()), (vec!["/b=\"1\" @2".to_owned()], 1));
    }

    #[test]
    fn both_sides_of_a_conflict_are_read() {
        let file =
            FactsFile::read("# F\n\n## P\n<<<<<<< HEAD\n- a: 1\n- b: 1\n=======\n- a: 2\n>>>>>>> other\n- c: 3\n");
        assert!(file.has_conflict);
        assert_eq!(shown(&file), ["p/a=\"2\" @8", "p/b=\"1\" @6", "p/c=\"3\" @10"]);
        assert_eq!(file.problems.len(), 2);
    }

    #[test]
    fn struck_out_values_are_retracted() {
        let file = FactsFile::read("- a: ~~x~~ y\n- b: ~~z~~\n- ~~c: w~~\n");
        let said = |key: &str| file.get("", key).map(|fact| (fact.text.clone(), fact.retracted.clone())).unwrap();
        assert_eq!(said("a"), ("y".into(), vec!["x".into()]));
        assert_eq!(said("b"), (String::new(), vec!["z".into()]));
        assert_eq!(said("c"), (String::new(), vec!["w".into()]));
        assert_eq!(file.get("", "b").unwrap().phase(0), None);
    }
}

#[cfg(test)]
mod tests_of_edits {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::base::chance::proptest_config;

    fn set(source: &str, namespace: &str, key: &str, value: Value) -> Result<String, ItemEditError> {
        let new = NewFact { value: &value, window: &Validity::default(), tags: None, is_correction: false };
        with_fact(source, namespace, key, &new)
    }

    fn with_fact(source: &str, namespace: &str, key: &str, new: &NewFact<'_>) -> Result<String, ItemEditError> {
        edited(source, &FactsFile::read(source), (namespace, key), &FactEdit::Set(new.clone()))
    }

    fn without_fact(source: &str, namespace: &str, key: &str) -> Result<String, ItemEditError> {
        edited(source, &FactsFile::read(source), (namespace, key), &FactEdit::Unset)
    }

    fn with_retraction(source: &str, namespace: &str, key: &str) -> Result<String, ItemEditError> {
        edited(source, &FactsFile::read(source), (namespace, key), &FactEdit::Retract)
    }

    const FILE: &str = "# Facts\n\nProse.\n\n## Project\n\nMore prose.\n\n- a: 1 #t\n- b: 2\n\nAfter.\n\n### Deep\n\n- c: 3\n\n## Other\n\n- d: 4\n";

    #[test]
    fn exactly_one_line_becomes_another() {
        assert_eq!(set(FILE, "project", "a", json!("9")).unwrap(), FILE.replace("- a: 1 #t", "- a: 9 #t"));
        assert_eq!(set(FILE, "project", "n", json!("x")).unwrap(), FILE.replace("- b: 2\n", "- b: 2\n- n: x\n"));
        assert_eq!(
            set(FILE, "project/deep", "n", json!(["x", "y"])).unwrap(),
            FILE.replace("- c: 3\n", "- c: 3\n- n: [x, y]\n")
        );
        assert_eq!(
            set(FILE, "project/new", "n", json!("x")).unwrap(),
            FILE.replace("\n## Other", "\n### new\n\n- n: x\n\n## Other")
        );
        assert_eq!(set(FILE, "new", "n", json!("x")).unwrap(), format!("{FILE}\n## new\n\n- n: x\n"));
        assert_eq!(set(FILE, "", "n", json!("x")).unwrap(), FILE.replace("Prose.\n", "Prose.\n\n- n: x\n"));
        assert_eq!(set("", "a/b", "n", json!("x")).unwrap(), "## a\n\n### b\n\n- n: x\n");
        let crlf = FILE.replace('\n', "\r\n");
        assert_eq!(set(&crlf, "project", "b", json!("9")).unwrap(), FILE.replace("b: 2", "b: 9").replace('\n', "\r\n"));
        assert_eq!(without_fact(FILE, "project", "b").unwrap(), FILE.replace("- b: 2\n", ""));
        let children = "## p\n\n- a: 1\n  - because\n\n  more\n- b: 2\n\n\n\n## q\n";
        assert_eq!(set(children, "p", "c", json!("3")).unwrap(), children.replace("- b: 2\n", "- b: 2\n- c: 3\n"));
        assert_eq!(without_fact(children, "p", "a"), Err(ItemEditError::Parent));
        let last = "## p\n\n- a: 1\n  - because\n";
        assert_eq!(set(last, "p", "c", json!("3")).unwrap(), format!("{last}- c: 3\n"));
        assert_eq!(with_retraction(FILE, "project", "a").unwrap(), FILE.replace("a: 1", "a: ~~1~~"));
    }

    #[test]
    fn a_correction_strikes_out_what_was_wrong() {
        let (value, window) = (json!("9"), Validity::default());
        let new = NewFact { value: &value, window: &window, tags: Some(&["x".to_owned()]), is_correction: true };
        assert_eq!(with_fact(FILE, "project", "a", &new).unwrap(), FILE.replace("a: 1 #t", "a: ~~1~~ 9 #x"));
        let named = "- a: 1 #t ^b-1\n";
        assert_eq!(with_fact(named, "", "a", &new).unwrap(), "- a: ~~1~~ 9 #x ^b-1\n");
        let again = with_retraction("- ~~a: 1~~ no\n", "", "a");
        assert_eq!(again, Err(ItemEditError::Absent("fact")));
        assert_eq!(set("- ~~a: 1~~ no\n", "", "a", json!("2")).unwrap(), "- a: 2\n");
    }

    #[test]
    fn values_that_are_meant_go_and_nothing_else() {
        let source = "## P\n\n- a: 1 #t\n  - because\n- a: x\n- b: ~~x~~ ~~y~~ 2 (from 2026-01-01)\n- c: ~~x~~\n- ~~d: x~~ no\n- e: xx\n";
        let left = "## P\n\n- a: 1 #t\n  - because\n- b: ~~y~~ 2 (from 2026-01-01)\n- e: xx\n";
        assert_eq!(without_values(source, |_, text| text == "x"), left);
        let without = "## P\n\n- b: ~~x~~ ~~y~~ 2 (from 2026-01-01)\n- c: ~~x~~\n- ~~d: x~~ no\n- e: xx\n";
        assert_eq!(without_values(source, |fact, _| fact.key == "a"), without);
        assert_eq!(without_values(source, |_, _| false), source);
        // What is true now stays, however what was struck out is written.
        let spread = "- a: ~~ x ~~ y\n- b: ~~z~~\n  ~~ x\n  y ~~ 1\n- c: ~~x~~ ~~z~~\n";
        assert_eq!(without_values(spread, |_, text| text == "x"), "- a: y\n- b: ~~z~~\n  ~~ x\n  y ~~ 1\n- c: ~~z~~\n");
        assert_eq!(without_values(spread, |_, text| text == "x y"), spread.replace("~~ x\n  y ~~ ", ""));
    }

    #[test]
    fn values_that_lie_in_one_another_go_together() {
        let source = "  - a: 1\n- b: x\n  - c: x\n- d: 2\n";
        assert_eq!(without_values(source, |_, text| text == "x"), "  - a: 1\n- d: 2\n");
        assert_eq!(without_values(source, |fact, _| fact.key == "c"), source.replace("  - c: x\n", ""));
    }

    #[test]
    fn what_is_for_a_person_is_left() {
        assert_eq!(
            set("<<<<<<< HEAD\n- a: 1\n=======\n- a: 2\n>>>>>>> x\n", "", "b", json!("1")),
            Err(ItemEditError::Conflict)
        );
        assert_eq!(set("- a: 1 %%why%%\n", "", "a", json!("1")), Err(ItemEditError::Mixed));
        assert_eq!(set("", "", "a b", json!("1")), Err(ItemEditError::Key));
        for namespace in ["A", "a//b", " a", "a\nb", "a#"] {
            assert_eq!(set("", namespace, "k", json!("1")), Err(ItemEditError::Namespace), "{namespace:?}");
        }
        assert_eq!(set("```\n- code: 1\n", "", "a", json!("1")), Err(ItemEditError::Unreadable));
    }

    proptest! {
        #![proptest_config(proptest_config(256))]

        #[test]
        fn without_any_value_the_rest_is_as_it_was(source in "(- [abc]: |[ ]{1,3}|~~|[xyz]|\n|## n\n|\r\n){0,30}") {
            let left = without_values(&source, |_, text| text == "x");
            let mut rest = source.chars();
            prop_assert!(left.chars().all(|c| rest.any(|of| of == c)), "{left:?}");
        }

        #[test]
        fn any_value_can_be_set_anywhere(source in "([-#*> ab:~`\\[\\]\n]|- a: 1\n|## n\n|\r\n){0,30}", value in "\\PC{0,12}", key in "[ab]") {
            if let Ok(text) = set(&source, "n", &key, json!(value)) {
                let file = FactsFile::read(&text);
                prop_assert_eq!(&file.get("n", &key).unwrap().value, &json!(value));
                let without = without_fact(&text, "n", &key);
                prop_assert!(without.is_err() || FactsFile::read(&without.unwrap()).get("n", &key).is_none_or(|fact| fact.value != json!(value)));
            }
        }
    }
}
