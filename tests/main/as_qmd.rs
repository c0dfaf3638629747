//! `vault` called as `qmd`: the calls of the programs that know it, replayed from `tests/data/qmd-calls.txt`.

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::support::prelude::*;

/// The process that answers for an index.
pub(crate) fn process_of(index: &Path) -> Option<Pid> {
    let said: Value = serde_json::from_slice(&fs::read(index.join(".vault/daemon.json")).ok()?).ok()?;
    Pid::from_raw(said["pid"].as_i64()? as i32)
}

/// Ends a process, and waits for it.
pub(crate) fn end(process: Pid, signal: Signal) {
    kill_process(process, signal).unwrap();
    ends(process);
}

pub(crate) fn ends(process: Pid) {
    until("its end", || test_kill_process(process).is_err());
}

/// A workspace with notes, and folders as an agent has its own.
pub(crate) struct Workspace {
    folder: TempDir,
}

impl Workspace {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("qmd-").tempdir().unwrap();
        let workspace = Self { folder };
        workspace.write("MEMORY.md", "# Memory\n\nThey bake sourdough.\n");
        workspace.write("memory/2026-01-05.md", "# Monday\n\nWe made the quarter plans.\n\nLater more.\n");
        workspace.write("memory/notes.md", "# Target\n\nThe keyword target stands here.\n");
        workspace.write("memory/private.md", "---\nprivate: true\n---\nThe secret quarter plans target.\n");
        fs::create_dir_all(workspace.path("bin")).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_vault"), workspace.path("bin/qmd")).unwrap();
        workspace
    }

    /// With an index of the memory, by words alone.
    pub(crate) fn with_memory() -> Self {
        let workspace = Self::new();
        workspace.without_model(&[]);
        let memory = workspace.path("work/memory");
        workspace.run(&["collection", "add", memory.to_str().unwrap(), "--name", "memory"]).ok();
        workspace
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write_file(self.path("work").join(path), text);
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let like = vault_command();
        let mut command = Command::new(self.path("bin/qmd"));
        command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
            .env_remove("VAULT_DIR")
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("QMD_CONFIG_DIR", self.path("config/qmd"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("NO_COLOR", "1")
            .current_dir(self.path("work"))
            .stdin(Stdio::null())
            .args(args);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// The folders of the indexes there are.
    pub(crate) fn indexes(&self) -> Vec<PathBuf> {
        let folder = self.path("state/memory-vault/qmd");
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    }

    /// Makes an index that searches by words alone: loading the model of a build without optimisation takes its time.
    pub(crate) fn without_model(&self, index: &[&str]) {
        self.without_model_after(|| drop(self.run(&[index, &["collection", "list"]].concat()).ok()));
    }

    /// The same, of the index that a call makes.
    pub(crate) fn without_model_after(&self, call: impl FnOnce()) {
        let before = self.indexes();
        call();
        let new = self.indexes().into_iter().find(|folder| !before.contains(folder)).unwrap();
        let file = new.join("memory.toml");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("[embed]\nmodel = \"none\"\n\n{text}")).unwrap();
    }

    fn database(&self) -> PathBuf {
        self.path("cache/qmd/index.sqlite")
    }

    pub(crate) fn documents(&self) -> Vec<(String, String)> {
        self.seen_documents().unwrap()
    }

    pub(crate) fn seen_documents(&self) -> rusqlite::Result<Vec<(String, String)>> {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let database = rusqlite::Connection::open_with_flags(self.database(), flags)?;
        let sql = "SELECT collection, path FROM documents WHERE active = 1 ORDER BY collection, path";
        let mut asked = database.prepare(sql)?;
        asked.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }
}

impl Drop for Workspace {
    /// The processes in the background end with their folders; so sooner.
    fn drop(&mut self) {
        for folder in self.indexes() {
            process_of(&folder).map(|process| kill_process(process, Signal::TERM));
        }
    }
}

/// The words of a line, as a shell has them with double quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut quoted, mut any) = (false, false);
    for character in line.chars() {
        match character {
            '"' if !line.contains("#'") => (quoted, any) = (!quoted, true),
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().unwrap().push(character),
        }
    }
    words.retain(|word| any || !word.is_empty());
    words
}

