//! OpenAI's batch interface: a file of requests is uploaded, and answered within a day for less.
//!
//! None of these requests says anything of the service as a whole, as it may have embeddings and no batches: they pass by the breaker, and
//! none of their refusals is kept in mind. Whoever asks has a thread of its own, which waits.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::{ContentHash, Document, EmbeddedText, ModelError, ModelErrorKind, ModelTrouble};
use super::answer::{BadAnswer, EndpointAnswer, read_answer, vectors_of};
use super::calls::EndpointCalls;
use super::client::{EndpointClient, retry_after};
use super::embedder::{EmbeddingRequest, sent};

/// What each line of a batch asks for.
const BATCHED: &str = "/v1/embeddings";

/// Maximum time for a request about a batch.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Uploading its file.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(600);
/// Fetching its answers: a few hundred megabytes.
const FETCH_TIMEOUT: Duration = Duration::from_secs(3600);

/// Maximum number of texts of a batch. OpenAI takes 50,000, and a file of 200 MB; these are a few hundred megabytes of answers, and little is
/// lost when one fails. The file has about a kilobyte for each, and is in memory until it is sent.
pub(crate) const MOST_TEXTS: usize = 10_000;
/// Maximum length of the answers, in bytes.
const MOST_ANSWER_BYTES: u64 = 4 << 30;
/// Maximum length of a line of an answer: a vector of 3,072 numbers is a tenth of it.
const MOST_LINE_BYTES: u64 = 1 << 20;

/// What lines before and after the file are made of. No line of the file begins like that, as all begin with `{`.
const BOUNDARY: &str = "memory-vault-batch";
const CONTENT_TYPE: &str = "multipart/form-data; boundary=memory-vault-batch";

/// One batch is begun at a time: a request of a model that was replaced may begin it still, and the next one finds it.
static BEGINNING: Mutex<()> = Mutex::new(());

/// Where a batch is, and whose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BatchOrigin {
    /// What the vectors are made by.
    pub(crate) fingerprint: String,
    /// The service's address.
    pub(crate) endpoint: String,
    /// The environment variable that has its key.
    pub(crate) api_key_env: String,
}

/// A batch as it was found.
#[derive(Clone)]
pub(crate) struct BatchLook {
    /// How it is, as the service says it.
    pub(crate) status: String,
    /// The files of answers and of errors.
    pub(crate) output: Option<String>,
    pub(crate) errors: Option<String>,
    /// Why it failed as a whole.
    pub(crate) problem: Option<String>,
    /// When to look again, where the service says so.
    pub(crate) pause: Option<Duration>,
}

impl BatchLook {
    /// Whether nothing more comes of it.
    pub(crate) fn has_ended(&self) -> bool {
        ["completed", "failed", "expired", "cancelled"].contains(&self.status.as_str())
    }
}

/// Hands texts to an endpoint in batches.
pub struct BatchClient {
    pub(super) calls: Arc<EndpointCalls>,
    pub(super) model: String,
    /// Goes before every text.
    pub(super) prefix: String,
    pub(super) dimension: usize,
    /// Where its batches are, and whose.
    pub(crate) place: BatchOrigin,
    /// When more texts than this wait, they are handed over; `None` where they never are.
    pub(crate) from: Option<usize>,
}

impl BatchClient {
    /// A file of requests as it is uploaded, each of one text, by its name.
    pub(crate) fn file(&self, texts: &[(ContentHash, Document)]) -> Vec<u8> {
        let part = |head: &str| format!("--{BOUNDARY}\r\nContent-Disposition: form-data; {head}\r\n");
        let mut form = part("name=\"purpose\"").into_bytes();
        form.extend(b"\r\nbatch\r\n");
        form.extend(part("name=\"file\"; filename=\"batch.jsonl\"").as_bytes());
        form.extend(b"Content-Type: application/jsonl\r\n\r\n");
        for (content, document) in texts {
            let body = EmbeddingRequest::new(&self.model, vec![sent(&self.prefix, document)]);
            let line =
                json!({"custom_id": content.to_string(), "method": "POST", "url": BATCHED, "body": body}).to_string();
            form.extend(line.as_bytes());
            form.push(b'\n');
        }
        form.extend(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
        form
    }

    /// Whether the service has refused embeddings for good, so that it is not asked any more.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self.calls.trouble(), Some(ModelTrouble::Refused(_)))
    }

