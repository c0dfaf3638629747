//! A copy of the index on PostgreSQL: kept by the daemon, whatever becomes of either, and searched by a server that has no vault.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::process::Child;

use crate::disk::Disk;
use crate::people::person;
use crate::several::Server;
use crate::support::prelude::*;

/// Where the daemon may die in a push.
pub const POINTS: [&str; 4] = ["push-begun", "push-words", "push-ready", "push-committed"];

/// What of a copy does not depend on how it came to be.
const TABLES: [&str; 5] = [
    "select file, info, passages, meaning, entry, chunks, embedded, metadata from file order by file",
    "select * from passage order by \"row\"",
    "select * from words order by \"row\"",
    "select * from meaning order by \"row\"",
    "select * from term order by key",
];

fn tables(address: &str) -> Vec<Vec<String>> {
    TABLES.iter().flat_map(|table| postgres::sql(address, table)).collect()
}

fn configured(address: &str, more: &str) -> String {
    format!("[remote]\nurl = \"{address}\"\nvault = \"maya\"\n{more}")
}

/// Waits until the copy is complete.
pub fn complete(vault: &Daemon) -> Value {
    eventually("the copy to be complete", || {
        let state = vault.status()["remote"].clone();
        (state["pushed_at"].is_string() && state["behind"] == 0 && state["reason"].is_null()).then_some(state)
    })
}

fn has_file(address: &str, path: &str) -> bool {
    // The path is in the row's JSON.
    let hex: String = format!("\"{path}\"").bytes().map(|byte| format!("{byte:02x}")).collect();
    let found = postgres::sql(address, &format!("select file from file where encode(entry, 'hex') like '%{hex}%'"));
    !found.is_empty()
}

#[test]
fn what_is_saved_is_copied_and_what_becomes_private_leaves() {
    let Some(address) = postgres::database() else { return };
    let mut vault = Daemon::without_model(&configured(&address, ""))
        .with("notes/river.md", "A boat on the river.")
        .with("notes/secret.md", "---\nprivate: true\n---\nUnder the mat.")
        .started();
    let state = complete(&vault);
    assert_eq!((&state["vault"], &state["files"]), (&json!("maya"), &json!(1)));
    assert!(has_file(&address, "notes/river.md") && !has_file(&address, "notes/secret.md"));
    vault.write("notes/garden.md", "An apple in the garden.");
    until("the new note to be copied", || has_file(&address, "notes/garden.md"));
    vault.write("notes/river.md", "---\nprivate: true\n---\nA boat on the river.");
    until("the private note to leave", || !has_file(&address, "notes/river.md"));
    let printed = vault.run(&["status"]).ok().stdout;
    assert!(printed.lines().any(|line| line.starts_with("remote") && line.contains("`maya`")), "{printed}");
}

/// Whether a text is anywhere in a copy.
fn holds(address: &str, text: &str) -> bool {
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let tables = ["file", "passage", "words", "meaning", "term", "vault", "principal"];
    let rows = tables.iter().flat_map(|table| postgres::sql(address, &format!("select t::text from {table} t")));
    rows.flatten().any(|row| row.contains(text) || row.contains(&hex))
}

#[test]
fn nothing_of_what_is_private_is_copied_under_another_name() {
    let Some(address) = postgres::database() else { return };
    let mut vault = Daemon::without_model(&format!(
        "{}[index]\nattachments = true\n[access]\nprivate = [\"journal/**\"]\n",
        configured(&address, "")
    ))
    .with("notes/river.md", "A boat. [[plan.html]]")
    .with("notes/secret.md", "---\nprivate: true\n---\nUnder the quokkamat. [[plan.html]] [[other.html]]")
    .with("notes/plan.html", "<p>The quokkaplan.</p>")
    .with("notes/other.html", "<p>The quokkaother.</p>")
    .with("notes/made.md", "---\nsources: [notes/secret.md]\n---\nThe quokkamade.")
    .with("journal/day.md", "The quokkaday.")
    .with("agents/ada/agent.md", "---\ncan_read_user_memory: true\nprivate: true\n---\nThe quokkaagent.");
    fs::hard_link(vault.path("journal/day.md"), vault.path("notes/copy.md")).unwrap();
    vault = vault.started();
    complete(&vault);
    let ada = vault.token_of("ada");
    vault.write("notes/next.md", "An apple.");
    let hash: String = blake3::hash(ada.as_bytes()).to_hex().to_string();
    until("the token to be copied", || {
        let rows = postgres::sql(&address, &format!("select from principal where encode(token, 'hex') = '{hash}'"));
        !rows.is_empty() && holds(&address, "apple")
    });
    complete(&vault);
    assert!(holds(&address, "boat"));
    assert!(!holds(&address, "quokka"), "nothing of it is there");
    let state = vault.status()["remote"].clone();
    assert_eq!((&state["files"], &state["behind"]), (&json!(2), &json!(0)), "{state}");
}

