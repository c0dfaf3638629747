//! `vault connect`: the settings of other programs, in a home folder of the test's own.

use crate::support::prelude::*;

struct World {
    vault: Daemon,
    home: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let vault = Daemon::vault()
            .with("notes/bread.md", "# Bread\n\nThe dough rests.\n")
            .with("notes/me.md", "---\nprivate: true\n---\nMine.\n");
        Self { vault, home: tempfile::tempdir().unwrap() }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.vault.command(&["connect"]);
        command.args(args).env("HOME", self.home.path()).env_remove("XDG_CONFIG_HOME");
        for name in
            ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "MOLTIS_CONFIG_DIR", "OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH"]
        {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// Where a program has its settings, as it is told.
    fn file(&self, program: &str) -> PathBuf {
        let listed = self.run(&["--json"]).ok().json();
        let found =
            listed["programs"].as_array().unwrap().iter().find(|found| found["program"] == program).unwrap().clone();
        let path = PathBuf::from(found["file"].as_str().unwrap());
        assert!(path.starts_with(self.home.path().canonicalize().unwrap()) || path.starts_with(self.home.path()));
        path
    }

    fn before(&self, program: &str, text: &str) -> PathBuf {
        let path = self.file(program);
        write_file(&path, text);
        path
    }
}

const JSON: &str = "{\n    \"theme\": \"dark\",\n    \"cost\": 1.50e3,\n    \"mcpServers\": {\n        \"other\": { \"command\": \"x\" }\n    }\n}\n";
const JSON5: &str = "// mine\n{\n  theme: 'dark',\n  cost: +1.50e3,\n  mcp: {\n    servers: {\n      other: { command: 'x' }, // here\n    },\n  },\n}\n";
const COMMENTED: &str = "// Mine\n{\n\t\"mcpServers\": {\n\t\t\"other\": { \"command\": \"x\" }, // of work\n\t\t// \"old\": {}\n\t},\n\t\"servers\": {\n\t\t// none yet\n\t},\n\t\"mcp\": { \"servers\": {} }, /* end */\n}\n";
const TOML: &str = "# mine\nmodel = \"x\" # of this year\n\n[mcp_servers.other]\ncommand = \"x\"\n";

#[test]
fn every_program_is_set_up_asked_and_taken_out_again() {
    let world = World::new();
    for program in ["claude-code", "claude-desktop", "codex", "cursor", "moltis", "openclaw", "vscode"] {
        let written: &[&str] = match program {
            "codex" | "moltis" => &[TOML],
            "openclaw" => &[JSON, JSON5, COMMENTED],
            _ => &[JSON, COMMENTED],
        };
        // With a mark of the order of bytes, and ends of lines of Windows, too.
        let marked = format!("\u{feff}{}", written[written.len() - 1].replace('\n', "\r\n"));
        for before in std::iter::once(None).chain(written.iter().copied().chain([&*marked]).map(Some)) {
            let path = world.file(program);
            if let Some(before) = before {
                world.before(program, before);
            }
            let told = world.run(&[program, "--allow", "--yes"]).ok();
            assert!(told.stdout.contains("to test it: vault connect"), "{}", told.stdout);
            let with = fs::read_to_string(&path).unwrap();
            assert!(with.contains("--agent"), "{with}");
            let of_the_person = |line: &&str| ["theme", "cost", "//", "#"].iter().any(|part| line.contains(part));
            // A comma before the entry may go with it.
            let keeps_the_rest = |now: &str, commas: &str| {
                for line in before.into_iter().flat_map(|before| before.split_inclusive('\n')).filter(of_the_person) {
                    let is_there =
                        now.split_inclusive('\n').any(|now| now.replace(commas, "") == line.replace(commas, ""));
                    assert!(is_there, "{program}: {line:?} of {now}");
                }
                assert_eq!(now.starts_with('\u{feff}'), before.is_some_and(|before| before.starts_with('\u{feff}')));
            };
            keeps_the_rest(&with, "\0");
            // Again changes nothing.
            world.run(&[program, "--yes"]).ok();
            assert_eq!(fs::read_to_string(&path).unwrap(), with);
            let proved = world.run(&[program, "--check", "--json"]).ok().json();
            assert_eq!(proved["programs"][0]["notes"], 1, "all but what is private: {proved}");
            world.run(&[program, "--undo", "--yes"]).ok();
            let without = fs::read_to_string(&path).unwrap();
            assert!(!without.contains("--agent"), "{without}");
            keeps_the_rest(&without, ",");
            assert_eq!(world.run(&[program, "--undo", "--yes"]).code, 2);
        }
    }
}

