//! The checksums of rows: SQLite does not notice a flipped bit in what a row holds.

/// Gathers what a row holds. Every value says its own length, so that no two rows gather the same bytes.
#[derive(Default)]
pub(super) struct Checksum {
    bytes: Vec<u8>,
}

impl Checksum {
    pub(super) fn number(&mut self, number: impl Into<i64>) -> &mut Self {
        self.bytes.extend(number.into().to_le_bytes());
        self
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend((bytes.len() as u64).to_le_bytes());
        self.bytes.extend(bytes);
        self
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    /// 32 bits of BLAKE3, which SQLite keeps in four bytes.
    pub(super) fn short(&self) -> i32 {
        let [a, b, c, d, ..] = *blake3::hash(&self.bytes).as_bytes();
        i32::from_le_bytes([a, b, c, d])
    }

    /// 63 bits: for what is told from arbitrary bytes by nothing else.
    pub(super) fn long(&self) -> i64 {
        let [a, b, c, d, e, f, g, h, ..] = *blake3::hash(&self.bytes).as_bytes();
        (u64::from_le_bytes([a, b, c, d, e, f, g, h]) >> 1) as i64
    }
}