/// Between the calls of programs and the recorded answers of QMD.
const RECORDED: &str = "# The answers of QMD";

const CALLS: &str = include_str!("../data/qmd-calls.txt");

/// Makes the calls of a table, and looks for what they have to answer; gives how many they were.
fn replay(workspace: &Workspace, table: &str) -> usize {
    let work = workspace.path("work").to_str().unwrap().to_owned();
    let (mut calls, mut docid) = (0, String::new());
    for block in table.split("\nqmd ").skip(1) {
        let block = block.replace("{work}", &work);
        let (call, checks) = block.split_once('\n').unwrap_or((&block, ""));
        let args = words(&call.replace("{id+}", &workspace.full_hash(&docid)).replace("{id}", &docid));
        let ran = workspace.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
        if let Ok(Value::Array(hits)) = serde_json::from_str(&ran.stdout)
            && let Some(id) = hits.first().and_then(|hit| hit["docid"].as_str())
        {
            id.clone_into(&mut docid);
        }
        let mut lines = String::new();
        for check in checks.lines().filter_map(|line| line.strip_prefix("  ")) {
            let (what, rest) = check.split_once(' ').unwrap_or((check, ""));
            let so = match what {
                "exit" => ran.code == rest.parse::<i32>().unwrap(),
                "out" => ran.code == 0 && ran.stdout.contains(rest),
                "err" => ran.stderr.contains(rest),
                "not" => !ran.stdout.contains(rest),
                "json" => {
                    let (pointer, value) = rest.split_once(' ').unwrap();
                    let value: Value = serde_json::from_str(value).unwrap();
                    ran.json().pointer(pointer.trim_matches('"')).cloned().unwrap_or_default() == value
                }
                "is" => ran.code == 0 && has(&ran.json(), &serde_json::from_str(rest).unwrap()),
                "|" => {
                    lines += &format!("{rest}\n");
                    true
                }
                _ => panic!("{check}"),
            };
            assert!(so, "qmd {call}\n{check}\n{ran:?}");
        }
        let said: String = ran.stdout.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        assert!(lines.is_empty() || ran.code == 0 && is_like(&said, &lines), "qmd {call}\n{lines}\n{said}\n{ran:?}");
        calls += 1;
    }
    calls
}

