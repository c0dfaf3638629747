//! The batches of an endpoint as OpenAI has them, which end when a test says so, and how.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::endpoint::Asked;

/// How batches end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchFate {
    /// They are under way.
    Open,
    Done,
    Failed,
    /// With answers to the first half of its texts.
    Expired,
    /// Done, and the file ends in the middle of the answers behind the first half.
    Half,
    /// Done, with errors for all but the first half.
    Refused,
}

#[derive(Default)]
struct Kept {
    /// By id: the text of each file.
    files: BTreeMap<String, String>,
    /// By id: the file of requests, and whether it was ended.
    batches: BTreeMap<String, (String, bool)>,
    uploads: Vec<String>,
    next: usize,
}

/// The batches.
pub struct FakeBatches {
    fate: Mutex<BatchFate>,
    kept: Mutex<Kept>,
}

impl Default for FakeBatches {
    fn default() -> Self {
        Self { fate: Mutex::new(BatchFate::Open), kept: Mutex::default() }
    }
}

impl FakeBatches {
    /// From now on they end like that.
    pub fn end(&self, fate: BatchFate) {
        *self.fate.lock().unwrap() = fate;
    }

    /// The requests of each file that was uploaded.
    pub fn uploads(&self) -> Vec<Vec<Value>> {
        let lines = |text: &String| text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        self.kept.lock().unwrap().uploads.iter().map(lines).collect()
    }

    /// How many texts with this word were handed over.
    pub fn sent(&self, word: &str) -> usize {
        let uploads = self.uploads();
        let texts = uploads.iter().flatten().map(|line| line["body"]["input"][0].as_str().unwrap());
        texts.filter(|text| text.contains(word)).count()
    }

    /// How many batches were begun, how many of them were ended by who began them, and how many files are there.
    pub fn count(&self) -> (usize, usize, usize) {
        let kept = self.kept.lock().unwrap();
        (kept.batches.len(), kept.batches.values().filter(|(_, ended)| *ended).count(), kept.files.len())
    }

    pub(super) fn answer(
        &self,
        asked: &Asked,
        form: &[u8],
        embed: impl Fn(&[String]) -> Vec<Vec<f32>>,
    ) -> (u16, Vec<u8>) {
        let fate = *self.fate.lock().unwrap();
        let mut kept = self.kept.lock().unwrap();
        let parts: Vec<&str> = asked.path.trim_start_matches("/v1/").split('/').collect();
        let good = |value: Value| (200, value.to_string().into_bytes());
        match (asked.method.as_str(), parts.as_slice()) {
            ("POST", ["files"]) => {
                let form = String::from_utf8(form.to_vec()).unwrap();
                assert!(form.contains("name=\"purpose\"\r\n\r\nbatch\r\n"), "{form}");
                let lines: Vec<&str> = form.lines().filter(|line| line.starts_with('{')).collect();
                let text = lines.join("\n");
                kept.uploads.push(text.clone());
                good(json!({"id": kept.put(text), "object": "file", "purpose": "batch"}))
            }
            ("POST", ["batches"]) => {
                assert_eq!(
                    (&asked.body["endpoint"], &asked.body["completion_window"]),
                    (&"/v1/embeddings".into(), &"24h".into())
                );
                kept.next += 1;
                let id = format!("batch_{}", kept.next);
                let file = asked.body["input_file_id"].as_str().unwrap().to_owned();
                kept.batches.insert(id.clone(), (file, false));
                good(kept.shown(&id, "validating", None, None))
            }
            ("GET", ["batches"]) => {
                let all: Vec<Value> = kept.batches.keys().map(|id| kept.shown(id, "in_progress", None, None)).collect();
                good(json!({"object": "list", "data": all, "has_more": false}))
            }
            ("POST", ["batches", id, "cancel"]) => {
                let Some((_, ended)) = kept.batches.get_mut(*id) else { return (404, Vec::new()) };
                *ended = true;
                good(kept.shown(id, "cancelling", None, None))
            }
            ("GET", ["batches", id]) => {
                let Some((file, _)) = kept.batches.get(*id).cloned() else { return (404, Vec::new()) };
                match fate {
                    BatchFate::Open => good(kept.shown(id, "in_progress", None, None)),
                    BatchFate::Failed => {
                        let mut shown = kept.shown(id, "failed", None, None);
                        shown["errors"] = json!({"object": "list", "data": [{"code": "token_limit_exceeded", "message": "too many tokens wait"}]});
                        good(shown)
                    }
                    BatchFate::Done | BatchFate::Expired | BatchFate::Half | BatchFate::Refused => {
                        let Some(requests) = kept.files.get(&file).cloned() else { return (404, Vec::new()) };
                        let (answers, errors) = answers(&requests, fate, embed);
                        let output = (!answers.is_empty()).then(|| kept.put(answers));
                        let errors = (!errors.is_empty()).then(|| kept.put(errors));
                        let status = if fate == BatchFate::Expired { "expired" } else { "completed" };
                        good(kept.shown(id, status, output, errors))
                    }
                }
            }
            ("GET", ["files", id, "content"]) => match kept.files.get(*id) {
                Some(text) => (200, text.clone().into_bytes()),
                None => (404, Vec::new()),
            },
            ("DELETE", ["files", id]) => match kept.files.remove(*id) {
                Some(_) => good(json!({"id": id, "deleted": true})),
                None => (404, Vec::new()),
            },
            _ => (404, Vec::new()),
        }
    }
}

impl Kept {
    fn put(&mut self, text: String) -> String {
        self.next += 1;
        let id = format!("file-{}", self.next);
        self.files.insert(id.clone(), text);
        id
    }

    fn shown(&self, id: &str, status: &str, output: Option<String>, errors: Option<String>) -> Value {
        json!({
            "id": id, "object": "batch", "endpoint": "/v1/embeddings", "status": status,
            "input_file_id": self.batches[id].0, "output_file_id": output, "error_file_id": errors, "errors": null,
        })
    }
}

/// The files of answers and of errors, in another order than was asked.
fn answers(requests: &str, fate: BatchFate, embed: impl Fn(&[String]) -> Vec<Vec<f32>>) -> (String, String) {
    let requests: Vec<Value> = requests.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (mut good, mut bad, mut errors) = (String::new(), String::new(), String::new());
    for (at, request) in requests.iter().enumerate() {
        let is_good = fate == BatchFate::Done || at < requests.len() / 2;
        let texts = [request["body"]["input"][0].as_str().unwrap().to_owned()];
        let id = request["custom_id"].clone();
        match fate {
            _ if is_good => {}
            BatchFate::Expired => continue,
            BatchFate::Refused => {
                let error = json!({"error": {"message": "poisonous"}});
                let line = json!({"custom_id": id, "response": {"status_code": 400, "body": error}, "error": null});
                errors += &format!("{line}\n");
                continue;
            }
            _ => {}
        }
        let body = json!({"object": "list", "data": [{"index": 0, "embedding": embed(&texts)[0]}]});
        let line = json!({"custom_id": id, "response": {"status_code": 200, "body": body}, "error": null});
        if is_good { good.insert_str(0, &format!("{line}\n")) } else { bad += &format!("{line}\n") }
    }
    if fate == BatchFate::Half {
        bad.truncate(bad.lines().next().unwrap().len() / 2);
    }
    (good + &bad, errors)
}
