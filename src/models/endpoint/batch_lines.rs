//! The files of a batch: a request a line, and a line for each answer, of which nothing is believed.

use std::collections::HashSet;
use std::io::{self, BufRead, Read};

use serde::{Deserialize, Serialize};

use super::super::{BatchFile, ContentHash, Document, EmbeddedText};
use super::answer::{EndpointAnswer, vectors_of};
use super::request::{EmbeddingRequest, sent};

/// What each line of a batch asks for.
pub(super) const BATCHED: &str = "/v1/embeddings";

/// Maximum number of texts of a batch. OpenAI takes 50,000; these are a few hundred megabytes of answers, and little is lost when one fails.
pub(crate) const MOST_TEXTS: usize = 10_000;
/// Maximum length of a file of requests; OpenAI takes 200 MB. It is in memory until it is sent.
const MOST_BYTES: usize = 64 << 20;
/// Maximum length of a line of an answer: a vector of 3,072 numbers is a tenth of it.
const MOST_LINE_BYTES: u64 = 1 << 20;

/// What lines before and after the file are made of. No line of the file begins like that, as all begin with `{`.
const BOUNDARY: &str = "memory-vault-batch";
pub(super) const CONTENT_TYPE: &str = "multipart/form-data; boundary=memory-vault-batch";

#[derive(Serialize)]
struct RequestLine {
    custom_id: String,
    method: &'static str,
    url: &'static str,
    body: EmbeddingRequest,
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

/// A file of requests for as many of the texts as there is room for, each a request of its own, by its name.
pub(super) fn batch_file(model: &str, prefix: &str, texts: &[(ContentHash, Document)]) -> BatchFile {
    let part = |head: &str| format!("--{BOUNDARY}\r\nContent-Disposition: form-data; {head}\r\n");
    let mut form = part("name=\"purpose\"").into_bytes();
    form.extend(b"\r\nbatch\r\n");
    form.extend(part("name=\"file\"; filename=\"batch.jsonl\"").as_bytes());
    form.extend(b"Content-Type: application/jsonl\r\n\r\n");
    let mut contents = Vec::with_capacity(texts.len());
    for (content, document) in texts.iter().take(MOST_TEXTS) {
        let body = EmbeddingRequest::new(model, vec![sent(prefix, document)]);
        let line = RequestLine { custom_id: content.to_string(), method: "POST", url: BATCHED, body };
        let Ok(line) = serde_json::to_vec(&line) else { continue };
        if form.len() + line.len() > MOST_BYTES {
            break;
        }
        form.extend(line);
        form.push(b'\n');
        contents.push(*content);
    }
    form.extend(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    BatchFile { form, contents }
}

/// Reads the answers to texts that were asked for, each once, and hands them to `found`, until that says no. A line that is no good
/// answer is left out.
pub(super) fn read_answers(
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
    use super::*;
    use crate::chance::proptest_config;
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
        let file = batch_file("m", "passage: ", &texts);
        let form = String::from_utf8(file.form).unwrap();
        let lines: Vec<&str> = form.lines().filter(|line| line.starts_with('{')).collect();
        let first: serde_json::Value = serde_json::from_str(lines[0]).unwrap();
        assert_eq!(first["custom_id"], content(1).to_string());
        assert_eq!((&first["method"], &first["url"]), (&"POST".into(), &"/v1/embeddings".into()));
        assert_eq!(
            first["body"],
            serde_json::json!({"model": "m", "input": ["passage: River\na\nb"], "encoding_format": "float"})
        );
        assert_eq!((lines.len(), file.contents), (2, vec![content(1), content(2)]));
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
}