/// Whether a text is another in which `{…}` stands for anything.
fn is_like(said: &str, expected: &str) -> bool {
    let mut parts: Vec<&str> = expected.split("{…}").collect();
    let Some(mut rest) = said.strip_prefix(parts.remove(0)) else { return false };
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

/// Whether JSON has what is expected of it; objects may have more.
fn has(said: &Value, expected: &Value) -> bool {
    match (said, expected) {
        (_, Value::String(expected)) if expected == "{…}" => true,
        (Value::String(said), Value::String(expected)) => is_like(said, expected),
        (Value::Object(said), Value::Object(expected)) => {
            expected.iter().all(|(key, value)| said.get(key).is_some_and(|said| has(said, value)))
        }
        (Value::Array(said), Value::Array(expected)) => {
            said.len() == expected.len() && said.iter().zip(expected).all(|(said, expected)| has(said, expected))
        }
        _ => said == expected,
    }
}

#[test]
fn programs_that_call_qmd_find_what_they_look_for() {
    let workspace = Workspace::new();
    workspace.without_model(&[]);
    workspace.without_model(&["--index", "moltis"]);
    let calls = replay(&workspace, CALLS.split(RECORDED).next().unwrap());
    assert!(calls > 90, "{calls}");
    assert!(!workspace.path("work/ran").exists(), "no command was run");
}

#[test]
fn what_qmd_answers_about_three_notes_is_answered_here() {
    let workspace = Workspace::new();
    workspace.write(
        "n/kiln.md",
        "# Kiln\n\nThe kiln fires at **1240 °C**, slowly, for 12 hours.\n\nIt cools overnight; nobody opens it & nobody \"peeks\".\n",
    );
    workspace.write(
        "n/glaze.md",
        "---\ntags: [pottery]\n---\n# Glaze, and its colours\n\n- ash < 40 %\n- feldspar\n\nThe glaze melts in the kiln.\n\n\
         Copper gives green, cobalt gives blue.\n\nNothing here is toxic.\n",
    );
    workspace.write("n/log/2026-01-05.md", "Fired the kiln twice, glazed one bowl.");
    match std::env::var_os("QMD_PEER") {
        Some(peer) => {
            fs::remove_file(workspace.path("bin/qmd")).unwrap();
            std::os::unix::fs::symlink(peer, workspace.path("bin/qmd")).unwrap();
        }
        None => {
            workspace.without_model(&[]);
            workspace.without_model(&["--index", "other"]);
        }
    }
    assert!(replay(&workspace, CALLS.split_once(RECORDED).unwrap().1) >= 40);
}

impl Workspace {
    /// Ten digits of the hash that a docid begins.
    fn full_hash(&self, docid: &str) -> String {
        let Some(prefix) = docid.strip_prefix('#') else { return String::new() };
        let Ok(database) = rusqlite::Connection::open(self.path("cache/qmd/moltis.sqlite")) else {
            return String::new();
        };
        let found = database.query_row(
            "SELECT hash FROM documents WHERE hash LIKE ?1 || '%' AND active = 1",
            [prefix],
            |row| row.get::<_, String>(0),
        );
        found.map_or(String::new(), |hash| format!("#{}", &hash[..10]))
    }
}

#[test]
fn the_database_that_openclaw_opens_is_true_private_and_never_another_s() {
    let workspace = Workspace::new();
    fs::create_dir_all(workspace.path("cache/qmd")).unwrap();
    let foreign = rusqlite::Connection::open(workspace.database()).unwrap();
    foreign.execute_batch("CREATE TABLE documents(hash TEXT); INSERT INTO documents VALUES ('theirs')").unwrap();
    drop(foreign);
    let theirs = fs::read(workspace.database()).unwrap();
    workspace.without_model(&[]);
    assert_eq!(fs::read(workspace.path("cache/qmd/index.sqlite.before")).unwrap(), theirs);
    let mode = workspace.database().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let memory = workspace.path("work/memory");
    workspace.run(&["collection", "add", memory.to_str().unwrap(), "--name", "memory"]).ok();
    let document = |path: &str| ("memory".to_owned(), path.to_owned());
    assert_eq!(workspace.documents(), [document("2026-01-05.md"), document("notes.md")]);
    // A search notices what has changed of what it gives, and `update` all.
    let hit = |query: &str| workspace.run(&["search", query, "--json"]).ok().json()[0].clone();
    let before = hit("target");
    workspace.write("memory/notes.md", "# Target\n\nThe keyword target moved.\n");
    let after = eventually("the change", || {
        Some(hit("target")).filter(|hit| hit["docid"].is_string() && hit["docid"] != before["docid"])
    });
    let database = rusqlite::Connection::open(workspace.database()).unwrap();
    let path: String = database
        .query_row(
            "SELECT path FROM documents WHERE hash LIKE ?1 AND active = 1",
            [format!("{}%", after["docid"].as_str().unwrap().trim_start_matches('#'))],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(path, "notes.md");
    workspace.write("memory/new.md", "# New\n\nQuinoa.\n");
    fs::remove_file(workspace.path("work/memory/notes.md")).unwrap();
    workspace.run(&["update"]).ok();
    assert_eq!(workspace.documents(), [document("2026-01-05.md"), document("new.md")]);
    assert_eq!(hit("quinoa")["file"], "qmd://memory/new.md");
    // What becomes private is found no more.
    workspace.write("memory/new.md", "---\nprivate: true\n---\n# New\n\nQuinoa.\n");
    until("it to be hidden", || hit("quinoa").is_null());
    workspace.run(&["update"]).ok();
    assert_eq!(workspace.documents(), [document("2026-01-05.md")]);
}

#[test]
fn what_a_qmd_has_left_is_taken_over_and_its_commands_never_run() {
    let workspace = Workspace::new();
    let (memory, trap) = (workspace.path("work/memory"), workspace.path("trap"));
    fs::create_dir_all(workspace.path("config/qmd")).unwrap();
    let settings = format!(
        "global_context: Mine.\ncollections:\n  memory:\n    path: {}\n    pattern: '**/*.md'\n    update: 'touch {}'\n    ignore: ['old', '*-05.md']\n  \
         \"bad\\0name\":\n    path: {}\n  ../up:\n    path: {}\n",
        memory.display(),
        trap.display(),
        memory.display(),
        memory.display()
    );
    fs::write(workspace.path("config/qmd/index.yml"), &settings).unwrap();
    workspace.without_model(&[]);
    let listed = workspace.run(&["collection", "list", "--json"]).ok().json();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["name"]), (1, &"memory".into()));
    workspace.run(&["update"]).ok();
    let hit = workspace.run(&["query", "keyword target", "--json"]).ok().json()[0].clone();
    assert_eq!((&hit["file"], &hit["context"]), (&"qmd://memory/notes.md".into(), &"Mine.".into()));
    assert!(!trap.exists());
    // What it ignores is nowhere.
    assert!(workspace.run(&["search", "plans", "--json"]).ok().json().as_array().unwrap().is_empty());
    workspace.write("memory/old/a.md", "# Old\n\nQuinoa.\n");
    workspace.run(&["update"]).ok();
    assert!(workspace.run(&["search", "quinoa", "--json"]).ok().json().as_array().unwrap().is_empty());
    assert_eq!(workspace.run(&["get", "memory/old/a.md"]).code, 1);
    assert_eq!(workspace.documents(), [("memory".to_owned(), "notes.md".to_owned())]);
    assert!(workspace.run(&["collection", "show", "memory"]).ok().stdout.contains("*-05.md"));
    assert_eq!(fs::read_to_string(workspace.path("config/qmd/index.yml")).unwrap(), settings);
    // OpenClaw's repair of a collection: take it away, and make it again.
    workspace.run(&["collection", "remove", "memory"]).ok();
    workspace.run(&["collection", "add", memory.to_str().unwrap(), "--name", "memory", "--mask", "**/*.md"]).ok();
    assert_eq!(workspace.run(&["search", "target", "--json"]).ok().json()[0]["file"], "qmd://memory/notes.md");
}

