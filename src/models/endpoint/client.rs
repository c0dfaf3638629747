//! One request, and what its failure means.

use std::io::Read;
use std::time::Duration;

use serde::Serialize;
use ureq::http::Response;
use ureq::{Body, RequestBuilder};

use super::super::{ModelError, ModelErrorKind};
use super::address::{Address, ApiKey, EndpointService, UPSTREAM};
use crate::base::redact::redact;

/// Maximum length of an answer, in bytes: 2,048 vectors of 3,072 numbers, written at length.
const MAX_ANSWER_BYTES: u64 = 128 << 20;
/// Maximum length of what is read of a server's error, in bytes.
const MAX_ERROR_BYTES: u64 = 64 << 10;
/// Maximum length of what is quoted of a server's error, in characters.
const MAX_QUOTED_CHARS: usize = 200;
/// Maximum length of what is said of a failure in all, in characters.
const MAX_PROBLEM_CHARS: usize = 500;
/// Maximum time for which a server is left alone, however long it asks for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// Asks an endpoint.
pub(in crate::models) struct EndpointClient {
    pub(super) agent: ureq::Agent,
    service: EndpointService,
    pub(in crate::models) address: Address,
    key: Option<ApiKey>,
}

impl EndpointClient {
    /// One to the service that an option names.
    ///
    /// # Errors
    /// When the address or the key is no good.
    pub(in crate::models) fn open(
        service: EndpointService,
        endpoint: &str,
        api_key_env: &str,
    ) -> Result<Self, ModelError> {
        let address = Address::parse(endpoint, &service).map_err(|reason| service.bad_option("endpoint", reason))?;
        let key = ApiKey::from_environment(api_key_env, &service)?;
        // What agents say is worth a word without a key, too.
        if (key.is_some() || service == UPSTREAM) && address.is_open_to_all() {
            let what = if key.is_some() { "the key and all texts go" } else { "all texts go" };
            tracing::warn!("{what} to {} unencrypted; write https:// if it has that", address.host);
        }
        Ok(Self::new(service, address, key))
    }

