//! Whatever the text, it is a note whose blocks cover it.

use super::{Note, check, parse};
use crate::base::chance::proptest_config;
use proptest::prelude::*;

/// Pieces that matter to Markdown, YAML or us, so that random texts are not just paragraphs.
fn piece() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "\n", "\n", "\n\n", "\r\n", "\r", " ", "  ", "    ", "\t", "# ", "## ", "#", "- ", "* ", "1. ", "> ", ">",
        "> [!note] ", "```", "~~~", "`", "``", "%%", "%%", "%", "<!--", "-->", "<div>", "</div>", "<b>", "[[", "]]",
        "![[", "|", "|--|", "[", "](x)", "[a]: b", "[^1]", "[^1]: ", "$", "$$", "---", "---\n", "+++\n", "===", "***",
        "private: true", "tags: [a]", "#private", "#tag", "a: 1\n", "word", "é", "東京", "🎉", "\u{feff}", "\0",
        "\u{a0}", "\\", "&amp;", "https://x/#y", "[x] ", "_", "*", "**", "~~", ":", "\u{2028}", "\u{85}",
    ]);
    prop_oneof![9 => fixed.prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)]
}

proptest! {
    #![proptest_config(proptest_config(3000))]

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

#[test]
fn real_files_are_notes() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = 0;
    for folder in ["vault-template", "docs"] {
        for entry in walkdir::WalkDir::new(root.join(folder)).into_iter().flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "md") {
                let text = std::fs::read_to_string(entry.path()).unwrap();
                let note = Note::parse(&text, "stem");
                check(&text, &note);
                assert!(note.problems.is_empty(), "{}: {:?}", entry.path().display(), note.problems);
                files += 1;
            }
        }
    }
    assert!(files > 15);
}
