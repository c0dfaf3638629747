//! Serves a router on a listener: so many connections, so long to send a request, and a drain at the stop.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::http::header::{CONNECTION, EXPECT};
use axum::http::{HeaderValue, Request};
use axum::serve::Listener;
use axum::{BoxError, Router};
use futures_util::{StreamExt, stream};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

/// What a listener's connections may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionLimits {
    /// Connections at a time; more wait until one is closed.
    pub connections: usize,
    /// A connection that has not sent the head of a request by then is closed, an idle one too.
    pub head: Duration,
    /// The body of a request has to be there by then, counted from its head.
    pub body: Duration,
    /// At a stop, requests under way get this long.
    pub drain: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        let (head, body) = (Duration::from_secs(10), Duration::from_secs(30));
        Self { connections: 256, head, body, drain: Duration::from_millis(1000) }
    }
}

/// Maximum length of the head of a request, in bytes: a query of 16 KiB, each byte of it percent-encoded, fits.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Serves until `stop` holds true or its sender is gone. When it returns, no connection is left, and so none that holds
/// what the router holds.
/// Each request has the address of its peer, as an `Arc<L::Addr>`.
pub(crate) async fn serve<L: Listener<Addr: Sync + 'static>>(
    mut listener: L,
    router: Router,
    limits: ConnectionLimits,
    mut stop: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    let stopped = stop.clone();
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            (stream, address) = listener.accept(), if connections.len() < limits.connections => {
                while connections.try_join_next().is_some() {}
                let service = TowerToHyperService::new(router.clone());
                let peer = Arc::new(address);
                let service = service_fn(move |mut request: Request<Incoming>| {
                    request.extensions_mut().insert(Arc::clone(&peer));
                    let (left, waits) = (Unread::default(), request.headers().contains_key(EXPECT));
                    let answer = service.call(request.map(|body| timed(body, limits.body, &left)));
                    async move {
                        let mut answer = answer.await?;
                        if !read_rest(left, waits).await {
                            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                        }
                        Ok::<_, Infallible>(answer)
                    }
                });
                let mut http = http1::Builder::new();
                http.timer(TokioTimer::new()).header_read_timeout(limits.head).max_buf_size(MAX_HEAD_BYTES);
                let connection = http.serve_connection(TokioIo::new(stream), service);
                let mut stop = stopped.clone();
                connections.spawn(async move {
                    let mut connection = pin!(connection);
                    // Whoever hangs up in the middle is no failure of ours.
                    tokio::select! {
                        _ = connection.as_mut() => return,
                        _ = stop.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
                    }
                    let _ = connection.await;
                });
            }
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(limits.drain, drained).await;
    connections.shutdown().await;
}

/// What an answer has left unread of its request's body.
type Unread = Arc<Mutex<Option<BodyDataStream>>>;

/// A body that is being read, and left to be read on when that ends.
struct Reading {
    parts: Option<BodyDataStream>,
    left: Unread,
}

impl Drop for Reading {
    fn drop(&mut self) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = self.parts.take();
    }
}

/// The body of a request, which fails when it has not come whole in time: whoever sends it byte by byte would else keep the
/// connection for as long as they like.
fn timed(body: Incoming, within: Duration, left: &Unread) -> Body {
    let deadline = Instant::now() + within;
    let reading = Reading { parts: Some(Body::new(body).into_data_stream()), left: Arc::clone(left) };
    Body::from_stream(stream::unfold(reading, move |mut reading| async move {
        let part: Result<Bytes, BoxError> = match timeout_at(deadline, reading.parts.as_mut()?.next()).await {
            Ok(part) => part?.map_err(Into::into),
            Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
        };
        Some((part, reading))
    }))
}

/// Maximum length of what is read of a body that no answer needs, in bytes, and for how long.
const MAX_UNREAD_BYTES: usize = 64 << 10;
const UNREAD_WITHIN: Duration = Duration::from_millis(200);

/// Reads what is left of a body, as of a request that was refused by its head: the HTTP library would hang up without a word where it has not come
/// yet, and whoever sent it would ask on a connection that is gone. False where it is too much, or does not come, as from who waits to be told to send
/// it.
async fn read_rest(left: Unread, waits: bool) -> bool {
    let left = left.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut parts) = left.filter(|parts| !parts.is_end_stream()) else { return true };
    if waits || parts.size_hint().lower() > MAX_UNREAD_BYTES as u64 {
        return false;
    }
    let reading = async {
        let mut read = 0;
        while let Some(part) = parts.next().await {
            read = part.map_or(usize::MAX, |part| read + part.len());
            if read > MAX_UNREAD_BYTES {
                return false;
            }
        }
        true
    };
    timeout(UNREAD_WITHIN, reading).await.unwrap_or(false)
}

