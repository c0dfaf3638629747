//! The tokens of what a page draws, and of the tables of its fonts. Whatever is wrong is passed over.

/// What stands before an operator.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Operand {
    /// A number.
    Number(f64),
    /// `/Name`, without the slash.
    Name(Vec<u8>),
    /// `(text)` or `<hex>`.
    Text(Vec<u8>),
    /// `[…]`
    Array(Vec<Operand>),
    /// What says nothing here.
    Other,
}

/// A token.
#[derive(Debug, PartialEq)]
pub(super) enum ContentToken<'a> {
    /// A value.
    Operand(Operand),
    /// What is done with those before.
    Operator(&'a [u8]),
}

/// Maximum depth of arrays and dictionaries; what is deeper says nothing.
const MAX_DEPTH: usize = 16;

/// Takes tokens from bytes.
pub(super) struct ContentTokens<'a> {
    bytes: &'a [u8],
    at: usize,
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, 0 | b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

fn ends_word(byte: u8) -> bool {
    is_blank(byte) || matches!(byte, b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%')
}

impl<'a> ContentTokens<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_blank(&mut self) {
        while let Some(byte) = self.peek() {
            if byte == b'%' {
                while self.peek().is_some_and(|byte| byte != b'\n' && byte != b'\r') {
                    self.at += 1;
                }
            } else if is_blank(byte) {
                self.at += 1;
            } else {
                break;
            }
        }
    }

    /// The next token.
    pub(super) fn next(&mut self) -> Option<ContentToken<'a>> {
        self.token(0)
    }

    fn token(&mut self, depth: usize) -> Option<ContentToken<'a>> {
        self.skip_blank();
        let byte = self.peek()?;
        let operand = match byte {
            b'(' => Operand::Text(self.literal()),
            b'<' if self.bytes.get(self.at + 1) == Some(&b'<') => {
                self.at += 2;
                self.within(b'>', depth);
                Operand::Other
            }
            b'<' => Operand::Text(self.hex()),
            b'[' => {
                self.at += 1;
                Operand::Array(self.within(b']', depth))
            }
            b'/' => {
                self.at += 1;
                Operand::Name(self.name())
            }
            b'+' | b'-' | b'.' | b'0'..=b'9' => self.number(),
            b')' | b'>' | b']' | b'{' | b'}' => {
                self.at += 1;
                Operand::Other
            }
            _ => return Some(ContentToken::Operator(self.word())),
        };
        Some(ContentToken::Operand(operand))
    }

    fn word(&mut self) -> &'a [u8] {
        let start = self.at;
        while self.peek().is_some_and(|byte| !ends_word(byte)) {
            self.at += 1;
        }
        &self.bytes[start..self.at]
    }

    /// The operands up to a mark that ends them.
    fn within(&mut self, end: u8, depth: usize) -> Vec<Operand> {
        let mut found = Vec::new();
        loop {
            self.skip_blank();
            match self.peek() {
                None => return found,
                Some(byte) if byte == end => {
                    self.at += if end == b'>' { 2 } else { 1 };
                    self.at = self.at.min(self.bytes.len());
                    return found;
                }
                // Too deep to say anything: its end is taken for that of what is around it.
                Some(b'[' | b'<') if depth >= MAX_DEPTH => self.at += 1,
                Some(_) => {
                    if let Some(ContentToken::Operand(operand)) = self.token(depth + 1) {
                        found.push(operand);
                    }
                }
            }
        }
    }

    fn number(&mut self) -> Operand {
        let word = self.word();
        let text = std::str::from_utf8(word).unwrap_or_default();
        let number = text.parse::<f64>().or_else(|_| text.trim_start_matches(['-', '+']).parse().map(|n: f64| -n));
        number.ok().filter(|number| number.is_finite()).map_or(Operand::Other, Operand::Number)
    }

    fn name(&mut self) -> Vec<u8> {
        let word = self.word();
        let mut name = Vec::with_capacity(word.len());
        let mut rest = word;
        while let [first, after @ ..] = rest {
            let escaped = (*first == b'#').then(|| after.get(..2)).flatten();
            let escaped = escaped.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
            name.push(escaped.unwrap_or(*first));
            rest = if escaped.is_some() { &after[2..] } else { after };
        }
        name
    }

    fn hex(&mut self) -> Vec<u8> {
        self.at += 1;
        let (mut bytes, mut half) = (Vec::new(), None);
        while let Some(byte) = self.peek() {
            self.at += 1;
            if byte == b'>' {
                break;
            }
            let Some(digit) = char::from(byte).to_digit(16) else { continue };
            match half.take() {
                None => half = Some(digit as u8),
                Some(high) => bytes.push(high << 4 | digit as u8),
            }
        }
        bytes.extend(half.map(|high| high << 4));
        bytes
    }

    fn literal(&mut self) -> Vec<u8> {
        self.at += 1;
        let (mut bytes, mut depth) = (Vec::new(), 0_usize);
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'(' => depth += 1,
                b')' if depth == 0 => break,
                b')' => depth -= 1,
                b'\\' => {
                    bytes.extend(self.escape());
                    continue;
                }
                _ => {}
            }
            bytes.push(byte);
        }
        bytes
    }

    /// What follows a backslash.
    fn escape(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(match byte {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' => 8,
            b'f' => 0x0c,
            b'\n' => return None,
            b'\r' => {
                self.at += usize::from(self.peek() == Some(b'\n'));
                return None;
            }
            b'0'..=b'7' => {
                let mut code = u32::from(byte - b'0');
                for _ in 0..2 {
                    match self.peek() {
                        Some(digit @ b'0'..=b'7') => code = code * 8 + u32::from(digit - b'0'),
                        _ => break,
                    }
                    self.at += 1;
                }
                code as u8
            }
            other => other,
        })
    }

    /// Passes over the picture that follows `ID` within what is drawn.
    pub(super) fn skip_picture(&mut self) {
        while let Some(found) = self.bytes[self.at..].windows(2).position(|two| two == b"EI") {
            let start = self.at + found;
            self.at = start + 2;
            let before = start.checked_sub(1).and_then(|at| self.bytes.get(at)).is_none_or(|byte| is_blank(*byte));
            if before && self.peek().is_none_or(ends_word) {
                return;
            }
        }
        self.at = self.bytes.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<ContentToken<'_>> {
        let mut tokens = ContentTokens::new(text);
        std::iter::from_fn(|| tokens.next()).collect()
    }

    #[test]
    fn operands_and_operators_are_told_apart() {
        let text = |text: &[u8]| ContentToken::Operand(Operand::Text(text.to_vec()));
        assert_eq!(
            all(b"/F#31 12.5 Tf % x\n(a\\(b\\051 (c) \\n\\\nd) Tj <48 656> Tj"),
            [
                ContentToken::Operand(Operand::Name(b"F1".to_vec())),
                ContentToken::Operand(Operand::Number(12.5)),
                ContentToken::Operator(b"Tf"),
                text(b"a(b) (c) \nd"),
                ContentToken::Operator(b"Tj"),
                text(b"He`"),
                ContentToken::Operator(b"Tj"),
            ]
        );
        let array = vec![Operand::Text(b"A".to_vec()), Operand::Number(-120.0), Operand::Other];
        let found = all(b"[(A)-120<</K [1]>>]TJ");
        assert_eq!(found, [ContentToken::Operand(Operand::Array(array)), ContentToken::Operator(b"TJ")]);
    }

    #[test]
    fn pictures_are_passed_over() {
        let mut tokens = ContentTokens::new(b"ID \x01EIx(\x02 EI Q");
        assert_eq!(tokens.next(), Some(ContentToken::Operator(b"ID")));
        tokens.skip_picture();
        assert_eq!(tokens.next(), Some(ContentToken::Operator(b"Q")));
        assert_eq!(tokens.next(), None);
    }

    #[test]
    fn whatever_is_wrong_ends() {
        for wrong in [&b"(((("[..], b"<<<<", b"[[[[", b"]>)}", b"<4", b"/", b"\\", b"+-", b"(\\", b"<<"] {
            assert!(all(wrong).len() <= wrong.len() + 1, "{wrong:?}");
        }
        assert!(all(&b"[".repeat(100_000)).len() < 100_001);
        assert!(all(&b"<<".repeat(100_000)).len() < 100_001);
    }
}
