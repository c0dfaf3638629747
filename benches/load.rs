//! Keep-alive clients that ask one HTTP server as fast as it answers.
//!
//!     cargo bench --bench load -- ADDRESS --clients 8 --seconds 5 [--header 'Authorization: Bearer …'] < TARGETS
//!
//! TARGETS are request targets, a line each (`/search?q=word`); the clients go through them in turn, again and again. Prints
//! JSON: answers a second, and times in milliseconds. Any answer but 200 ends it.

use std::io::stdin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http::{Connection, Request};

#[allow(dead_code)] // the tests need more of it
#[path = "../tests/main/support/http.rs"]
mod http;

const PATIENCE: Duration = Duration::from_secs(60);

struct Arguments {
    address: String,
    header: Option<(String, String)>,
    clients: usize,
    seconds: f64,
}

impl Arguments {
    fn read() -> Option<Self> {
        let mut read = Self { address: String::new(), header: None, clients: 8, seconds: 5.0 };
        let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--clients" => read.clients = arguments.next()?.parse().ok()?,
                "--seconds" => read.seconds = arguments.next()?.parse().ok()?,
                "--header" => read.header = arguments.next()?.split_once(": ").map(|(a, b)| (a.into(), b.into())),
                address => read.address = address.to_owned(),
            }
        }
        (!read.address.is_empty()).then_some(read)
    }
}

fn main() {
    let Some(arguments) = Arguments::read() else {
        return eprintln!(
            "usage: cargo bench --bench load -- ADDRESS [--clients N] [--seconds N] [--header H] < TARGETS"
        );
    };
    let request = |target: String| match &arguments.header {
        Some((name, value)) => Request::get(&target).header(name, value),
        None => Request::get(&target),
    };
    let requests: Vec<Request> = stdin().lines().map_while(Result::ok).map(request).collect();
    let next = AtomicUsize::new(0);
    let begun = Instant::now();
    let until = begun + Duration::from_secs_f64(arguments.seconds);
    let client = || {
        let mut connection = Connection::open(&arguments.address);
        let mut took = Vec::new();
        while Instant::now() < until {
            let asked = Instant::now();
            let request = &requests[next.fetch_add(1, Ordering::Relaxed) % requests.len()];
            let reply = connection.send(request).expect("the server answers");
            assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
            took.push(asked.elapsed().as_secs_f64() * 1000.0);
        }
        took
    };
    let mut took: Vec<f64> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..arguments.clients).map(|_| scope.spawn(client)).collect();
        clients.into_iter().flat_map(|client| client.join().expect("no client fails")).collect()
    });
    let seconds = begun.elapsed().as_secs_f64();
    took.sort_by(f64::total_cmp);
    let percentile = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
    println!(
        "{{\"answers\": {}, \"per_second\": {:.1}, \"p50_ms\": {:.2}, \"p99_ms\": {:.2}, \"max_ms\": {:.2}}}",
        took.len(),
        took.len() as f64 / seconds,
        percentile(0.5),
        percentile(0.99),
        percentile(1.0)
    );
}