/// Whether a body could not be read because it did not come in time.
pub(crate) fn is_late(error: &(dyn std::error::Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.filter_map(|cause| cause.downcast_ref::<io::Error>()).any(|cause| cause.kind() == io::ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::api::ask::JsonBody;
    use axum::routing::{get, post};
    use serde_json::Value;
    use std::io::{ErrorKind, Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::sync::mpsc::channel;
    use tokio::net::TcpListener;
    use tokio::runtime::Runtime;
    use tokio::task::JoinHandle;

    const FOREVER: Duration = Duration::from_secs(600);
    const LIMITS: ConnectionLimits =
        ConnectionLimits { connections: 256, head: FOREVER, body: FOREVER, drain: FOREVER };
    const ASK: &str = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

    /// A server in a runtime of its own.
    struct Served {
        runtime: Runtime,
        address: SocketAddr,
        stop: watch::Sender<bool>,
        task: JoinHandle<()>,
    }

    impl Served {
        fn new(router: Router, limits: ConnectionLimits) -> Self {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
            let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
            let address = listener.local_addr().unwrap();
            let (stop, stopped) = watch::channel(false);
            let task = runtime.spawn(serve(listener, router, limits, stopped));
            Self { runtime, address, stop, task }
        }

        fn connect(&self, text: &str) -> TcpStream {
            let mut stream = TcpStream::connect(self.address).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
            stream
        }
    }

    fn router() -> Router {
        Router::new().route("/", get(|| async { "here" }))
    }

    /// Asks on a connection that stays open, and waits for the answer.
    fn asked(served: &Served) -> TcpStream {
        let mut stream = served.connect("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        let mut answer = Vec::new();
        while !answer.ends_with(b"here") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
        stream
    }

    /// What comes until the server hangs up.
    fn rest(mut stream: TcpStream) -> String {
        let mut read = Vec::new();
        if let Err(error) = stream.read_to_end(&mut read) {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset, "it hangs up");
        }
        String::from_utf8(read).unwrap()
    }

    #[test]
    fn whoever_sends_no_request_is_hung_up_on_and_makes_room() {
        let served =
            Served::new(router(), ConnectionLimits { connections: 2, head: Duration::from_millis(50), ..LIMITS });
        let (silent, slow) = (served.connect(""), served.connect("GET / HTTP/1.1\r\nHost: x\r\n"));
        let said = rest(served.connect(ASK));
        assert!(said.starts_with("HTTP/1.1 200") && said.ends_with("here"), "{said}");
        let idle = rest(served.connect("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert!(idle.ends_with("here"), "{idle}");
        for unasked in [rest(silent), rest(slow)] {
            assert!(!unasked.contains("200"), "{unasked}");
        }
    }

    #[test]
    fn no_more_connections_than_allowed_are_served() {
        let served = Served::new(router(), ConnectionLimits { connections: 1, ..LIMITS });
        let (first, mut second) = (asked(&served), served.connect(ASK));
        second.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let early = second.read(&mut [0]).map_err(|error| error.kind());
        assert!(matches!(early, Err(ErrorKind::WouldBlock | ErrorKind::TimedOut)), "{early:?}");
        drop(first);
        second.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        assert!(rest(second).ends_with("here"));
    }

    #[test]
    fn a_body_that_does_not_come_in_time_is_hung_up_on() {
        let router = Router::new().route("/", post(|JsonBody(read): JsonBody<Value>| async move { read.to_string() }));
        let served = Served::new(router, ConnectionLimits { body: Duration::from_millis(50), ..LIMITS });
        let head = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n";
        let slow = rest(served.connect(&format!("{head}{{")));
        assert!(slow.starts_with("HTTP/1.1 408") && slow.contains("timed out"), "{slow}");
        assert!(rest(served.connect(&format!("{head}{{}}"))).ends_with("{}"));
    }

    #[test]
    fn a_connection_stays_open_behind_a_body_that_nobody_read_unless_it_is_too_much() {
        let (entered, is_entered) = channel();
        let unread = move || {
            entered.send(()).unwrap();
            async { "here" }
        };
        let served = Served::new(router().route("/unread", post(unread)), LIMITS);
        let head = |length: usize| format!("POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
        // It is answered before its body comes.
        let mut stream = served.connect(&head(4));
        is_entered.recv().unwrap();
        stream.write_all(b"body").unwrap();
        stream.write_all(ASK.as_bytes()).unwrap();
        let said = rest(stream);
        assert_eq!(said.matches("HTTP/1.1 200 OK").count(), 2, "{said}");
        let said = rest(served.connect(&head(MAX_UNREAD_BYTES + 1)));
        assert!(said.to_lowercase().contains("connection: close") && said.ends_with("here"), "{said}");
        let said = rest(served.connect(&head(4)));
        assert!(said.to_lowercase().contains("connection: close"), "it never comes: {said}");
    }

    #[test]
    fn a_stop_lets_requests_finish_hangs_up_on_the_idle_and_cuts_off_the_endless() {
        for finishes in [true, false] {
            let (entered, is_entered) = channel();
            let leave = Arc::new(tokio::sync::Notify::new());
            let holds = Arc::new(Mutex::new(()));
            let held = Arc::downgrade(&holds);
            let slow = {
                let leave = Arc::clone(&leave);
                move || async move {
                    let _holds = holds;
                    entered.send(()).unwrap();
                    leave.notified().await;
                    "done"
                }
            };
            let drain = if finishes { FOREVER } else { Duration::from_millis(50) };
            let served = Served::new(router().route("/slow", get(slow)), ConnectionLimits { drain, ..LIMITS });
            let silent = served.connect("");
            let asking = served.connect("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
            is_entered.recv().unwrap();
            served.stop.send(true).unwrap();
            assert_eq!(rest(silent), "");
            if finishes {
                leave.notify_one();
            }
            served.runtime.block_on(served.task).unwrap();
            assert!(held.upgrade().is_none(), "no connection is left that holds the router");
            assert_eq!(rest(asking).ends_with("done"), finishes);
        }
    }
}
