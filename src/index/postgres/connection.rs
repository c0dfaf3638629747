//! A connection that blocks, and never for longer than it is given: each has a runtime of its own, which runs while it is asked.

use std::collections::HashMap;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls, Row, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::index::engine::EngineError;

/// What is handed to a statement.
pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Why the server was of no use.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// What was asked for is not right, and trying again does not help.
    #[error("{0}")]
    Refused(String),
    /// The server could not be reached, or did not do what it was asked.
    #[error("{0}")]
    Failed(String),
    /// It did not answer in time.
    #[error("the server did not answer within {} s", .0.as_secs())]
    Late(Duration),
    /// Nobody waits for it any more.
    #[error("it was called off")]
    CalledOff,
}

impl From<tokio_postgres::Error> for PostgresError {
    fn from(error: tokio_postgres::Error) -> Self {
        let said = error.as_db_error().map(|error| error.message().to_owned());
        let cause =
            || std::error::Error::source(&error).map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
        Self::Failed(said.unwrap_or_else(cause))
    }
}

impl From<PostgresError> for EngineError {
    fn from(error: PostgresError) -> Self {
        Self::other(error)
    }
}

/// Where a server is, and how it is known that it is that one.
#[derive(Clone)]
pub struct Address {
    config: tokio_postgres::Config,
    patience: Duration,
    tls: Option<MakeRustlsConnect>,
    called_off: Arc<Notify>,
}

impl Address {
    /// Takes a `postgres://` URL without a password, the password, and the file of a certificate authority beside those that are known
    /// everywhere. Over a network the server's certificate is verified, unless the URL says `sslmode=disable`.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn new(url: &str, password: Option<&str>, authority: Option<&Path>) -> Result<Self, PostgresError> {
        let refused = |why: String| PostgresError::Refused(why);
        let mut config: tokio_postgres::Config =
            url.parse().map_err(|_| refused("the address is no `postgres://` URL".into()))?;
        if config.get_password().is_some() {
            return Err(refused("put the password into an environment variable, not into the address".into()));
        }
        password.map(|password| config.password(password));
        let is_near = |host: &Host| match host {
            Host::Unix(_) => true,
            Host::Tcp(name) => ["localhost", "127.0.0.1", "::1"].contains(&name.as_str()),
        };
        let is_plain = config.get_hosts().iter().all(is_near) && config.get_ssl_mode() == SslMode::Prefer;
        let tls = match is_plain || config.get_ssl_mode() == SslMode::Disable {
            true => None,
            false => Some(tls(authority)?),
        };
        config.ssl_mode(if tls.is_some() { SslMode::Require } else { SslMode::Disable });
        config.application_name("vault").connect_timeout(PATIENCE).tcp_user_timeout(PATIENCE);
        Ok(Self { config, patience: PATIENCE, tls, called_off: Arc::default() })
    }

    /// The same for who pushes: removing a large vault takes a while.
    #[must_use]
    pub fn with_more_patience(self) -> Self {
        Self { patience: PATIENCE * 20, ..self }
    }

    /// What ends a wait for the server, now or the next one.
    pub fn call_off(&self) -> impl Fn() + Send + Sync + use<> {
        let called_off = Arc::clone(&self.called_off);
        move || called_off.notify_one()
    }

    /// Connects.
    pub(super) fn connect(&self) -> Result<Connection, PostgresError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let driver = Driver(Some(runtime.map_err(|error| PostgresError::Failed(error.to_string()))?));
        let connecting = async {
            Ok(match &self.tls {
                Some(tls) => {
                    let (client, connection) = self.config.connect(tls.clone()).await?;
                    (client, tokio::spawn(async { drop(connection.await) }))
                }
                None => {
                    let (client, connection) = self.config.connect(NoTls).await?;
                    (client, tokio::spawn(async { drop(connection.await) }))
                }
            })
        };
        let (client, _) = within(driver.runtime(), self, PATIENCE, connecting)?;
        let connection = Connection { client, driver, address: self.clone(), known: Mutex::default() };
        // What nobody waits for is ended there, too.
        connection.batch(&format!("set statement_timeout = {}", self.patience.as_millis()))?;
        Ok(connection)
    }
}

