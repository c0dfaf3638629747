//! A server of HTTP that answers as a test says, for those that the program asks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// A request as the server got it. The names of its headers are in lower case.
#[derive(Debug, Clone, Default)]
pub struct Got {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Got {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The server, which keeps what it got.
pub struct Upstream {
    address: SocketAddr,
    got: Arc<Mutex<Vec<Got>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Upstream {
    pub fn start(answer: impl Fn(&Got, &mut TcpStream) + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1:0", answer)
    }

    pub fn at(address: &str, answer: impl Fn(&Got, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let (got, over, answer) = (Arc::<Mutex<Vec<Got>>>::default(), Arc::<AtomicBool>::default(), Arc::new(answer));
        let (kept, is_over) = (Arc::clone(&got), Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let Some(got) = read(&stream) else { return };
                    kept.lock().unwrap().push(got.clone());
                    answer(&got, &mut stream);
                });
            }
        });
        Self { address, got, over, thread: Some(thread) }
    }

    pub fn address(&self) -> String {
        self.address.to_string()
    }

    pub fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    pub fn last(&self) -> Got {
        self.got().pop().unwrap()
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        self.thread.take().map(JoinHandle::join);
    }
}

fn read(stream: &TcpStream) -> Option<Got> {
    let mut reader = BufReader::new(stream);
    let mut got = Got::default();
    reader.read_line(&mut got.line).ok()?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        got.headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length: usize = got.header("content-length").unwrap_or("0").parse().ok()?;
    got.body = vec![0; length];
    reader.read_exact(&mut got.body).ok()?;
    Some(got)
}

/// Answers with these headers, each with its end of line.
pub fn respond(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}
