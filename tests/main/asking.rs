//! The ways in which people ask.

use memory_vault::config::Mode;

use crate::support::TestVault;

const MODES: [Mode; 3] = [Mode::Keyword, Mode::Semantic, Mode::Hybrid];

fn found(vault: &TestVault, mode: Mode, query: &str) -> Vec<String> {
    let found = vault.search_by(mode, query);
    let mut paths: Vec<String> = found.paths().into_iter().map(str::to_owned).collect();
    paths.dedup();
    paths
}

fn vault() -> TestVault {
    let mut vault = TestVault::new();
    vault.write("notes/bike.md", "# Bicycle cellar\n\nThe bicycle is in the cellar.\n");
    vault.write("notes/magic.md", "# Magic\n\nA thaumaturgist does thaumaturgical things.\n");
    vault.write("notes/tea.md", "# Tea\n\nGreen tea in the morning.\n");
    vault.touch("notes/tea.md", 1_700_000_000).touch("notes/magic.md", 1_600_000_000).sync();
    vault
}

#[test]
fn what_is_not_wanted_is_never_listed() {
    let vault = vault();
    for mode in MODES {
        let left = found(&vault, mode, "-cellar -bicycle");
        assert_eq!(left, ["notes/tea.md", "notes/magic.md"], "{mode:?}: the newest first");
        assert_eq!(found(&vault, mode, "-\"green tea\" -thaumaturgist -nothing"), ["notes/bike.md"], "{mode:?}");
    }
}

#[test]
fn a_word_in_quotes_is_there_or_nothing_is() {
    let vault = vault();
    for mode in MODES {
        assert!(found(&vault, mode, "\"thaumaturgic\"").is_empty(), "{mode:?}");
        assert_eq!(found(&vault, mode, "\"thaumaturgical\""), ["notes/magic.md"], "{mode:?}");
        assert!(found(&vault, mode, "\"thaumaturgic\" tea").is_empty(), "{mode:?}");
    }
}

#[test]
fn words_that_no_blanks_part_are_found() {
    let mut vault = TestVault::new();
    for (path, text) in [
        ("notes/thai.md", "# ปลั๊กอิน\n\nเปลี่ยนขนาดรูปภาพในบันทึกของคุณ\n"),
        ("notes/lao.md", "# ພາສາລາວ\n\nພາສາລາວແມ່ນພາສາທາງການ\n"),
        ("notes/khmer.md", "# ភាសាខ្មែរ\n\nភាសាខ្មែរជាភាសាកំណើត\n"),
        ("notes/burmese.md", "# မြန်မာစကား\n\nမြန်မာနိုင်ငံသည် အာရှတွင် ရှိသည်\n"),
    ] {
        vault.write(path, text);
    }
    vault.sync();
    for (query, path) in [
        ("ขนาดรูปภาพ", "notes/thai.md"),
        ("รูปภาพ", "notes/thai.md"),
        ("ทางการ ພາສາທາງການ", "notes/lao.md"),
        ("ភាសាកំណើត", "notes/khmer.md"),
        ("မြန်မာနိုင်ငံ", "notes/burmese.md"),
    ] {
        assert_eq!(found(&vault, Mode::Keyword, query).first().map(String::as_str), Some(path), "{query}");
    }
}