#[test]
fn a_query_server_knows_a_database_that_was_made_anew() {
    let Some(address) = postgres::database() else { return };
    let mut vault = vault_of(&address, "maya", TOKEN);
    let ada = vault.token_of("ada");
    vault.write("notes/more.md", "A garden.");
    until("the token to be copied", || !postgres::sql(&address, "select from principal where name = 'ada'").is_empty());
    let server = QueryServer::of(&[&address], &[]);
    assert_eq!(server.find(&ada, "/search?mode=keyword&q=boat"), ["maya/notes/boat.md"]);
    let seq = postgres::sql(&address, "select seq from vault").concat();
    vault.terminate();
    vault.write("notes/boat.md", "---\ntags: [secret]\n---\nThe boat of maya.");
    vault.write("agents/ada/agent.md", "---\ncan_read_user_memory: true\nexclude_tags: [secret]\n---\n");
    postgres::sql(&address, "drop schema public cascade; create schema public");
    vault.start();
    complete(&vault);
    // As many states as there were before.
    postgres::sql(&address, &format!("update vault set seq = {}", seq[0]));
    assert_eq!(server.find(&ada, "/search?mode=keyword&q=boat&collection=notes"), [""; 0]);
    assert_eq!(server.find(TOKEN, "/search?mode=keyword&q=boat&collection=notes"), ["maya/notes/boat.md"]);
}

#[test]
fn what_counts_as_a_word_changes_for_all_even_if_the_daemon_is_killed() {
    let (Some(address), Some(fresh)) = (postgres::database(), postgres::database()) else { return };
    let with = |address: &str, stemmer: &str| {
        format!("[embed]\nmodel = \"none\"\n[search]\nstemmer = \"{stemmer}\"\n{}", configured(address, ""))
    };
    let mut vault = Daemon::without_model("");
    for at in 0..1100 {
        vault.write(&format!("notes/{at}.md"), format!("Running number {at}."));
    }
    vault.write("memory.toml", with(&address, "english"));
    vault.start();
    complete(&vault);
    vault.terminate();
    vault.write("memory.toml", with(&address, "none"));
    vault.spawn(Some("push-committed:2"));
    until("the daemon to die", || vault.was_killed());
    vault.start();
    complete(&vault);
    vault.terminate();
    vault.write("memory.toml", with(&fresh, "none"));
    vault.start();
    complete(&vault);
    assert_eq!(tables(&address), tables(&fresh));
}

#[test]
fn a_query_server_does_without_a_database_that_is_gone_and_stops_well() {
    let (Some(address), Some(empty)) = (postgres::database(), postgres::database()) else { return };
    let mut vault = vault_of(&address, "maya", TOKEN);
    let gone = address.replace(address.rsplit('/').next().unwrap(), "no_such_database");
    let mut server = QueryServer::of(&[&gone, &empty, &address], &["--allowed-host", "search.example.org"]);
    let found = server.get(TOKEN, "/search?mode=keyword&q=boat").ok();
    assert!(found["degraded"].as_str().unwrap().contains("one of the databases"), "{found}");
    let places = column(&found["results"], "path");
    assert!(places.contains(&"notes/boat.md".to_owned()), "{places:?}");
    let named = Request::get("/vaults").bearer(TOKEN).header("Host", "search.example.org");
    assert_eq!(server.send(&named).ok(), json!(["maya"]));
    let named = Request::get("/vaults").bearer(TOKEN).header("Host", "evil.example.org");
    assert_eq!(server.send(&named).status, 403);
    // A vault that has moved is where its daemon is.
    vault.terminate();
    vault.write("memory.toml", format!("[embed]\nmodel = \"none\"\n[remote]\nurl = \"{empty}\"\nvault = \"maya\"\n"));
    postgres::sql(&address, "update vault set seen_at = now() - interval '1 minute'");
    vault.write("notes/new.md", "A new boat.");
    vault.start();
    complete(&vault);
    let found = server.find(TOKEN, "/search?mode=keyword&q=boat&collection=notes");
    assert_eq!(found, ["maya/notes/boat.md", "maya/notes/new.md"]);
    rustix::process::kill_process(rustix::process::Pid::from_child(&server.child), rustix::process::Signal::TERM)
        .unwrap();
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    // A copy that is not wanted any more is removed by one command.
    postgres::sql(&address, "select remove_copy('maya')");
    assert!(!holds(&address, "boat") && !holds(&address, "maya"));
}