#[test]
fn a_call_starts_the_process_that_answers_once_and_it_ends_with_its_folder() {
    let workspace = Workspace::with_memory();
    let [folder] = &workspace.indexes()[..] else { panic!("one index") };
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let first = process_of(folder).unwrap();
    // All at once, and none is started beside it.
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope
                .spawn(|| assert_eq!(workspace.run(&["search", "target", "--json"]).ok().json()[0]["title"], "Target"));
        }
    });
    assert_eq!(process_of(folder), Some(first));
    end(first, Signal::KILL);
    assert_eq!(workspace.run(&["search", "target", "--json"]).ok().json()[0]["title"], "Target", "it is started again");
    let mut second = process_of(folder).unwrap();
    assert_ne!(first, second);
    // Nor is its end waited for.
    for _ in 0..8 {
        kill_process(second, Signal::KILL).unwrap();
        assert_eq!(workspace.run(&["search", "target", "--json"]).ok().json()[0]["title"], "Target");
        second = process_of(folder).unwrap();
    }
    fs::remove_file(folder.join("memory.toml")).unwrap();
    ends(second);
}

#[test]
fn a_program_that_is_itself_called_qmd_starts_the_process_that_answers() {
    let workspace = Workspace::new();
    let (program, qmd) = (env!("CARGO_BIN_EXE_vault"), workspace.path("bin/qmd"));
    fs::remove_file(&qmd).unwrap();
    fs::hard_link(program, &qmd).or_else(|_| fs::copy(program, &qmd).map(drop)).unwrap();
    workspace.without_model(&[]);
    let memory = workspace.path("work/memory");
    workspace.run(&["collection", "add", memory.to_str().unwrap(), "--name", "memory"]).ok();
    assert_eq!(workspace.run(&["search", "target", "--json"]).ok().json()[0]["title"], "Target");
}
