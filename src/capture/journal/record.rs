//! One request's events as bytes: all of them or none.

use super::super::event::Captured;

/// Length, count and first number, then the checksum of these and of what follows.
pub(super) const HEADER: usize = 4 + 4 + 8 + 32;
/// No request is longer: what claims to be is damaged.
const MAX_BYTES: usize = 16 << 20;

/// Events that were accepted together. They are numbered one after the other; of one that was taken out its place stays.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Record {
    /// The number of the first.
    pub(in super::super) first: u64,
    pub(in super::super) events: Vec<Option<Captured>>,
}

impl Record {
    /// The number of the event after the last.
    pub(in super::super) fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        let payload = serde_json::to_vec(&self.events)?;
        let length = payload.len();
        Ok(self.with_payload(payload, length))
    }

    /// Blank space behind JSON says nothing.
    fn with_payload(&self, mut payload: Vec<u8>, length: usize) -> Vec<u8> {
        payload.resize(length, b' ');
        let mut bytes = Vec::with_capacity(HEADER + payload.len());
        bytes.extend((payload.len() as u32).to_le_bytes());
        bytes.extend((self.events.len() as u32).to_le_bytes());
        bytes.extend(self.first.to_le_bytes());
        let checksum = blake3::Hasher::new().update(&bytes).update(&payload).finalize();
        bytes.extend(checksum.as_bytes());
        bytes.extend(payload);
        bytes
    }

    /// The record in as many bytes as it had before events were taken out of it.
    pub(super) fn encode_in(&self, length: usize) -> std::io::Result<Vec<u8>> {
        let payload = serde_json::to_vec(&self.events)?;
        let room = length.checked_sub(HEADER).filter(|room| *room >= payload.len());
        let room = room.ok_or_else(|| std::io::Error::other("a record has grown"))?;
        Ok(self.with_payload(payload, room))
    }

    /// The length of the payload that a header announces.
    pub(super) fn payload_length(header: &[u8; HEADER]) -> Option<usize> {
        let [a, b, c, d, ..] = *header;
        Some(u32::from_le_bytes([a, b, c, d]) as usize).filter(|length| (1..=MAX_BYTES).contains(length))
    }

    /// The record, when it is as it was written.
    pub(super) fn decode(header: &[u8; HEADER], payload: &[u8]) -> Option<Self> {
        let (told, checksum) = header.split_at(16);
        let found = blake3::Hasher::new().update(told).update(payload).finalize();
        if found.as_bytes() != checksum {
            return None;
        }
        let first = u64::from_le_bytes(told[8..].try_into().ok()?);
        Some(Self { first, events: serde_json::from_slice(payload).ok()? })
    }
}
