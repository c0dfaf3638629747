//! OpenAI's batches: a file of requests is handed over, and answered within a day for less.
//!
//! None of these requests says anything of the service as a whole, as it may have embeddings and no batches: they pass by the breaker, and
//! none of their refusals is kept in mind.

use std::collections::HashSet;
use std::io::BufReader;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::{
    BatchEmbedder, BatchFile, BatchLook, BatchPlace, BatchStatus, ContentHash, Document, EmbeddedText, ModelError,
    ModelErrorKind,
};
use super::address::Address;
use super::answer::{BadAnswer, read_answer};
use super::batch_lines::{BATCHED, CONTENT_TYPE, batch_file, read_answers};
use super::batch_record::{BatchRecord, is_id};
use super::calls::EndpointCalls;
use super::client::EndpointClient;
use super::key::ApiKey;
use super::service::EMBEDDING;
use crate::config::EmbedConfig;

/// Maximum time for a request about a batch.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Handing over its file.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(600);
/// Fetching its answers: a few hundred megabytes.
const FETCH_TIMEOUT: Duration = Duration::from_secs(3600);
/// Maximum length of them, in bytes.
const MOST_ANSWER_BYTES: u64 = 4 << 30;
/// Of the file of errors it is enough to see one.
const MOST_ERROR_BYTES: u64 = 64 << 10;

/// Hands texts to an endpoint in batches.
pub(super) struct EndpointBatches {
    calls: Arc<EndpointCalls>,
    model: String,
    prefix: String,
    dimension: usize,
    place: BatchPlace,
    from: usize,
}

#[derive(Deserialize)]
struct AnsweredFile {
    id: String,
}

#[derive(Serialize)]
struct AskedBatch<'a> {
    input_file_id: &'a str,
    endpoint: &'static str,
    completion_window: &'static str,
}

#[derive(Deserialize)]
struct AnsweredBatches {
    data: Vec<AnsweredBatch>,
}

#[derive(Deserialize)]
struct AnsweredBatch {
    id: String,
    status: BatchStatus,
    input_file_id: Option<String>,
    output_file_id: Option<String>,
    error_file_id: Option<String>,
    errors: Option<BatchErrors>,
}

#[derive(Deserialize)]
struct BatchErrors {
    data: Option<Vec<BatchError>>,
}

#[derive(Deserialize)]
struct BatchError {
    message: Option<String>,
}

impl EndpointBatches {
    pub(super) fn new(
        calls: Arc<EndpointCalls>,
        model: &str,
        prefix: &str,
        dimension: usize,
        place: BatchPlace,
        from: usize,
    ) -> Self {
        Self { calls, model: model.to_owned(), prefix: prefix.to_owned(), dimension, place, from }
    }

    fn remove(&self, file: &str) -> Result<(), ModelError> {
        let path = format!("/files/{file}");
        self.calls.ask_apart(move |client| client.delete(&client.beside(&path), TIMEOUT))
    }

    fn cancel(&self, batch: &str) -> Result<(), ModelError> {
        let path = format!("/batches/{batch}/cancel");
        self.calls.ask_apart(move |client| {
            client.post_to(&client.beside(&path), "application/json", b"{}", TIMEOUT).map(drop)
        })
    }
}

impl BatchEmbedder for EndpointBatches {
    fn place(&self) -> &BatchPlace {
        &self.place
    }

    fn from(&self) -> usize {
        self.from
    }

    fn file(&self, texts: &[(ContentHash, Document)]) -> BatchFile {
        batch_file(&self.model, &self.prefix, texts)
    }

