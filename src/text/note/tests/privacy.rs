//! How notes are classed: every way of being private, ambiguous or broken. When in doubt, private.

use super::super::Visibility;
use super::parse;

#[test]
fn a_note_is_private_to_one_person_where_nothing_else_makes_it_private() {
    let to = |text: &str| {
        let note = parse(text);
        assert!(note.is_private(), "{text}");
        note.doubtful.iter().find_map(|mark| mark.strip_prefix("@private/")).map(str::to_owned)
    };
    assert_eq!(to("---\nprivate: maya\n---\nx").as_deref(), Some("maya"));
    assert_eq!(to("---\nprivate: ' Maya '\n---\nx").as_deref(), Some("maya"));
    for text in [
        "---\nprivate: true\n---\n",
        "---\nprivate: Yes\n---\n",
        "---\nprivate: [maya]\n---\n",
        "---\nprivate: maya\nmore: {private: true}\n---\n",
        "---\nmore: {private: maya}\n---\n",
        "---\nprivate: maya\nPrivate: sam\n---\n",
        "---\nprivate: maya\ntags: [private]\n---\n",
        "---\nprivate: maya\n---\n#private/x",
        "---\nprivate: maya\n---\n%% #private %%",
        "---\nprivate: maya\n",
        "\n---\nprivate: maya\n---\n",
    ] {
        assert_eq!(to(text), None, "{text}");
    }
    // Nobody writes the mark itself.
    for tags in ["[\"x @private/sam\"]", "{\"@Private/sam\": true}", "\"@private/sam\"", "a;@private/sam"] {
        assert_eq!(
            to(&format!("---\nprivate: true\ntags: {tags}\n---\n%% #@private/sam %% #@private/sam")),
            None,
            "{tags}"
        );
    }
}

#[test]
fn what_may_be_meant_as_a_tag_is_known() {
    for (text, doubtful) in [
        ("%% #health %%", &["health"][..]),
        ("<!-- #health/teeth -->", &["health/teeth"]),
        ("a <b id='#health'>x</b> $#work$", &["health", "work"]),
        ("tags:#health", &["health"]),
        ("\n---\ntags: [health]\n---\n", &["health"]),
        ("\n---\ntags: health\ntitle: [\n---\n", &["health", "title", "tags"]),
        ("---\ntags: {health: true, work: false}\n---\n", &["health"]),
        ("---\ntags: {a: [health]}\n---\n", &["a", "health"]),
        ("---\ntags: #health\n---\n", &["health"]),
        ("---\ntags: [a] # or #health\n---\n", &["health"]),
        ("---\ntags: [work health]\n---\n", &["work", "health"]),
        ("---\ntags: a;health\n---\n", &["a", "health"]),
        ("+++\n[meta]\ntags = ['health']\n+++\n", &["health"]),
        ("#health", &[]),
        ("---\ntags: [health]\n---\n%% #health %%", &[]),
        ("`#health` https://x.org/#health \\#health", &[]),
        ("---\n#health: true\n---\n", &[]),
        // What was captured is no comment of the person's.
        ("---\ntitle: About \\#1 and '#health'\nsource: me\n---\n", &["1", "health"]),
        ("---\ntitle: 'About #health'\nsource: capture\n---\n", &[]),
        ("---\ntitle: 'About #health' # #health\nsource: capture\n---\n", &["health"]),
    ] {
        let note = parse(text);
        let sorted = |tags: &[String]| {
            let mut tags: Vec<String> = tags.to_vec();
            tags.sort();
            tags
        };
        let expected: Vec<String> = doubtful.iter().map(|tag| (*tag).to_owned()).collect();
        assert_eq!(sorted(&note.doubtful), sorted(&expected), "{text:?}");
        let private = parse(&text.replace("health", "private"));
        assert_eq!(private.is_private(), !doubtful.is_empty() || private.tags.contains(&"private".into()), "{text:?}");
    }
}

