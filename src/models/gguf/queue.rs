//! What callers wait for and workers do: queries, then documents.
//!
//! A call blocks until it is answered, so the queue never holds more than one query or one list of documents for each
//! thread that calls: that is its bound.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use llama_cpp_2::token::LlamaToken;

use super::super::ModelError;

/// One text as the model reads it, and its place in the call that it came with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sequence {
    pub(super) index: usize,
    pub(super) tokens: Vec<LlamaToken>,
    /// Behind the one vector of length 1 for all of it the vectors of these of its tokens, of any length.
    pub(super) tokens_wanted: Range<usize>,
}

/// A text's place in the call and what was wanted of it, or why there is none.
pub(super) type Reply = Result<(usize, Vec<f32>), ModelError>;

/// Which lane a worker serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerLane {
    /// Queries only, so that one does not even wait for the text under way of a bulk import.
    Queries,
    /// Documents, after any queries that wait.
    All,
}

/// One sequence to embed, and where its vector goes.
pub(super) struct ModelTask {
    pub(super) sequence: Sequence,
    pub(super) reply: Sender<Reply>,
    call: u64,
}

#[derive(Default)]
pub(super) struct TextQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

/// The lanes, the first one first.
const QUERIES: usize = 0;
const DOCUMENTS: usize = 1;

#[derive(Default)]
struct QueueState {
    lanes: [VecDeque<Call>; 2],
    calls_so_far: u64,
    stopped: bool,
}

struct Call {
    number: u64,
    sequences: VecDeque<Sequence>,
    reply: Sender<Reply>,
    deadline: Option<Instant>,
}

impl TextQueue {
    /// Puts a query before all documents. Its one reply comes on the receiver, which closes without it on a stop, and when it was
    /// not begun by the deadline.
    pub(super) fn query(&self, sequence: Sequence, deadline: Option<Instant>) -> Result<Receiver<Reply>, ModelError> {
        self.call([sequence].into(), deadline, QUERIES)
    }

    /// Adds a list of sequences. Their replies come in any order; the receiver closes after the last of them, or on a stop.
    pub(super) fn documents(&self, sequences: VecDeque<Sequence>) -> Result<Receiver<Reply>, ModelError> {
        self.call(sequences, None, DOCUMENTS)
    }

    fn call(
        &self,
        sequences: VecDeque<Sequence>,
        deadline: Option<Instant>,
        lane: usize,
    ) -> Result<Receiver<Reply>, ModelError> {
        let (reply, receiver) = mpsc::channel();
        let mut state = self.lock();
        if state.stopped {
            return Err(ModelError::Stopped);
        }
        state.calls_so_far += 1;
        let number = state.calls_so_far;
        if !sequences.is_empty() {
            state.lanes[lane].push_back(Call { number, sequences, reply, deadline });
        }
        self.changed.notify_all();
        Ok(receiver)
    }

    /// Waits for something to do; `None` is the end of work. Calls take turns, so that a saved note is not behind the whole of a bulk
    /// import.
    pub(super) fn next(&self, lane: WorkerLane) -> Option<ModelTask> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(job) = state.next_text(if lane == WorkerLane::All { DOCUMENTS } else { QUERIES }) {
                return Some(job);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Drops what is left of the call that a failed job belongs to: its caller has an error already.
    pub(super) fn abandon(&self, job: &ModelTask) {
        self.lock().lanes.iter_mut().for_each(|lane| lane.retain(|call| call.number != job.call));
    }

    /// Ends all work. What is waiting is dropped, and its callers see their receivers close.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        state.lanes.iter_mut().for_each(VecDeque::clear);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // No code that can panic runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    /// The next text of the lanes up to one. Of what nobody waits for any more none is begun.
    fn next_text(&mut self, last: usize) -> Option<ModelTask> {
        let now = Instant::now();
        for lane in &mut self.lanes[..=last] {
            lane.retain(|call| call.deadline.is_none_or(|deadline| now < deadline));
            let Some(mut call) = lane.pop_front() else { continue };
            let sequence = call.sequences.pop_front()?;
            let job = ModelTask { sequence, reply: call.reply.clone(), call: call.number };
            if !call.sequences.is_empty() {
                lane.push_back(call);
            }
            return Some(job);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn text(index: usize) -> Sequence {
        Sequence { index, tokens: Vec::new(), tokens_wanted: 0..0 }
    }

    fn next(queue: &TextQueue, lane: WorkerLane) -> usize {
        queue.next(lane).expect("a job").sequence.index
    }

    #[test]
    fn queries_go_first_and_calls_take_turns() {
        let queue = TextQueue::default();
        let bulk = queue.documents((0..3).map(text).collect()).unwrap();
        let saved = queue.documents((10..12).map(text).collect()).unwrap();
        assert_eq!(next(&queue, WorkerLane::All), 0);
        let query = queue.query(text(20), None).unwrap();
        let order: Vec<usize> = (0..5).map(|_| next(&queue, WorkerLane::All)).collect();
        assert_eq!(order, [20, 10, 1, 11, 2]);
        for receiver in [bulk, saved, query] {
            assert!(receiver.recv().is_err(), "closed with the last job");
        }
    }

    #[test]
    fn a_query_whose_time_is_over_is_not_begun() {
        let queue = TextQueue::default();
        let _bulk = queue.documents((0..2).map(text).collect()).unwrap();
        let late = queue.query(text(20), Some(Instant::now())).unwrap();
        let _soon = queue.query(text(10), Some(Instant::now() + Duration::from_secs(600))).unwrap();
        let order: Vec<usize> = (0..3).map(|_| next(&queue, WorkerLane::All)).collect();
        assert_eq!(order, [10, 0, 1]);
        assert!(late.recv().is_err());
    }

    #[test]
    fn a_stop_closes_what_waits_and_refuses_more() {
        let queue = TextQueue::default();
        let bulk = queue.documents((0..3).map(text).collect()).unwrap();
        queue.stop();
        assert!(bulk.recv().is_err());
        assert!(queue.next(WorkerLane::All).is_none());
        assert!(matches!(queue.query(text(0), None), Err(ModelError::Stopped)));
    }

    #[test]
    fn a_failed_text_takes_its_call_along_and_no_other() {
        let queue = TextQueue::default();
        let failing = queue.documents((0..9).map(text).collect()).unwrap();
        let other = queue.documents((10..11).map(text).collect()).unwrap();
        let job = queue.next(WorkerLane::All).unwrap();
        queue.abandon(&job);
        drop(job);
        assert!(failing.recv().is_err());
        assert_eq!(next(&queue, WorkerLane::All), 10);
        assert!(other.recv().is_err());
    }

    #[test]
    fn an_empty_call_is_answered_at_once() {
        assert!(TextQueue::default().documents(VecDeque::new()).unwrap().recv().is_err());
    }
}