#[test]
fn a_server_that_never_answers_holds_up_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let hanging = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
    let (accepted, was_accepted) = std::sync::mpsc::channel();
    std::thread::spawn(move || accepted.send(hanging.accept()));
    let host = encode(folder.path().to_str().unwrap());
    let mut vault = Daemon::without_model(&configured(&format!("postgres://vault@{host}/x"), "")).started();
    let _connection = was_accepted.recv_timeout(PATIENCE).expect("the daemon connects").unwrap();
    vault.write("notes/river.md", "A boat on the river.");
    vault.finds("boat", &["notes/river.md"]);
    assert!(vault.status()["remote"]["pushed_at"].is_null());
    vault.terminate();
    let clean = Daemon::run(&vault, &["verify"]).ok().stdout;
    assert!(!clean.contains("damage found"), "{clean}");
}

#[test]
fn a_server_that_is_away_is_said_and_caught_up_with() {
    let Some(address) = postgres::database() else { return };
    let name = address.rsplit('/').next().unwrap().to_owned();
    let elsewhere = address.replace(&format!("/{name}"), "/postgres");
    let allow = |yes: bool| {
        postgres::sql(&elsewhere, &format!("alter database {name} allow_connections {yes}"));
        let end = format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'");
        postgres::sql(&elsewhere, &end);
    };
    allow(false);
    let mut vault = Daemon::without_model(&configured(&address, "")).with("notes/river.md", "A boat.").started();
    let state = eventually("the failure to be said", || {
        let state = vault.status()["remote"].clone();
        state["failing_since"].is_string().then_some(state)
    });
    assert!(state["reason"].as_str().unwrap().contains("not currently accepting connections"), "{state}");
    vault.finds("boat", &["notes/river.md"]);
    allow(true);
    complete(&vault);
    assert!(has_file(&address, "notes/river.md"));
    // Away in the midst of its life, too, while a note becomes private.
    allow(false);
    vault.write("notes/garden.md", "An apple.");
    vault.write("notes/river.md", "---\nprivate: true\n---\nA boat.");
    until("the failure to be said", || vault.status()["remote"]["failing_since"].is_string());
    allow(true);
    until("the note to be copied", || has_file(&address, "notes/garden.md"));
    assert!(!has_file(&address, "notes/river.md"), "what became private goes first");
}

#[test]
fn a_full_disk_of_the_server_is_said_and_caught_up_with() {
    let (Some(disk), Some(own)) = (Disk::new(24), postgres::own(&[])) else { return };
    // The server runs as another user where the tests run as root.
    let data = disk.path().join("data");
    fs::create_dir(&data).unwrap();
    for (folder, mode) in [(disk.path(), 0o755), (&data, 0o777)] {
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
    }
    let owner = PathBuf::from(postgres::sql(&own.address, "show data_directory").concat().remove(0));
    let owner = fs::metadata(owner).unwrap();
    std::os::unix::fs::chown(&data, Some(owner.uid()), Some(owner.gid())).unwrap();
    postgres::sql(&own.address, &format!("create tablespace small location '{}'", data.display()));
    postgres::sql(&own.address, "create database copies tablespace small");
    let address = own.address.replace("/postgres", "/copies");
    let mut vault = Daemon::without_model(&configured(&address, "")).with("notes/river.md", "A boat.").started();
    complete(&vault);
    disk.fill(4);
    let long: String = (0..20_000).map(|number| format!("word{number} ")).collect();
    vault.write("notes/long.md", long);
    vault.write("notes/garden.md", "A garden.");
    let state = eventually("the failure to be said", || {
        let state = vault.status()["remote"].clone();
        state["failing_since"].is_string().then_some(state)
    });
    assert!(state["reason"].as_str().unwrap().contains("No space left"), "{state}");
    vault.finds("garden", &["notes/garden.md"]);
    assert!(has_file(&address, "notes/river.md") && !has_file(&address, "notes/long.md"));
    disk.empty();
    until("the note to be copied", || has_file(&address, "notes/long.md"));
    complete(&vault);
    vault.terminate();
}

