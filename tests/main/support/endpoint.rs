//! An endpoint as OpenAI has it, for embeddings and for chat, which can be told to fail in every way.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use memory_vault::models::{Document, Embedder, HashEmbedder};
use serde_json::{Value, json};

use super::upstream::{Got, Upstream};

/// How a request goes wrong.
#[derive(Debug, Clone)]
pub enum Fault {
    /// No answer, for as long as the server is there.
    Hang,
    /// A status with headers, each with its end of line, and a body.
    Status(u16, &'static str, &'static str),
    /// The first half of a good answer.
    Half,
    /// A page, with a good status.
    Html,
    /// The vector of the last text is as long as this.
    Dimension(usize),
    /// The vector of the last text is not a number.
    Nan,
    /// The last text has no vector, or the last passage no score.
    Fewer,
    /// The connection ends without a word.
    Close,
    /// A chat model's own words.
    Says(&'static str),
    /// The same, made for what was asked.
    SaysThis(String),
}

/// What was asked.
#[derive(Debug, Clone)]
pub struct Asked {
    pub path: String,
    pub authorization: Option<String>,
    /// The texts to embed, or the messages.
    pub texts: Vec<String>,
    pub body: Value,
}

type Decide = Arc<dyn Fn(&Asked) -> Option<Fault> + Send + Sync>;
type Judge = Box<dyn Fn(&str) -> f64 + Send>;

struct Inner {
    asked: Mutex<Vec<Asked>>,
    decide: Mutex<Decide>,
    judge: Mutex<Judge>,
    model: Mutex<HashEmbedder>,
    over: AtomicBool,
}

/// The server. It embeds as [`HashEmbedder`] does, judges passages as it is told, and says queries in the words that it is given.
pub struct Endpoint {
    upstream: Upstream,
    inner: Arc<Inner>,
}

impl Endpoint {
    pub fn start() -> Self {
        Self::at("127.0.0.1:0")
    }

    pub fn at(address: &str) -> Self {
        let inner = Arc::new(Inner {
            asked: Mutex::default(),
            decide: Mutex::new(Arc::new(|_| None)),
            judge: Mutex::new(Box::new(|_| 0.5)),
            model: Mutex::new(HashEmbedder::new(32)),
            over: AtomicBool::new(false),
        });
        let serving = Arc::clone(&inner);
        let upstream = Upstream::at(address, move |got, stream| drop(serve(&serving, got, stream)));
        Self { upstream, inner }
    }

    pub fn address(&self) -> String {
        self.upstream.address()
    }

    /// From now on requests fail as this says.
    pub fn fails(&self, decide: impl Fn(&Asked) -> Option<Fault> + Send + Sync + 'static) {
        *self.inner.decide.lock().unwrap() = Arc::new(decide);
    }

    /// From now on each passage gets this score.
    pub fn judges(&self, judge: impl Fn(&str) -> f64 + Send + 'static) {
        *self.inner.judge.lock().unwrap() = Box::new(judge);
    }

    /// The passages of each request to judge some.
    pub fn judged(&self) -> Vec<Vec<String>> {
        let asked = self.asked();
        let chats = asked.iter().filter(|asked| asked.is_chat());
        chats.map(|asked| passages(&asked.texts[1])).collect()
    }

    /// Another model takes the place of the one there was.
    pub fn change_model(&self, dimension: usize) {
        *self.inner.model.lock().unwrap() = HashEmbedder::new(dimension);
    }

    pub fn asked(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.inner.asked.lock().unwrap()
    }

