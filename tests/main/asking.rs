//! The ways in which people ask.

use crate::support::prelude::*;

const MODES: [Mode; 3] = [Mode::Keyword, Mode::Semantic, Mode::Hybrid];

fn found(vault: &TestVault, mode: Mode, query: &str) -> Vec<String> {
    let found = vault.search_by(mode, query);
    let mut paths: Vec<String> = found.paths().into_iter().map(str::to_owned).collect();
    paths.dedup();
    paths
}

fn vault() -> TestVault {
    let mut vault = TestVault::new().with("notes/bike.md", "# Bicycle cellar\n\nThe bicycle is in the cellar.\n");
    vault.write("notes/magic.md", "# Magic\n\nA thaumaturgist does thaumaturgical things.\n");
    vault.write("notes/tea.md", "# Tea\n\nGreen tea in the morning.\n");
    vault.touch("notes/tea.md", 1_700_000_000).touch("notes/magic.md", 1_600_000_000).sync();
    vault
}

#[test]
fn what_is_left_out_and_what_is_quoted_counts() {
    let vault = vault();
    // What is not wanted is never listed.
    for mode in MODES {
        let left = found(&vault, mode, "-cellar -bicycle");
        assert_eq!(left, ["notes/tea.md", "notes/magic.md"], "{mode:?}: the newest first");
        assert_eq!(found(&vault, mode, "-\"green tea\" -thaumaturgist -nothing"), ["notes/bike.md"], "{mode:?}");
    }
    // A word in quotes is there, or nothing is.
    for mode in MODES {
        assert!(found(&vault, mode, "\"thaumaturgic\"").is_empty(), "{mode:?}");
        assert_eq!(found(&vault, mode, "\"thaumaturgical\""), ["notes/magic.md"], "{mode:?}");
        assert!(found(&vault, mode, "\"thaumaturgic\" tea").is_empty(), "{mode:?}");
    }
}

const BLADE_RUNNER: &str = "---\ncategories:\n  - \"[[Movies]]\"\ngenre:\n  - \"[[Sci-fi]]\"\ndirector:\n  - \"[[Ridley Scott]]\"\n\
                            rating: 7\nyear: 1982\n---\n\n";

/// Notes that are frontmatter alone, and others.
fn properties() -> TestVault {
    TestVault::new()
        .with("References/Blade Runner.md", BLADE_RUNNER)
        .with("References/Alien.md", "---\ndirector: Ridley Scott\nrating: 9\nyear: 1979\n---\n")
        .with("References/Zelda.md", "")
        .with("References/Heat.md", "---\ndirector: Michael Mann\nrating: 10\n---\nA long talk over coffee.\n")
        .with("Trips/2023 Japan Trip.md", "---\nstart: 2023-03-01\nend: 2023-03-17\nplace: \"[[Japan]]\"\n---\n")
        .with("notes/umbrella-pomegranate.md", "---\ntitle: Fruit\naliases: [granate apple]\n---\nSeeds in a shell.\n")
        .with("notes/README.md", "# About this folder\n\nWhat is where. Do [[Fruit]] first.\n")
        .with(
            "notes/plan.md",
            "---\nstatus: done\nauthor: Ann Lee\ntags: [work/plan]\n---\n# Plan\n\n- [ ] Paint it.\n",
        )
        .with("notes/other.md", "---\nstatus: open\nauthor: Bo\n---\n# Other\n\nPaint the fence, as Ann Lee did.\n")
        .synced()
}

fn first(vault: &TestVault, mode: Mode, query: &str) -> String {
    found(vault, mode, query).first().cloned().unwrap_or_default()
}