#[test]
fn a_copy_of_an_index_that_cannot_follow_the_notes_says_so() {
    let (Some(disk), Some(address)) = (Disk::new(16), postgres::database()) else { return };
    let config = format!("{}[index]\ndir = {:?}\n", configured(&address, ""), disk.path().join("index"));
    let mut vault = Daemon::without_model(&config).with("notes/river.md", "A boat.").started();
    complete(&vault);
    disk.fill(0);
    let private = format!("---\nprivate: true\n---\nA boat. {}", "River. ".repeat(20_000));
    vault.write("notes/river.md", private);
    until("the failure to be said", || {
        let state = vault.status()["remote"].clone();
        state["reason"].as_str().is_some_and(|reason| reason.contains("does not follow"))
    });
    let seen = || postgres::sql(&address, "select seen_at from vault").concat();
    let before = seen();
    // It is tried again and again meanwhile.
    std::thread::sleep(Duration::from_secs(6));
    assert_eq!(seen(), before, "nobody says that this is the disk");
    disk.empty();
    complete(&vault);
    assert!(!has_file(&address, "notes/river.md"));
    vault.terminate();
}

/// Speaks TLS before a server that does not.
fn tls_before(socket: PathBuf, certificate: rcgen::CertifiedKey<rcgen::KeyPair>) -> u16 {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
    use tokio_rustls::rustls::ServerConfig;
    use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
    let key = PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der()).into();
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![certificate.cert.der().clone()], key).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((mut plain, _)) = listener.accept().await {
                let (acceptor, socket) = (acceptor.clone(), socket.clone());
                tokio::spawn(async move {
                    // What a client asks first; it goes on in the clear, and is not answered, where it does not ask for TLS.
                    let mut asked = [0; 8];
                    plain.read_exact(&mut asked).await.ok()?;
                    assert_eq!(asked, [0, 0, 0, 8, 4, 210, 22, 47]);
                    plain.write_all(b"S").await.ok()?;
                    let mut secured = acceptor.accept(plain).await.ok()?;
                    let mut server = tokio::net::UnixStream::connect(socket).await.ok()?;
                    copy_bidirectional(&mut secured, &mut server).await.ok()
                });
            }
        });
    });
    port
}