/// How long a connection may take, and an answer of a search.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// How long it may take to begin a transaction.
const SOON: Duration = Duration::from_secs(5);

fn tls(authority: Option<&Path>) -> Result<MakeRustlsConnect, PostgresError> {
    let refused = |why: String| PostgresError::Refused(why);
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(file) = authority {
        let certificates = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let certificates = certificates.map_err(|error| refused(format!("{}: {error}", file.display())))?;
        roots.add_parsable_certificates(certificates);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| refused(error.to_string()))?;
    Ok(MakeRustlsConnect::new(config.with_root_certificates(roots).with_no_client_auth()))
}

fn within<T>(
    runtime: &Runtime,
    address: &Address,
    patience: Duration,
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, PostgresError> {
    runtime.block_on(async {
        tokio::select! {
            done = work => Ok(done?),
            () = tokio::time::sleep(patience) => Err(PostgresError::Late(patience)),
            () = address.called_off.notified() => Err(PostgresError::CalledOff),
        }
    })
}

/// A runtime that may be dropped anywhere, and waits for nothing then: looking up a name may hang.
struct Driver(Option<Runtime>);

impl Driver {
    fn runtime(&self) -> &Runtime {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

/// One connection. What came late or failed may leave it in a transaction, so that whoever meets an error drops it.
pub(super) struct Connection {
    // Dropped before what drives it.
    client: Client,
    driver: Driver,
    address: Address,
    known: Mutex<HashMap<String, Statement>>,
}

impl Connection {
    fn within<T>(&self, work: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, PostgresError> {
        within(self.driver.runtime(), &self.address, self.address.patience, work)
    }

    fn prepared(&self, sql: &str) -> Result<Statement, PostgresError> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(statement) = known().get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.within(self.client.prepare(sql))?;
        known().insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Runs statements without parameters.
    pub(super) fn batch(&self, sql: &str) -> Result<(), PostgresError> {
        self.within(self.client.batch_execute(sql))
    }

    /// The same for what takes no time: whoever does not answer soon is not there any more.
    pub(super) fn batch_soon(&self, sql: &str) -> Result<(), PostgresError> {
        within(self.driver.runtime(), &self.address, SOON, self.client.batch_execute(sql))
    }

    /// The rows of a statement.
    pub(super) fn query(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, PostgresError> {
        let statement = self.prepared(sql)?;
        self.within(self.client.query(&statement, params))
    }

    /// The first row of a statement.
    pub(super) fn first(&self, sql: &str, params: Params<'_>) -> Result<Option<Row>, PostgresError> {
        Ok(self.query(sql, params)?.into_iter().next())
    }

    /// Runs a statement; how many rows it changed.
    pub(super) fn execute(&self, sql: &str, params: Params<'_>) -> Result<u64, PostgresError> {
        let statement = self.prepared(sql)?;
        self.within(self.client.execute(&statement, params))
    }

    /// Adds rows, as `copy … from stdin (format binary)` says. What has a type that the driver does not know is given as its binary form.
    pub(super) fn copy<'a, R: AsRef<[&'a (dyn ToSql + Sync)]>>(
        &self,
        sql: &str,
        types: &[Type],
        rows: impl Iterator<Item = R>,
    ) -> Result<(), PostgresError> {
        self.within(async {
            let sink = self.client.copy_in(sql).await?;
            let mut writer = pin!(BinaryCopyInWriter::new(sink, types));
            for row in rows {
                writer.as_mut().write(row.as_ref()).await?;
            }
            writer.finish().await.map(drop)
        })
    }

    /// Whether it can still be used.
    pub(super) fn is_open(&self) -> bool {
        !self.client.is_closed()
    }
}
