//! `README.md`: each of its commands runs, and says what is recorded.

use std::io::{BufRead, BufReader};
use std::process::Child;

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

    /// A line in a shell in one of their folders.
    fn command(&self, folder: &str, line: &str) -> Command {
        let path = std::env::join_paths([self.path("bin"), "/usr/bin".into(), "/bin".into()]).unwrap();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", line]).env_clear().env("PATH", path).env("HOME", self.path("")).env("NO_COLOR", "1");
        shell.current_dir(self.path(folder)).stdin(Stdio::null());
        shell
    }

    /// What a line says in a shell in their vault.
    fn says(&self, line: &str) -> String {
        self.says_in("vault", line)
    }

    fn says_in(&self, folder: &str, line: &str) -> String {
        let said = self.command(folder, line).output().unwrap();
        // A search says so where the machine was busy for a second; what it is to find is there already.
        let remarks =
            String::from_utf8(said.stderr).unwrap().replace("vault: the newest changes may not be found yet\n", "");
        self.shown(&(String::from_utf8(said.stdout).unwrap() + &remarks))
    }

    /// A text with the name of their home as it is in the recordings.
    fn shown(&self, text: &str) -> String {
        text.replace(self.path("").to_str().unwrap().trim_end_matches('/'), "/home/maya")
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

/// With the model that everybody has, and the note that is written down in the first minute.
#[test]
fn the_first_minute_is_as_recorded() {
    let person = Person::new();
    fs::remove_dir_all(person.path("vault")).unwrap();
    let page = fs::read_to_string(data("README.md")).unwrap();
    let mut blocks = page.split("```console\n").skip(1).map(|block| block.split("```").next().unwrap());
    let (init, serve) = blocks.next().unwrap().split_once("\n$ vault serve --vault ~/vault\n").unwrap();
    assert_steps(&format!("```console\n{init}"), |line| person.says_in("", line));
    let daemon =
        person.command("", "exec vault serve --vault ~/vault --port 0").stdout(Stdio::piped()).spawn().unwrap();
    let mut daemon = Stopping(daemon);
    let lines = BufReader::new(daemon.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let recorded: Vec<&str> = serve.lines().collect();
    let said: Vec<String> = lines.take(recorded.len()).collect();
    let address = said[1].split_whitespace().nth(1).unwrap().to_owned();
    let shown = |text: &str| person.shown(text).replace(&address, "http://127.0.0.1:7833");
    assert_eq!(said.iter().map(|line| shown(line)).collect::<Vec<_>>(), recorded);
    assert_steps(&without_scores(&format!("```console\n{}", blocks.next().unwrap())), |line| {
        if line.starts_with("vault") {
            eventually("the eighth note with its meaning", || {
                let status: Value = serde_json::from_str(&person.says("vault status --json")).ok()?;
                (status["files"] == 8 && status["embedded"] == status["embeddable"]).then_some(())
            });
        }
        without_scores(&shown(&person.says(line)))
    });
}

/// A text without the scores of its hits, of which the last digit is not the same on every processor.
fn without_scores(text: &str) -> String {
    let is_score = |part: &&str| part.len() == 4 && part.starts_with("0.");
    let line = |line: &str| {
        let parts = line.trim_end().split("  ").map(|part| if is_score(&part) { "0.__" } else { part });
        parts.collect::<Vec<_>>().join("  ")
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Ends when it is dropped.
struct Stopping(Child);

impl Drop for Stopping {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Those that stand in a sentence or a table run in a new vault; a name alone says what it is for.
#[test]
fn each_command_that_is_named_is_one() {
    let person = Person::new();
    fs::remove_dir_all(person.path("vault")).unwrap();
    person.says_in("", "vault init ~/vault && printf '[embed]\\nmodel = \"none\"\\n' > ~/vault/memory.toml");
    let conversations = fs::read(data("tests/data/imports/chatgpt/conversations.json")).unwrap();
    fs::write(person.path("notes/export.zip"), archive(&[("conversations.json", &conversations)])).unwrap();
    let page = fs::read_to_string(data("README.md")).unwrap();
    let prose: String = page.split("```").step_by(2).collect();
    let named = prose
        .split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|code| code.strip_prefix("vault ").or_else(|| code.strip_prefix("qmd ").map(|_| code)));
    let recorded =
        page.lines().filter_map(|line| line.strip_prefix("$ vault agent ")).map(|rest| format!("agent {rest}"));
    let mut count = 0;
    for command in recorded.chain(named.map(str::to_owned)) {
        let line = match command.split_once(' ') {
            Some(("init", _)) | None => format!("vault {} --help", command.split(' ').next().unwrap()),
            // It would not end.
            Some(("serve", _)) => format!("vault {command} --help"),
            _ => format!("vault {command}"),
        };
        let ran = person.command("notes", &format!("echo y | {line} --vault ~/vault")).output().unwrap();
        let found_nothing = ran.status.code() == Some(1);
        assert!(ran.status.success() || found_nothing, "{line}\n{}", String::from_utf8_lossy(&ran.stderr));
        count += 1;
    }
    assert!(count > 15, "{count}");
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
