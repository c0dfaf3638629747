//! `vault model`: what is here, what is chosen, fetched and timed, and what is refused.

use std::io::Write;

use sha2::{Digest, Sha256};

use crate::support::prelude::*;

const CONFIG: &str = "# mine\n[embed]\n# which\nmodel = \"none\" # for now\n";

/// The bundled model's file.
fn minilm() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models/all-minilm-l6-v2.q8_0.gguf")
}

/// A vault, and a folder of models of its own.
struct Models {
    vault: Daemon,
    data: tempfile::TempDir,
}

impl Models {
    fn new() -> Self {
        Self { vault: Daemon::with_config(CONFIG), data: tempfile::tempdir().unwrap() }
    }

    fn run(&self, args: &[&str]) -> Ran {
        let args: Vec<&str> = ["model"].iter().chain(args).copied().collect();
        Ran::of(self.vault.command(&args).env("XDG_DATA_HOME", self.data.path()).env("HOME", self.data.path()))
    }

    /// What it says when it fails.
    #[track_caller]
    fn refuses(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.code, 2, "{} {}", ran.stdout, ran.stderr);
        assert_eq!(self.config(), CONFIG, "nothing was chosen");
        ran.stderr
    }

    fn config(&self) -> String {
        fs::read_to_string(self.vault.path("memory.toml")).unwrap()
    }

    fn list(&self) -> Vec<Value> {
        self.run(&["list", "--json"]).ok().json()["models"].as_array().unwrap().clone()
    }

    /// Where models are kept.
    fn folder(&self) -> PathBuf {
        self.run(&["list", "--json"]).ok().json()["folder"].as_str().unwrap().into()
    }

    /// What is in it.
    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder()).unwrap().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// A file to import, of these bytes.
    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.data.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

#[test]
fn what_is_here_is_listed_and_what_is_used_is_marked() {
    let models = Models::new();
    let told = models.run(&["list"]).ok().stdout;
    assert!(told.contains("  bundled") && told.contains("search works by words only"), "{told}");
    assert!(told.contains("multilingual-e5-small") && told.contains("MIT"), "{told}");
    models.run(&["use", "bundled"]).ok();
    let listed = models.list();
    assert_eq!(
        (listed.len(), &listed[0]["in_use"], &listed[0]["known"]),
        (1, &true.into(), &"all-MiniLM-L6-v2".into())
    );
    assert_eq!(models.config(), CONFIG.replace("\"none\"", "\"bundled\""), "comments stay");
    models.run(&["use", "none"]).ok();
    assert_eq!(models.config(), CONFIG);
    assert!(models.refuses(&["use", "no-such-model"]).contains("there is no model"));
}

#[test]
fn a_file_is_imported_and_then_found_by() {
    let mut models = Models::new();
    models
        .vault
        .write("notes/a.md", "# River\n\nA boat on the river.\n")
        .write("notes/b.md", "# Garden\n\nAn apple tree.\n");
    let told = models.run(&["import", minilm().to_str().unwrap(), "--keep", "--json"]).ok().json();
    assert_eq!((&told["used"], &told["dimension"]), (&false.into(), &384.into()), "{told}");
    assert_eq!(models.config(), CONFIG);
    let listed = models.list();
    let name = "all-minilm-l6-v2.q8_0.gguf";
    assert_eq!((&listed[1]["name"], &listed[1]["in_use"]), (&name.into(), &false.into()));
    // By the beginning of its name, too.
    let told = models.run(&["use", "all-minilm-l6-v2.q8_0", "--query-prefix", "query: "]).ok().stdout;
    assert!(told.contains("`embed.model`, `embed.query_prefix` set for all-MiniLM-L6-v2"), "{told}");
    assert!(models.config().contains(&format!("# which\nmodel = \"{name}\" # for now\nquery_prefix = \"query: \"\n")));
    assert_eq!(models.list()[1]["in_use"], true);
    let mut search = models.vault.command(&["search", "--mode", "semantic", "--json", "a ship"]);
    let found = Ran::of(search.env("XDG_DATA_HOME", models.data.path()).env("HOME", models.data.path())).ok().json();
    assert_eq!(found["results"][0]["path"], "notes/a.md", "{found}");
    // One that is gone is said, and not forgotten.
    fs::remove_dir_all(models.data.path()).unwrap();
    let listed = models.list();
    assert!(listed[1]["problem"].as_str().unwrap().contains("could not read") && listed[1]["in_use"] == true);
}

