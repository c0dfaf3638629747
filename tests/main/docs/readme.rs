//! `README.md`: its demos of an import and of `qmd` say what the program says.

use super::pages::assert_steps;
use crate::attachments::archive;
use crate::support::prelude::*;

/// A person's home, with the program on their path.
struct Person(tempfile::TempDir);

impl Person {
    fn new() -> Self {
        let person = Self(tempfile::Builder::new().prefix("maya-").tempdir().unwrap());
        for folder in ["bin", "notes", "vault", "Downloads"] {
            fs::create_dir(person.path(folder)).unwrap();
        }
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_vault"), person.path("bin/vault")).unwrap();
        fs::write(person.path("vault/memory.toml"), "[embed]\nmodel = \"none\"\n").unwrap();
        person
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    /// What a line says in a shell in their vault.
    fn says(&self, line: &str) -> String {
        let path = std::env::join_paths([self.path("bin"), "/usr/bin".into(), "/bin".into()]).unwrap();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", line]).env_clear().env("PATH", path).env("HOME", self.path("")).env("NO_COLOR", "1");
        let said = shell.current_dir(self.path("vault")).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap() + &String::from_utf8(said.stderr).unwrap();
        said.replace(self.path("").to_str().unwrap().trim_end_matches('/'), "/home/maya")
    }

    /// Runs each command of a `console` block that has a text in it, in their order.
    fn does_as_recorded(&self, with: &str) {
        let page = fs::read_to_string(data("README.md")).unwrap();
        let mut blocks = page.split("```console\n").skip(1).map(|block| block.split("```").next().unwrap());
        let block = blocks.find(|block| block.contains(with)).unwrap();
        assert_steps(&format!("```console\n{block}"), |line| self.says(line));
    }
}

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn what_is_forgotten_and_imported_again_is_still_gone() {
    let person = Person::new();
    let conversations = fs::read(data("tests/data/imports/chatgpt/conversations.json")).unwrap();
    fs::write(person.path("Downloads/chatgpt.zip"), archive(&[("conversations.json", &conversations)])).unwrap();
    person.does_as_recorded("vault import --from chatgpt");
    let left = fs::read_dir(person.path("vault/conversations")).unwrap().count();
    assert_eq!(left, 1, "the other conversation is there");
}

/// The figures of the vault that everybody begins with, and of the note that is written down in the first minute.
#[test]
fn the_first_minute_has_the_figures_of_today() {
    let page = fs::read_to_string(data("README.md")).unwrap();
    let note = page.split("$ echo '").nth(1).and_then(|rest| rest.split('\'').next()).unwrap();
    let person = Person::new();
    person.says("vault init ~/new");
    fs::write(person.path("new/memory.toml"), "[embed]\nmodel = \"none\"\n").unwrap();
    fs::write(person.path("new/notes/keys.md"), format!("{note}\n")).unwrap();
    person.says("vault reindex --vault ~/new");
    let said = person.says("vault status --vault ~/new");
    let indexed = said.lines().find(|line| line.starts_with("indexed")).unwrap();
    assert!(page.contains(indexed), "{said}");
}

#[test]
fn a_link_called_qmd_searches() {
    let person = Person::new();
    fs::copy(data("vault-template/notes/sourdough.md"), person.path("notes/sourdough.md")).unwrap();
    // Loading the model of a build without optimisation takes its time: the index that the link will have goes by words.
    person.says("vault qmd collection list");
    let indexes = fs::read_dir(person.path(".local/state/memory-vault/qmd")).unwrap().flatten();
    let file = indexes.map(|index| index.path().join("memory.toml")).find(|file| file.exists()).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("[embed]\nmodel = \"none\"\n\n{text}")).unwrap();
    person.does_as_recorded("ln -s");
}