    /// Uploads a file of requests, and gives its id.
    ///
    /// # Errors
    /// When it is not taken.
    pub(crate) fn upload(&self, form: &[u8]) -> Result<String, ModelError> {
        let client = &self.calls.client;
        let body = client.post_to(&client.beside("/files"), CONTENT_TYPE, form, UPLOAD_TIMEOUT)?;
        id_of(client, &read(client, &body, "file")?)
    }

    /// Begins a batch, and gives its id. One that a request before has begun, whose answer never came, is taken up.
    ///
    /// # Errors
    /// When it is refused.
    pub(crate) fn begin(&self, file: &str) -> Result<String, ModelError> {
        let client = &self.calls.client;
        let _alone = BEGINNING.lock().unwrap_or_else(PoisonError::into_inner);
        let url = client.beside("/batches");
        let known = read(client, &client.whole(client.get(&url, TIMEOUT)?, TIMEOUT)?, "batches")?;
        let mut known = known["data"].as_array().into_iter().flatten();
        if let Some(batch) = known.find(|batch| batch["input_file_id"] == *file) {
            return id_of(client, batch);
        }
        let asked = json!({"input_file_id": file, "endpoint": BATCHED, "completion_window": "24h"});
        let body = client.post_to(&url, "application/json", asked.to_string().as_bytes(), TIMEOUT)?;
        id_of(client, &read(client, &body, "batch")?)
    }

    /// Looks how a batch is.
    ///
    /// # Errors
    /// When that is not said.
    pub(crate) fn look(&self, batch: &str) -> Result<BatchLook, ModelError> {
        let client = &self.calls.client;
        let answer = client.get(&client.beside(&format!("/batches/{batch}")), TIMEOUT)?;
        let pause = retry_after(&answer);
        let found = read(client, &client.whole(answer, TIMEOUT)?, "batch")?;
        let no_batch = || client.bad_answer(BadAnswer::Lasting("returned no batch".into()));
        let status = found["status"].as_str().ok_or_else(no_batch)?;
        let id = |value: &Value| value.as_str().filter(|id| is_id(id)).map(str::to_owned);
        let mut said = found["errors"]["data"].as_array().into_iter().flatten();
        Ok(BatchLook {
            status: client.quoted_message(status),
            output: id(&found["output_file_id"]),
            errors: id(&found["error_file_id"]),
            problem: said.find_map(|error| error["message"].as_str()).map(|said| client.quoted_message(said)),
            pause,
        })
    }

    /// Fetches answers to texts that were asked for, which are taken out of `asked`, and hands them to `found`, until that says no.
    ///
    /// # Errors
    /// When they do not come whole, or the service does not have them any more.
    pub(crate) fn fetch(
        &self,
        file: &str,
        asked: &mut HashSet<ContentHash>,
        found: &mut dyn FnMut(ContentHash, EmbeddedText) -> bool,
    ) -> Result<(), ModelError> {
        let client = &self.calls.client;
        let mut answer = client.get(&client.beside(&format!("/files/{file}/content")), FETCH_TIMEOUT)?;
        let body = answer.body_mut().with_config().limit(MOST_ANSWER_BYTES).reader();
        let incomplete = |error| format!("returned an incomplete file of answers: {error}");
        read_answers(BufReader::with_capacity(64 << 10, body), asked, self.dimension, found)
            .map_err(|error| client.failed(ModelErrorKind::Transient, incomplete(error)))
    }