    /// How often a text was sent that has this word.
    pub fn sent(&self, word: &str) -> usize {
        self.asked().iter().flat_map(|asked| &asked.texts).filter(|text| text.contains(word)).count()
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.inner.over.store(true, Ordering::SeqCst);
    }
}

impl Asked {
    pub fn is_chat(&self) -> bool {
        self.path.ends_with("/chat/completions")
    }
}

/// The passages within the fences of what a chat model is given. The first fence is around the query.
fn passages(material: &str) -> Vec<String> {
    let fence = material.lines().nth(1).unwrap_or_default();
    let texts: Vec<&str> = material.split(&format!("{fence}\n")).collect();
    texts.into_iter().skip(4).step_by(2).map(|text| text.trim_end().to_owned()).collect()
}

fn serve(inner: &Inner, got: &Got, stream: &mut TcpStream) -> std::io::Result<()> {
    let mut words = got.line.split(' ').map(str::to_owned);
    let path = words.nth(1).unwrap_or_default();
    let authorization = got.header("authorization").map(str::to_owned);
    let body: Value = serde_json::from_slice(&got.body).unwrap_or_default();
    let texts = body["input"].as_array().into_iter().flatten().filter_map(|text| Some(text.as_str()?.to_owned()));
    let messages = body["messages"].as_array().into_iter().flatten();
    let messages = messages.filter_map(|message| Some(message["content"].as_str()?.to_owned()));
    let asked = Asked { path, authorization, texts: texts.chain(messages).collect(), body: body.clone() };
    inner.asked.lock().unwrap().push(asked.clone());
    // One that waits keeps none of the others.
    let decide = Arc::clone(&inner.decide.lock().unwrap());
    let fault = decide(&asked);
    answer(inner, &asked, fault, stream)
}

fn answer(inner: &Inner, asked: &Asked, fault: Option<Fault>, stream: &mut TcpStream) -> std::io::Result<()> {
    let good = if asked.is_chat() { chat(inner, asked, &fault) } else { embedding(inner, asked, &fault) };
    let (mut status, mut headers) = (200, "Content-Type: application/json\r\n");
    let (mut body, mut sent) = (good.to_string().replace("\"NaN\"", "NaN"), None);
    match fault {
        Some(Fault::Hang) => {
            // Until whoever asked goes away, or the server.
            while !inner.over.load(Ordering::SeqCst) && stream.peek(&mut [0]).is_ok_and(|read| read > 0) {
                std::thread::yield_now();
            }
            return Ok(());
        }
        Some(Fault::Close) => return Ok(()),
        Some(Fault::Status(code, more, said)) => (status, headers, body) = (code, more, said.to_owned()),
        Some(Fault::Html) => (headers, body) = ("Content-Type: text/html\r\n", "<html>Welcome</html>".into()),
        Some(Fault::Half) => sent = Some(body.len() / 2),
        _ => {}
    }
    let length = body.len();
    write!(stream, "HTTP/1.1 {status} Said\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n")?;
    stream.write_all(&body.as_bytes()[..sent.unwrap_or(length)])
}

fn chat(inner: &Inner, asked: &Asked, fault: &Option<Fault>) -> Value {
    let judge = inner.judge.lock().unwrap();
    let content = if let Some(Fault::Says(said)) = fault {
        (*said).to_owned()
    } else if let Some(Fault::SaysThis(said)) = fault {
        said.clone()
    } else {
        let mut scores: Vec<Value> = passages(&asked.texts[1]).iter().map(|passage| json!(judge(passage))).collect();
        match fault {
            Some(Fault::Nan) => scores[0] = json!("NaN"),
            Some(Fault::Fewer) => drop(scores.pop()),
            _ => {}
        }
        json!({ "scores": scores }).to_string().replace("\"NaN\"", "NaN")
    };
    json!({
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    })
}

fn embed(inner: &Inner, texts: &[String]) -> Vec<Vec<f32>> {
    let document = |text: &String| Document { context: String::new(), text: text.clone(), ..Document::default() };
    let documents: Vec<Document> = texts.iter().map(document).collect();
    inner.model.lock().unwrap().embed_documents(&documents, None).unwrap()
}

fn embedding(inner: &Inner, asked: &Asked, fault: &Option<Fault>) -> Value {
    let vectors = embed(inner, &asked.texts);
    let mut data: Vec<Value> =
        vectors.iter().enumerate().map(|(index, vector)| json!({"index": index, "embedding": vector})).collect();
    // Nobody promises an order.
    data.reverse();
    match fault {
        Some(Fault::Dimension(dimension)) => data[0]["embedding"] = json!(vec![1.0; *dimension]),
        Some(Fault::Nan) => data[0]["embedding"] = json!(["NaN"]),
        Some(Fault::Fewer) => drop(data.pop()),
        _ => {}
    }
    json!({"object": "list", "data": data, "model": "hashed"})
}
