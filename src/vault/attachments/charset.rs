//! What bytes of a web page say, in whatever encoding they are.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Length of the head of a page that is looked at for its encoding, in bytes.
const LOOKED_AT: usize = 4096;

/// The text of a page, by its byte order mark, by what it says of itself, or as what it can be.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let named = || declared(&bytes[..bytes.len().min(LOOKED_AT)]);
    let encoding = match std::str::from_utf8(bytes) {
        _ if Encoding::for_bom(bytes).is_some() => UTF_8,
        Ok(_) => UTF_8,
        // What says that it is UTF-8, and is not, is damaged.
        Err(_) => named().unwrap_or(WINDOWS_1252),
    };
    encoding.decode(bytes).0
}

/// What follows `charset=` in a `meta` element.
fn declared(head: &[u8]) -> Option<&'static Encoding> {
    let head = head.to_ascii_lowercase();
    let at = head.windows(8).position(|window| window == b"charset=")? + 8;
    let rest: Vec<u8> = head[at..]
        .iter()
        .copied()
        .skip_while(|byte| matches!(byte, b'"' | b'\'' | b' '))
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':'))
        .collect();
    Encoding::for_label(&rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_read_in_the_encoding_that_they_name() {
        let russian = [b"<meta charset=windows-1251>".as_slice(), &[0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2]].concat();
        assert!(decode(&russian).ends_with("Привет"));
        let chinese =
            [b"<meta http-equiv=x content='text/html; charset=\"GB2312\"'>".as_slice(), &[0xc4, 0xe3]].concat();
        assert!(decode(&chinese).ends_with('你'));
        assert_eq!(decode("héllo 你好".as_bytes()), "héllo 你好");
        assert_eq!(decode(&[0xff, 0xfe, b'a', 0, b'b', 0]), "ab");
        assert_eq!(decode(&[b'n', 0xe9]), "né");
        assert_eq!(decode(b""), "");
    }
}
