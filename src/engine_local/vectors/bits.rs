//! One bit for each row of a segment.

/// A bitmap of fixed length.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RowBits {
    words: Vec<u64>,
}

impl RowBits {
    pub(super) fn new(rows: usize) -> Self {
        Self { words: vec![0; rows.div_ceil(64)] }
    }

    pub(super) fn set(&mut self, row: usize) {
        self.words[row / 64] |= 1 << (row % 64);
    }

    pub(super) fn get(&self, row: usize) -> bool {
        self.words[row / 64] >> (row % 64) & 1 == 1
    }

    /// The bits of rows `64 * at ..` as one word.
    pub(super) fn word(&self, at: usize) -> u64 {
        self.words[at]
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

/// Lists the positions of the bits that are set, lowest first.
pub(super) fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (at < u64::BITS).then_some(at as usize)
    })
}
