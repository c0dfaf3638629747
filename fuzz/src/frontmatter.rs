use memory_vault::text::note::{Note, Visibility};

/// Frontmatter is read or refused. It is never half believed, and `private: true` always counts.
pub fn frontmatter(data: &[u8]) {
    let text = super::text(data);
    for (delimiter, private) in [("---", "private: true"), ("+++", "private = true")] {
        let wrapped = format!("{delimiter}\n{text}\n{delimiter}\nThe end\n");
        let note = Note::parse(&wrapped, "stem");
        sound(&wrapped, &note);
        assert_eq!(note, Note::parse(&wrapped, "stem"), "reading is a function");

        let marked = Note::parse(&format!("\u{feff}{wrapped}"), "stem");
        assert_eq!((&marked.metadata, &marked.tags), (&note.metadata, &note.tags), "a byte order mark changes nothing");
        if !text.contains('\r') {
            let windows = Note::parse(&wrapped.replace('\n', "\r\n"), "stem");
            assert_eq!((&windows.metadata, &windows.title), (&note.metadata, &note.title), "nor do line ends");
            assert_eq!(windows.is_private(), note.is_private());
        }

        let hidden = Note::parse(&format!("{delimiter}\n{private}\n{text}\n{delimiter}\nThe end\n"), "stem");
        assert!(hidden.is_private(), "a note that says it is private is private, whatever else it says");
    }
    sound(text, &Note::parse(text, "stem"));
}

fn sound(source: &str, note: &Note) {
    assert!(source.get(note.body.clone()).is_some() && note.body.end == source.len());
    for problem in &note.problems {
        assert!(!problem.message.trim().is_empty());
        assert!(problem.line.is_none_or(|line| (1..=note.lines.count()).contains(&line)), "{problem:?}");
    }
    for tag in note.tags.iter().chain(&note.aliases) {
        assert!(!tag.trim().is_empty() && tag.trim() == tag, "{tag:?}");
    }
    assert!(note.tags.iter().all(|tag| !tag.starts_with('#')), "{:?}", note.tags);
    if note.visibility == Visibility::BrokenFrontmatter {
        assert!(note.metadata.is_empty() && !note.problems.is_empty(), "what is broken is not believed");
    }
    if note.tags.iter().any(|tag| tag.eq_ignore_ascii_case("private")) {
        assert!(note.is_private());
    }
}
