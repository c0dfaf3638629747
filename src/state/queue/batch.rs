//! What goes into the queue, and what comes out of it.

/// An event that is to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Tells it from all others, when its sender named it.
    pub key: Option<u64>,
    /// The import that brings it, which remembers its key for good.
    pub import: Option<i64>,
    /// What it is, so that all of a kind can be dropped.
    pub kind: &'static str,
    /// The event.
    pub body: String,
}

/// An event that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingEvent {
    /// Its place in the order. No two have the same, nor has one that what is being written right now names.
    pub number: u64,
    /// Tells it from all others, when its sender named it.
    pub key: Option<u64>,
    /// The event; none when the row does not hold what was written into it.
    pub body: Option<String>,
}

/// What was appended: how many events are new, and how many were there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// New.
    pub accepted: usize,
    /// There already.
    pub doubles: usize,
}

/// How far a queue is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// The number of the first event that waits, or of the next to come.
    pub first: u64,
    /// The number of the next to come.
    pub next: u64,
    /// Bytes of those that wait.
    pub bytes: u64,
    /// Tells one opening of the file from another.
    pub opened: u64,
    /// Copies of what waits no more may be left among what does, and were to go: see [`clear`](super::EventQueue::clear).
    pub unswept: bool,
}

/// What belongs into one transaction.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// Requests, each of which is taken whole or not at all.
    pub requests: Vec<Vec<NewEvent>>,
    /// The numbers of events that are in their files, and wait no more.
    pub done: Vec<u64>,
    /// What is about to be written, if that is another now; empty when nothing is.
    pub plan: Option<String>,
    /// Kinds of which nothing waits any more.
    pub dropped: Vec<&'static str>,
    /// Copies of what waits no more are to go. Of what is dropped they are in any case.
    pub sweeps: bool,
}
