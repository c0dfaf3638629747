//! Frontmatter: metadata, fields, and what is broken.

use super::super::{BlockKind, Visibility};
use super::{blocks, parse};
use serde_json::json;

const BROKEN: Visibility = Visibility::BrokenFrontmatter;

#[test]
fn yaml_becomes_json_in_the_order_written() {
    let note = parse(
        "---\nzeta: 1\nalpha: {b: [x, 2, 1.5, null, yes], a: ~}\ndate: 2024-01-05\n1: one\ntrue: t\nbig: 99999999999999999999\n\
         text: |\n  two\n  lines\nbase: &b {k: v, w: 1}\nderived:\n  <<: *b\n  w: 2\ntagged: !x y\nnan: .nan\n---\nbody",
    );
    let metadata = serde_json::to_string(&note.metadata).expect("JSON");
    assert_eq!(
        metadata,
        r#"{"zeta":1,"alpha":{"b":["x",2,1.5,null,"yes"],"a":null},"date":"2024-01-05","1":"one","true":"t","big":"99999999999999999999","text":"two\nlines\n","base":{"k":"v","w":1},"derived":{"w":2,"k":"v"},"tagged":"y","nan":"NaN"}"#
    );
    assert_eq!(note.created.map(|t| t.to_string()).as_deref(), Some("2024-01-05T00:00:00Z"));
    assert!(note.problems.is_empty(), "{:?}", note.problems);
}

#[test]
fn toml_becomes_json() {
    let source =
        "+++\ntitle = 'T'\ndate = 2024-01-05T10:00:00+01:00\ntags = ['a', 'b']\n[x]\ny = 1\nz = nan\n+++\n# H\n";
    let note = parse(source);
    assert_eq!(note.metadata["x"], json!({"y": 1, "z": "NaN"}));
    assert_eq!((note.title.as_str(), note.tags.len()), ("T", 2));
    assert_eq!(note.created.map(|t| t.to_string()).as_deref(), Some("2024-01-05T09:00:00Z"));
    assert_eq!(&source[note.body.clone()], "# H\n");
}

#[test]
fn frontmatter_by_the_letter() {
    for (source, body) in [
        ("---\na: 1\n---\nbody", "body"),
        ("\u{feff}---\na: 1\n---\nbody", "body"),
        ("---  \t\r\na: 1\r\n--- \r\nbody", "body"),
        ("---\ra: 1\r---\rbody", "body"),
        ("---\n  a: 1\n  b: 2\n---\nbody", "body"),
        ("---\n{\"a\": 1}\n---\nbody", "body"),
        ("---\na: 1\n---", ""),
    ] {
        let note = parse(source);
        assert_eq!(note.metadata["a"], 1, "{source:?}");
        assert_eq!(&source[note.body.clone()], body, "{source:?}");
    }
    for source in ["---\n---\nbody", "---\n\n---\nbody", "---\n# only a comment\n---\nbody", "body", "\u{feff}body"] {
        let note = parse(source);
        assert_eq!(&source[note.body.clone()], "body", "{source:?}");
        assert!(note.metadata.is_empty() && !note.is_private() && note.problems.is_empty());
    }
    for source in ["----\na: 1\n----\n", " ---\na: 1\n---\n", "text\n---\na: 1\n---\n", "--- a\n", ""] {
        let note = parse(source);
        assert!(note.metadata.is_empty() && !note.is_private(), "{source:?}");
    }
}

#[test]
fn broken_frontmatter_is_private_and_still_found() {
    for (source, line, text) in [
        ("---\na: 1\nno end\n\n# H\n", Some(1), "a: 1\nno end"),
        ("---", Some(1), ""),
        ("+++\na = 1\n---\n", Some(1), "a = 1\n---"),
        ("---\na: [1\n---\nbody\n", None, "a: [1"),
        ("---\na: 1\nb: 2\na: 3\n---\nbody\n", Some(4), "a: 1"),
        ("+++\na = 1\na = 2\n+++\nbody\n", Some(3), "a = 1"),
        ("+++\na = \n+++\nbody\n", Some(2), "a ="),
        ("---\njust prose\n---\nbody\n", Some(1), "just prose"),
        ("---\n- a\n- list\n---\nbody\n", Some(1), "- a"),
        ("---\na: 1\n...\ntext\n---\nbody\n", None, "a: 1"),
        ("---\na: *nowhere\n---\n", Some(2), "a: *nowhere"),
        ("---\n\ttab: 1\n---\n", Some(2), "\ttab: 1"),
        ("---\na: \u{0}\n---\n", None, "a: \u{0}"),
    ] {
        let note = parse(source);
        assert_eq!(note.visibility, BROKEN, "{source:?}");
        assert_eq!(note.problems.len(), 1, "{source:?}: {:?}", note.problems);
        if line.is_some() {
            assert_eq!(note.problems[0].line, line, "{source:?}: {:?}", note.problems);
        }
        let first = blocks(source, &note).first().map_or("", |(_, text)| *text);
        assert_eq!(first, text, "{source:?}");
    }
}

#[test]
fn what_is_closed_but_unreadable_is_body_but_not_markdown() {
    let source = "---\ntitle: [x\ntags: #y\n---\n# H\n";
    let note = parse(source);
    assert_eq!(
        blocks(source, &note),
        [
            (BlockKind::Other, "title: [x"),
            (BlockKind::Other, "tags: #y"),
            (BlockKind::Other, "---"),
            (BlockKind::Heading(1), "# H"),
        ]
    );
    assert!(note.tags.is_empty());
}

#[test]
fn dates_that_are_none_are_problems() {
    let note = parse("---\ntitle: x\ncreated: soon\ndate: 2024-01-05\nupdated:\nmodified: ''\n---\n");
    assert_eq!(note.created.map(|t| t.to_string()).as_deref(), Some("2024-01-05T00:00:00Z"));
    assert_eq!(note.updated, None);
    assert_eq!(note.problems.len(), 1);
    assert_eq!(note.problems[0].line, Some(3));
    assert!(note.problems[0].message.contains("soon") && !note.is_private());
}

#[test]
fn a_template_is_not_broken() {
    let note = parse("---\ncreated: {{date}}\ntitle: x\n---\n");
    assert_eq!((note.title.as_str(), note.is_private(), note.problems.len()), ("x", false, 1));
}

#[test]
fn tags_and_aliases_in_every_shape() {
    for (yaml, tags) in [
        ("tags: a", vec!["a"]),
        ("tags: a, b c", vec!["a", "b", "c"]),
        ("TAGS: [a, [b, ['#c']], '#d/e/', '', ~]", vec!["a", "b", "c", "d/e"]),
        ("tags: 2024", vec!["2024"]),
        ("tag: [x, X]\ntags: y", vec!["y", "x"]),
        ("tags:", vec![]),
        ("tags: {a: 1}", vec![]),
    ] {
        assert_eq!(parse(&format!("---\n{yaml}\n---\n")).tags, tags, "{yaml}");
    }
    assert_eq!(parse("---\ntags: {a: 1}\n---\n").problems[0].line, Some(2));
    let note = parse("---\naliases: [One two, 3, One two]\nalias: four, five six\n---\n");
    assert_eq!(note.aliases, ["One two", "3", "four", "five six"]);
}