    fn upload(&self, file: &Arc<BatchFile>) -> Result<String, ModelError> {
        let file = Arc::clone(file);
        let upload = Arc::new(Mutex::new(Upload::Awaited));
        let here = Arc::clone(&upload);
        let uploaded = self.calls.ask_apart(move |client| {
            let body = client.post_to(&client.beside("/files"), CONTENT_TYPE, &file.form, UPLOAD_TIMEOUT)?;
            let answer: AnsweredFile = read(client, &body, "file")?;
            let id = checked(client, answer.id)?;
            let ended = Upload::Ended(id.clone());
            let before = std::mem::replace(&mut *here.lock().unwrap_or_else(PoisonError::into_inner), ended);
            if matches!(before, Upload::GivenUp) {
                discard(client, &id);
            }
            Ok(id)
        });
        // A request goes on after a stop. Either of the two ends sees that the other has come before it.
        if uploaded.as_ref().is_err_and(|error| error.kind() == ModelErrorKind::Stopped) {
            let before =
                std::mem::replace(&mut *upload.lock().unwrap_or_else(PoisonError::into_inner), Upload::GivenUp);
            if let Upload::Ended(id) = before {
                self.discard(&id);
            }
        }
        uploaded
    }

    fn begin(&self, file: &str, may_be_there: bool, turn: &Arc<Mutex<()>>) -> Result<String, ModelError> {
        let (file, turn) = (file.to_owned(), Arc::clone(turn));
        self.calls.ask_apart(move |client| {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            if may_be_there {
                let body = client.get_whole(&client.beside("/batches"), TIMEOUT)?;
                let known: AnsweredBatches = read(client, &body, "batches")?;
                let is_ours = |batch: &AnsweredBatch| batch.input_file_id.as_deref() == Some(file.as_str());
                if let Some(batch) = known.data.into_iter().find(is_ours) {
                    return checked(client, batch.id);
                }
            }
            let asked = AskedBatch { input_file_id: &file, endpoint: BATCHED, completion_window: "24h" };
            let asked = serde_json::to_vec(&asked).unwrap_or_default();
            let body = client.post_to(&client.beside("/batches"), "application/json", &asked, TIMEOUT)?;
            let batch: AnsweredBatch = read(client, &body, "batch")?;
            checked(client, batch.id)
        })
    }

    fn look(&self, batch: &str) -> Result<BatchLook, ModelError> {
        let path = format!("/batches/{batch}");
        self.calls.ask_apart(move |client| {
            let (body, pause) = client.get_with_pause(&client.beside(&path), TIMEOUT)?;
            let AnsweredBatch { status, output_file_id, error_file_id, errors, .. } = read(client, &body, "batch")?;
            let id = |id: Option<String>| id.filter(|id| is_id(id));
            let mut said = errors.and_then(|errors| errors.data).unwrap_or_default().into_iter();
            let problem = said.find_map(|error| error.message).map(|said| client.quoted_message(&said));
            Ok(BatchLook { status, output: id(output_file_id), errors: id(error_file_id), problem, pause })
        })
    }

    fn fetch(
        &self,
        file: &str,
        asked: &mut HashSet<ContentHash>,
        found: &mut dyn FnMut(ContentHash, EmbeddedText) -> bool,
    ) -> Result<bool, ModelError> {
        let path = format!("/files/{file}/content");
        let answer = self.calls.ask_apart(move |client| client.get_if_there(&client.beside(&path), FETCH_TIMEOUT))?;
        let Some(mut answer) = answer else { return Ok(false) };
        let body = answer.body_mut().with_config().limit(MOST_ANSWER_BYTES).reader();
        read_answers(BufReader::with_capacity(64 << 10, body), asked, self.dimension, found).map_err(|error| {
            self.calls.client.failed(ModelErrorKind::Transient, format!("gave half a file of answers: {error}"))
        })?;
        Ok(true)
    }

    fn complaint(&self, file: &str) -> Option<String> {
        #[derive(Deserialize)]
        struct ErrorLine {
            response: Option<serde_json::Value>,
            error: Option<BatchError>,
        }
        let path = format!("/files/{file}/content");
        let said = self.calls.ask_apart(move |client| {
            let body = client.get_start(&client.beside(&path), MOST_ERROR_BYTES, TIMEOUT)?;
            let line = body.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let line: ErrorLine = read(client, line, "errors")?;
            let of_response = || line.response?["body"]["error"]["message"].as_str().map(str::to_owned);
            let said = line.error.and_then(|error| error.message).or_else(of_response);
            Ok(said.map(|said| client.quoted_message(&said)))
        });
        said.ok().flatten().filter(|said| !said.is_empty())
    }

