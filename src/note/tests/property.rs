//! Whatever the text, it is a note whose blocks cover it.

use super::{Note, check, parse};
use proptest::prelude::*;

/// Pieces that matter to Markdown, YAML or us, so that random texts are not just paragraphs.
fn piece() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "\n",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        " ",
        "  ",
        "    ",
        "\t",
        "# ",
        "## ",
        "#",
        "- ",
        "* ",
        "1. ",
        "> ",
        ">",
        "> [!note] ",
        "```",
        "~~~",
        "`",
        "``",
        "%%",
        "%%",
        "%",
        "<!--",
        "-->",
        "<div>",
        "</div>",
        "<b>",
        "[[",
        "]]",
        "![[",
        "|",
        "|--|",
        "[",
        "](x)",
        "[a]: b",
        "[^1]",
        "[^1]: ",
        "$",
        "$$",
        "---",
        "---\n",
        "+++\n",
        "===",
        "***",
        "private: true",
        "tags: [a]",
        "#private",
        "#tag",
        "a: 1\n",
        "word",
        "é",
        "東京",
        "🎉",
        "\u{feff}",
        "\0",
        "\u{a0}",
        "\\",
        "&amp;",
        "https://x/#y",
        "[x] ",
        "_",
        "*",
        "**",
        "~~",
        ":",
        "\u{2028}",
        "\u{85}",
    ]);
    prop_oneof![9 => fixed.prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_note(pieces in prop::collection::vec(piece(), 0..40)) {
        parse(&pieces.concat());
    }

    #[test]
    fn any_characters_are_a_note(text in any::<String>()) {
        parse(&text);
    }

    #[test]
    fn parsing_is_a_function(pieces in prop::collection::vec(piece(), 0..20)) {
        let source = pieces.concat();
        prop_assert_eq!(Note::parse(&source, "a"), Note::parse(&source, "a"));
    }
}

/// `NOTE_FILES=folder cargo test --release note::tests::property::real -- --ignored --nocapture`
#[test]
#[ignore = "needs a folder of Markdown files, named by NOTE_FILES"]
fn real_files_are_notes() {
    let folder = std::env::var("NOTE_FILES").expect("NOTE_FILES names a folder");
    let mut sources = Vec::new();
    for entry in walkdir::WalkDir::new(folder).into_iter().flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "md") {
            sources.extend(std::fs::read_to_string(entry.path()).map(|text| (entry.path().to_owned(), text)));
        }
    }
    let bytes: usize = sources.iter().map(|(_, text)| text.len()).sum();
    let start = std::time::Instant::now();
    let notes: Vec<Note> = sources.iter().map(|(_, text)| Note::parse(text, "stem")).collect();
    let took = start.elapsed();
    for ((path, text), note) in sources.iter().zip(&notes) {
        check(text, note);
        for problem in &note.problems {
            println!("{}:{:?}: {}", path.display(), problem.line, problem.message);
        }
        if note.is_private() {
            println!("{}: {:?}", path.display(), note.visibility);
        }
    }
    let rate = bytes as f64 / 1e6 / took.as_secs_f64();
    println!("{} files, {bytes} bytes, {took:?}: {rate:.0} MB/s", notes.len());
}
