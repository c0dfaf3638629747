//! A PostgreSQL for the tests of this process, and a database of its own for each that asks.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio_postgres::{NoTls, SimpleQueryMessage};

/// A server, which ends with this process or when it is dropped: then its input does.
pub struct Server {
    pub address: String,
    script: Option<Child>,
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(script) = &mut self.script {
            drop(script.stdin.take());
            let _ = script.wait();
        }
    }
}

static SERVER: OnceLock<Option<Server>> = OnceLock::new();
static DATABASES: AtomicUsize = AtomicUsize::new(0);

fn start() -> Option<Server> {
    match std::env::var("VAULT_TEST_POSTGRES") {
        Ok(address) => Some(Server { address, script: None }),
        Err(_) => run(&[]),
    }
}

fn run(settings: &[(&str, &str)]) -> Option<Server> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/test-postgres");
    let mut command = Command::new(script);
    let mut started =
        command.envs(settings.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let mut address = String::new();
    BufReader::new(started.stdout.take()?).read_line(&mut address).ok()?;
    let address = address.trim().to_owned();
    (!address.is_empty()).then_some(Server { address, script: Some(started) })
}

/// The address of a new database; `None`, and said, where there is no server to be had.
pub fn database() -> Option<String> {
    let Some(server) = SERVER.get_or_init(start) else { return skipped() };
    let name = format!("t{}_{}", std::process::id(), DATABASES.fetch_add(1, Ordering::Relaxed));
    sql(&server.address, &format!("create database {name}"));
    let (host, _) = server.address.rsplit_once('/').expect("an address names a database");
    Some(format!("{host}/{name}"))
}

fn skipped<T>() -> Option<T> {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: no PostgreSQL (scripts/test-postgres)");
    None
}

/// A server of this test's own, which it may kill, with settings of the script.
#[allow(dead_code, reason = "not every binary has such a test")]
pub fn own(settings: &[(&str, &str)]) -> Option<Server> {
    run(settings).or_else(skipped)
}

/// What a database answers, each value as text.
pub fn sql(address: &str, text: &str) -> Vec<Vec<String>> {
    ask(address, text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

/// The same of a server that may be killed meanwhile.
pub fn ask(address: &str, text: &str) -> Result<Vec<Vec<String>>, tokio_postgres::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
        tokio::spawn(connection);
        let answered = client.simple_query(text).await?;
        let values = |message: SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|at| row.get(at).unwrap_or("null").to_owned()).collect())
            }
            _ => None,
        };
        Ok(answered.into_iter().filter_map(values).collect())
    })
}