#[test]
fn nothing_is_written_unless_it_is_agreed_to() {
    let world = World::new();
    let path = world.before("claude-code", JSON);
    let asked = world.run(&["claude-code"]);
    assert_eq!(asked.code, 2);
    assert!(asked.stderr.contains("\"mcpServers\"") && asked.stderr.contains("[y/N]"), "{}", asked.stderr);
    assert!(asked.stderr.contains("add the agent `claude`, which reads none of your notes yet"), "{}", asked.stderr);
    let printed = world.run(&["claude-code", "--print"]).ok();
    let entry: Value = serde_json::from_str(&printed.stdout).unwrap();
    let args = json!(["mcp", "--vault", world.vault.path("").canonicalize().unwrap(), "--agent", "claude"]);
    assert_eq!(entry["mcpServers"]["vault"]["args"], args);
    assert_eq!(fs::read_to_string(&path).unwrap(), JSON);
    assert!(!world.vault.path("agents").exists());
}

#[test]
fn settings_that_cannot_be_edited_are_left_alone_with_what_belongs_there_printed() {
    let world = World::new();
    let another = "{ \"mcpServers\": { \"vault\": { \"command\": \"hashicorp-vault-mcp\" } } }";
    for (program, text, why) in [
        ("openclaw", "{\n  // mine\n  mcp: {\n}\n", "is not JSON or JSON5"),
        ("vscode", "{ \"servers\": {},, }", "is not JSON or JSON5"),
        ("claude-desktop", "{ \"mcpServers\": [] }", "is not an object"),
        ("moltis", "mcp = []\n", "is not a table"),
        ("codex", "model = ", "is not TOML"),
        ("cursor", "{ \"mcpServers\": 1 }", "is not an object"),
        ("claude-code", another, "has another `vault` already"),
    ] {
        let path = world.before(program, text);
        let refused = world.run(&[program, "--allow", "--yes"]);
        assert_eq!(refused.code, 2, "{program}");
        assert!(refused.stderr.contains(why) && refused.stderr.contains("--agent"), "{program}: {}", refused.stderr);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        // What another program has put there is not started either.
        assert_eq!(world.run(&[program, "--check"]).code, 2, "{program}");
    }
    assert!(!world.vault.path("agents").exists());
}

#[test]
fn what_is_read_only_or_a_link_to_nothing_is_said_and_stays() {
    let world = World::new();
    let path = world.before("cursor", JSON);
    let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o444);
    let refused = world.run(&["cursor", "--allow", "--yes"]);
    assert!(refused.code == 2 && refused.stderr.contains("mcp.json is read-only; nothing was written"), "{refused:?}");
    assert!(refused.stderr.contains("--agent"), "what belongs there is printed: {}", refused.stderr);
    assert!(!world.vault.path("agents").exists());
    mode(0o640);
    world.run(&["cursor", "--yes"]).ok();
    mode(0o440);
    let with = fs::read_to_string(&path).unwrap();
    let refused = world.run(&["cursor", "--undo", "--yes"]);
    assert!(refused.code == 2 && refused.stderr.contains("is read-only"), "{refused:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), with);
    let nothing = world.home.path().join(".claude.json");
    std::os::unix::fs::symlink("gone/claude.json", &nothing).unwrap();
    let refused = world.run(&["claude-code", "--yes"]);
    assert!(refused.code == 2 && refused.stderr.contains("is a link to a file that is not there"), "{refused:?}");
    // A folder, and what is no text.
    fs::create_dir_all(world.file("codex")).unwrap();
    fs::create_dir_all(world.file("moltis").parent().unwrap()).unwrap();
    fs::write(world.file("moltis"), b"model = \"\xff\"\n").unwrap();
    for program in ["codex", "moltis"] {
        let refused = world.run(&[program, "--yes"]);
        assert!(refused.code == 2 && refused.stderr.contains("cannot read"), "{refused:?}");
    }
    assert_eq!(fs::read(world.file("moltis")).unwrap(), b"model = \"\xff\"\n");
}

