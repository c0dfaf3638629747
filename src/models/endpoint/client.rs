//! One request, and what its failure means.

use std::io::Read;
use std::time::Duration;

use serde::Serialize;

use super::super::{ModelError, ModelErrorKind};
use super::address::Address;
use super::answer::{self, BadAnswer};
use super::key::ApiKey;
use crate::redact::redact;

/// An answer has at most so many bytes: 2,048 vectors of 3,072 numbers, written at length.
const MAX_ANSWER_BYTES: u64 = 128 << 20;
/// Of what a server says of an error.
const MAX_ERROR_BYTES: u64 = 64 << 10;
const MAX_QUOTED_CHARS: usize = 200;
/// Of what is said of a failure in all.
const MAX_PROBLEM_CHARS: usize = 500;
/// However long a server wants to be left alone.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// Asks an endpoint.
pub(super) struct EndpointClient {
    agent: ureq::Agent,
    pub(super) address: Address,
    model: String,
    key: Option<ApiKey>,
}

#[derive(Serialize)]
struct EndpointRequest<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
}

impl EndpointClient {
    pub(super) fn new(address: Address, model: String, key: Option<ApiKey>) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            // The texts and the key go where the person said, and nowhere else.
            .max_redirects(0)
            .proxy(None)
            .user_agent(concat!("memory-vault/", env!("CARGO_PKG_VERSION")))
            .build();
        Self { agent: config.new_agent(), address, model, key }
    }

    /// Embeds texts, each as it is, within `timeout`.
    ///
    /// # Errors
    /// When there is no answer, or it is none.
    pub(super) fn embed(
        &self,
        texts: &[String],
        dimension: Option<usize>,
        timeout: Duration,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let asked = EndpointRequest { model: &self.model, input: texts, encoding_format: "float" };
        let body =
            serde_json::to_vec(&asked).map_err(|error| self.failed(ModelErrorKind::Permanent, error.to_string()))?;
        let mut request = self.agent.post(&self.address.url).content_type("application/json");
        if let Some(key) = &self.key {
            request = request.header("authorization", key.header());
        }
        let sent = request.config().timeout_global(Some(timeout)).build().send(&body);
        let mut answer = sent.map_err(|error| self.unanswered(&error, timeout))?;
        let status = answer.status().as_u16();
        if status != 200 {
            let retry_after =
                answer.headers().get("retry-after").and_then(|value| value.to_str().ok()?.trim().parse().ok());
            let mut said = Vec::new();
            let reader = answer.body_mut().as_reader();
            // What it says of an error need not be whole.
            let _ = reader.take(MAX_ERROR_BYTES).read_to_end(&mut said);
            return Err(self.refused(status, retry_after.map(Duration::from_secs), &said));
        }
        let mut body = Vec::new();
        let read = answer.body_mut().with_config().limit(MAX_ANSWER_BYTES).reader().read_to_end(&mut body);
        read.map_err(|error| self.unanswered(&ureq::Error::from(error), timeout))?;
        answer::vectors(&body, texts.len(), dimension).map_err(|bad| match bad {
            BadAnswer::Passing(problem) => self.failed(ModelErrorKind::Transient, problem),
            BadAnswer::Lasting(problem) => self.failed(ModelErrorKind::Permanent, problem),
            BadAnswer::OtherModel(problem) => self.failed(ModelErrorKind::Refused, problem),
        })
    }

    /// A failure of the endpoint, without what is secret.
    pub(super) fn failed(&self, kind: ModelErrorKind, problem: impl AsRef<str>) -> ModelError {
        let problem = match &self.key {
            Some(key) => key.taken_out_of(problem.as_ref()),
            None => problem.as_ref().to_owned(),
        };
        // An error of the connection, too, may quote what the other side has sent.
        let plain = |character: char| if character.is_control() { ' ' } else { character };
        let problem = problem.chars().map(plain).take(MAX_PROBLEM_CHARS).collect();
        ModelError::Endpoint { endpoint: self.address.host.clone(), problem, kind, retry_after: None }
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
            ureq::Error::BadUri(error) => (Refused, format!("has no good address: {error}")),
            other => (Transient, format!("did not answer well: {other}")),
        };
        self.failed(kind, problem)
    }

    /// What a status other than 200 means.
    fn refused(&self, status: u16, retry_after: Option<Duration>, said: &[u8]) -> ModelError {
        use ModelErrorKind::{Permanent, Refused, Transient};
        let (kind, what) = match status {
            // What it says of a key may have parts of it.
            401 | 403 => {
                let what = match &self.key {
                    Some(_) => "does not accept the key that `embed.api_key_env` names",
                    None => "wants a key: name its environment variable in `embed.api_key_env`",
                };
                return self.failed(Refused, format!("{what} ({status})"));
            }
            300..=399 => {
                let what =
                    "answers with a redirect, which is not followed: write its own address into `embed.endpoint`";
                return self.failed(Refused, format!("{what} ({status})"));
            }
            // Money does not come back by waiting.
            429 if has(said, b"insufficient_quota") => (Refused, "says that its quota is used up"),
            408 | 409 | 425 | 429 => (Transient, "is busy"),
            404 | 405 | 410 => (Refused, "does not have the model or the address"),
            501 => (Refused, "cannot embed"),
            500.. => (Transient, "has failed"),
            _ => (Permanent, "refuses a text"),
        };
        let quoted = quoted(said, self.key.as_ref());
        let colon = if quoted.is_empty() { "" } else { ": " };
        let mut failed = self.failed(kind, format!("{what} ({status}){colon}{quoted}"));
        if let ModelError::Endpoint { retry_after: after, .. } = &mut failed
            && kind == Transient
        {
            *after = retry_after.map(|asked| asked.min(MAX_RETRY_AFTER));
        }
        failed
    }
}

