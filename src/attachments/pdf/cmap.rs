//! The table of a font that says which characters its codes are.

use std::collections::HashMap;

use super::tokens::{ContentToken, ContentTokens, Operand};

/// Maximum characters and ranges of a table.
const MAX_ENTRIES: usize = 200_000;
/// Maximum operands that wait for an operator.
const MAX_WAITING: usize = 100_000;

/// From codes to characters.
#[derive(Debug, Default)]
pub(super) struct CodeMap {
    single: HashMap<u32, String>,
    /// The first and the last code, and the character of the first, in order.
    ranges: Vec<(u32, u32, u32)>,
    /// How many bytes codes have, with the first and the last of them.
    spaces: Vec<(usize, u32, u32)>,
}

impl CodeMap {
    /// Reads a table.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut map = Self::default();
        let mut tokens = ContentTokens::new(bytes);
        let mut waiting = Vec::new();
        while let Some(token) = tokens.next() {
            match token {
                ContentToken::Operand(operand) if waiting.len() < MAX_WAITING => waiting.push(operand),
                ContentToken::Operand(_) => {}
                ContentToken::Operator(operator) => {
                    match operator {
                        b"endbfchar" => waiting.chunks_exact(2).for_each(|pair| map.character(&pair[0], &pair[1])),
                        b"endbfrange" => {
                            waiting.chunks_exact(3).for_each(|three| map.range(&three[0], &three[1], &three[2]));
                        }
                        b"endcodespacerange" => waiting.chunks_exact(2).for_each(|pair| map.space(&pair[0], &pair[1])),
                        _ => {}
                    }
                    waiting.clear();
                }
            }
        }
        map.ranges.sort_unstable();
        map
    }

    pub(super) fn is_empty(&self) -> bool {
        self.single.is_empty() && self.ranges.is_empty()
    }

    fn is_full(&self) -> bool {
        self.single.len() + self.ranges.len() >= MAX_ENTRIES
    }

    fn space(&mut self, first: &Operand, last: &Operand) {
        if let (Operand::Text(first), Operand::Text(last)) = (first, last)
            && first.len() == last.len()
            && (1..=4).contains(&first.len())
            && self.spaces.len() < 100
        {
            self.spaces.push((first.len(), code(first), code(last)));
        }
    }

    fn character(&mut self, from: &Operand, to: &Operand) {
        if let (Operand::Text(from), Operand::Text(to)) = (from, to)
            && !self.is_full()
        {
            self.single.insert(code(from), utf16(to));
        }
    }

    fn range(&mut self, first: &Operand, last: &Operand, to: &Operand) {
        let (Operand::Text(first), Operand::Text(last)) = (first, last) else { return };
        let (first, last) = (code(first), code(last));
        match to {
            _ if last < first || self.is_full() => {}
            Operand::Array(each) => {
                for (from, to) in (first..=last).zip(each) {
                    if let Operand::Text(to) = to
                        && !self.is_full()
                    {
                        self.single.insert(from, utf16(to));
                    }
                }
            }
            Operand::Text(to) => {
                let text = utf16(to);
                let mut characters = text.chars();
                match (characters.next(), characters.next()) {
                    // A range of all characters begins with none.
                    (Some(only), None) => self.ranges.push((first, last, only.into())),
                    // Of several characters the last one counts on; such a range is seldom more than one code.
                    (Some(_), Some(_)) => drop(self.single.insert(first, text)),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// The characters of a code.
    pub(super) fn get(&self, code: u32, into: &mut String) -> bool {
        if let Some(text) = self.single.get(&code) {
            into.push_str(text);
            return true;
        }
        let at = self.ranges.partition_point(|(first, ..)| *first <= code);
        let Some((first, last, to)) = at.checked_sub(1).and_then(|at| self.ranges.get(at)) else { return false };
        let character = (code <= *last).then(|| char::from_u32(to.wrapping_add(code - first))).flatten();
        into.extend(character);
        character.is_some()
    }

    /// The first code of a text, and how many bytes it has.
    pub(super) fn next(&self, bytes: &[u8], usual: usize) -> (u32, usize) {
        for length in 1..=bytes.len().min(4) {
            let found = code(&bytes[..length]);
            if self.spaces.iter().any(|(of, first, last)| *of == length && (*first..=*last).contains(&found)) {
                return (found, length);
            }
        }
        let length = usual.min(bytes.len());
        (code(&bytes[..length]), length)
    }
}

fn code(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |code, byte| code << 8 | u32::from(*byte))
}

fn utf16(bytes: &[u8]) -> String {
    if let [byte] = bytes {
        return char::from(*byte).into();
    }
    let units = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    char::decode_utf16(units).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_become_characters() {
        let map = CodeMap::read(
            b"1 begincodespacerange <0000> <ffff> endcodespacerange 2 beginbfchar <0001> <4f60> <0002> <00660069> endbfchar \
              2 beginbfrange <0010> <0012> <0041> <0020> <0021> [<0042> <D83DDE00>] endbfrange",
        );
        let text = |code: u32| {
            let mut text = String::new();
            map.get(code, &mut text);
            text
        };
        assert_eq!([1, 2, 0x11, 0x12, 0x13, 0x21].map(text), ["你", "fi", "B", "C", "", "😀"]);
        assert_eq!(map.next(&[0, 1, 2], 1), (1, 2));
        assert_eq!(map.next(&[7], 2), (7, 1));
        assert!(CodeMap::read(b"<01> <02> endbfchar [ ( << 1 endbfrange <ff> <00> <41> endbfrange").single.len() == 1);
    }
}