    fn new(service: EndpointService, address: Address, key: Option<ApiKey>) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            // The texts and the key go where the person said, and nowhere else.
            .max_redirects(0)
            .proxy(None)
            .user_agent(concat!("memory-vault/", env!("CARGO_PKG_VERSION")))
            .build();
        Self { agent: config.new_agent(), service, address, key }
    }

    /// Sends one request, and gives the body of a good answer within `timeout`.
    ///
    /// # Errors
    /// When there is no answer, or it is none.
    pub(in crate::models) fn post(&self, asked: &impl Serialize, timeout: Duration) -> Result<Vec<u8>, ModelError> {
        let mut answer = self.send(asked, timeout)?;
        let mut body = Vec::new();
        let read = answer.body_mut().with_config().limit(MAX_ANSWER_BYTES).reader().read_to_end(&mut body);
        read.map_err(|error| self.unanswered(&ureq::Error::from(error), timeout))?;
        Ok(body)
    }

    /// The same, whose body is read as it comes.
    ///
    /// # Errors
    /// As above.
    pub(in crate::models) fn stream(
        &self,
        asked: &impl Serialize,
        timeout: Duration,
    ) -> Result<Box<dyn Read + Send>, ModelError> {
        Ok(Box::new(self.send(asked, timeout)?.into_body().into_reader()))
    }

    fn send(&self, asked: &impl Serialize, timeout: Duration) -> Result<Response<Body>, ModelError> {
        let body =
            serde_json::to_vec(asked).map_err(|error| self.failed(ModelErrorKind::Permanent, error.to_string()))?;
        let post = self.agent.post(&self.address.url).content_type("application/json");
        let mut answer = self.prepared(post, timeout).send(body).map_err(|error| self.unanswered(&error, timeout))?;
        if answer.status() != 200 {
            let (status, retry_after) = (answer.status().as_u16(), retry_after(&answer));
            let mut said = Vec::new();
            // What it says of an error need not be whole.
            let _ = answer.body_mut().as_reader().take(MAX_ERROR_BYTES).read_to_end(&mut said);
            return Err(self.refused(status, retry_after, &said));
        }
        Ok(answer)
    }

    /// The address of something else that the service has.
    pub(super) fn beside(&self, path: &str) -> String {
        self.address.beside(self.service.path, path)
    }

    pub(super) fn prepared<B>(&self, mut request: RequestBuilder<B>, timeout: Duration) -> RequestBuilder<B> {
        if let Some(key) = &self.key {
            request = request.header("authorization", key.header());
        }
        request.config().timeout_global(Some(timeout)).build()
    }

    /// A failure of the endpoint, without what is secret.
    pub(in crate::models) fn failed(&self, kind: ModelErrorKind, problem: impl AsRef<str>) -> ModelError {
        self.failed_for(kind, problem, None)
    }

    /// The same of one that is not to be asked again before that long.
    pub(super) fn failed_for(
        &self,
        kind: ModelErrorKind,
        problem: impl AsRef<str>,
        retry_after: Option<Duration>,
    ) -> ModelError {
        let problem = match &self.key {
            Some(key) => key.taken_out_of(problem.as_ref()),
            None => problem.as_ref().to_owned(),
        };
        // An error of the connection, too, may quote what the other side has sent.
        let plain = |character: char| if character.is_control() { ' ' } else { character };
        let problem = problem.chars().map(plain).take(MAX_PROBLEM_CHARS).collect();
        let (service, endpoint) = (self.service.name, self.address.host.clone());
        ModelError::Endpoint { service, endpoint, problem, kind, retry_after }
    }

    fn unanswered(&self, error: &ureq::Error, timeout: Duration) -> ModelError {
        use ModelErrorKind::{Refused, Transient};
        let (kind, problem) = match error {
            ureq::Error::Timeout(_) => (Transient, format!("did not answer within {timeout:?}")),
            ureq::Error::HostNotFound => (Transient, "cannot be found: no such host".into()),
            ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => {
                (Transient, format!("did not answer within {timeout:?}"))
            }
            ureq::Error::Io(error) => (Transient, format!("cannot be reached: {error}")),
            ureq::Error::Rustls(error) => (Refused, format!("cannot be trusted: {error}")),
            ureq::Error::BadUri(error) => (Refused, format!("has an invalid address: {error}")),
            other => (Transient, format!("did not answer correctly: {other}")),
        };
        self.failed(kind, problem)
    }

    /// What it says that wants another key, or one at all.
    pub(super) fn key_is_wrong(&self) -> String {
        let section = self.service.section;
        match &self.key {
            Some(_) => format!("does not accept the key that `{section}.api_key_env` names"),
            None => format!("needs a key: name its environment variable in `{section}.api_key_env`"),
        }
    }

    /// What a status other than 200 means.
    fn refused(&self, status: u16, retry_after: Option<Duration>, said: &[u8]) -> ModelError {
        use ModelErrorKind::{Permanent, Refused, Transient};
        let section = self.service.section;
        let cannot = format!("cannot {}", self.service.verb);
        let (kind, what) = match status {
            // What it says of a key may have parts of it.
            401 | 403 => {
                return self.failed(Refused, format!("{} ({status})", self.key_is_wrong()));
            }
            300..=399 => {
                let what = "answers with a redirect, which is not followed: write the final address into";
                return self.failed(Refused, format!("{what} `{section}.endpoint` ({status})"));
            }
            // Money does not come back by waiting.
            429 if has(said, b"insufficient_quota") => (Refused, "says that its quota is used up"),
            408 | 409 | 425 | 429 => (Transient, "is busy"),
            404 | 405 | 410 => (Refused, "does not have the model or the address"),
            501 => (Refused, cannot.as_str()),
            500.. => (Transient, "has failed"),
            _ => (Permanent, "rejects a text"),
        };
        let quoted = quoted(said, self.key.as_ref());
        let colon = if quoted.is_empty() { "" } else { ": " };
        let retry_after = retry_after.filter(|_| kind == Transient);
        self.failed_for(kind, format!("{what} ({status}){colon}{quoted}"), retry_after)
    }
}

