//! A chat model behind an OpenAI-compatible endpoint.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::super::endpoint::{CHAT, EndpointCalls, EndpointClient, EndpointService, Patience};
use super::super::{ModelError, ModelErrorKind, ModelTrouble};
use super::model::{ChatModel, ChatReply, ChatRequest, ChatUsage, parts, reply};

/// What is asked for besides the messages, where the service knows it: some models refuse a temperature of 0, and some services this or that
/// limit or form. Without them a model only has to be told in words.
const EXTRAS: [&str; 3] = ["temperature", "max_tokens", "response_format"];

/// What the limit is called where `max_tokens` is not known: it counts what a model thinks, too.
const OTHER_LIMIT: &str = "max_completion_tokens";

/// Whoever gives it less than this part of the time that it has is in a hurry.
const HURRY: u32 = 3;

/// Which chat model is asked, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatOptions {
    /// A host, an address that ends in `/v1`, or the full one.
    pub endpoint: String,
    /// The model's name there.
    pub model: String,
    /// The environment variable that has the key; empty where none is wanted.
    pub api_key_env: String,
    /// How long an answer may take, whoever waits.
    pub timeout: Duration,
    /// Whether private notes are sent to another machine.
    pub send_private: bool,
}

/// Asks an endpoint.
pub struct EndpointChat {
    calls: EndpointCalls,
    model: String,
    name: String,
    timeout: Duration,
    takes_private: bool,
    /// The [`EXTRAS`] that the service does not refuse, as far as is known.
    extras: Mutex<Vec<&'static str>>,
    usage: Arc<Mutex<ChatUsage>>,
}

impl EndpointChat {
    /// Of these options. Nothing is asked yet.
    ///
    /// # Errors
    /// When an option is no good.
    pub fn open(options: ChatOptions) -> Result<Self, ModelError> {
        Self::open_as(CHAT, options)
    }

    /// The same as a service that messages name.
    pub(in crate::models) fn open_as(service: EndpointService, options: ChatOptions) -> Result<Self, ModelError> {
        let client = EndpointClient::open(service, &options.endpoint, &options.api_key_env)?;
        Ok(Self {
            takes_private: options.send_private || client.address.is_loopback(),
            name: format!("{} at {}", options.model, client.address.host),
            calls: EndpointCalls::new(client),
            model: options.model,
            timeout: options.timeout,
            extras: Mutex::new(EXTRAS.to_vec()),
            usage: Arc::default(),
        })
    }

    fn body(&self, request: &ChatRequest, extras: &[&str]) -> Map<String, Value> {
        let message = |role: &str, content: &str| json!({"role": role, "content": content});
        let messages = [message("system", &request.instructions), message("user", &request.material)];
        let mut body = Map::new();
        body.insert("model".into(), json!(self.model));
        body.insert("messages".into(), json!(messages));
        for extra in extras.iter().filter(|extra| !request.schema.is_null() || **extra != "response_format") {
            let value = match *extra {
                // So that the same question has the same answer, as far as the model goes.
                "temperature" => json!(0),
                "max_tokens" | OTHER_LIMIT => json!(request.max_tokens),
                _ => json!({
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "strict": true, "schema": request.schema},
                }),
            };
            body.insert((*extra).into(), value);
        }
        body
    }

    fn extras(&self) -> MutexGuard<'_, Vec<&'static str>> {
        self.extras.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which of the extras a service does not take, as it says.
fn refused(said: &str, extras: &[&'static str]) -> Option<&'static str> {
    let said = said.to_lowercase();
    // What it names first; what comes after may be what it takes instead.
    let named = extras.iter().filter_map(|extra| Some((said.find(extra)?, *extra)));
    named.min().map(|(_, extra)| extra)
}

/// Leaves out an extra that an error names; says whether there was one.
fn leaves_out(error: &ModelError, extras: &mut Vec<&'static str>) -> bool {
    let ModelError::Endpoint { problem, kind: ModelErrorKind::Permanent, .. } = error else { return false };
    refused(problem, extras).map(|refused| without(extras, refused)).is_some()
}

/// The extras without one that is not taken.
fn without(extras: &mut Vec<&'static str>, refused: &str) {
    for extra in extras.iter_mut().filter(|extra| **extra == refused && refused == "max_tokens") {
        *extra = OTHER_LIMIT;
    }
    extras.retain(|extra| *extra != refused);
}

impl ChatModel for EndpointChat {
    fn name(&self) -> &str {
        &self.name
    }

    fn answer(&self, request: &ChatRequest, deadline: Instant) -> Result<ChatReply, ModelError> {
        let mut extras = self.extras().clone();
        loop {
            let (body, usage) = (self.body(request, &extras), Arc::clone(&self.usage));
            let patience = Patience { timeout: self.timeout, deadline: Some(deadline), hurry: self.timeout / HURRY };
            let answered = self.calls.ask(patience, move |client, timeout| {
                let body = client.post(&body, timeout)?;
                let used = |cost| {
                    let mut used = usage.lock().unwrap_or_else(PoisonError::into_inner);
                    *used = used.plus(cost);
                };
                reply(&body, used).map_err(|(kind, problem)| client.failed(kind, problem))
            });
            if answered.as_ref().err().is_some_and(|error| leaves_out(error, &mut extras)) {
                continue;
            }
            if answered.is_ok() {
                // What it does not take is left out later, too.
                *self.extras() = extras;
            }
            return answered;
        }
    }

    /// On the caller's thread, which waits for each part.
    fn stream(
        &self,
        request: &ChatRequest,
        deadline: Instant,
        take: &mut dyn FnMut(&str) -> bool,
    ) -> Result<(), ModelError> {
        let (client, mut extras) = (&self.calls.client, self.extras().clone());
        let body = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut body = self.body(request, &extras);
            body.insert("stream".into(), json!(true));
            match client.stream(&body, left) {
                Err(error) if leaves_out(&error, &mut extras) => {}
                answered => break answered?,
            }
        };
        *self.extras() = extras;
        let mut used = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.plus(ChatUsage { answers: 1, ..ChatUsage::default() });
        drop(used);
        parts(body, take).map_err(|(kind, problem)| client.failed(kind, problem))
    }

    fn takes_private(&self) -> bool {
        self.takes_private
    }

    fn trouble(&self) -> Option<ModelTrouble> {
        self.calls.trouble()
    }

    fn rests(&self) -> Option<Duration> {
        self.calls.rests()
    }

    fn stop(&self) {
        self.calls.stop();
    }

    fn usage(&self) -> ChatUsage {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_left_out_that_a_refusal_names() {
        for (said, field) in [
            (
                "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
                "max_tokens",
            ),
            ("'temperature' does not support 0 with this model", "temperature"),
            ("body.response_format: Extra inputs are not permitted", "response_format"),
            ("Unrecognized request argument supplied: temperature", "temperature"),
        ] {
            assert_eq!(refused(said, &EXTRAS), Some(field), "{said}");
        }
        assert_eq!(refused("an unknown error", &EXTRAS), None);
        let mut extras = EXTRAS.to_vec();
        without(&mut extras, "max_tokens");
        assert_eq!(extras, ["temperature", OTHER_LIMIT, "response_format"]);
        assert_eq!(refused("unknown field max_completion_tokens, use max_tokens", &extras), Some(OTHER_LIMIT));
        without(&mut extras, OTHER_LIMIT);
        assert_eq!(extras, ["temperature", "response_format"]);
    }
}
