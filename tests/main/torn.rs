//! No answer holds a part of one version of a note and a part of another, and no note is missing while it is saved.

use crate::support::prelude::*;

/// A note of many passages, each with the version's number.
fn note(version: usize, sections: usize) -> String {
    let section = |at| format!("## Section {at}\n\nalways here, of version{version} in section{at}\n\n");
    (0..sections).map(section).collect()
}

/// The versions whose passages an answer holds, and how many passages there are.
fn versions(passages: &Value) -> (BTreeSet<String>, usize) {
    let passages = passages.as_array().unwrap();
    let of = |passage: &Value| {
        let content = passage["content"].as_str().unwrap();
        let word = content.split_whitespace().find(|word| word.starts_with("version"));
        word.unwrap_or_else(|| panic!("no version in {content:?}")).to_owned()
    };
    (passages.iter().map(of).collect(), passages.len())
}

#[test]
fn every_answer_is_of_one_version() {
    let mut daemon = Daemon::without_model("[search]\nper_file = 0\n");
    // Versions differ in length too, so that rows are added and removed.
    let sections = |version: usize| 30 + version % 7;
    daemon.write("notes/long.md", note(0, sections(0)));
    for at in 0..50 {
        daemon.write(&format!("other/{at}.md"), format!("# Other {at}\n\nsomething else\n"));
    }
    daemon.start();
    let (over, asked) = (Over::default(), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let _over = over.at_end();
        for target in [
            "/api/user-memory/search?mode=keyword&limit=1000&q=always",
            "/api/user-memory/search?mode=keyword&limit=1000&q=always&path=notes/",
            "/api/user-memory/browse?collection=notes&limit=1000",
        ] {
            let (daemon, over, asked) = (&daemon, &over, &asked);
            scope.spawn(move || {
                let mut connection = daemon.connection();
                while !over.is() {
                    let answer = connection.get(target);
                    let found = if target.contains("browse") { &answer["chunks"] } else { &answer["results"] };
                    let (versions, count) = versions(found);
                    assert_eq!(versions.len(), 1, "{target}: {versions:?}");
                    let version: usize = versions.first().unwrap()["version".len()..].parse().unwrap();
                    assert_eq!(count, sections(version), "{target}: all passages of version {version}");
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let beside = daemon.path("notes/.long.md.tmp");
        for version in 1..60 {
            fs::write(&beside, note(version, sections(version))).unwrap();
            fs::rename(&beside, daemon.path("notes/long.md")).unwrap();
            // Some are waited for, and some come one upon the other.
            if version % 3 == 0 {
                daemon.finds(&format!("version{version}"), &vec!["notes/long.md"; sections(version).min(10)]);
            }
        }
        daemon.finds("version59", &["notes/long.md"; 10]);
    });
    assert!(asked.into_inner() > 10);
}

#[test]
fn a_note_that_is_emptied_and_written_is_not_missing() {
    let daemon = Daemon::vault().with("notes/a.md", "always here").started();
    let path = daemon.path("notes/a.md");
    let over = Over::default();
    std::thread::scope(|scope| {
        let _over = over.at_end();
        scope.spawn(|| {
            while !over.is() {
                assert_eq!(daemon.find("always"), ["notes/a.md"]);
            }
        });
        for at in 0..10 {
            // As an editor does that writes in place, on a busy machine.
            let mut file = fs::File::create(&path).unwrap();
            std::thread::sleep(Duration::from_millis(80));
            std::io::Write::write_all(&mut file, format!("always here, version{at}").as_bytes()).unwrap();
            drop(file);
            daemon.finds(&format!("version{at}"), &["notes/a.md"]);
        }
    });
    fs::write(&path, "").unwrap();
    daemon.finds("always", &[]);
}