#[test]
fn another_vault_is_named_before_a_program_turns_to_this_one() {
    let (one, other) = (World::new(), World::new());
    let elsewhere = |args: &[&str]| Ran::of(other.command(args).env("HOME", one.home.path()));
    let path = one.before("claude-code", JSON);
    one.run(&["claude-code", "--yes"]).ok();
    let asked = elsewhere(&["claude-code"]);
    let named = one.vault.path("").canonicalize().unwrap();
    assert_eq!(asked.code, 2);
    assert!(asked.stderr.contains(&format!("is connected to another vault, {}", named.display())), "{}", asked.stderr);
    assert!(fs::read_to_string(&path).unwrap().contains(named.to_str().unwrap()));
    elsewhere(&["claude-code", "--allow", "--yes"]).ok();
    assert!(!fs::read_to_string(&path).unwrap().contains(named.to_str().unwrap()));
    elsewhere(&["claude-code", "--undo", "--yes"]).ok();
    let values = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(values(&fs::read_to_string(&path).unwrap()), values(JSON));
}

#[test]
fn a_link_stays_one_and_what_does_not_answer_is_told() {
    let world = World::new();
    let dotfiles = world.home.path().join("dotfiles.json");
    fs::write(&dotfiles, JSON).unwrap();
    let link = world.home.path().join(".claude.json");
    std::os::unix::fs::symlink(&dotfiles, &link).unwrap();
    world.run(&["claude-code", "--yes"]).ok();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(fs::read_to_string(&dotfiles).unwrap().contains("--agent"));
    // An agent that was not let in is told so; one that is gone cannot be asked.
    let none = world.run(&["claude-code", "--check"]).ok();
    assert!(none.stdout.contains("sees 0 notes") && none.stderr.contains("vault agent list"), "{}", none.stderr);
    world.vault.run(&["agent", "remove", "claude"]).ok();
    let refused = world.run(&["claude-code", "--check"]);
    assert!(refused.code == 2 && refused.stderr.contains("there is no agent `claude`"), "{}", refused.stderr);
}

#[test]
fn what_a_person_has_added_to_the_entry_stays_when_it_is_brought_up_to_date() {
    let world = World::new();
    for (program, at, with) in [
        ("claude-code", "\"command\"", "\"env\": { \"LANG\":  \"C\" },\n      \"timeout\": 1.50e3,\n      \"command\""),
        ("codex", "command = ", "startup_timeout_sec = 20 # mine\nenabled = true\ncommand = "),
    ] {
        world.run(&[program, "--yes"]).ok();
        let path = world.file(program);
        let mut text = fs::read_to_string(&path).unwrap().replace(at, with);
        if program == "codex" {
            text.push_str("\n[mcp_servers.vault.env]\nLANG = \"C\"\n");
        }
        fs::write(&path, &text).unwrap();
        world.run(&[program, "--yes"]).ok();
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "nothing of ours is another");
        // Only the agent's name is another now.
        let told = world.run(&[program, "--agent", "second", "--yes"]).ok().stderr;
        assert!(told.contains("- args: [") && told.contains("+ args: [") && !told.contains("env"), "{told}");
        let now = fs::read_to_string(&path).unwrap();
        assert!(now.contains("second"), "{now}");
        let added = |line: &&str| ["env", "LANG", "timeout", "enabled"].iter().any(|key| line.contains(key));
        for line in text.lines().filter(added) {
            assert!(now.contains(line), "{line}\n{now}");
        }
        world.run(&[program, "--check"]).ok();
        world.run(&[program, "--undo", "--yes"]).ok();
        assert!(!fs::read_to_string(&path).unwrap_or_default().contains("vault"));
    }
}
