//! Remarks on passages: plain notes that are shown with what they are on, wherever it moves.

use memory_vault::access::request::{ErrorKind, RequestError};
use memory_vault::serve::wire::{AnnotateParams, Annotated, AnnotationView};

use crate::support::prelude::*;

const BREAD: &str =
    "# Bread\n\n## Rise\n\nThe dough rests overnight in the fridge.\n\n## Bake\n\nBake it hot with the lid on.\n";
const QUOTE: &str = "The dough rests overnight in the fridge.";

fn annotate(vault: &TestVault, params: Value) -> Result<Annotated, RequestError> {
    let params: AnnotateParams = serde_json::from_value(params).unwrap();
    notes::annotate(&vault.owner(), &params)
}

fn of(vault: &TestVault, path: &str) -> Vec<AnnotationView> {
    notes::annotations(&vault.owner().read_scope().unwrap(), path).unwrap()
}

fn bread() -> (TestVault, String, Annotated) {
    let vault = TestVault::new().with("notes/bread.md", BREAD).synced();
    let hash = vault.words("fridge").0.results[0].chunk.hash.clone();
    let annotated = annotate(&vault, json!({"hash": hash, "note": "Eleven hours.\n\n---\n# mine"})).unwrap();
    (vault, hash, annotated)
}

#[test]
fn secrets_are_taken_out_of_remarks() {
    let (mut vault, hash, _) = bread();
    let annotated = annotate(&vault, json!({"hash": hash, "note": "password=hunter2"})).unwrap();
    let text = fs::read_to_string(vault.path(&annotated.path)).unwrap();
    assert!(text.contains("password=[redacted: password]") && text.contains(QUOTE), "{text}");
    fs::write(vault.path("memory.toml"), "[capture]\nredact = false\n").unwrap();
    vault.config.capture.redact = false;
    let annotated = annotate(vault.restart(), json!({"hash": hash, "note": "password=hunter2"})).unwrap();
    assert!(fs::read_to_string(vault.path(&annotated.path)).unwrap().contains("hunter2"));
}

#[test]
fn a_remark_is_a_note_that_is_shown_with_its_passage() {
    let (vault, hash, annotated) = bread();
    assert_eq!(annotated.path, "annotations/on-rise.md");
    let text = fs::read_to_string(vault.path(&annotated.path)).unwrap();
    for part in ["On: Rise", "[[bread#Rise]]", "path: notes/bread.md", &format!("\n> {QUOTE}\n"), "Eleven hours."] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("private"), "{text}");
    assert_eq!(vault.words("eleven").paths()[0], annotated.path);
    let passage = notes::passage(&vault.owner(), &hash).unwrap().0;
    let [remark] = passage.annotations.as_slice() else { panic!("{:?}", passage.annotations) };
    assert_eq!((remark.note.as_str(), remark.quote.as_str()), ("Eleven hours.\n\n---\n# mine", QUOTE));
    assert_eq!((&remark.path, &remark.hash, remark.found), (&annotated.path, &annotated.hash, true));
    assert_eq!((remark.line_start, remark.line_end), (passage.chunk.line_start, passage.chunk.line_end));
    // Not with another passage of the note.
    let other = vault.words("lid").0.results[0].chunk.hash.clone();
    assert!(notes::passage(&vault.owner(), &other).unwrap().0.annotations.is_empty());
}

#[test]
fn it_finds_its_passage_wherever_that_moves() {
    let (mut vault, _, annotated) = bread();
    let lines = |vault: &TestVault, path: &str| {
        of(vault, path).first().map(|remark| (remark.line_start, remark.line_end, remark.found))
    };
    // Down, into another section, and wrapped.
    vault
        .write(
            "notes/bread.md",
            "# Bread\n\nNew.\n\n# Cold\n\nFirst. The dough rests\novernight in the fridge. Then.\n",
        )
        .sync();
    assert_eq!(lines(&vault, "notes/bread.md"), Some((7, 8, true)));
    vault.rename("notes/bread.md", "journal/loaf.md").sync();
    assert_eq!(lines(&vault, "journal/loaf.md"), Some((7, 8, true)));
    assert_eq!(lines(&vault, "notes/bread.md"), None);
    // It stays with the note that it was written for when it is nowhere.
    vault.write("journal/loaf.md", "# Bread\n\nNew.\n").write("notes/bread.md", "Nothing.\n").sync();
    assert_eq!(lines(&vault, "journal/loaf.md"), None);
    let gone = of(&vault, "notes/bread.md");
    assert_eq!((gone[0].found, gone[0].quote.as_str()), (false, QUOTE));
    assert_eq!(of(&vault, &annotated.path), gone);
}