    /// Removes the files of a batch, as far as it can be had. One of which it is not known that it has `ended` is ended first.
    pub(crate) fn clear(&self, file: &str, batch: Option<&str>, ended: Option<BatchLook>) {
        let end = |batch: &str| {
            let url = self.calls.client.beside(&format!("/batches/{batch}/cancel"));
            if let Err(error) = self.calls.client.post_to(&url, "application/json", b"{}", TIMEOUT) {
                tracing::info!("a batch could not be ended: {error}");
            }
            self.look(batch).ok()
        };
        let ended = ended.or_else(|| end(batch?));
        let files = ended.into_iter().flat_map(|look| [look.output, look.errors]).flatten();
        files.chain([file.to_owned()]).for_each(|file| self.remove(&file));
    }

    /// Removes a file.
    pub(crate) fn remove(&self, file: &str) {
        let client = &self.calls.client;
        if let Err(error) = client.delete(&client.beside(&format!("/files/{file}")), TIMEOUT) {
            tracing::info!("a file of a batch could not be removed at the service, as {file}: {error}");
        }
    }
}

fn read(client: &EndpointClient, body: &[u8], what: &str) -> Result<Value, ModelError> {
    read_answer(body, what).map_err(|bad| client.bad_answer(bad))
}

/// An id that may be put into an address.
fn id_of(client: &EndpointClient, answer: &Value) -> Result<String, ModelError> {
    let id = answer["id"].as_str().filter(|id| is_id(id)).map(str::to_owned);
    id.ok_or_else(|| client.bad_answer(BadAnswer::Lasting("returned an invalid id".into())))
}

/// Whether a text is an id that leads nowhere else within an address.
pub(crate) fn is_id(id: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || "-_:".contains(character);
    (1..=200).contains(&id.len()) && id.chars().all(is_part)
}

#[derive(Deserialize)]
struct AnswerLine {
    custom_id: String,
    response: Option<AnswerOfLine>,
}

#[derive(Deserialize)]
struct AnswerOfLine {
    status_code: u16,
    body: EndpointAnswer,
}

/// Reads the answers to texts that were asked for, each once, and hands them to `found`, until that says no. A line that is no good
/// answer is left out.
fn read_answers(
    mut file: impl BufRead,
    asked: &mut HashSet<ContentHash>,
    dimension: usize,
    found: &mut dyn FnMut(ContentHash, EmbeddedText) -> bool,
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = file.by_ref().take(MOST_LINE_BYTES).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        // Of one that is too long, the rest is none either.
        let Some((content, embedding)) = answer(&line, dimension) else { continue };
        if asked.remove(&content) && !found(content, embedding) {
            return Ok(());
        }
    }
}

fn answer(line: &[u8], dimension: usize) -> Option<(ContentHash, EmbeddedText)> {
    let AnswerLine { custom_id, response } = serde_json::from_slice(line).ok()?;
    let AnswerOfLine { status_code: 200, body } = response? else { return None };
    let vector = vectors_of(body, 1, Some(dimension)).ok()?.pop()?;
    Some((custom_id.parse().ok()?, EmbeddedText::of(&vector)))
}