#[test]
fn a_server_elsewhere_is_verified_and_gets_the_password() {
    let Some(own) = postgres::own(&[]) else { return };
    let hba = postgres::sql(&own.address, "show hba_file").concat().remove(0);
    let with_password = own.address.replace("vault@", "vault:se%20cret@");
    let folder = Path::new(&hba).parent().unwrap().to_owned();
    postgres::sql(&own.address, "alter role vault password 'se cret'");
    postgres::sql(&own.address, &format!("copy (select 'local all all scram-sha-256') to '{hba}'"));
    postgres::sql(&own.address, "select pg_reload_conf()");
    until("the password to be asked for", || postgres::ask(&own.address, "select 1").is_err());
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let pem = certificate.cert.pem();
    let port = tls_before(folder.join(".s.PGSQL.5432"), certificate);
    let url = format!("postgres://vault@localhost:{port}/postgres?sslmode=require");
    let mut vault = Daemon::without_model(&configured(&url, "password_env = \"NOT_SET_ANYWHERE\"\n"))
        .with("ca.pem", &pem)
        .with("notes/river.md", "A boat.")
        .started();
    let reason = |vault: &Daemon, of: &str| {
        until(of, || vault.status()["remote"]["reason"].as_str().is_some_and(|reason| reason.contains(of)));
    };
    reason(&vault, "NOT_SET_ANYWHERE");
    let change = |vault: &mut Daemon, more: &str| {
        vault.terminate();
        vault.write("memory.toml", format!("[embed]\nmodel = \"none\"\n{}", configured(&url, more)));
        vault.start();
    };
    // Nobody knows who signed it.
    change(&mut vault, "password_env = \"VAULT_TEST_PASSWORD\"\n");
    reason(&vault, "certificate");
    assert!(!postgres::sql(&with_password, "select 1 where to_regclass('vault') is null").is_empty());
    change(&mut vault, "password_env = \"VAULT_TEST_PASSWORD\"\nca = \"ca.pem\"\n");
    complete(&vault);
    assert!(has_file(&with_password, "notes/river.md"));
    let server = QueryServer::of(
        &[&url],
        &["--backend-ca", vault.path("ca.pem").to_str().unwrap(), "--backend-password-env", "VAULT_TEST_PASSWORD"],
    );
    let token = fs::read_to_string(vault.path(".vault/owner-token")).unwrap();
    assert_eq!(server.find(token.trim(), "/search?mode=keyword&q=boat"), ["maya/notes/river.md"]);
    let failed = Ran::of(vault_command().args(["serve", "--port", "0", "--backend", &with_password]));
    assert!(
        failed.code != 0 && failed.stderr.contains("environment variable") && !failed.stderr.contains("cret"),
        "{}",
        failed.stderr
    );
}

#[test]
fn a_daemon_that_is_killed_in_a_push_leaves_what_the_next_completes() {
    for point in POINTS {
        let (Some(address), Some(fresh)) = (postgres::database(), postgres::database()) else { return };
        let mut vault = Daemon::without_model(&configured(&address, "push_private = true\n"))
            .with("notes/river.md", "# River\n\nA boat on the river.")
            .with("notes/secret.md", "---\nprivate: true\n---\nUnder the mat.")
            .started();
        complete(&vault);
        vault.terminate();
        vault.write("notes/river.md", "# River\n\nA boat on the water.\n\n# Bank\n\nReeds.");
        vault.write("notes/garden.md", "An apple.");
        fs::remove_file(vault.path("notes/secret.md")).unwrap();
        vault.spawn(Some(&format!("{point}:1")));
        until("the daemon to die", || vault.was_killed());
        vault.start();
        complete(&vault);
        vault.terminate();
        vault.write(
            "memory.toml",
            format!("[embed]\nmodel = \"none\"\n{}", configured(&fresh, "push_private = true\n")),
        );
        vault.start();
        complete(&vault);
        assert_eq!(tables(&address), tables(&fresh), "killed at {point}");
    }
}

/// A query server.
pub struct QueryServer {
    child: Child,
    address: String,
}

impl QueryServer {
    pub fn of(addresses: &[&str], more: &[&str]) -> Self {
        let mut command = vault_command();
        command.args(["serve", "--port", "0"]).args(more);
        for address in addresses {
            command.args(["--backend", address]);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let address = line.trim().rsplit("http://").next().unwrap().to_owned();
        std::thread::spawn(move || _ = said.read_to_end(&mut Vec::new()));
        Self { child, address }
    }

    pub fn send(&self, request: &Request) -> Reply {
        Connection::open(&self.address).send(request).expect("the server answers")
    }

    fn get(&self, token: &str, target: &str) -> Reply {
        self.send(&Request::get(target).bearer(token))
    }

    /// What a tool says.
    fn call(&self, token: &str, name: &str, arguments: Value) -> Value {
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments },
        });
        let request = Request::send("POST", "/mcp", &call).bearer(token);
        self.send(&request.header("Accept", "application/json, text/event-stream")).ok()["result"].clone()
    }

    /// Each hit as `vault/path`.
    #[track_caller]
    fn find(&self, token: &str, target: &str) -> Vec<String> {
        let reply = self.get(token, target).ok();
        let results = reply["results"].as_array().unwrap();
        let place = |hit: &Value| format!("{}/{}", hit["vault"].as_str().unwrap(), hit["path"].as_str().unwrap());
        let mut found: Vec<String> = results.iter().map(place).collect();
        found.sort();
        found.dedup();
        found
    }
}

