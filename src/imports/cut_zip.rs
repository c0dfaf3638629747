//! What is whole of a zip archive that has lost its end, where the list of its files stands: each file says itself what it is called, and where
//! it was written without knowing its length, where its text ends.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::ops::ControlFlow;

use flate2::bufread::DeflateDecoder;

/// What a file begins with, and what follows the last.
const FILE: [u8; 4] = *b"PK\x03\x04";
const LIST: [[u8; 4]; 2] = [*b"PK\x01\x02", *b"PK\x05\x06"];
/// What is packed as it is, and deflated.
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// Flags of a file: what is in it is encrypted; its length follows it.
const ENCRYPTED: u16 = 1;
const LENGTH_FOLLOWS: u16 = 8;
/// The field that has a length of more than four bytes.
const LONG_LENGTH: u16 = 1;

/// A file of an archive: what it is called, and its text, or why it cannot be read.
pub(super) type CutZipFile<'f> = (&'f str, Result<&'f mut dyn Read, &'static str>);

/// Gives each file that begins in what is left of an archive to `each`, until that has enough.
///
/// # Errors
/// When it cannot be read; that it ends is no error.
pub(super) fn files(from: impl Read, each: &mut dyn FnMut(CutZipFile<'_>) -> ControlFlow<()>) -> io::Result<()> {
    match in_order(&mut BufReader::with_capacity(64 * 1024, from), each) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(()),
        read => read,
    }
}

fn in_order(from: &mut impl BufRead, each: &mut dyn FnMut(CutZipFile<'_>) -> ControlFlow<()>) -> io::Result<()> {
    while next_file(from)? {
        let mut head = [0; 26];
        from.read_exact(&mut head)?;
        let number = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let (flags, method) = (number(2), number(4));
        let length = u32::from_le_bytes([head[14], head[15], head[16], head[17]]);
        let (mut name, mut extra) = (vec![0; number(22).into()], vec![0; number(24).into()]);
        from.read_exact(&mut name)?;
        from.read_exact(&mut extra)?;
        let name = String::from_utf8_lossy(&name).into_owned();
        let length = if length == u32::MAX { long_length(&extra) } else { Some(length.into()) };
        let length = length.filter(|length| flags & LENGTH_FOLLOWS == 0 || *length > 0);
        let ended = match (method, length) {
            _ if flags & ENCRYPTED != 0 => each((&name, Err("it is encrypted"))),
            (STORED, Some(length)) => {
                let mut text = WholeText { from: from.by_ref().take(length) };
                let ended = each((&name, Ok(&mut text)));
                io::copy(&mut text.from, &mut io::sink())?;
                ended
            }
            (DEFLATED, Some(length)) => {
                let mut packed = from.by_ref().take(length);
                let ended = each((&name, Ok(&mut DeflateDecoder::new(&mut packed))));
                io::copy(&mut packed, &mut io::sink())?;
                ended
            }
            // Where it ends it says itself. One that does not is where the archive was cut.
            (DEFLATED, None) => {
                let mut text = DeflateDecoder::new(from.by_ref());
                let ended = each((&name, Ok(&mut text)));
                if io::copy(&mut text, &mut io::sink()).is_err() {
                    return Ok(());
                }
                ended
            }
            _ => each((&name, Err("how it is packed is not known, or how long it is"))),
        };
        if ended.is_break() {
            return Ok(());
        }
    }
    Ok(())
}

/// Goes on to the next file; whether there is one.
fn next_file(from: &mut impl BufRead) -> io::Result<bool> {
    let mut seen = [0; 4];
    loop {
        let mut byte = [0];
        from.read_exact(&mut byte)?;
        seen = [seen[1], seen[2], seen[3], byte[0]];
        if seen == FILE {
            return Ok(true);
        }
        if LIST.contains(&seen) {
            return Ok(false);
        }
    }
}

/// The packed length of a file of more than four gigabytes.
fn long_length(extra: &[u8]) -> Option<u64> {
    let mut rest = extra;
    while let [a, b, c, d, more @ ..] = rest {
        let (field, length) = (u16::from_le_bytes([*a, *b]), usize::from(u16::from_le_bytes([*c, *d])));
        let value = more.get(..length)?;
        if field == LONG_LENGTH {
            return Some(u64::from_le_bytes(value.get(8..16)?.try_into().ok()?));
        }
        rest = &more[length..];
    }
    None
}

/// A text of a length that is known: where it ends before, that is an error.
struct WholeText<R> {
    from: io::Take<R>,
}

impl<R: Read> Read for WholeText<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        if read == 0 && !into.is_empty() && self.from.limit() > 0 {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "the archive was cut short here"));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use zip::CompressionMethod::{Deflated, Stored};
    use zip::write::{SimpleFileOptions, ZipWriter};

    use super::*;

    /// An archive as a file has it, or as it is written to where nothing can be gone back to.
    fn archive(is_stream: bool) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        let files = [("a.md", Stored), ("b.md", Deflated), ("c.md", Deflated)];
        if is_stream {
            let mut zip = ZipWriter::new_stream(&mut bytes);
            for (name, _) in files {
                zip.start_file(name, SimpleFileOptions::default().compression_method(Deflated)).unwrap();
                zip.write_all(name.repeat(2000).as_bytes()).unwrap();
            }
            zip.finish().unwrap();
        } else {
            let mut zip = ZipWriter::new(&mut bytes);
            for (name, method) in files {
                zip.start_file(name, SimpleFileOptions::default().compression_method(method)).unwrap();
                zip.write_all(name.repeat(2000).as_bytes()).unwrap();
            }
            zip.finish().unwrap();
        }
        bytes.into_inner()
    }

    fn found(bytes: &[u8]) -> Vec<(String, bool)> {
        let mut found = Vec::new();
        files(bytes, &mut |(name, text)| {
            let mut all = String::new();
            let is_whole = text.unwrap().read_to_string(&mut all).is_ok();
            assert!(!is_whole || all == name.repeat(2000), "{name} {}", all.len());
            found.push((name.to_owned(), is_whole));
            ControlFlow::Continue(())
        })
        .unwrap();
        found
    }

    #[test]
    fn what_is_whole_of_an_archive_that_was_cut_is_read_wherever_it_was_cut() {
        for is_stream in [false, true] {
            let bytes = archive(is_stream);
            let list = bytes.windows(4).position(|window| window == LIST[0]).unwrap();
            assert_eq!(found(&bytes[..list]).iter().filter(|(_, is_whole)| *is_whole).count(), 3, "{is_stream}");
            let mut most = 0;
            for length in 0..list {
                let whole = found(&bytes[..length]).iter().filter(|(_, is_whole)| *is_whole).count();
                assert!((most..=most + 1).contains(&whole), "{is_stream} {length} {whole} {most}");
                most = whole;
            }
        }
        assert!(found(b"").is_empty() && found(b"PK\x03\x04").is_empty() && found(&[0; 999]).is_empty());
    }
}