#[cfg(test)]
mod tests {
    use super::super::address::EMBEDDING;
    use super::*;
    use crate::base::chance::proptest_config;
    use crate::models::tests::bent::bent;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(proptest_config(2000))]
        #[test]
        fn whatever_a_file_of_answers_has_they_are_to_what_was_asked_and_once(
            text in bent(&[
                "{\"custom_id\":\"01010101010101010101010101010101\",\"response\":{\"status_code\":200,\"body\":{\"data\":[{\"index\":0,\"embedding\":[3,4]}]}},\"error\":null}\n{\"custom_id\":\"02020202020202020202020202020202\",\"response\":{\"status_code\":200,\"body\":{\"data\":[{\"embedding\":[1,0]}]}}}\n",
                "{\"custom_id\":\"02020202020202020202020202020202\",\"response\":null,\"error\":{\"message\":\"no\"}}\n",
            ]),
        ) {
            let all: HashSet<ContentHash> = (1..4).map(content).collect();
            let (mut asked, mut found) = (all.clone(), Vec::new());
            let read = read_answers(text.as_bytes(), &mut asked, 2, &mut |content, embedding| {
                found.push((content, embedding));
                true
            });
            prop_assert!(read.is_ok());
            let names: HashSet<ContentHash> = found.iter().map(|(content, _)| *content).collect();
            prop_assert!(names.len() == found.len() && names.is_subset(&all) && names.is_disjoint(&asked));
            prop_assert!(found.iter().all(|(_, text)| text.vector.len() == 2 && text.vector.iter().all(|number| number.is_finite())));
        }
    }

    fn content(number: u8) -> ContentHash {
        ContentHash::from_bytes([number; 16])
    }

    fn line(content: impl ToString, status: u16, body: &str) -> String {
        let content = content.to_string();
        format!(r#"{{"custom_id":"{content}","response":{{"status_code":{status},"body":{body}}},"error":null}}"#)
            + "\n"
    }

    #[test]
    fn a_file_has_a_request_a_line() {
        let document = |text: &str| Document { context: "River".into(), text: text.into(), ..Document::default() };
        let texts = [(content(1), document("a\nb")), (content(2), document("--memory-vault-batch--"))];
        let client = BatchClient {
            calls: Arc::new(EndpointCalls::new(EndpointClient::open(EMBEDDING, "localhost", "").unwrap())),
            model: "m".into(),
            prefix: "passage: ".into(),
            dimension: 2,
            place: BatchOrigin { fingerprint: String::new(), endpoint: String::new(), api_key_env: String::new() },
            from: None,
        };
        let form = String::from_utf8(client.file(&texts)).unwrap();
        let lines: Vec<&str> = form.lines().filter(|line| line.starts_with('{')).collect();
        let first: Value = serde_json::from_str(lines[0]).unwrap();
        assert_eq!(first["custom_id"], content(1).to_string());
        assert_eq!((&first["method"], &first["url"]), (&"POST".into(), &"/v1/embeddings".into()));
        assert_eq!(first["body"], json!({"model": "m", "input": ["passage: River\na\nb"], "encoding_format": "float"}));
        assert_eq!(lines.len(), 2);
        assert_eq!(form.lines().filter(|line| line.starts_with("--memory-vault-batch")).count(), 3, "{form}");
    }

    #[test]
    fn answers_are_believed_only_as_far_as_they_can_be_checked() {
        let good = r#"{"data":[{"index":0,"embedding":[3,4]}]}"#;
        let mut text = line(content(1), 200, good) + &line(content(1), 200, good) + &line(content(9), 200, good);
        for (number, status, body) in [
            (2, 400, r#"{"error":{"message":"too long"}}"#),
            (2, 500, good),
            (3, 200, r#"{"data":[{"index":0,"embedding":[NaN,1]}]}"#),
            (4, 200, r#"{"data":[{"index":0,"embedding":[1,0,0]}]}"#),
            (5, 200, r#"{"data":[{"index":0,"embedding":[0,0]}]}"#),
            (6, 200, r#"{"data":[]}"#),
        ] {
            text += &line(content(number), status, body);
        }
        text += &line("../../etc", 200, good);
        text += &format!("{}\n", "x".repeat(3 << 20));
        text += &line(content(7), 200, good);
        text += line(content(8), 200, good).split_at(60).0;
        let mut asked: HashSet<ContentHash> = (1..9).map(content).collect();
        let mut found = Vec::new();
        let ended = read_answers(text.as_bytes(), &mut asked, 2, &mut |content, embedding| {
            found.push((content, embedding));
            true
        });
        assert!(ended.is_ok());
        assert_eq!(found, [1, 7].map(|number| (content(number), EmbeddedText::of(&[0.6, 0.8]))));
        assert_eq!(asked.len(), 6, "those without an answer");
    }

    #[test]
    fn an_id_leads_nowhere_else() {
        for good in ["file-abc123", "batch_6f2:1", "0b8f2a1e-0000-4000-8000-000000000000"] {
            assert!(is_id(good), "{good}");
        }
        for bad in ["", "..", "a/b", "a?b", "a b", "a%2fb", "ä", &"x".repeat(201)] {
            assert!(!is_id(bad), "{bad}");
        }
    }
}