impl Drop for QueryServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A vault with a note of its own, whose owner has the token given.
fn vault_of(address: &str, name: &str, token: &str) -> Daemon {
    let config = format!("[remote]\nurl = \"{address}\"\nvault = \"{name}\"\n");
    let vault = Daemon::without_model(&config)
        .with("notes/boat.md", format!("The boat of {name}."))
        .with("notes/secret.md", "---\nprivate: true\n---\nA boat that is hidden.")
        .with("work/plan.md", "---\ntags: [secret]\n---\nA boat at work.")
        .with("agents/ada/agent.md", "---\ncan_read_user_memory: true\ncollections: [notes]\n---\n")
        .with(".vault/owner-token", format!("{token}\n"))
        .started();
    complete(&vault);
    vault
}

const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef";

#[test]
fn several_vaults_are_searched_and_each_by_who_may() {
    let (Some(address), Some(other)) = (postgres::database(), postgres::database()) else { return };
    // Two on one server, one on another: together they are as one.
    let vaults = [(&address, "maya"), (&address, "noor"), (&other, "omar")];
    let mut vaults = vaults.map(|(address, name)| vault_of(address, name, TOKEN));
    let ada = vaults[0].token_of("ada");
    // Tokens are copied when something is published, or within a minute.
    vaults[0].write("notes/more.md", "A garden.");
    until("the token to be copied", || !postgres::sql(&address, "select from principal where name = 'ada'").is_empty());
    let server = QueryServer::of(&[&address, &other], &[]);
    let all = ["maya/notes/boat.md", "maya/work/plan.md", "noor/notes/boat.md", "noor/work/plan.md"];
    let all_of_one: Vec<String> = server.find(TOKEN, "/search?mode=keyword&q=boat&vaults=maya,noor");
    assert_eq!(all_of_one, all);
    let everywhere = server.find(TOKEN, "/search?mode=keyword&q=boat");
    assert_eq!(everywhere, [&all[..], &["omar/notes/boat.md", "omar/work/plan.md"]].concat());
    assert_eq!(server.find(TOKEN, "/vaults/omar/search?mode=keyword&q=boat&collection=work"), ["omar/work/plan.md"]);
    assert_eq!(server.get(TOKEN, "/vaults").json(), json!(["maya", "noor", "omar"]));
    // An agent sees what its page gives, in the vault that knows it.
    assert_eq!(server.find(&ada, "/search?mode=keyword&q=boat"), ["maya/notes/boat.md"]);
    let (hidden, missing) =
        (server.get(&ada, "/vaults/noor/search?q=boat"), server.get(&ada, "/vaults/zzzz/search?q=boat"));
    assert_eq!((hidden.status, missing.status), (404, 404));
    assert_eq!(server.get("nobody", "/search?q=boat").status, 401);
    // Its scores say nothing of what it does not see.
    let scores = |server: &QueryServer| server.get(&ada, "/search?mode=keyword&q=boat").json()["results"].to_string();
    let before = scores(&server);
    vaults[0].write("work/more.md", "A boat, a boat, a boat.");
    until("the note to be copied", || has_file(&address, "work/more.md"));
    assert_eq!(scores(&server), before);
    // What the server says is what the vault says itself.
    let hits = |reply: &Value| {
        let hits = reply["results"].as_array().unwrap().iter();
        hits.map(|hit| [hit["citation"].clone(), hit["scores"].clone(), hit["score"].clone()]).collect::<Vec<_>>()
    };
    let there = server.get(TOKEN, "/vaults/maya/search?mode=keyword&q=boat").ok();
    let private = |hit: &[Value; 3]| hit[0].as_str().is_some_and(|citation| citation.starts_with("notes/secret.md"));
    let of_ada = vaults[0].get_as(&ada, "/api/user-memory/search?mode=keyword&q=boat").ok();
    let ada_there = server.get(&ada, "/vaults/maya/search?mode=keyword&q=boat").ok();
    assert_eq!(hits(&ada_there), hits(&of_ada));
    assert!(!hits(&there).iter().any(private));
}

