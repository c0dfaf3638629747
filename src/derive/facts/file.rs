//! The facts of a file: list items `- key: value` below headings.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;

use super::item::FactItem;
use super::value::read_value;
use super::window::{FactPhase, Validity};
use crate::derive::list_items::{CONFLICT, ListItem, list_items, without_conflict_marks};
use crate::note::{Note, Problem};

/// Maximum length of a value. What is longer is prose, and reported.
pub(crate) const MAX_VALUE_BYTES: usize = 64 * 1024;

/// A fact as it stands in its file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fact {
    /// The headings above it, but for the title, in lower case and joined by `/`; empty where there is none.
    pub(crate) namespace: String,
    /// Its key.
    pub(crate) key: String,
    /// Its value as it is written; empty where all that was said of it is struck out.
    pub(crate) text: String,
    /// The value, read: scalars are texts.
    pub(crate) value: Value,
    /// Values that were never true, as they were written.
    pub(crate) retracted: Vec<String>,
    /// From when and until when it says that it is true.
    pub(crate) window: Validity,
    /// Its own tags.
    pub(crate) tags: Vec<String>,
    /// 1-based line of its start.
    pub(crate) line: usize,
    /// 1-based line of its end.
    pub(crate) last_line: usize,
    /// The bytes of what is said of the key: value, window and what is struck out.
    pub(super) said: Range<usize>,
    /// The bytes of the whole item, its marker included.
    pub(super) span: Range<usize>,
    /// Whether a comment or a broken line stands in it, so that it is for a person alone to change.
    pub(super) is_mixed: bool,
}

impl Fact {
    /// Whether it says a value, or strikes it out.
    pub(crate) fn says(&self, value: &str) -> bool {
        self.retracted.iter().chain([&self.text]).any(|text| text == value)
    }

    /// Whether it is true at a moment, as far as it says so itself; `None` where it has no value.
    pub(crate) fn phase(&self, at: i64) -> Option<FactPhase> {
        (!self.text.is_empty()).then(|| self.window.phase(at))
    }
}

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
        let Some(found) = FactItem::read(item.text().trim_end()) else { return };
        let (line, last_line, is_mixed) = (item.line, item.last_line, item.is_mixed());
        let FactItem { key, retracted, value: text, window, tags, problem, said } = found;
        if text.len() > MAX_VALUE_BYTES {
            return self.report(
                Some(line),
                &format!("the value of `{key}` is longer than {MAX_VALUE_BYTES} bytes, and no fact"),
            );
        }
        if let Some(problem) = problem {
            self.report(Some(line), &format!("`{key}`: {problem}"));
        }
        let value = read_value(&text).unwrap_or_else(|reason| {
            self.report(Some(line), &format!("the value of `{key}` cannot be read: {reason}; it counts as text"));
            Value::String(text.clone())
        });
        let namespace = namespace(note, item.block.section);
        let at = self.facts.len();
        if let Some(before) = self.by_name.entry(namespace.clone()).or_default().insert(key.clone(), at) {
            let message = format!("`{key}` is also at line {}; the last one counts", self.facts[before].line);
            self.report(Some(line), &message);
        }
        let said = item.offset(said.start)..item.offset(said.end);
        let span = item.block.span.clone();
        self.facts.push(Fact {
            namespace,
            key,
            text,
            value,
            retracted,
            window,
            tags,
            line,
            last_line,
            said,
            span,
            is_mixed,
        });
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

    /// The facts of a namespace, by key.
    pub(crate) fn namespace(&self, namespace: &str) -> impl Iterator<Item = &Fact> {
        self.by_name.get(namespace).into_iter().flat_map(|keys| keys.values()).map(|at| &self.facts[*at])
    }

    /// The facts of a key, in whichever namespace.
    pub(crate) fn called<'f>(&'f self, key: &'f str) -> impl Iterator<Item = &'f Fact> {
        self.by_name.values().filter_map(move |keys| keys.get(key)).map(|at| &self.facts[*at])
    }

    /// How many lines are of a key.
    pub(crate) fn times(&self, namespace: &str, key: &str) -> usize {
        self.facts.iter().filter(|fact| fact.namespace == namespace && fact.key == key).count()
    }

    /// What each line says of a key, those that do not count, too.
    pub(super) fn lines(&self) -> impl Iterator<Item = &Fact> {
        self.facts.iter()
    }

    /// The last fact of a namespace in the file.
    pub(super) fn last_of(&self, namespace: &str) -> Option<&Fact> {
        self.facts.iter().rev().find(|fact| fact.namespace == namespace)
    }
}

/// The headings above a block, but for those of level 1.
pub(super) fn namespace(note: &Note, section: Option<usize>) -> String {
    let mut names = Vec::new();
    let mut at = section.and_then(|index| note.headings.get(index));
    while let Some(heading) = at {
        if heading.level > 1 {
            names.push(heading.text.trim().to_lowercase());
        }
        at = heading.parent.and_then(|index| note.headings.get(index));
    }
    names.reverse();
    names.join("/")
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
