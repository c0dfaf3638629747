//! Holds the documentation together: every page is in the index, no link leads nowhere, the README stays short, and
//! what is said of messages is what they say.
//!
//! Reads the pages as text. The pages that are made of the code are held in
//! `tests/main/docs`, the module table in `tests/architecture.rs`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

/// Folders with pages that are not ours.
const FOREIGN: [&str; 3] = ["target", "node_modules", "corpus"];

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    let mut links_seen = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page is text");
        for (line, target) in links(&text) {
            links_seen += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let there = if file.is_empty() { page.clone() } else { page.with_file_name("").join(file) };
            let found = if anchor.is_empty() || there.extension().is_none_or(|extension| extension != "md") {
                there.exists()
            } else {
                fs::read_to_string(&there).is_ok_and(|text| anchors(&text).contains(anchor))
            };
            if !found {
                broken.push(format!("{}:{line}: {target}", page.display()));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new(), "links that lead nowhere");
    assert!(links_seen > 100, "{links_seen}");
}

/// A file that was renamed is named anew where the architecture tells of it.
#[test]
fn the_files_that_the_architecture_names_are_there() {
    let there: Vec<PathBuf> =
        ["src", "tests", "benches", "fuzz"].iter().flat_map(|f| files(&root().join(f), ".rs")).collect();
    let mut named = 0;
    let mut gone = Vec::new();
    for page in pages().iter().filter(|page| page.to_string_lossy().contains("docs/architecture")) {
        let text = fs::read_to_string(page).expect("a page is text");
        for word in
            text.split('`').skip(1).step_by(2).filter(|word| word.ends_with(".rs") && !word.contains(['*', '{', ' ']))
        {
            named += 1;
            if !there.iter().any(|file| file.ends_with(word)) {
                gone.push(format!("{}: {word}", page.display()));
            }
        }
    }
    assert_eq!(gone, Vec::<String>::new(), "files that are not there");
    assert!(named > 50, "{named}");
}

#[test]
fn every_page_is_in_the_index() {
    let docs = root().join("docs");
    let index = fs::read_to_string(docs.join("README.md")).expect("docs/ has an index");
    let there = |target: &str| docs.join(target.split('#').next().unwrap_or_default()).canonicalize();
    let listed: BTreeSet<PathBuf> = links(&index).iter().filter_map(|(_, target)| there(target).ok()).collect();
    let missing: Vec<PathBuf> = pages()
        .into_iter()
        .filter(|page| page.starts_with(&docs) && *page != docs.join("README.md"))
        .filter(|page| !listed.contains(&page.canonicalize().expect("it is there")))
        .collect();
    assert_eq!(missing, Vec::<PathBuf>::new(), "pages that docs/README.md does not name");
}

/// It is the way in: what is longer belongs to a page of `docs/`.
#[test]
fn the_readme_is_short() {
    let lines = fs::read_to_string(root().join("README.md")).expect("there is a README").lines().count();
    assert!(lines <= 180, "README.md has {lines} lines");
}

/// Who looks for a message finds it as the program says it.
#[test]
fn what_troubleshooting_quotes_is_said_by_the_program() {
    let said: String = files(&root().join("src"), ".rs")
        .iter()
        .map(|path| fs::read_to_string(path).expect("a source is text"))
        .map(|text| text.split("\\\n").map(str::trim_start).collect::<String>())
        .collect();
    let page = fs::read_to_string(root().join("docs/troubleshooting.md")).expect("the page is there");
    let mut unsaid = Vec::new();
    let mut quotes = 0;
    for row in page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| what you see")) {
        let symptom = row.split(" | ").next().unwrap_or_default();
        let quoted = symptom.split('`').skip(1).step_by(2).filter(|text| !text.starts_with("vault "));
        for part in quoted.flat_map(|text| text.split('…')).map(str::trim).filter(|part| !part.is_empty()) {
            quotes += 1;
            if !said.contains(part) {
                unsaid.push(part.to_owned());
            }
        }
    }
    assert_eq!(unsaid, Vec::<String>::new(), "docs/troubleshooting.md quotes what no source says");
    assert!(quotes > 40, "{quotes}");
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All pages of the repository.
fn pages() -> Vec<PathBuf> {
    files(root(), ".md")
}

/// The files below a folder whose names end so.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let counts = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() == 0 || !name.starts_with('.') && !FOREIGN.contains(&&*name)
    };
    let entries = WalkDir::new(folder).into_iter().filter_entry(counts).map(|entry| entry.expect("it can be listed"));
    let files = entries.filter(|entry| !entry.file_type().is_dir()).map(DirEntry::into_path);
    let mut files: Vec<PathBuf> = files.filter(|path| path.to_string_lossy().ends_with(end)).collect();
    files.sort();
    files
}

/// The text of a page outside of fenced code, line by line.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && !line.starts_with("    ") {
            lines.push((at + 1, line));
        }
    }
    lines
}

/// The relative links of a page, with their lines.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (line, text) in prose(text) {
        // Code is no link.
        let shown: String = text.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for part in shown.split("](").skip(1) {
            let target = part.split([')', ' ']).next().unwrap_or_default();
            if !target.contains(':') {
                links.push((line, target.to_owned()));
            }
        }
    }
    links
}

/// The anchors that a page's headings make, as the usual renderers name them.
fn anchors(text: &str) -> BTreeSet<String> {
    let kept = |character: &char| character.is_alphanumeric() || ['_', ' ', '-'].contains(character);
    prose(text)
        .into_iter()
        .filter(|(_, line)| line.starts_with('#'))
        .map(|(_, line)| {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            heading.chars().filter(kept).map(|character| if character == ' ' { '-' } else { character }).collect()
        })
        .collect()
}