#[test]
fn what_is_no_model_is_refused_and_not_kept() {
    let models = Models::new();
    let model = fs::read(minilm()).unwrap();
    let text = models.file("text.gguf", b"# A note\n");
    assert!(models.refuses(&["import", &text]).contains("does not begin with GGUF"));
    let cut = models.file("cut.gguf", &model[..model.len() / 2]);
    assert!(models.refuses(&["import", &cut]).contains("is incomplete"));
    let key = b"general.architecture";
    let at = model.windows(key.len()).position(|window| window == key).unwrap() + key.len() + 12;
    assert_eq!(&model[at..at + 4], b"bert");
    for (architecture, said) in [(b"clip", "pictures"), (b"zzzz", "names no pooling")] {
        let mut other = model.clone();
        other[at..at + 4].copy_from_slice(architecture);
        let other = models.file("other.gguf", &other);
        let told = models.refuses(&["import", &other]);
        assert!(told.contains(said) && told.contains("other.gguf"), "{told}");
    }
    // With a pooling, it is up to llama.cpp, which does not know it.
    let other = models.data.path().join("other.gguf");
    assert!(models.refuses(&["import", other.to_str().unwrap(), "--pooling", "mean"]).contains("other.gguf"));
    // 8 GB of nothing, and 8 GB with a model at the beginning: neither is read to its end.
    for (bytes, said) in [(&b""[..], "does not begin with GGUF"), (&model[..], "8000000000 bytes")] {
        let huge = models.file("huge.gguf", bytes);
        fs::File::options().write(true).open(&huge).unwrap().set_len(8_000_000_000).unwrap();
        assert!(models.refuses(&["import", &huge]).contains(said));
    }
    assert!(models.refuses(&["import", "no-such-file.gguf"]).contains("could not read"));
    let named = models.file("model.bin", &model);
    assert!(models.refuses(&["import", &named]).contains("NAME.gguf"));
    assert_eq!(models.list().len(), 1, "nothing was kept");
}

/// Serves a file, at first only half of it.
struct Web {
    _upstream: Upstream,
    address: String,
}

