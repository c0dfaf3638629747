//! The configuration of a QMD that was there before: `index.yml`. Its collections are taken over once; the commands that it may
//! name are never run.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::{Map, Value};

use super::collection::{QmdCollection, QmdCollections};
use super::place::IndexPlace;
use crate::note::yaml_mapping;

/// Maximum length of what is read of a configuration, in bytes. None that a person writes is longer.
const MAX_BYTES: u64 = 1 << 20;

/// What a collection without a pattern has.
const EVERY_NOTE: &str = "**/*.md";

impl QmdCollections {
    /// Those that the configuration of a QMD names, and what of it could not be taken over.
    pub(crate) fn take_over(place: &IndexPlace) -> (Self, Vec<String>) {
        let mut text = String::new();
        let read = File::open(&place.former).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text));
        match read {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => (Self::default(), Vec::new()),
            Err(error) => (Self::default(), vec![format!("{} cannot be read: {error}", place.former.display())]),
            Ok(_) => Self::of_text(&text, place.project()),
        }
    }

    fn of_text(text: &str, project: Option<&Path>) -> (Self, Vec<String>) {
        let (mut all, mut left) = (Self::default(), Vec::new());
        let settings = yaml_mapping(text).unwrap_or_else(|why| {
            left.push(format!("none of it can be read, and its collections are to be added: {why}"));
            Map::new()
        });
        all.global_context = settings.get("global_context").and_then(Value::as_str).map(str::to_owned);
        let none = Map::new();
        for (name, value) in settings.get("collections").and_then(Value::as_object).unwrap_or(&none) {
            let said = |key: &str| value.get(key).and_then(Value::as_str);
            let path = said("path").unwrap_or_default();
            let path = match project.map(|project| within(project, path)) {
                Some(Some(path)) => path,
                Some(None) => {
                    left.push(format!(
                        "the collection {name}: {path} is no folder of the project; `qmd collection add` takes it"
                    ));
                    continue;
                }
                None => below_home(path),
            };
            let made = QmdCollection::new(name, &path, said("pattern").unwrap_or(EVERY_NOTE)).and_then(|mut made| {
                let context = value.get("context").and_then(Value::as_object).into_iter().flatten();
                made.context =
                    context.filter_map(|(folder, text)| Some((folder.clone(), text.as_str()?.into()))).collect();
                made.is_left_out = value.get("includeByDefault") == Some(&Value::Bool(false));
                made.update = said("update").map(str::to_owned);
                all.add(made.ignoring(texts(value.get("ignore")))?)
            });
            if let Err(error) = made {
                left.push(error.to_string());
            }
            if value.get("update").is_some_and(|value| !value.is_null()) {
                left.push(format!("the collection {name}: the command of an update, which is not run"));
            }
        }
        (all, left)
    }
}

/// One text, or a list of them.
fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// A folder that the configuration of a project names, if it lies within that: the configuration comes with whatever repository somebody
/// has made, and names no folder of the person's elsewhere.
fn within(project: &Path, path: &str) -> Option<std::path::PathBuf> {
    let folder = project.join(path).canonicalize().ok()?;
    folder.starts_with(project.canonicalize().ok()?).then_some(folder)
}

fn below_home(path: &str) -> std::path::PathBuf {
    match (Path::new(path).strip_prefix("~"), std::env::home_dir()) {
        (Ok(below), Some(home)) => home.join(below),
        _ => path.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_are_taken_over_and_commands_are_not() {
        let (all, left) = QmdCollections::of_text(
            "global_context: Mine.\ncollections:\n  notes:\n    path: /home/me/notes\n    pattern: '**/*.md'\n    \
             context:\n      /: All notes.\n    update: 'git pull; touch /tmp/x'\n    includeByDefault: false\n  ../bad:\n    path: /x\n  \
             \"a\\0b\":\n    path: /y\n  docs:\n    path: relative\n  more:\n    path: /z\n    ignore: ['x/**', 3]\n  \
             single:\n    path: /s\n    ignore: old\n  bad:\n    path: /b\n    ignore: ['[']\n",
            None,
        );
        let names: Vec<&str> = all.collections.iter().map(|collection| collection.name.as_str()).collect();
        assert_eq!(names, ["notes", "more", "single"]);
        let [notes, more, ..] = &all.collections[..] else { panic!("three") };
        assert_eq!((notes.is_left_out, notes.update.as_deref()), (true, Some("git pull; touch /tmp/x")));
        assert_eq!((more.is_left_out, more.update.as_deref()), (false, None));
        assert_eq!(
            (&all.collections[1].ignore[..], &all.collections[2].ignore[..]),
            (&["x/**".to_owned()][..], &["old".to_owned()][..])
        );
        assert_eq!(all.context_of(&all.collections[0], "a.md").unwrap(), "Mine.\n\nAll notes.");
        assert_eq!(left.len(), 5, "{left:?}");
        for (hostile, told) in
            [("", 0), ("[[[[", 1), ("collections: 3", 0), ("a: &a [*a]", 1), ("---\n---\n", 1), ("a: 1\na: 2\n", 1)]
        {
            let (all, left) = QmdCollections::of_text(hostile, None);
            assert_eq!((all.collections.len(), left.len()), (0, told), "{hostile}: {left:?}");
        }
        let many: String = (0..2000).map(|at| format!("  c{at}:\n    path: /home/me/notes/number-{at}\n")).collect();
        let (all, left) = QmdCollections::of_text(&format!("collections:\n{many}"), None);
        assert_eq!((all.collections.len(), left.len()), (2000, 0));
    }
    #[test]
    fn the_configuration_of_a_project_names_folders_of_that_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (project, elsewhere) = (folder.path().join("project"), folder.path().join("elsewhere"));
        std::fs::create_dir_all(project.join("docs")).unwrap();
        std::fs::create_dir_all(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, project.join("link")).unwrap();
        let text = format!(
            "collections:\n  one:\n    path: docs\n  two:\n    path: {}\n  all:\n    path: .\n  out:\n    path: {}\n  \
             up:\n    path: ../elsewhere\n  link:\n    path: link\n  home:\n    path: '~/notes'\n  none:\n    path: none\n",
            project.join("docs").display(),
            elsewhere.display()
        );
        let (all, left) = QmdCollections::of_text(&text, Some(&project));
        let names: Vec<&str> = all.collections.iter().map(|collection| collection.name.as_str()).collect();
        // `two` is `one`, by another name.
        assert_eq!(names, ["one", "all"]);
        assert_eq!(all.collections[1].path, project.canonicalize().unwrap());
        assert_eq!(left.len(), 6, "{left:?}");
    }
}