/// A server of vaults that copies them under their names, and has been asked for each.
fn copied_server(address: &str, names: &[&str]) -> Server {
    let mut server = Server::of(names, "");
    for name in names {
        let config = format!("[embed]\nmodel = \"none\"\n[remote]\nurl = \"{address}\"\n");
        server.write(&format!("{name}/memory.toml"), config);
        server.write(&format!("{name}/notes/more.md"), format!("# More\n\nA boat <of> {name}.\n\n# Last\n\nReeds."));
        server.write(&format!("{name}/work/plan.md"), "A boat at work.");
        server.write(&format!("{name}/notes/secret.md"), "---\nprivate: true\n---\nA hidden boat.");
    }
    server
}

#[test]
fn a_person_searches_the_vaults_they_were_given_by_page_mcp_and_api() {
    let Some(address) = postgres::database() else { return };
    let names = ["maya", "sam", "family"];
    let mut server = copied_server(&address, &names);
    let page = "---\nvaults:\n  sam: owner\n  family: { right: reader, collections: [notes] }\n---\n";
    server.write("people/sam.md", page);
    let sam = person(&server, &["token", "sam"]).ok().stdout.trim().to_owned();
    for name in names {
        until("the vault to be copied", || {
            let remote = server.get(name, "/status").ok()["remote"].clone();
            remote["pushed_at"].is_string() && remote["behind"] == 0
        });
    }
    let there = |count: usize| postgres::sql(&address, "select from principal where kind = 'person'").len() == count;
    until("the people to be copied", || there(2));
    let copies = QueryServer::of(&[&address], &[]);
    assert_eq!(copies.get(&sam, "/vaults").json(), json!(["family", "sam"]));
    let boats = ["family/notes/more.md", "sam/notes/more.md", "sam/work/plan.md"];
    assert_eq!(copies.find(&sam, "/search?mode=keyword&q=boat"), boats);
    assert_eq!(copies.get(&sam, "/search?q=boat&vaults=maya").status, 404);
    // A note, as it was copied.
    let note = copies.get(&sam, "/vaults/family/note?path=notes/more.md").ok();
    let text: String = column(&note["passages"], "content").concat();
    assert!(text.contains("A boat <of> family.") && text.contains("Reeds.") && note["cut"] == false, "{note}");
    for hidden in ["notes/secret.md", "work/plan.md", "notes/none.md", "../memory.toml"] {
        let reply = copies.get(&sam, &format!("/vaults/family/note?path={}", encode(hidden)));
        assert_eq!(reply.status, 404, "{hidden}");
    }
    // The page: without a token the browser is asked for one.
    let page = copies.send(&Request::get("/"));
    assert_eq!((page.status, page.header("www-authenticate").is_some()), (401, true));
    let page = String::from_utf8(copies.get(&sam, "/?q=boat").body).unwrap();
    assert!(
        page.contains(" passages") && page.contains("A boat &lt;of&gt; family") && !page.contains("maya"),
        "{page}"
    );
    let page = String::from_utf8(copies.get(&sam, "/?vault=family&path=notes/more.md").body).unwrap();
    assert!(page.contains("Reeds.") && page.contains("A boat &lt;of&gt; family"), "{page}");
    // MCP.
    let found = copies.call(&sam, "search", json!({ "query": "boat", "vaults": "family" })).to_string();
    assert!(found.contains("[family: notes/more.md#L") && !found.contains("plan.md"), "{found}");
    let read = copies.call(&sam, "get", json!({ "vault": "family", "path": "notes/more.md" })).to_string();
    assert!(read.contains("Reeds."), "{read}");
    assert_eq!(copies.call(&sam, "get", json!({ "vault": "maya", "path": "notes/more.md" }))["isError"], true);
    assert_eq!(copies.send(&Request::send("POST", "/mcp", &json!({}))).status, 401);
    // What is taken counts with the next push.
    person(&server, &["take", "sam", "family"]).ok();
    server.write("family/notes/next.md", "A boat.");
    until("the person to leave", || there(1));
    assert_eq!(copies.get(&sam, "/vaults").json(), json!(["sam"]));
    // Whoever has a vault by their page alone may lose it while its daemon is away.
    postgres::sql(&address, "update vault set seen_at = now() - interval '1 hour'");
    assert_eq!(copies.get(&sam, "/search?mode=keyword&q=boat").status, 503);
}

