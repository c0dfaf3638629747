//! Input made to hurt. A debug build is ten times slower than a release one, so the bounds here only catch what is
//! quadratic or worse.

use super::super::{Note, Visibility};
use super::{check, parse};
use std::time::{Duration, Instant};

const BROKEN: Visibility = Visibility::BrokenFrontmatter;

fn timed(name: &str, source: &str) -> Note {
    let start = Instant::now();
    let note = Note::parse(source, "stem");
    let took = start.elapsed();
    check(source, &note);
    assert!(took < Duration::from_secs(10), "{name}: {took:?} for {} bytes", source.len());
    note
}

#[test]
fn nothing_and_next_to_nothing() {
    for source in [
        "", "\u{feff}", "\u{feff}\u{feff}", "\0", "\r", "\n", " ", "#", "%%", "%%%", "<!--", "---", "+++", "[[",
        "\u{a0}",
    ] {
        parse(source);
    }
    assert_eq!(parse("").title, "stem");
    let nul = parse("a\0b #t\0u\n");
    assert_eq!(nul.tags, ["t"]);
}

#[test]
fn one_token_a_million_times() {
    let tokens = [
        "a", "[", "![", "[[", "![[", "[[a|", "[[a]]", "*", "**a", "_a ", "`", "``a`", ">", "> ", "- ", "1. ", "%%",
        "%% ", "#a ", "#", "a#b ", "# \n", "$", "<", "<!--", "<!-- -->", "[^a]: ", "[a]: b\n", "|", "\\", "&", "](",
        "![x](y)", "\r", "\n", "\t- ", "```\n", "%%```%%\n", "://#", "—", "\u{3000}", "- \n", ">\n",
    ];
    for token in tokens {
        timed(token, &token.repeat(1_000_000 / token.len()));
    }
}

#[test]
fn a_line_of_five_megabytes() {
    let note = timed("words", &"word #tag ".repeat(500_000));
    assert_eq!((note.blocks.len(), note.tags.len()), (1, 1));
}

#[test]
fn ten_thousand_empty_headings() {
    let note = timed("headings", &"#\n".repeat(10_000));
    assert_eq!((note.headings.len(), note.blocks.len()), (10_000, 10_000));
    assert_eq!(note.title, "stem");
}

#[test]
fn deep_nesting_above_many_lines_is_not_quadratic() {
    // Unmasked, pulldown-cmark needs three minutes for each of these.
    for marker in ["- ", "> ", "1. ", "[^a]: ", ">- ", "\t- "] {
        for line in ["a\n", "|\n", "\n", "[a]: b\n"] {
            let deep = marker.repeat(500_000 / marker.len());
            timed(marker, &format!("{deep}a\n{}", line.repeat(500_000 / line.len())));
        }
    }
    let mut stairs = String::new();
    for depth in 0..1_000 {
        stairs.push_str(&" ".repeat(depth * 2));
        stairs.push_str("- a\n");
    }
    timed("stairs", &format!("{stairs}{}", "a\n".repeat(500_000)));
}

#[test]
fn nesting_as_people_have_it_is_untouched() {
    let list: String = (0..20).map(|depth| format!("{}- item #t{depth}x\n", "\t".repeat(depth))).collect();
    let note = parse(&list);
    assert_eq!((note.blocks.len(), note.tags.len()), (20, 20));
    assert!(note.blocks.iter().all(|block| block.kind == super::BlockKind::ListItem));
}

#[test]
fn yaml_made_to_explode_costs_nothing() {
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for n in 1..20 {
        let before = n - 1;
        laughs.push_str(&format!("a{n}: &a{n} [{}]\n", vec![format!("*a{before}"); 9].join(", ")));
    }
    // Few jumps, but each to much: serde_norway's own limit lets it pass.
    let wide = format!("a: &a [{}]\nb: [{}]\n", "x,".repeat(10_000), "*a,".repeat(10_000));
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(30_000), "*a,".repeat(10_000));
    // A mapping as a key becomes JSON text, whose quotes and backslashes double with every level.
    let keys = format!("{}a{}: 1\n", "{".repeat(100), "}".repeat(100));
    for yaml in [laughs, wide, long, keys] {
        let note = timed("aliases", &format!("---\n{yaml}---\nbody\n"));
        assert_eq!(note.visibility, BROKEN);
        assert!(note.problems[0].message.len() < 1_000);
    }
}

#[test]
fn yaml_and_toml_nested_or_repeated_cost_little() {
    for token in [
        "[", "{", "- ", "? ", "a: ", "&a ", "*a ", "!x ", "\"", "'", "|", "[a, ", "[\"]\" ,", "{a: ", "a:\n", "#", "%",
        "<<: ", "\t", "[[a]]\n", "a.", "[a.",
    ] {
        for (open, close) in
            [("---\n", "\n---\n"), ("---\nk: ", "\n---\n"), ("+++\n", "\n+++\n"), ("+++\nk = ", "\n+++\n")]
        {
            timed(token, &format!("{open}{}{close}body\n", token.repeat(60_000 / token.len())));
        }
    }
    let keys: String = (0..6_000).map(|n| format!("k{n}: 1\n")).collect();
    let note = timed("keys", &format!("---\n{keys}---\n"));
    assert_eq!(note.metadata.len(), 6_000);
}

#[test]
fn frontmatter_past_the_limit_is_body() {
    let source = format!("---\n{}---\n# H\n", "key: value\n".repeat(7_000));
    let note = timed("large", &source);
    assert_eq!(note.visibility, BROKEN);
    assert_eq!(note.body.start, 4);
    assert!(note.headings.iter().any(|heading| heading.text == "H"));
}

#[test]
fn too_much_markdown_is_read_as_far_as_memory_lets_it_and_kept_from_agents() {
    for mark in ["[", "#\n", "[[a]] ", "*a", "|a|b|\n", "-\n"] {
        let text = format!("# First\n\n{}\n\n#private and last\n", mark.repeat(9_000_000 / mark.len()));
        let note = Note::parse(&text, "stem");
        assert_eq!((note.title.as_str(), note.visibility), ("First", Visibility::Ambiguous), "{mark:?}");
        let said = &note.problems[0];
        assert!(said.message.starts_with("too much Markdown from here on") && said.line.is_some(), "{said:?}");
        let end = note.blocks.last().unwrap().span.end;
        assert!(end < text.len() - 1000 && note.blocks.len() <= 1_000_001, "{mark:?}: {end}");
    }
    // As much prose is read whole.
    let text = "Some words of *prose*, and [a link](to/it), on a line that is as long as lines are.\n".repeat(110_000);
    assert!(parse(&text).problems.is_empty());
}

#[test]
fn a_note_with_too_many_tags_is_kept_from_agents() {
    let text: String = (0..10_001).map(|at| format!("#t{at} ")).collect();
    let note = parse(&text);
    assert_eq!((note.tags.len(), note.visibility), (10_000, Visibility::Ambiguous));
    assert!(note.problems[0].message.starts_with("too many tags"), "{:?}", note.problems);
    assert_eq!(parse(text.split_once(' ').unwrap().1).visibility, Visibility::Public);
}