/// For how long the service wants to be left alone.
fn retry_after(answer: &Response<Body>) -> Option<Duration> {
    let seconds = answer.headers().get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER))
}

fn has(said: &[u8], what: &[u8]) -> bool {
    said.windows(what.len()).any(|part| part == what)
}

/// What a server says of its error, in a line and without secrets. They are taken out first: of one that is cut, the rest would stay.
fn quoted(said: &[u8], key: Option<&ApiKey>) -> String {
    let json: Option<serde_json::Value> = serde_json::from_slice(said).ok();
    // A page for a browser explains nothing here.
    let message = json.as_ref().and_then(message);
    message.map(|message| line_of(&message, key)).unwrap_or_default()
}

fn line_of(message: &str, key: Option<&ApiKey>) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = key.map_or_else(|| line.clone(), |key| key.taken_out_of(&line));
    redact(&line).chars().take(MAX_QUOTED_CHARS).collect()
}

/// The words of an error: as OpenAI has them, or as FastAPI does, which names the fields that it found fault with.
fn message(json: &serde_json::Value) -> Option<String> {
    let error = json.get("error").or_else(|| json.get("detail")).unwrap_or(json);
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let Some(faults) = error.as_array() else { return text(error.get("message").unwrap_or(error)) };
    let said = faults.iter().filter_map(|fault| {
        let place = fault.get("loc").and_then(|place| place.as_array()).into_iter().flatten();
        let place: Vec<&str> = place.filter_map(|part| part.as_str()).collect();
        Some(format!("{}: {}", place.join("."), text(fault.get("msg")?)?))
    });
    Some(said.collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::super::address::EMBEDDING;
    use super::*;

    #[test]
    fn what_a_server_says_is_one_line_and_no_page() {
        assert_eq!(quoted(br#"{"error":{"message":"too\n long"}}"#, None), "too long");
        assert_eq!(quoted(br#"{"error":"no such model"}"#, None), "no such model");
        assert_eq!(quoted(br#"{"detail":"no such model"}"#, None), "no such model");
        let faults = br#"{"detail":[{"type":"extra_forbidden","loc":["body","max_tokens"],"msg":"Extra inputs","input":"a text"}]}"#;
        assert_eq!(quoted(faults, None), "body.max_tokens: Extra inputs");
        assert_eq!(quoted(b"<html>Bad gateway</html>", None), "");
        let long = format!(r#"{{"message":"{}"}}"#, "x".repeat(9000));
        assert_eq!(quoted(long.as_bytes(), None).len(), MAX_QUOTED_CHARS);
    }

    #[test]
    fn what_is_said_of_a_failure_is_one_line_and_not_long() {
        let client = EndpointClient::new(EMBEDDING, Address::parse("x.test", &EMBEDDING).unwrap(), None);
        let told = client.failed(ModelErrorKind::Transient, format!("said\n\u{1b}[2J{}", "x".repeat(9000))).to_string();
        assert!(told.len() < MAX_PROBLEM_CHARS + 50 && !told.contains(char::is_control), "{told}");
    }

    #[test]
    fn a_key_at_the_cut_leaves_no_part_of_itself() {
        // Every process has this one.
        let key = ApiKey::from_environment("PATH", &EMBEDDING).unwrap().unwrap();
        let value = std::env::var("PATH").unwrap();
        for before in MAX_QUOTED_CHARS.saturating_sub(value.len())..=MAX_QUOTED_CHARS {
            let said = serde_json::json!({"error": format!("{}{value} is odd", "x".repeat(before))}).to_string();
            let told = quoted(said.as_bytes(), Some(&key));
            assert!(!told.contains(&value[..1]), "{told}");
        }
    }
}
