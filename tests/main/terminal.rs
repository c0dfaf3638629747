//! What a terminal is shown: nothing that a note, a name or an argument holds steers it. A pipe gets the bytes.

use crate::support::prelude::*;

/// A clipboard set (OSC 52), a bell, a backspace, a colour, C1's own CSI, overrides of direction, separators of lines.
const HOSTILE: &str =
    "red\u{1b}]52;c;ZXZpbA==\u{7}\u{8}\u{1b}[31m\u{9b}31m\u{202e}txt\u{2066}\u{200f}\u{61c}\u{2028}\u{7f}end";

/// A vault in which everything that can be hostile is, with a note's path.
fn vault() -> (Daemon, String) {
    let mut vault = Daemon::vault();
    let path = format!("notes{}/quokka{}.md", "\u{202e}\u{9b}", HOSTILE.replace('/', ""));
    vault.write(&path, format!("---\ntags: [x]\n---\n# Quokka {HOSTILE}\r\n\r\nA quokka {HOSTILE} sleeps.\r\n"));
    vault.write("notes/plain.md", format!("# Plain\n\nA wombat {HOSTILE} in black.\n"));
    vault.write(&format!("notes/{HOSTILE}.md"), b"\xff");
    (vault, path)
}

#[track_caller]
fn assert_harmless(text: &str) {
    let steers = |character: char| {
        character.is_control() && !matches!(character, '\n' | '\t')
            || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let found: Vec<char> = text.chars().filter(|character| steers(*character)).collect();
    assert!(found.is_empty(), "{found:?} in {text:?}");
}

/// Without the colours and links that the program itself shows.
fn without_own(screen: &str) -> String {
    let mut text = screen.to_owned();
    for own in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[31m", "\u{1b}[33m", "\u{1b}[36m", "\u{1b}[4m"] {
        text = text.replace(own, "");
    }
    while let Some(start) = text.find("\u{1b}]8;;") {
        let length = text[start..].find("\u{1b}\\").expect("a link has an end");
        text.replace_range(start..start + length + 2, "");
    }
    text
}

#[test]
fn no_note_and_no_argument_steers_the_terminal_and_a_pipe_gets_its_bytes() {
    let (vault, path) = vault();
    // JSON on a terminal is harmless, and the same JSON.
    for args in [&["get", "--json", &path][..], &["search", "sleeps", "--json"], &["status", "--json"]] {
        let shown = at_terminal(At::Stdout, &mut vault.command(args));
        assert_harmless(&shown.screen);
        let told = |text: &str| {
            let mut value: Value = serde_json::from_str(text).unwrap();
            // What differs from one time to the next.
            for changing in ["took_ms", "watching", "index_bytes", "files_done"] {
                value.as_object_mut().unwrap().remove(changing);
            }
            value
        };
        let piped = vault.run(args).ok().stdout;
        assert_eq!(told(&shown.screen), told(&piped), "{args:?}");
        assert!(piped.contains('\u{202e}'), "{piped}");
    }
    // Colours and links are shown, and a note has none of its own.
    let shown = at_terminal(At::Stdout, &mut vault.command(&["search", "sleeps"])).screen;
    assert!(shown.contains("\u{1b}]8;;file://") && shown.contains("\u{1b}[1m\u{1b}[33msleeps\u{1b}[0m"), "{shown:?}");
    assert!(!shown.contains("\u{1b}]52") && shown.contains("red␛]52;c;"), "{shown:?}");
    assert!(!shown.contains("\u{8}\u{1b}[31m") && shown.contains("␈␛[31m"), "{shown:?}");
    assert_harmless(&without_own(&shown));
    let plain = at_terminal(At::Stdout, vault.command(&["search", "sleeps"]).env("NO_COLOR", "1")).screen;
    assert_eq!(without_own(&shown), plain);
    // No note steers the terminal, and a pipe gets its bytes.
    let hit = vault.run(&["search", "sleeps", "--json"]).ok().json()["results"][0]["hash"].as_str().unwrap().to_owned();
    let commands: [&[&str]; 9] = [
        &["get", &path],
        &["get", &hit],
        &["search", "sleeps"],
        &["search", "sleeps", "--full"],
        &["status"],
        &["collections"],
        &["forget", "notes/plain.md", "--dry-run"],
        &["save", "A text."],
        &["undo", "--list"],
    ];
    for args in commands {
        let shown = at_terminal(At::Stdout, vault.command(args).env("NO_COLOR", "1"));
        assert!(shown.code <= 1, "{args:?} {shown:?}");
        assert!(!shown.screen.is_empty() || args[0] == "undo", "{args:?} {shown:?}");
        assert_harmless(&shown.screen);
    }
    let piped = vault.run(&["get", &path]).ok().stdout;
    assert_eq!(piped, vault.read(&path));
    assert!(vault.run(&["search", "sleeps", "--full"]).ok().stdout.contains(HOSTILE));
    // No argument steers the terminal out of an error.
    let option = format!("--{HOSTILE}");
    let commands: [&[&str]; 7] = [
        &["get", HOSTILE],
        &["search", "x", "--since", HOSTILE],
        &["search", "x", "--mode", HOSTILE],
        &["search", "x", &option],
        &[HOSTILE],
        &["agent", "show", HOSTILE],
        &["undo", HOSTILE],
    ];
    for args in commands {
        for plain in ["", "1"] {
            let shown = at_terminal(At::Stderr, vault.command(args).env("NO_COLOR", plain));
            assert!(shown.code > 0 && shown.screen.contains("red"), "{args:?} {shown:?}");
            assert_harmless(&without_bars(&shown));
        }
    }
    // The help names the vault of the environment.
    for (at, args) in [(At::Stdout, &["--help"][..]), (At::Stderr, &["status"])] {
        let shown = at_terminal(at, vault_command().args(args).env("VAULT_DIR", HOSTILE));
        assert!(shown.screen.contains("red"), "{args:?} {shown:?}");
        assert_harmless(&shown.screen);
    }
    let shown = at_terminal(At::Stderr, vault.command(&["search", "x", "--no-such-option"]).env("NO_COLOR", ""));
    assert!(shown.screen.contains("\u{1b}[1m"), "clap's own colours stay: {shown:?}");
}

/// What is on standard error less the bars, which come and go by sequences of indicatif's.
fn without_bars(shown: &Shown) -> String {
    let mut text = shown.screen.clone();
    for own in ["\u{1b}[2K", "\u{1b}[1A", "\u{1b}[0m", "\u{1b}[2m", "\r"] {
        text = text.replace(own, "");
    }
    text
}

#[test]
fn no_log_line_steers_the_terminal() {
    let vault = Daemon::with_config("not toml");
    let request = vault.path("request.json");
    // A method, which a log line names, and an id, which the answer has.
    fs::write(&request, "{\"jsonrpc\":\"2.0\",\"id\":\"\u{202e}\u{9b}\",\"method\":\"\\u0007\u{202e}\u{9b}x\"}\n")
        .unwrap();
    for at in [At::Stdout, At::Stderr] {
        let input = Stdio::from(fs::File::open(&request).unwrap());
        let shown = at_terminal(at, vault.command(&["mcp", "--owner"]).env("NO_COLOR", "1").stdin(input));
        assert_harmless(&shown.screen);
        match at {
            At::Stdout => {
                let answer: Value = serde_json::from_str(&shown.screen).unwrap();
                assert_eq!(answer["id"], "\u{202e}\u{9b}");
            }
            _ => assert!(shown.screen.starts_with(" WARN ") && shown.screen.contains("x: "), "{shown:?}"),
        }
    }
}

#[test]
fn a_question_is_asked_without_what_steers_the_terminal() {
    let (vault, _) = vault();
    let shown = at_terminal(At::Keyboard("n\n"), vault.command(&["forget", "notes/plain.md"]).env("NO_COLOR", "1"));
    assert!(shown.screen.contains("Remove it? [y/N]") && shown.screen.contains("nothing was changed"), "{shown:?}");
    assert_harmless(&without_bars(&shown));
    assert!(shown.screen.contains("A wombat red") && vault.path("notes/plain.md").is_file());
}

#[test]
fn a_bar_is_not_black() {
    let mut vault = Daemon::vault();
    for at in 0..50 {
        vault.write(&format!("notes/{at}.md"), "A quokka.\n");
    }
    let shown = at_terminal(At::Stderr, &mut vault.command(&["search", "quokka"]));
    assert!(shown.screen.contains("reading notes"), "{shown:?}");
    for wrong in ["\u{1b}[30m", "\u{1b}[38;5;0m"] {
        assert!(!shown.screen.contains(wrong), "{wrong:?} in {:?}", shown.screen);
    }
}

#[test]
fn a_key_that_means_nothing_decides_nothing_and_what_waits_still_is_said() {
    let mut vault = Daemon::vault();
    let entry = |text: &str, id: u32| format!("- [fact] {text} ^e-{id}\n");
    let entries: String =
        [("Likes tea", 1), ("Plays the cello", 2), ("Owns a boat", 3)].map(|(text, id)| entry(text, id)).concat();
    vault.write("memories/pending.md", format!("---\nprivate: true\n---\n{entries}"));
    let shown = at_terminal(At::Keyboard("x\nyes\na\n\ns\n"), &mut vault.command(&["memory", "review"]));
    assert_eq!(shown.code, 0, "{shown:?}");
    for said in ["`x` is not one of these keys", "`yes` is not one of these keys", "2 proposals still wait"] {
        assert!(shown.screen.contains(said), "{said}: {shown:?}");
    }
    let known = vault.read("memories/user.md");
    assert!(known.contains("Likes tea") && !known.contains("cello"), "{known}");
}