#[test]
fn a_remark_on_a_private_note_is_private() {
    let mut vault = TestVault::new();
    vault.config.access.private = vec!["secret/**".into()];
    vault.write("notes/a.md", "---\nprivate: true\n---\nThe aardvark key.\n");
    vault.write("secret/b.md", "The zebra key.\n").write("notes/c.md", "The open door.\n").sync();
    for (path, private) in [("notes/a.md", true), ("secret/b.md", true), ("notes/c.md", false)] {
        let annotated = annotate(&vault, json!({"path": path, "note": "Remember."})).unwrap();
        let snapshot = vault.app().shared.snapshot().unwrap();
        let file = snapshot.files().iter().find(|file| file.path.as_str() == annotated.path).unwrap();
        assert_eq!(file.private, private, "{path}");
    }
    // Made private a moment ago.
    vault.write("notes/c.md", "---\nprivate: true\n---\nThe open door.\n");
    let annotated = annotate(&vault, json!({"path": "notes/c.md", "note": "Remember."})).unwrap();
    assert!(fs::read_to_string(vault.path(&annotated.path)).unwrap().contains("\nprivate: true\n"));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let vault = TestVault::new().with("notes/bread.md", BREAD).synced();
    let path = "notes/bread.md";
    for (kind, said, params) in [
        (ErrorKind::Invalid, "`note` is empty", json!({"path": path, "note": " \n"})),
        (ErrorKind::Invalid, "`note` has the control", json!({"path": path, "note": "a\u{1b}b"})),
        (ErrorKind::Invalid, "`note` has 51201 bytes", json!({"path": path, "note": "x".repeat(50 * 1024 + 1)})),
        (ErrorKind::Invalid, "give `hash`", json!({"note": "x"})),
        (ErrorKind::Invalid, "give `hash`", json!({"hash": "0123456789abcdef", "path": path, "note": "x"})),
        (ErrorKind::Invalid, "`hash`", json!({"hash": "nothing", "note": "x"})),
        (ErrorKind::Invalid, "`path`", json!({"path": "../a.md", "note": "x"})),
        (ErrorKind::NotFound, "no passage", json!({"hash": "0123456789abcdef", "note": "x"})),
        (ErrorKind::NotFound, "notes/none.md", json!({"path": "notes/none.md", "note": "x"})),
        (ErrorKind::NotFound, "at line 99", json!({"path": path, "line": 99, "note": "x"})),
    ] {
        let error = annotate(&vault, params).unwrap_err();
        assert_eq!(error.kind, kind, "{said}: {error}");
        assert!(error.message.contains(said), "{said}: {error}");
    }
    assert!(!vault.path("annotations").exists());
}

#[test]
fn over_http_and_from_the_command_line() {
    let mut vault = Daemon::vault().with("notes/bread.md", BREAD);
    let path = vault.run(&["annotate", "notes/bread.md:5", "Eleven", "hours"]).ok().stdout;
    assert_eq!(path, "annotations/on-rise.md\n");
    vault.start();
    let hash = |word: &str| {
        let found = vault.get(&format!("/api/user-memory/search?mode=keyword&path=notes/&q={word}")).json();
        found["results"][0]["hash"].as_str().unwrap().to_owned()
    };
    let reply = vault.post("/api/user-memory/annotate", &json!({"hash": hash("lid"), "note": "Twenty minutes."})).ok();
    assert_eq!(reply["path"], "annotations/on-bake.md");
    for (word, note) in [("fridge", "Eleven hours"), ("lid", "Twenty minutes.")] {
        let shown = vault.get(&format!("/api/user-memory/chunk/{}", hash(word))).json();
        assert_eq!(shown["path"], "notes/bread.md");
        assert_eq!(shown["annotations"][0]["note"], note, "{shown}");
        assert_eq!(shown["annotations"].as_array().unwrap().len(), 1);
    }
    for (body, said) in [
        (r#"{"hash": 5, "note": "x"}"#, "hash"),
        (r#"{"note": ["x"]}"#, "note"),
        (r#"{"note": "x", "colour": "red"}"#, "colour"),
        (r#"{"hash": "0123456789abcdef"}"#, "note"),
    ] {
        let reply = vault.ask(Request::new("POST", "/api/user-memory/annotate").json(body));
        assert_eq!(reply.status, 422, "{body}");
        assert!(reply.error().contains(said), "{body}: {}", reply.error());
    }
}