#[test]
fn notes_are_found_by_their_properties_and_by_operators() {
    let vault = properties();
    // A note without a text is found by what it is.
    for mode in [Mode::Keyword, Mode::Hybrid] {
        assert_eq!(first(&vault, mode, "Blade Runner"), "References/Blade Runner.md");
        assert_eq!(first(&vault, mode, "Zelda"), "References/Zelda.md");
        assert_eq!(first(&vault, mode, "Japan trip"), "Trips/2023 Japan Trip.md", "{mode:?}");
        let mut scott = found(&vault, mode, "\"Ridley Scott\"");
        scott.sort();
        assert_eq!(scott, ["References/Alien.md", "References/Blade Runner.md"], "{mode:?}");
    }
    let hit = vault.search("Blade Runner").0.results.swap_remove(0).chunk;
    let shown = "categories: Movies\ngenre: Sci-fi\ndirector: Ridley Scott\nrating: 7\nyear: 1982";
    assert_eq!((hit.content.as_str(), hit.line_start, hit.line_end), (shown, 1, 10), "properties, and not YAML");
    assert_eq!(hit.citation, "References/Blade Runner.md#L1-L10");
    assert!(
        found(&vault, Mode::Semantic, "director: Ridley Scott")[..2].iter().all(|path| path.starts_with("References"))
    );
    let status = vault.status();
    assert!(status.chunks >= status.files, "each note has a passage: {} of {}", status.chunks, status.files);
    // Operators narrow, and what is none is words.
    for mode in MODES {
        let sorted = |query: &str| {
            let mut paths = found(&vault, mode, query);
            paths.sort();
            paths.dedup();
            paths.iter().map(|path| path.rsplit('/').next().unwrap_or(path).to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(sorted("director:\"Ridley Scott\""), ["Alien.md", "Blade Runner.md"], "{mode:?}");
        assert_eq!(sorted("status:done"), ["plan.md"], "{mode:?}");
        assert_eq!(sorted("[rating:>7]"), ["Alien.md", "Heat.md"], "{mode:?}");
        assert_eq!(sorted("[rating:<=9] -director:\"ridley scott\""), Vec::<String>::new(), "{mode:?}");
        assert_eq!(sorted("author:\"ann lee\" paint"), ["plan.md"], "{mode:?}");
        assert_eq!(sorted("tag:work"), ["plan.md"], "{mode:?}");
        assert_eq!(sorted("has:task"), ["plan.md"], "{mode:?}");
        assert_eq!(sorted("has:link in:notes"), ["README.md"], "{mode:?}");
        assert_eq!(sorted("has:link in:Trips"), ["2023 Japan Trip.md"], "{mode:?}: in a property");
        assert_eq!(sorted("path:notes/*a*"), ["README.md", "plan.md", "umbrella-pomegranate.md"], "{mode:?}");
        assert_eq!(sorted("title:blade"), ["Blade Runner.md"], "{mode:?}");
        assert_eq!(sorted("after:2020-01-01 before:2020-01-02"), Vec::<String>::new(), "{mode:?}");
        assert_eq!(sorted("-in:References -in:Trips -[status]"), ["README.md", "umbrella-pomegranate.md"], "{mode:?}");
    }
    // No property is called so: words.
    assert_eq!(found(&vault, Mode::Keyword, "painter:fence"), ["notes/other.md"]);
    assert_eq!(found(&vault, Mode::Keyword, "paint +lee"), ["notes/other.md"]);
    let said = |query: &str| vault.search_by(Mode::Keyword, query).0.degraded;
    assert_eq!(
        said("in:Refrences x").as_deref(),
        Some("no note is in a collection `Refrences`; did you mean `References`?")
    );
    assert_eq!(said("tag:wrok/plan").as_deref(), Some("no note has the tag `wrok/plan`; did you mean `work/plan`?"));
    assert_eq!(said("tag:zzz x").as_deref(), Some("no note has the tag `zzz`"));
    // A word as long as a page is no property and costs no time.
    for letter in ["a", "ä", "鿀"] {
        let query = format!("{}:x", letter.repeat(4000 / letter.len()));
        for mode in MODES {
            assert!(found(&vault, mode, &query).len() < 100, "it ends");
        }
    }
    // A line asks one side alone.
    let asked = |query: &str| {
        let found = vault.search(query);
        (found.0.mode, found.paths().into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    let (mode, paths) = asked("lex: paint -fence");
    assert_eq!((mode, &paths[..]), (Mode::Keyword, &["notes/plan.md".to_owned()][..]), "operators count in it");
    assert_eq!(asked("LEX: status:done paint").1, ["notes/plan.md"]);
    let (mode, paths) = asked("vec: what does Ann Lee do");
    assert!(mode == Mode::Semantic && paths.len() > 2, "{mode:?} {paths:?}");
    let (mode, paths) = asked("lex: fence\nvec: a long talk over coffee\nintent: films");
    assert_eq!(mode, Mode::Hybrid);
    assert!(["notes/other.md", "References/Heat.md"].iter().all(|path| paths.iter().any(|found| found == path)));
    assert_eq!(asked("lex: paint vec: paint -fence").0, Mode::Hybrid, "in one line");
    assert_eq!(asked("hyde: A long talk over coffee.").1[0], "References/Heat.md");
    // Where only the words are asked for, the meaning of a line is asked all the same: nothing else was.
    assert_eq!(vault.words("vec: coffee").0.mode, Mode::Semantic);
    assert_eq!(vault.words("intent: paint").0.mode, Mode::Keyword, "alone it is what is looked for");
    assert!(!vault.words("intent: paint").0.results.is_empty());
}

#[test]
fn a_note_is_found_by_every_name_it_has() {
    let mut vault = properties();
    for query in ["umbrella-pomegranate", "umbrella", "umbrel", "granate", "Fruit", "notes/umbrella-pomegranate.md"] {
        for mode in [Mode::Keyword, Mode::Hybrid] {
            assert_eq!(first(&vault, mode, query), "notes/umbrella-pomegranate.md", "{query} {mode:?}");
        }
    }
    assert_eq!(first(&vault, Mode::Hybrid, "README"), "notes/README.md");
    assert_eq!(first(&vault, Mode::Keyword, "work plan"), "notes/plan.md", "by its tag");
    // What changes in the frontmatter alone is found, and what went is not; as in an index that is built anew.
    vault.write("notes/umbrella-pomegranate.md", "---\ntitle: Fruit\naliases: [seedbox]\n---\nSeeds in a shell.\n");
    vault.rename("notes/README.md", "notes/signpost.md").sync();
    let asked = ["seedbox", "granate", "README", "signpost"];
    let found_now = |vault: &TestVault| asked.map(|query| found(vault, Mode::Keyword, query));
    let [umbrella, signpost] = ["notes/umbrella-pomegranate.md", "notes/signpost.md"].map(|path| vec![path.to_owned()]);
    assert_eq!(found_now(&vault), [umbrella, vec![], vec![], signpost]);
    let incremental = found_now(&vault);
    vault.rebuild();
    assert_eq!(found_now(&vault), incremental);
}

#[test]
fn an_exact_name_comes_first() {
    let mut vault = TestVault::new();
    // Each word is in many notes, and in all of them more often than in the note that is called so.
    for at in 0..30 {
        vault.write(&format!("notes/n{at}.md"), format!("# Dates {at}\n\nDue dates, due dates and more due dates.\n"));
    }
    vault.write("notes/due.md", "# Due Dates\n\nSee elsewhere.\n\n## More\n\nNothing.\n");
    vault.write("hidden/due.md", "---\nprivate: true\n---\n# Due dates\n\nDue dates.\n").sync();
    for mode in [Mode::Keyword, Mode::Hybrid] {
        for query in ["due dates", "Due Dates", "\"due dates\"", "due"] {
            let found = vault.search_by(mode, query);
            let (paths, scores): (Vec<_>, Vec<_>) =
                (found.paths(), found.0.results.iter().map(|hit| hit.score).collect());
            assert!(paths[0].ends_with("/due.md"), "{query} {mode:?}: {paths:?}");
            assert!(scores.is_sorted_by(|one, two| one >= two), "{query} {mode:?}: {scores:?}");
        }
    }
}

/// Notes with words that are half typed, or typed wrong.
fn words() -> TestVault {
    TestVault::new()
        .with("notes/fruit.md", "# Fruit\n\nThe nectar of a nectarine.\n")
        .with("notes/trees.md", "# Evergreen\n\nIt keeps its leaves all year.\n")
        .with("notes/mail.md", "# Mail\n\nAn urgent letter came on Monday.\n")
        .with("notes/rust.md", "# Rules\n\nOwnership is moved into a closure.\n")
        .with("private/diary.md", "---\nprivate: true\n---\nThe necropolis, an unspeakable ownershop, nectaries.\n")
        .synced()
}

#[test]
fn half_a_word_goes_on_and_a_slip_is_made_good() {
    let vault = words();
    // Half a word goes on.
    for mode in [Mode::Keyword, Mode::Hybrid] {
        for (query, path) in [
            ("necta", "notes/fruit.md"),
            ("evergr", "notes/trees.md"),
            ("letter urgen", "notes/mail.md"),
            ("clos* moved", "notes/rust.md"),
        ] {
            let found = vault.search_by(mode, query);
            assert_eq!(found.paths().first(), Some(&path), "{query} {mode:?}");
            assert_eq!(found.0.degraded, None, "{query}: what goes on is no mistake");
        }
    }
    assert!(found(&vault, Mode::Keyword, "necta ").is_empty() || vault.words("necta ").0.degraded.is_some());
    assert!(found(&vault, Mode::Keyword, "\"necta\"").is_empty());
    // A slip of the finger is made good, and said.
    for mode in [Mode::Keyword, Mode::Hybrid] {
        for (query, shown) in [("ownreship", "ownership"), ("clousre", "closure"), ("urgetn letter", "urgent")] {
            let found = vault.search_by(mode, query);
            assert!(["notes/rust.md", "notes/mail.md"].contains(&found.paths()[0]), "{query} {mode:?}");
            let said = found.0.degraded.unwrap_or_default();
            assert!(
                said.contains(&format!("shown: {shown}")) && said.ends_with("to search exactly"),
                "{query}: {said}"
            );
        }
        assert!(found(&vault, mode, "\"ownreship\"").is_empty(), "who insists gets what was typed");
    }
}

#[test]
fn no_word_is_taken_for_one_that_is_no_likelier_or_for_two() {
    let mut vault = TestVault::new();
    vault.write("notes/oven.md", "# Oven\n\nI like to bake. We like it. The horse and the house.\n").sync();
    let said = |query: &str| vault.search_by(Mode::Keyword, query).0.degraded;
    assert_eq!(said("bike basement key"), None, "another letter makes another word of a short one");
    assert_eq!(said("hoise"), None, "horse or house");
    vault.write("notes/home.md", "# Home\n\nA house.\n").sync();
    let said = |query: &str| vault.search_by(Mode::Keyword, query).0.degraded.unwrap_or_default();
    assert!(said("hoise").contains("shown: house. "), "{}", said("hoise"));
    assert!(said("liek").contains("shown: like. "), "{}", said("liek"));
}

#[test]
fn half_a_name_and_a_slip_in_one_are_that_note() {
    let mut vault = TestVault::new();
    // Each has the words more often than the note that is called so.
    vault.write("guide/search.md", "# Quick search\n\nQuick quick ref, a quick ref and quick refs.\n");
    vault.write("guide/Quick Reference.md", "A table of all of them.\n");
    vault
        .write("guide/tasks.md", "# Recurring things\n\nRecurring tasks, tasks that are recurring, recurring tasks.\n");
    vault.write("guide/recurring-tasks.md", "---\ntitle: Recurring Tasks\n---\nThey come back.\n");
    vault.write("people/kk.md", "---\naliases: [Kevin Kelly]\n---\nAn author.\n");
    vault.write("notes/books.md", "# Books\n\nKevin Kelly wrote it. Kevin Kelly also wrote Kelly.\n").sync();
    for mode in [Mode::Keyword, Mode::Hybrid] {
        for (query, path) in [
            ("quick ref", "guide/Quick Reference.md"),
            ("reference quick", "guide/Quick Reference.md"),
            ("recuring tasks", "guide/recurring-tasks.md"),
            ("recurr task", "guide/recurring-tasks.md"),
            ("Kevin Kely", "people/kk.md"),
            ("kevin k", "notes/books.md"),
            ("kevi kell", "people/kk.md"),
        ] {
            let found = vault.search_by(mode, query);
            assert_eq!(found.paths()[0], path, "{query} {mode:?}");
            let relevance = found.0.results[0].relevance.unwrap_or_default();
            assert!(path == "notes/books.md" || relevance >= 0.5, "{query}: {relevance}");
        }
    }
    // What every text has names nothing, and so does what more than a few are called.
    vault.write("notes/theory.md", "# Theory\n\nNo such word.\n");
    for at in 0..6 {
        vault.write(&format!("notes/kiln {at}.md"), "An oven.\n");
    }
    vault.write("notes/z.md", "The the the. Kiln kiln kiln.\n").sync();
    assert_eq!(vault.words("the").paths()[0], "notes/z.md");
    assert_eq!(vault.words("kil").paths()[0], "notes/z.md");
}

#[test]
fn stop_words_do_not_weigh_like_names_in_a_small_vault() {
    let mut vault = TestVault::new();
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("vault-template");
    for entry in walkdir::WalkDir::new(&template).into_iter().map(Result::unwrap) {
        let path = entry.path().strip_prefix(&template).unwrap().to_string_lossy().into_owned();
        if path.ends_with(".md") {
            vault.write(&path, fs::read(entry.path()).unwrap());
        }
    }
    vault.write(
        "profile/about-me.md",
        "# What I would like assistants to know\n\nSay only what you would tell a helpful stranger. Say when you are not sure.\n",
    );
    vault.sync();
    // "What I would like assistants to know" has all of the small words.
    let found = vault.words("what would make us go back to paper");
    let paths = found.paths();
    assert!(paths[..2].iter().all(|path| *path == "notes/loans-in-a-spreadsheet.md"), "{paths:?}");
}

#[test]
fn a_property_that_no_note_has_is_told() {
    let mut vault = properties();
    vault.write("notes/dune.md", "---\ntype: book\nreading: slow\n---\n# Dune\n\nSand and paint.\n").sync();
    assert_eq!(found(&vault, Mode::Keyword, "type:book"), ["notes/dune.md"], "a property like any other");
    assert_eq!(found(&vault, Mode::Keyword, "type:book status:done"), Vec::<String>::new());
    let said = |query: &str| vault.search_by(Mode::Keyword, query).0.degraded;
    assert_eq!(said("[ratings:>3] paint").as_deref(), Some("no note has the property `ratings`"));
    assert_eq!(said("painter:fence"), None, "it found words");
    assert_eq!(said("zzzz:qqqq").as_deref(), Some("no note has the property `zzzz`"));
    for query in ["http://zzzz.example", "10:30", "std::zzzz", "a:zzzz", "note: paint"] {
        assert_eq!(said(query), None, "{query}");
    }
    for query in ["before:lunch", "has:cheese", "after:never"] {
        let told = format!("`{query}` is not a valid condition; its words were searched");
        assert!(said(query).is_some_and(|said| said.contains(&told)), "{query}: {:?}", said(query));
    }
    // The filters of a search say so too.
    let filtered = |collection: Option<&str>, tag: Option<&str>| {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let query =
            SearchQuery { q: "paint".into(), collection: text(collection), tag: text(tag), ..SearchQuery::default() };
        vault.search_with(&query).0.degraded.unwrap_or_default()
    };
    assert_eq!(filtered(Some("Refrences"), None), said("in:Refrences x").unwrap(), "in the same words");
    assert_eq!(filtered(None, Some("wrok/plan")), said("tag:wrok/plan").unwrap());
}
