//! Asks the running daemon, over its Unix socket.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::runtime::Runtime;

use crate::api::AS_AGENT;
use crate::request::{ErrorKind, RequestError};

/// A connection to the daemon.
pub(super) struct Client {
    runtime: Runtime,
    sender: hyper::client::conn::http1::SendRequest<Full<Bytes>>,
    patience: Duration,
    /// The agent that is asked for; the person where there is none.
    agent: Option<String>,
}

/// A daemon that has not answered by then does not answer: searches take milliseconds, and what takes longer is not
/// waited for over HTTP.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

impl Client {
    /// Connects; `None` when nobody listens. Each answer is waited for so long.
    pub(super) fn connect(socket: &Path, patience: Duration) -> anyhow::Result<Option<Self>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let sender = runtime.block_on(async {
            let Ok(stream) = UnixStream::connect(socket).await else { return Ok(None) };
            let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            anyhow::Ok(Some(sender))
        })?;
        Ok(sender.map(|sender| Self { runtime, sender, patience, agent: None }))
    }

    /// Waits so long for each answer from now on.
    pub(super) fn be_patient(&mut self, patience: Duration) -> &mut Self {
        self.patience = patience;
        self
    }

    /// Asks as an agent from now on, or as the person.
    pub(super) fn ask_as(&mut self, agent: Option<&str>) -> &mut Self {
        self.agent = agent.map(str::to_owned);
        self
    }

    /// Asks with `GET`.
    pub(super) fn get<T: DeserializeOwned>(&mut self, path: &str, params: &impl Serialize) -> anyhow::Result<T> {
        let query = serde_urlencoded::to_string(params)?;
        self.send(Method::GET, format!("{path}?{query}"), Bytes::new())
    }

    /// Asks with `POST`.
    pub(super) fn post<T: DeserializeOwned>(&mut self, path: &str, body: &impl Serialize) -> anyhow::Result<T> {
        self.send(Method::POST, path.to_owned(), serde_json::to_vec(body)?.into())
    }

    /// Asks with another method.
    pub(super) fn ask<T: DeserializeOwned>(
        &mut self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        self.send(method, path.to_owned(), serde_json::to_vec(body)?.into())
    }

    fn send<T: DeserializeOwned>(&mut self, method: Method, uri: String, body: Bytes) -> anyhow::Result<T> {
        let mut request = Request::builder()
            .method(method)
            .uri(uri)
            .header("host", "localhost")
            .header("content-type", "application/json");
        if let Some(agent) = &self.agent {
            request = request.header(AS_AGENT, agent.as_str());
        }
        let request = request.body(Full::new(body))?;
        let (sender, patience) = (&mut self.sender, self.patience);
        let asking = async {
            sender.ready().await?;
            let response = sender.send_request(request).await?;
            let status = response.status();
            anyhow::Ok((status, response.into_body().collect().await?.to_bytes()))
        };
        let answer = self.runtime.block_on(async { tokio::time::timeout(patience, asking).await });
        let Ok(answer) = answer else {
            bail!("the daemon did not answer within {patience:?}. It is stopped or stuck: end it and start it again");
        };
        let (status, bytes) = answer.context("the daemon does not answer")?;
        if status.is_success() {
            return serde_json::from_slice(&bytes).context("the daemon is of another version; restart it");
        }
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let message = body["error"]["message"].as_str().unwrap_or("the daemon refused").to_owned();
        let hint = body["error"]["hint"].as_str().map(str::to_owned);
        Err(match body["error"]["code"].as_str().and_then(ErrorKind::from_code) {
            Some(kind) => RequestError { kind, message, hint }.into(),
            None => anyhow!([Some(message), hint].into_iter().flatten().collect::<Vec<_>>().join(". ")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_that_is_stopped_is_not_waited_for_forever() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("sock");
        assert!(Client::connect(&socket, PATIENCE).unwrap().is_none());
        // As with a stopped process: the system accepts, and nobody answers.
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let mut client = Client::connect(&socket, Duration::from_millis(20)).unwrap().unwrap();
        let error = client.get::<Value>("/status", &()).unwrap_err().to_string();
        assert!(error.starts_with("the daemon did not answer within 20ms"), "{error}");
    }
}
