//! Passes requests on to a service of chat models, and its answers back as they come.

use std::io::Read;
use std::time::Duration;

use ureq::http::Response;
use ureq::{Body, RequestBuilder};

use super::super::ModelError;
use super::address::UPSTREAM;
use super::client::EndpointClient;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// Headers of an answer that its asker may want. None that is about the account, or sets anything.
const PASSED_BACK: [&str; 5] = ["content-type", "content-length", "content-encoding", "retry-after", "x-request-id"];
/// Headers of a request that the service may want. None that says who asks.
const PASSED_ON: [&str; 3] = ["content-type", "accept", "openai-beta"];

/// Where requests are passed on to.
pub(crate) struct UpstreamClient {
    client: EndpointClient,
    timeout: Duration,
}

/// An answer, of which the body comes as it comes.
pub(crate) struct UpstreamAnswer {
    /// Its status.
    pub(crate) status: u16,
    /// Its headers, as far as they are passed back.
    pub(crate) headers: Vec<(&'static str, String)>,
    body: Box<dyn Read + Send>,
}

/// Why there is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UpstreamError {
    /// It does not answer in time.
    #[error("the upstream did not answer in time")]
    TimedOut,
    /// It cannot be reached, or answers with what cannot be passed back.
    #[error("{0}")]
    Failed(String),
}

impl UpstreamClient {
    /// One to the service of `[upstream]`, whose whole answer may take `timeout`.
    ///
    /// # Errors
    /// When the address or the key is no good.
    pub(crate) fn open(endpoint: &str, api_key_env: &str, timeout: Duration) -> Result<Self, ModelError> {
        let client = EndpointClient::open(UPSTREAM, endpoint, api_key_env)?;
        Ok(Self { client, timeout })
    }

    /// Passes on messages for a chat model, with those of the headers that say nothing of who asks.
    ///
    /// # Errors
    /// When nobody answers, or with what is not passed back.
    pub(crate) fn complete(&self, headers: &[(String, String)], body: &[u8]) -> Result<UpstreamAnswer, UpstreamError> {
        let mut request = self.client.agent.post(&self.client.address.url);
        for (name, value) in headers.iter().filter(|(name, _)| PASSED_ON.contains(&name.as_str())) {
            request = request.header(name, value);
        }
        self.answer(self.prepared(request).send(body))
    }

    /// Asks which models there are.
    ///
    /// # Errors
    /// As [`UpstreamClient::complete`].
    pub(crate) fn models(&self) -> Result<UpstreamAnswer, UpstreamError> {
        let request = self.client.agent.get(self.client.beside("/models"));
        self.answer(self.prepared(request).call())
    }

    fn prepared<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        let request = self.client.prepared(request.header("accept-encoding", "identity"), self.timeout);
        request.config().timeout_connect(Some(CONNECT)).build()
    }

    fn answer(&self, sent: Result<Response<Body>, ureq::Error>) -> Result<UpstreamAnswer, UpstreamError> {
        let answer = sent.map_err(|error| match error {
            ureq::Error::Timeout(_) => UpstreamError::TimedOut,
            ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => UpstreamError::TimedOut,
            // What an error says may have parts of the address, which is the person's.
            error => {
                tracing::warn!("the upstream at {} does not answer: {error}", self.client.address.host);
                UpstreamError::Failed("the upstream cannot be reached".into())
            }
        })?;
        let status = answer.status().as_u16();
        match status {
            300..=399 => {
                let what = "the upstream answers with a redirect, which is not followed: write the final address into `upstream.endpoint`";
                return Err(UpstreamError::Failed(what.into()));
            }
            // What it says of a key may have parts of it.
            401 | 403 => {
                return Err(UpstreamError::Failed(format!("the upstream {} ({status})", self.client.key_is_wrong())));
            }
            _ => {}
        }
        let header = |name: &'static str| Some((name, answer.headers().get(name)?.to_str().ok()?.to_owned()));
        let headers = PASSED_BACK.into_iter().filter_map(header).collect();
        Ok(UpstreamAnswer { status, headers, body: Box::new(answer.into_body().into_reader()) })
    }
}

impl UpstreamAnswer {
    /// Reads what has come of the body, as much as there is room for; nothing at its end.
    ///
    /// # Errors
    /// When the connection ends before the body does, or the time is over.
    pub(crate) fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        self.body.read(room)
    }
}
