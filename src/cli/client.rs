//! Asks the running daemon, over its Unix socket.

use std::path::Path;

use anyhow::{Context, anyhow};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::runtime::Runtime;

/// A connection to the daemon.
pub(super) struct Client {
    runtime: Runtime,
    sender: hyper::client::conn::http1::SendRequest<Full<Bytes>>,
}

impl Client {
    /// Connects; `None` when nobody listens.
    pub(super) fn connect(socket: &Path) -> anyhow::Result<Option<Self>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let sender = runtime.block_on(async {
            let Ok(stream) = UnixStream::connect(socket).await else { return Ok(None) };
            let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            anyhow::Ok(Some(sender))
        })?;
        Ok(sender.map(|sender| Self { runtime, sender }))
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

    fn send<T: DeserializeOwned>(&mut self, method: Method, uri: String, body: Bytes) -> anyhow::Result<T> {
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header("host", "localhost")
            .header("content-type", "application/json")
            .body(Full::new(body))?;
        let (status, bytes) = self
            .runtime
            .block_on(async {
                self.sender.ready().await?;
                let response = self.sender.send_request(request).await?;
                let status = response.status();
                anyhow::Ok((status, response.into_body().collect().await?.to_bytes()))
            })
            .context("the daemon does not answer")?;
        if status.is_success() {
            return serde_json::from_slice(&bytes).context("the daemon is of another version; restart it");
        }
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let message = body["error"]["message"].as_str().unwrap_or("the daemon refused").to_owned();
        Err(match body["error"]["hint"].as_str() {
            Some(hint) => anyhow!("{message}. {hint}"),
            None => anyhow!(message),
        })
    }
}