#[test]
fn every_note_is_classed_as_it_should_be() {
    const PUBLIC: Visibility = Visibility::Public;
    const PROPERTY: Visibility = Visibility::Property;
    const TAG: Visibility = Visibility::Tag;
    const BROKEN: Visibility = Visibility::BrokenFrontmatter;
    const AMBIGUOUS: Visibility = Visibility::Ambiguous;
    let notes: &[(&str, Visibility)] = &[
        // Nothing says private.
        ("", PUBLIC),
        ("a note about private things", PUBLIC),
        ("---\ntitle: private\n---\n", PUBLIC),
        ("---\ntags: [privately, x/private]\n---\n", PUBLIC),
        ("#privately #not/private a#private #private-ish", PUBLIC),
        // The property, in every spelling.
        ("---\nprivate: true\n---\n", PROPERTY),
        ("---\nprivate: yes\n---\n", PROPERTY),
        ("---\nPrivate: YES\n---\n", PROPERTY),
        ("---\nPRIVATE: On\n---\n", PROPERTY),
        ("---\nprivate: 1\n---\n", PROPERTY),
        ("---\nprivate: 'true'\n---\n", PROPERTY),
        ("---\n\"private\": \"yes\"\n---\n", PROPERTY),
        ("---\n' private ': y\n---\n", PROPERTY),
        ("---\nprivate: maybe\n---\n", PROPERTY),
        ("---\nprivate: [false]\n---\n", PROPERTY),
        ("---\nprivate: {}\n---\n", PROPERTY),
        ("---\nprivate: !!str true\n---\n", PROPERTY),
        ("---\nprivate: .nan\n---\n", PROPERTY),
        ("---\nprivate: 99999999999999999999\n---\n", PROPERTY),
        ("---\nx: &x true\nprivate: *x\n---\n", PROPERTY),
        ("---\nbase: {a: &b {private: true}}\n<<: *b\n---\n", PROPERTY),
        ("---\nprivate: false\nPrivate: true\n---\n", PROPERTY),
        ("---\nmeta: {private: true}\n---\n", PROPERTY),
        ("---\nlist:\n  - private: yes\n---\n", PROPERTY),
        ("\u{feff}---\nprivate: true\n---\n", PROPERTY),
        ("---\r\nprivate: yes\r\n---\r\n", PROPERTY),
        ("---\rprivate: yes\r---\r", PROPERTY),
        ("--- \nprivate: true\n---\t\n", PROPERTY),
        ("---\n{private: true}\n---\n", PROPERTY),
        ("+++\nprivate = true\n+++\n", PROPERTY),
        ("+++\nprivate = 'no way'\n+++\n", PROPERTY),
        ("+++\n[params]\nprivate = 1\n+++\n", PROPERTY),
        // The property, clearly false.
        ("---\nprivate: false\n---\n", PUBLIC),
        ("---\nprivate: No\n---\n", PUBLIC),
        ("---\nprivate: off\n---\n", PUBLIC),
        ("---\nprivate: 0\n---\n", PUBLIC),
        ("---\nprivate: \"False\"\n---\n", PUBLIC),
        ("---\nprivate:\n---\n", PUBLIC),
        ("---\nprivate: ''\n---\n", PUBLIC),
        ("+++\nprivate = false\n+++\n", PUBLIC),
        ("---\n#private: true\n---\n", PUBLIC),
        // The tag.
        ("---\ntags: private\n---\n", TAG),
        ("---\ntags: [a, Private]\n---\n", TAG),
        ("---\ntags:\n  - private/x\n---\n", TAG),
        ("---\ntags: ['#private']\n---\n", TAG),
        ("---\nTag: 'work, private'\n---\n", TAG),
        ("---\ntags: [['private']]\n---\n", TAG),
        ("---\ntags: ['private, work']\n---\n", TAG),
        ("+++\ntags = ['private']\n+++\n", TAG),
        ("text #private text", TAG),
        ("#PRIVATE/health", TAG),
        ("# Heading #private", TAG),
        ("- item (#private)", TAG),
        ("> **#private**", TAG),
        ("| a |\n|--|\n| #private |", TAG),
        ("[#private](x)", TAG),
        // Code and links say nothing.
        ("`#private`", PUBLIC),
        ("```\n#private\n```", PUBLIC),
        ("    #private", PUBLIC),
        ("[[note#private]] https://x.org/#private [x](y#private)", PUBLIC),
        ("\\#private", PUBLIC),
        // Said, but not where it counts.
        ("%% #private %%", AMBIGUOUS),
        ("%%\n#private\n%%\n", AMBIGUOUS),
        ("<!-- #private -->", AMBIGUOUS),
        ("a <!-- #private --> b", AMBIGUOUS),
        ("<div>\n#private\n</div>", AMBIGUOUS),
        ("$5 for #private or 6$", AMBIGUOUS),
        ("-#private", AMBIGUOUS),
        ("tags:#private", AMBIGUOUS),
        ("---\ntags: #private\n---\n", AMBIGUOUS),
        ("---\ntags:\n  - #Private/x\n---\n", AMBIGUOUS),
        ("---\ntags: #private work\n---\n", AMBIGUOUS),
        ("\n---\nprivate: true\n---\n", AMBIGUOUS),
        (" ---\n private: true\n ---\n", AMBIGUOUS),
        ("\u{200b}---\ntags: [private]\n---\n", AMBIGUOUS),
        ("—\nprivate: true\n—\n", AMBIGUOUS),
        ("----\nprivate: true\n----\n", AMBIGUOUS),
        ("---yaml\nprivate: true\n---\n", AMBIGUOUS),
        ("\n+++\nprivate = true\n+++\n", AMBIGUOUS),
        ("\n---\nprivate: true\ntitle: [\n---\n", AMBIGUOUS),
        ("\n---\nprivate: no\n---\n", PUBLIC),
        ("\n---\nwords\n---\n", PUBLIC),
        // Broken.
        ("---\nprivate: true\n", BROKEN),
        ("---\ntitle: x\n\n# Heading\n", BROKEN),
        ("---\n", BROKEN),
        ("+++\ntitle = 'x'\n", BROKEN),
        ("---\ntitle: x\n...\n", BROKEN),
        ("---\nprivate: false\nprivate: true\n---\n", BROKEN),
        ("---\na: 1\na: 1\n---\n", BROKEN),
        ("---\nm: {a: 1, a: 2}\n---\n", BROKEN),
        ("---\n1: a\n'1': b\n---\n", BROKEN),
        ("+++\na = 1\na = 2\n+++\n", BROKEN),
        ("---\ntitle: [unclosed\n---\n", BROKEN),
        ("---\ntitle: a: b\n---\n", BROKEN),
        ("---\ntags: [#private, x]\n---\n", BROKEN),
        ("---\nprose between rules\n---\n", BROKEN),
        ("---\n- private\n---\n", BROKEN),
        ("\u{feff}---\r\nprivate: [\r\n---\r\n", BROKEN),
        ("---\na: 1\n--- \u{0}\n", BROKEN),
    ];
    for (source, expected) in notes {
        let note = parse(source);
        assert_eq!(note.visibility, *expected, "{source:?}");
    }
    assert!(notes.len() >= 30);
}

#[test]
fn doubts_in_the_frontmatter_are_told() {
    for source in ["---\na: b\ntags: #private\n---\n", "\n\n---\nprivate: true\n---\n"] {
        let note = parse(source);
        assert_eq!(note.problems.len(), 1, "{source:?}");
        assert_eq!(note.problems[0].line, Some(3), "{source:?}");
    }
}
