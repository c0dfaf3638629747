//! Blocks, headings, links, tags and comments.

use super::super::{BlockKind, LinkKind};
use super::{blocks, parse};
use BlockKind::*;

#[test]
fn every_kind_of_block_is_whole_lines() {
    let source = "\
# Title
Setext *two*
---

para one
still one
- a
  cont

  more of a
  - [x] a.1
- b
  ```
  code in b
  ```
1. - # deep

    > a quote
    lazy

> q1
>
> q2
> - item in q

> [!tip]- Folded
> text

| h | i |
|---|---|
| 1 | 2 |
| 3 | 4 |

```rust
fn x() {}

# not a heading
```

    indented

<div>
html
</div>

***
[ref]: https://x.org 'title'
[ref2]: /y

[^1]: foot
    note
-
";
    let note = parse(source);
    let found = blocks(source, &note);
    let expected = [
        (Heading(1), "# Title"),
        (Heading(2), "Setext *two*\n---"),
        (Paragraph, "para one\nstill one"),
        (ListItem, "- a\n  cont"),
        (ListItem, "  more of a"),
        (ListItem, "  - [x] a.1"),
        (ListItem, "- b"),
        (Code, "  ```\n  code in b\n  ```"),
        (ListItem, "1. - # deep"),
        (Quote, "    > a quote\n    lazy"),
        (Quote, "> q1\n>"),
        (Quote, "> q2"),
        (ListItem, "> - item in q"),
        (Callout, "> [!tip]- Folded\n> text"),
        (TableRow, "| h | i |\n|---|---|"),
        (TableRow, "| 1 | 2 |"),
        (TableRow, "| 3 | 4 |"),
        (Code, "```rust\nfn x() {}\n\n# not a heading\n```"),
        (Code, "    indented"),
        (Html, "<div>\nhtml\n</div>"),
        (Rule, "***"),
        (Other, "[ref]: https://x.org 'title'"),
        (Other, "[ref2]: /y"),
        (Footnote, "[^1]: foot\n    note"),
        (Other, "-"),
    ];
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
    let titles: Vec<_> = note.headings.iter().map(|h| (h.level, h.text.as_str(), h.line)).collect();
    assert_eq!(titles, [(1, "Title", 1), (2, "Setext two", 2)]);
}

#[test]
fn sections_and_heading_paths() {
    let source = "lead\n# A\na\n### B\nb\n## C\nc\n# D\nd\n> # in a quote\n\nstill d\n";
    let note = parse(source);
    let paths: Vec<(&str, String)> = note
        .blocks
        .iter()
        .map(|block| (&source[block.span.clone()], note.heading_path(block.section).join(" > ")))
        .collect();
    let paths: Vec<(&str, &str)> = paths.iter().map(|(text, path)| (*text, path.as_str())).collect();
    assert_eq!(
        paths,
        [
            ("lead", ""),
            ("# A", "A"),
            ("a", "A"),
            ("### B", "A > B"),
            ("b", "A > B"),
            ("## C", "A > C"),
            ("c", "A > C"),
            ("# D", "D"),
            ("d", "D"),
            ("> # in a quote", "D"),
            ("still d", "D"),
        ]
    );
    assert!(note.heading_path(None).is_empty() && note.heading_path(Some(99)).is_empty());
}

#[test]
fn headings_are_plain_text() {
    for (source, text) in [
        ("# A *b* `c` [d](e) [[f|g]] [[h]] ~~i~~ $j$ &amp; \\# ##", "A b c d g h i j & #"),
        ("#\n", ""),
        ("#   \t spaced \u{a0} out", "spaced out"),
        ("# a %%hidden%% b <!-- gone --> c", "a b c"),
        ("# 100% sure %%x%%", "100% sure"),
        ("# ünï #tag", "ünï #tag"),
        ("two\nlines\n===", "two lines"),
        ("# Option<Vec<u8>> and `Box<T>`", "Option<Vec<u8>> and Box<T>"),
        ("# Vec<T> <b>bold</b> <a id=\"x\"></a>x<br>y", "Vec<T> bold xy"),
    ] {
        assert_eq!(parse(source).headings[0].text, text, "{source}");
    }
}

