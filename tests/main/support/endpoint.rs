//! An embedding endpoint as OpenAI has it, which can be told to fail in every way.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use memory_vault::models::{Document, Embedder, HashEmbedder};
use serde_json::{Value, json};

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
    /// The last text has no vector.
    Fewer,
}

/// What was asked.
#[derive(Debug, Clone)]
pub struct Asked {
    pub path: String,
    pub authorization: Option<String>,
    pub texts: Vec<String>,
}

type Decide = Box<dyn Fn(&Asked) -> Option<Fault> + Send>;

struct Inner {
    asked: Mutex<Vec<Asked>>,
    decide: Mutex<Decide>,
    model: Mutex<HashEmbedder>,
    over: AtomicBool,
}

/// The server. It embeds as [`HashEmbedder`] does.
pub struct Endpoint {
    address: SocketAddr,
    inner: Arc<Inner>,
    thread: Option<JoinHandle<()>>,
}

impl Endpoint {
    pub fn start() -> Self {
        Self::at("127.0.0.1:0")
    }

    pub fn at(address: &str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let inner = Arc::new(Inner {
            asked: Mutex::default(),
            decide: Mutex::new(Box::new(|_| None)),
            model: Mutex::new(HashEmbedder::new(32)),
            over: AtomicBool::new(false),
        });
        let serving = Arc::clone(&inner);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if serving.over.load(Ordering::SeqCst) {
                    break;
                }
                let serving = Arc::clone(&serving);
                std::thread::spawn(move || drop(serve(&serving, stream)));
            }
        });
        Self { address, inner, thread: Some(thread) }
    }

    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// From now on requests fail as this says.
    pub fn fails(&self, decide: impl Fn(&Asked) -> Option<Fault> + Send + 'static) {
        *self.inner.decide.lock().unwrap() = Box::new(decide);
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
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(inner: &Inner, stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let (mut length, mut authorization) = (0, None);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap_or(0),
            "authorization" => authorization = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let texts = body["input"].as_array().into_iter().flatten().filter_map(|text| Some(text.as_str()?.to_owned()));
    let asked = Asked { path, authorization, texts: texts.collect() };
    inner.asked.lock().unwrap().push(asked.clone());
    let fault = (inner.decide.lock().unwrap())(&asked);
    answer(inner, &asked, fault, stream)
}

fn answer(inner: &Inner, asked: &Asked, fault: Option<Fault>, mut stream: TcpStream) -> std::io::Result<()> {
    let document = |text: &String| Document { context: String::new(), text: text.clone() };
    let documents: Vec<Document> = asked.texts.iter().map(document).collect();
    let vectors = inner.model.lock().unwrap().embed_documents(&documents, None).unwrap();
    let mut data: Vec<Value> =
        vectors.iter().enumerate().map(|(index, vector)| json!({"index": index, "embedding": vector})).collect();
    // Nobody promises an order.
    data.reverse();
    let (mut status, mut headers) = (200, "Content-Type: application/json\r\n");
    match &fault {
        Some(Fault::Dimension(dimension)) => data[0]["embedding"] = json!(vec![1.0; *dimension]),
        Some(Fault::Nan) => data[0]["embedding"] = json!(["NaN"]),
        Some(Fault::Fewer) => drop(data.pop()),
        _ => {}
    }
    let mut body = json!({"object": "list", "data": data, "model": "hashed"}).to_string().replace("\"NaN\"", "NaN");
    let mut sent = None;
    match fault {
        Some(Fault::Hang) => {
            // Until whoever asked goes away, or the server.
            while !inner.over.load(Ordering::SeqCst) && stream.peek(&mut [0]).is_ok_and(|read| read > 0) {
                std::thread::yield_now();
            }
            return Ok(());
        }
        Some(Fault::Status(code, more, said)) => (status, headers, body) = (code, more, said.to_owned()),
        Some(Fault::Html) => (headers, body) = ("Content-Type: text/html\r\n", "<html>Welcome</html>".into()),
        Some(Fault::Half) => sent = Some(body.len() / 2),
        _ => {}
    }
    let length = body.len();
    write!(stream, "HTTP/1.1 {status} Said\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n")?;
    stream.write_all(&body.as_bytes()[..sent.unwrap_or(length)])
}