#[test]
fn what_was_not_heard_of_for_long_is_said_to_the_owner_and_refused_to_agents() {
    let Some(address) = postgres::database() else { return };
    let mut vault = vault_of(&address, "maya", TOKEN);
    let ada = vault.token_of("ada");
    vault.write("notes/more.md", "A garden.");
    until("the token to be copied", || !postgres::sql(&address, "select from principal where name = 'ada'").is_empty());
    vault.terminate();
    postgres::sql(&address, "update vault set seen_at = now() - interval '1 hour'");
    let server = QueryServer::of(&[&address], &["--max-age", "600"]);
    let owner = server.get(TOKEN, "/search?mode=keyword&q=boat").ok();
    assert!(owner["degraded"].as_str().unwrap().contains("nothing was heard of"), "{owner}");
    assert_eq!(server.get(&ada, "/search?mode=keyword&q=boat").status, 503);
    vault.start();
    complete(&vault);
    assert_eq!(server.find(&ada, "/search?mode=keyword&q=boat"), ["maya/notes/boat.md"]);
    assert!(server.get(TOKEN, "/search?mode=keyword&q=boat").ok()["degraded"].is_null());
}

#[test]
fn a_role_that_owns_no_table_sees_the_vault_that_it_names_alone() {
    let Some(address) = postgres::database() else { return };
    let _vaults = ["maya", "noor"].map(|name| vault_of(&address, name, TOKEN));
    let role = format!("reader_{}", address.rsplit('/').next().unwrap());
    postgres::sql(
        &address,
        &format!("create role {role} login; grant select on all tables in schema public to {role}"),
    );
    let as_reader = address.replace("vault@", &format!("{role}@"));
    let seen = |may: &str| {
        let ask = format!("set vault.may = '{may}'; select distinct vault from passage order by 1");
        postgres::sql(&as_reader, &ask).concat()
    };
    assert_eq!((seen("1"), seen("2"), seen("")), (vec!["1".to_owned()], vec!["2".to_owned()], Vec::new()));
    let server = QueryServer::of(&[&as_reader], &[]);
    assert_eq!(server.find(TOKEN, "/vaults/noor/search?mode=keyword&q=boat&path=notes/"), ["noor/notes/boat.md"]);
    drop(server);
}

#[test]
fn the_page_on_scale_is_as_it_says() {
    let Some(address) = postgres::database() else { return };
    if Command::new("curl").arg("--version").output().is_err() {
        return skipped("no curl");
    }
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scale.md")).unwrap();
    let script = page.split("```bash\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a script");
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: String| {
        let path = folder.path().join("bin").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    // Any free port in the place of 7833, and no model: ten of them take long on a small machine.
    let binary = vault_command().get_program().to_str().unwrap().to_owned();
    put(
        "vault",
        format!(
            "#!/bin/bash\n[ \"$1\" != serve ] || [ \"$2\" != --backend ] || exec {binary} serve --backend \"$3\" --port 0 > server\n\
         {binary} \"$@\" || exit\n[ \"$1\" != init ] || sed -i 's/^model = \"bundled\"/model = \"none\"/' \"$2/memory.toml\"\n",
        ),
    );
    let curl = run_ok(Command::new("which").arg("curl"));
    put(
        "curl",
        format!(
            "#!/bin/bash\nat=$(sed -n 's,.*http://,,p' server 2>/dev/null)\nexec {} \"${{@/127.0.0.1:7833/$at}}\"\n",
            curl.trim(),
        ),
    );
    let mut command = Command::new("bash");
    for (name, value) in vault_command().get_envs() {
        value.map(|value| command.env(name, value));
    }
    let path = format!("{}:{}", folder.path().join("bin").display(), std::env::var("PATH").unwrap());
    let script = format!("set -e -m\ntrap 'kill -- $(jobs -p | sed s,^,-,)' EXIT\n{script}");
    command.args(["-c", &script]).current_dir(folder.path()).env("PATH", path).env("DATABASE", &address);
    let said = run_ok(&mut command);
    assert!(said.contains("behind the coffee tin"), "{said}");
}