#[test]
fn the_title_is_a_level_one_heading_that_is_the_first_block() {
    assert_eq!(parse("# Yes\n# No\n").title, "Yes");
    assert_eq!(parse("---\na: 1\n---\n\n%% mine %%\n<!-- x -->\nYes\n===\n").title, "Yes");
    for source in ["## Books\n\n# Clippings\n", "Clipped:\n\n# Clippings\n", "#\n# No\n", "> # No\n", "## only two\n"] {
        assert_eq!(parse(source).title, "stem", "{source}");
    }
    assert_eq!(parse("---\ntitle: 2024\n---\n# Heading\n").title, "2024");
    assert_eq!(parse("---\nTitle: ' From  front '\n---\n").title, "From front");
    assert_eq!(parse("---\ntitle: ''\n---\n# Heading\n").title, "Heading");
    assert_eq!(parse("---\ntitle: [a]\n---\n").title, "stem");
}

#[test]
fn links_of_every_kind() {
    let source = "[[a]] [[b#h|B *x*]] ![[c.png|100]] [[#here]] [[d#^id]]\n\
        [md](My%20n.md#s) ![alt](i.png) <https://x/#f> [r][ref] [![in](i)](out)\n\
        `[[code]]` %%[[hidden]]%% <!-- [[hidden]] --> \\[[no]] [[bro\nken]]\n\n\
        | [[t\\|T]] |\n|--|\n\n[ref]: /to#it\n";
    let note = parse(source);
    let found: Vec<_> = note
        .links
        .iter()
        .map(|l| (l.kind, l.target.as_str(), l.heading.as_deref(), l.block.as_deref(), l.text.as_deref(), l.line))
        .collect();
    use LinkKind::*;
    assert_eq!(
        found,
        [
            (Wiki, "a", None, None, None, 1),
            (Wiki, "b", Some("h"), None, Some("B x"), 1),
            (Embed, "c.png", None, None, Some("100"), 1),
            (Wiki, "", Some("here"), None, None, 1),
            (Wiki, "d", None, Some("id"), None, 1),
            (Markdown, "My n.md", Some("s"), None, Some("md"), 2),
            (Image, "i.png", None, None, Some("alt"), 2),
            (Markdown, "https://x/#f", None, None, Some("https://x/#f"), 2),
            (Markdown, "/to", Some("it"), None, Some("r"), 2),
            (Markdown, "out", None, None, Some("in"), 2),
            (Image, "i", None, None, Some("in"), 2),
            (Wiki, "t", None, None, Some("T"), 6),
        ]
    );
    assert_eq!(&source[note.links[1].span.clone()], "[[b#h|B *x*]]");
    assert!(note.tags.is_empty(), "{:?}", note.tags);
}

#[test]
fn tags_where_they_count_and_nowhere_else() {
    let source = "---\ntags: [One, '#two', 2024, 1.5, true, null, one]\ntag: three, four\n---\n\
        #Five and #six/seven_eight, **#bold** _#it_ ==#marked== [#in](link#no) (#par)\n\
        # heading #seen\n- #item\n> #quoted #FIVE\n\n| #cell |\n|--|\n\n[^1]: #foot\n\n\
        `#no` $#no$ %%#no%% <!-- #no --> [[x#no]] [[#no]] [[x|#no]] https://x/#no <https://x/(#no> a#no \\#no &#35;no\n\n\
        ```\n#no\n```\n\n    #no\n\n<p>\n#no\n</p>\n";
    let note = parse(source);
    assert_eq!(
        note.tags,
        [
            "One", "two", "2024", "1.5", "true", "three", "four", "Five", "six/seven_eight", "bold", "it", "marked",
            "in", "par", "seen", "item", "quoted", "cell", "foot"
        ]
    );
    assert!(!note.is_private());
}