impl Web {
    fn serve(file: Vec<u8>) -> Self {
        let asked = AtomicUsize::new(0);
        let upstream = Upstream::start(move |_, stream| {
            let sent = if asked.fetch_add(1, Ordering::SeqCst) == 0 { file.len() / 2 } else { file.len() };
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", file.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&file[..sent]));
        });
        let address = format!("http://{}/models/tiny.gguf?download=true", upstream.address());
        Self { _upstream: upstream, address }
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_download_is_checked_and_one_that_was_cut_off_begins_anew() {
    let models = Models::new();
    let file = fs::read(minilm()).unwrap();
    let web = Web::serve(file.clone());
    let sum = sha256(&file);
    let sum = sum.as_str();
    assert!(models.refuses(&["pull", &web.address]).contains("use https://"));
    let page = models.refuses(&["pull", "https://example.test/", "--sha256", sum]);
    assert!(page.contains("is not the address of a GGUF file"), "{page}");
    let told = models.refuses(&["pull", &web.address, "--sha256", sum]);
    assert!(told.contains("cannot be downloaded"), "{told}");
    assert_eq!(models.left(), [] as [String; 0]);
    models.run(&["pull", &web.address, "--sha256", sum]).ok();
    assert!(models.config().contains("model = \"tiny.gguf\" # for now"));
    let listed = models.list();
    assert_eq!((listed.len(), &listed[1]["bytes"]), (2, &file.len().into()));
}

#[test]
fn the_model_that_was_checked_is_the_one_that_is_used() {
    let models = Models::new();
    let folder = models.folder();
    // Below the folder of models, where a short name would be looked for in the vault.
    let below = folder.join("sub/x.gguf");
    fs::create_dir_all(folder.join("sub")).unwrap();
    fs::copy(minilm(), &below).unwrap();
    models.run(&["use", below.to_str().unwrap()]).ok();
    assert!(models.config().contains(&format!("model = \"{}\"", below.display())), "{}", models.config());
    // Another file of its name lies in the vault, and would be taken for it.
    fs::write(models.vault.path("y.gguf"), "# A note").unwrap();
    let file = models.file("y.gguf", &fs::read(minilm()).unwrap());
    models.run(&["import", &file]).ok();
    let kept = folder.join("y.gguf");
    assert!(models.config().contains(&format!("model = \"{}\"", kept.display())), "{}", models.config());
    assert!(models.list().iter().any(|model| model["name"] == "y.gguf" && model["in_use"] == true));
}

#[test]
fn the_instructions_that_a_model_computes_with_are_said_and_can_be_asked_for() {
    let mut models = Models::new();
    models.run(&["use", "bundled"]).ok();
    let status = |models: &Models, asked: &str| {
        let mut status = models.vault.command(&["status", "--json"]);
        Ran::of(status.env("VAULT_CPU", asked).env("XDG_DATA_HOME", models.data.path())).ok()
    };
    let best = status(&models, "").json()["model"]["instructions"].as_str().unwrap().to_owned();
    let asked = status(&models, &best);
    let said = asked.json()["model"]["instructions"].clone();
    assert_eq!((said, asked.stderr.contains("VAULT_CPU")), (best.as_str().into(), false));
    // Neither one that is not there nor, what would end the program, one that the processor cannot run.
    let wrong = status(&models, "of-a-later-version");
    assert!(wrong.stderr.contains("VAULT_CPU=of-a-later-version is not in this program"), "{}", wrong.stderr);
    assert_eq!(wrong.json()["model"]["instructions"], best.as_str());
    models.vault.start();
    let ready = || Some(models.vault.status()["model"].clone()).filter(|model| model["state"] == "ready");
    assert_eq!(eventually("the model", ready)["instructions"], best.as_str());
    let told = models.vault.run(&["status"]).ok().stdout;
    assert!(told.contains(&format!(", computed with {best}\n")), "{told}");
}

#[test]
fn a_known_model_that_names_no_pooling_can_be_imported() {
    let models = Models::new();
    let mut model = fs::read(minilm()).unwrap();
    let key = b"bert.pooling_type";
    let at = model.windows(key.len()).position(|window| window == key).unwrap();
    model[at + key.len() - 1] = b'o';
    let file = models.file("all-MiniLM-L6-v2.gguf", &model);
    let told = models.run(&["import", &file, "--keep", "--json"]).ok().json();
    assert_eq!(told["dimension"], 384, "{told}");
}

#[test]
fn a_download_that_is_something_else_is_not_kept() {
    let models = Models::new();
    let wrong = "0".repeat(64);
    let web = Web::serve(b"# A note".to_vec());
    models.refuses(&["pull", &web.address, "--sha256", &wrong]);
    let told = models.refuses(&["pull", &web.address, "--sha256", &wrong]);
    assert!(told.contains("has the SHA-256"), "{told}");
    assert!(models.refuses(&["pull", &web.address, "--sha256", "xyz"]).contains("64 hex digits"));
    // It is what was wanted, and no model.
    let told = models.refuses(&["pull", &web.address, "--sha256", &sha256(b"# A note")]);
    assert!(told.contains("does not begin with GGUF"), "{told}");
    assert_eq!(models.left(), [] as [String; 0]);
}
