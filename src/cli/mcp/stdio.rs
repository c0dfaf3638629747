//! Lines in, lines out. Threads of their own: a read that waits for a person must not hold anything else.

use std::io::{self, BufRead, Write};

use tokio::sync::{mpsc, oneshot};

use crate::cli::terminal::stdout;
use crate::mcp::MAX_MESSAGE_BYTES;

/// What came on standard input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputLine {
    /// A line, without its end.
    Whole(Vec<u8>),
    /// One that is longer than any message; it was not kept.
    TooLong,
}

/// The lines of standard input, until it ends.
pub(super) fn lines() -> mpsc::Receiver<InputLine> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Ok(Some(line)) = next_line(&mut input, MAX_MESSAGE_BYTES) {
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Takes lines for standard output, closed when nobody reads them any more; and what ends when the last one is out.
pub(super) fn answers() -> (mpsc::Sender<Vec<u8>>, oneshot::Receiver<()>) {
    let (sender, mut receiver) = mpsc::channel::<Vec<u8>>(8);
    let (writing, written) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let mut output = stdout().for_json();
        while let Some(mut line) = receiver.blocking_recv() {
            line.push(b'\n');
            if output.write_all(&line).and_then(|()| output.flush()).is_err() {
                break;
            }
        }
        drop(writing);
    });
    (sender, written)
}

/// Reads a line and keeps at most `limit` bytes of it in memory. The last one may have no end.
fn next_line(input: &mut impl BufRead, limit: usize) -> io::Result<Option<InputLine>> {
    let (mut line, mut too_long) = (Vec::new(), false);
    loop {
        let read = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let end = read.iter().position(|byte| *byte == b'\n');
        let part = &read[..end.unwrap_or(read.len())];
        let at_end = read.is_empty();
        too_long |= line.len() + part.len() > limit;
        if too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() || at_end {
            return Ok(match (too_long, at_end && line.is_empty()) {
                (true, _) => Some(InputLine::TooLong),
                (false, true) => None,
                (false, false) => Some(InputLine::Whole(line)),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_up_to_a_length() {
        let text = "one\n\nfour\r\nmuch too long\nlast";
        // Whatever pieces it comes in.
        for piece in [1, 2, 7, 100] {
            let mut input = io::BufReader::with_capacity(piece, text.as_bytes());
            let mut lines = Vec::new();
            while let Some(line) = next_line(&mut input, 6).unwrap() {
                lines.push(line);
            }
            let whole = |text: &str| InputLine::Whole(text.into());
            assert_eq!(lines, [whole("one"), whole(""), whole("four\r"), InputLine::TooLong, whole("last")], "{piece}");
        }
    }
}
