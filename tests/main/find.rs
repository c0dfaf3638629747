//! Notes, headings and tags are found by their names, as one types.

use memory_vault::serve::wire::{FindParams, NameKind, NameView};

use crate::support::prelude::*;

fn vault() -> TestVault {
    let mut vault = TestVault::new();
    vault
        .write("notes/Bread.md", "---\naliases: [Daily Loaf]\ntags: [food/bread]\nupdated: 2026-01-02\n---\n# Bread\n\nFlour.\n\n## Crust and crumb\n\nHot.\n")
        .write("notes/bread and butter.md", "---\ntags: [Food, food]\nupdated: 2026-01-04\n---\nOf salt.\n")
        .write("work/meeting notes.md", "---\nupdated: 2026-01-03\n---\n# Minutes of the board\n\n## Budget\n\nLess.\n\n## Crumbs\n\nMore.\n")
        .write("work/C#.md", "---\nupdated: 2026-01-01\n---\n# C#\n\n## Crêpes\n\nNo.\n")
        .sync();
    vault
}

fn asked(vault: &TestVault, q: &str, kind: Option<NameKind>) -> Vec<NameView> {
    notes::find(&vault.owner(), &FindParams { q: q.into(), kind, limit: None }).unwrap().results
}

fn paths(vault: &TestVault, q: &str) -> Vec<String> {
    asked(vault, q, None).into_iter().filter_map(|name| name.path).collect()
}

#[test]
fn a_note_is_found_by_title_file_name_alias_and_path() {
    let vault = vault();
    assert_eq!(paths(&vault, "bread"), ["notes/Bread.md", "notes/bread and butter.md"], "the name itself first");
    assert_eq!(paths(&vault, "brea"), ["notes/bread and butter.md", "notes/Bread.md"], "then the newest");
    assert_eq!(paths(&vault, "butter br"), ["notes/bread and butter.md"], "words in any order");
    assert_eq!(paths(&vault, "board min"), ["work/meeting notes.md"], "by its title");
    assert_eq!(paths(&vault, "MEETING"), ["work/meeting notes.md"], "by its file's name");
    assert_eq!(paths(&vault, "work/"), ["work/meeting notes.md", "work/C#.md"], "by its path");
    assert_eq!(paths(&vault, "notes/Bread.md"), ["notes/Bread.md"]);
    assert_eq!(paths(&vault, "meetign"), ["work/meeting notes.md"], "with a slip");
    assert_eq!(paths(&vault, "buttre bread"), ["notes/bread and butter.md"]);
    assert_eq!(paths(&vault, "mnts"), ["work/meeting notes.md"], "by some letters");
    assert_eq!(paths(&vault, "zeppelin"), [""; 0]);
    let loaf = asked(&vault, "daily lo", None);
    assert_eq!((loaf.len(), loaf[0].title.as_str(), loaf[0].alias.as_deref()), (1, "Bread", Some("Daily Loaf")));
    assert_eq!(asked(&vault, "bread", None)[0].alias, None);
    let newest = ["notes/bread and butter.md", "work/meeting notes.md", "notes/Bread.md", "work/C#.md"];
    assert_eq!(paths(&vault, ""), newest, "the newest, where nothing is typed");
}

#[test]
fn headings_are_found_in_all_notes_and_in_one() {
    let vault = vault();
    let headings = |q: &str, kind| -> Vec<String> {
        let found = asked(&vault, q, kind).into_iter().filter(|name| name.kind == NameKind::Heading);
        found.map(|name| format!("{} {}", name.title, name.line.unwrap())).collect()
    };
    assert_eq!(headings("#crumb", None), ["Crumbs 10", "Crust and crumb 10"], "a start, a word");
    assert_eq!(headings("budg", Some(NameKind::Heading)), ["Budget 6"]);
    assert_eq!(headings("bread#", None), ["Bread 6", "Crust and crumb 10"]);
    assert_eq!(headings("work/meeting notes.md#bud", None), ["Budget 6"]);
    assert_eq!(headings("c#crepes", None), ["Crêpes 6"]);
    assert_eq!(paths(&vault, "c#")[0], "work/C#.md", "a name may have the sign");
    assert!(headings("zeppelin#a", None).is_empty() && headings("#", None).is_empty());
}

#[test]
fn tags_are_found_as_most_notes_write_them() {
    let vault = vault();
    let tags = |q: &str| -> Vec<String> {
        asked(&vault, q, Some(NameKind::Tag)).into_iter().filter_map(|name| name.tag).collect()
    };
    assert_eq!(tags("fo"), ["Food", "food/bread"]);
    assert_eq!(tags("#bread"), ["food/bread"]);
    assert_eq!(asked(&vault, "#food", None)[0].kind, NameKind::Tag);
    assert_eq!(tags("zeppelin"), [""; 0]);
}