fn has(said: &[u8], what: &[u8]) -> bool {
    said.windows(what.len()).any(|part| part == what)
}

/// What a server says of its error, in a line and without secrets. They are taken out first: of one that is cut, the rest would stay.
fn quoted(said: &[u8], key: Option<&ApiKey>) -> String {
    let json: Option<serde_json::Value> = serde_json::from_slice(said).ok();
    let message = json.as_ref().and_then(|json| {
        let error = json.get("error").unwrap_or(json);
        error.get("message").unwrap_or(error).as_str()
    });
    // A page for a browser explains nothing here.
    let Some(message) = message else { return String::new() };
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = key.map_or_else(|| line.clone(), |key| key.taken_out_of(&line));
    redact(&line).chars().take(MAX_QUOTED_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_one_line_and_no_page() {
        assert_eq!(quoted(br#"{"error":{"message":"too\n long"}}"#, None), "too long");
        assert_eq!(quoted(br#"{"error":"no such model"}"#, None), "no such model");
        assert_eq!(quoted(b"<html>Bad gateway</html>", None), "");
        let long = format!(r#"{{"message":"{}"}}"#, "x".repeat(9000));
        assert_eq!(quoted(long.as_bytes(), None).len(), MAX_QUOTED_CHARS);
    }

    #[test]
    fn what_is_said_of_a_failure_is_one_line_and_not_long() {
        let client = EndpointClient::new(Address::parse("x.test").unwrap(), "m".into(), None);
        let told = client.failed(ModelErrorKind::Transient, format!("said\n\u{1b}[2J{}", "x".repeat(9000))).to_string();
        assert!(told.len() < MAX_PROBLEM_CHARS + 50 && !told.contains(char::is_control), "{told}");
    }

    #[test]
    fn a_key_at_the_cut_leaves_no_part_of_itself() {
        // Every process has this one.
        let key = ApiKey::from_environment("PATH").unwrap().unwrap();
        let value = std::env::var("PATH").unwrap();
        for before in MAX_QUOTED_CHARS.saturating_sub(value.len())..=MAX_QUOTED_CHARS {
            let said = serde_json::json!({"error": format!("{}{value} is odd", "x".repeat(before))}).to_string();
            let told = quoted(said.as_bytes(), Some(&key));
            assert!(!told.contains(&value[..1]), "{told}");
        }
    }
}