#[test]
fn a_hash_without_a_blank_is_a_tag_and_no_heading() {
    let note = parse("#tag\n\n#also text\n");
    assert!(note.headings.is_empty());
    assert_eq!(note.tags, ["tag", "also"]);
}

#[test]
fn comments_are_seen_and_left_out() {
    let source = "a %%one #x [[y]]%% b\n\n%%\n# no heading\n\n```\nnot code\n%%\n\n# Yes %%two%%\n`%%` and `x%%`\n\n<!-- three -->\n\nc <!-- four --> d\n\n```\n%% code %%\n```\n%%é%% $e%%f%%$\n";
    let note = parse(source);
    let comments: Vec<&str> = note.comments.iter().map(|span| &source[span.clone()]).collect();
    assert_eq!(
        comments,
        [
            "%%one #x [[y]]%%", "%%\n# no heading\n\n```\nnot code\n%%", "%%two%%", "<!-- three -->", "<!-- four -->",
            "%%é%%"
        ]
    );
    assert_eq!(note.headings.len(), 1);
    assert_eq!(note.headings[0].text, "Yes");
    assert!(note.links.is_empty() && note.tags.is_empty() && note.problems.is_empty());
    assert_eq!(note.visible(source, 0..21), "a  b\n");
    assert_eq!(note.visible(source, 0..3), "a ");
    let hidden: Vec<&str> =
        blocks(source, &note).into_iter().filter(|(kind, _)| *kind == Comment).map(|(_, text)| text).collect();
    assert_eq!(hidden, ["%%\n# no heading\n\n```\nnot code\n%%", "<!-- three -->"]);
}

#[test]
fn a_comment_beside_text_does_not_move_it() {
    let source = "%% a comment longer than four %% text #tag\n\n> %% hidden %%\n> shown\n\n%% x %%\n---\n";
    let note = parse(source);
    assert_eq!(
        blocks(source, &note),
        [
            (Paragraph, "%% a comment longer than four %% text #tag"),
            (Quote, "> %% hidden %%\n> shown"),
            (Comment, "%% x %%"),
            (Rule, "---"),
        ]
    );
    assert_eq!(note.tags, ["tag"]);
}

#[test]
fn an_unclosed_comment_is_text_and_said_so() {
    let note = parse("# A\n%%\n# B #tag\n");
    assert_eq!((note.headings.len(), note.tags.len(), note.comments.len()), (2, 1, 0));
    assert_eq!(note.problems[0].line, Some(2));
    assert!(parse("100%% sure\n").problems.is_empty());
    let note = parse("# A\n<!-- open\n# B\n");
    assert_eq!((note.headings.len(), note.problems[0].line), (1, Some(2)));
}

#[test]
fn callouts_of_any_type_and_nesting() {
    let source = "> [!question]+ Can *callouts* nest?\n> > [!todo] Yes\n> > > plain\n";
    let note = parse(source);
    assert_eq!(
        blocks(source, &note),
        [(Callout, "> [!question]+ Can *callouts* nest?"), (Callout, "> > [!todo] Yes"), (Quote, "> > > plain"),]
    );
}

#[test]
fn crlf_and_lone_cr_give_the_same_note() {
    let source = "---\ntitle: T\ntags:\n  - a\n---\n# H #b\n\n%%\nc\n%%\n- x\n  - y [[z]]\n\n```\nk\n```\n";
    let unix = parse(source);
    for line_end in ["\r\n", "\r"] {
        let other = parse(&source.replace('\n', line_end));
        assert_eq!((&other.title, &other.tags, &other.metadata), (&unix.title, &unix.tags, &unix.metadata));
        let kinds = |note: &super::Note| -> Vec<_> {
            let line = |at| note.lines.line_of(at);
            note.blocks.iter().map(|b| (b.kind, line(b.span.start), line(b.span.end), b.section)).collect()
        };
        assert_eq!(kinds(&other), kinds(&unix), "{line_end:?}");
        assert_eq!(other.links[0].line, unix.links[0].line);
        assert_eq!(other.comments.len(), 1);
    }
}