    fn clear(&self, record: &BatchRecord) -> bool {
        let mut files = record.leftovers.clone().unwrap_or_default();
        let mut is_stopped = false;
        let mut note = |what: &str, error: ModelError| {
            is_stopped |= error.kind() == ModelErrorKind::Stopped;
            tracing::info!("{what}: {error}");
        };
        if record.leftovers.is_none()
            && let Some(batch) = &record.batch
        {
            self.cancel(batch).unwrap_or_else(|error| note("a batch could not be ended", error));
            if let Ok(look) = self.look(batch) {
                files.extend([look.output, look.errors].into_iter().flatten());
            }
        }
        for file in files.iter().chain([&record.file]) {
            self.remove(file).unwrap_or_else(|error| note("a file of a batch could not be removed", error));
        }
        !is_stopped
    }

    fn discard(&self, file: &str) {
        discard(&self.calls.client, file);
    }
}

/// Where an upload is, as its two ends tell each other.
enum Upload {
    Awaited,
    /// Nobody waits for its answer any more.
    GivenUp,
    /// The file is there, and is called so.
    Ended(String),
}

fn discard(client: &EndpointClient, file: &str) {
    if let Err(error) = client.delete(&client.beside(&format!("/files/{file}")), TIMEOUT) {
        tracing::warn!("a file of texts that nobody waits for stays at the service as {file}: {error}");
    }
}

/// Whether a batch is at the service that a configuration names, by its address and by the name of its key: what lies beside an index may
/// have come from anywhere, and is not to say where a key is sent.
pub(crate) fn is_at_service(place: &BatchPlace, named: &EmbedConfig) -> bool {
    let is_address = |address: Address| address.url == place.endpoint;
    named.api_key_env == place.api_key_env && Address::parse(&named.endpoint, &EMBEDDING).is_ok_and(is_address)
}

/// Ends a batch whose model is not in use any more, and removes its files, as far as that can be had: nobody waits for it.
pub(crate) fn abandon_batch(record: &BatchRecord) {
    let BatchPlace { endpoint, api_key_env, .. } = &record.place;
    let Ok(address) = Address::parse(endpoint, &EMBEDDING) else { return };
    let Ok(key) = ApiKey::from_environment(api_key_env, &EMBEDDING) else { return };
    let calls = Arc::new(EndpointCalls::new(EndpointClient::new(EMBEDDING, address, key)));
    let batches = EndpointBatches::new(calls, "", "", 0, record.place.clone(), 0);
    batches.clear(record);
}

fn read<T: serde::de::DeserializeOwned>(client: &EndpointClient, body: &[u8], what: &str) -> Result<T, ModelError> {
    read_answer(body, what).map_err(|bad| client.bad_answer(bad))
}

/// An id that may be put into an address.
fn checked(client: &EndpointClient, id: String) -> Result<String, ModelError> {
    let bad = || client.bad_answer(BadAnswer::Lasting("gave an id that is none".into()));
    is_id(&id).then_some(id).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_followed_only_at_the_service_that_is_named() {
        let place = |endpoint: &str, api_key_env: &str| BatchPlace {
            fingerprint: "f".into(),
            endpoint: endpoint.into(),
            api_key_env: api_key_env.into(),
        };
        let named = |endpoint: &str| EmbedConfig {
            endpoint: endpoint.into(),
            api_key_env: "KEY".into(),
            ..EmbedConfig::default()
        };
        let ours = "https://x.test/v1/embeddings";
        assert!(is_at_service(&place(ours, "KEY"), &named("x.test")));
        for (endpoint, key) in
            [(ours, "OTHER_KEY"), (ours, ""), ("https://evil.test/v1/embeddings", "KEY"), ("http://x.test/v1", "KEY")]
        {
            assert!(!is_at_service(&place(endpoint, key), &named("x.test")), "{endpoint} {key}");
        }
        assert!(!is_at_service(&place("", "KEY"), &named("")), "no service is named");
    }
}
