//! What callers wait for and workers do: queries, then texts that somebody waits for, then documents.
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
    pub(super) wanted: EncoderOutput,
}

/// What is computed of a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EncoderOutput {
    /// One vector of length 1 for all of it.
    Pooled,
    /// The vectors of these of its tokens, one after the other, of any length.
    Tokens(Range<usize>),
    /// The mean of all of its tokens, of length 1, and after it the vectors of these of them.
    PooledAndTokens(Range<usize>),
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
    call: Option<u64>,
    /// After this nobody waits for it.
    deadline: Option<Instant>,
}

#[derive(Default)]
pub(super) struct TextQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    queries: VecDeque<ModelTask>,
    urgent: VecDeque<Call>,
    calls: VecDeque<Call>,
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
        let (reply, receiver) = mpsc::channel();
        self.submit(|state| state.queries.push_back(ModelTask { sequence, reply, call: None, deadline }))?;
        Ok(receiver)
    }

    /// Adds a list of sequences. Their replies come in any order; the receiver closes after the last of them, or on a stop.
    pub(super) fn documents(&self, sequences: VecDeque<Sequence>) -> Result<Receiver<Reply>, ModelError> {
        self.call(sequences, None, |state| &mut state.calls)
    }

    /// Adds a list that goes before all documents, and of which none is begun after the deadline. Else as
    /// [`TextQueue::documents`].
    pub(super) fn urgent(
        &self,
        sequences: VecDeque<Sequence>,
        deadline: Instant,
    ) -> Result<Receiver<Reply>, ModelError> {
        self.call(sequences, Some(deadline), |state| &mut state.urgent)
    }

    fn call(
        &self,
        sequences: VecDeque<Sequence>,
        deadline: Option<Instant>,
        lane: impl FnOnce(&mut QueueState) -> &mut VecDeque<Call>,
    ) -> Result<Receiver<Reply>, ModelError> {
        let (reply, receiver) = mpsc::channel();
        self.submit(|state| {
            state.calls_so_far += 1;
            let number = state.calls_so_far;
            if !sequences.is_empty() {
                lane(state).push_back(Call { number, sequences, reply, deadline });
            }
        })?;
        Ok(receiver)
    }

    fn submit(&self, add: impl FnOnce(&mut QueueState)) -> Result<(), ModelError> {
        let mut state = self.lock();
        if state.stopped {
            return Err(ModelError::Stopped);
        }
        add(&mut state);
        self.changed.notify_all();
        Ok(())
    }

    /// Waits for something to do; `None` is the end of work. Calls take turns, so that a saved note is not behind the whole of
    /// a bulk import.
    pub(super) fn next(&self, lane: WorkerLane) -> Option<ModelTask> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            while let Some(job) = state.queries.pop_front() {
                if job.deadline.is_none_or(|deadline| Instant::now() < deadline) {
                    return Some(job);
                }
            }
            if let Some(job) = (lane == WorkerLane::All).then(|| state.next_text()).flatten() {
                return Some(job);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Drops what is left of the call that a failed job belongs to: its caller has an error already.
    pub(super) fn abandon(&self, job: &ModelTask) {
        let mut state = self.lock();
        state.urgent.retain(|call| Some(call.number) != job.call);
        state.calls.retain(|call| Some(call.number) != job.call);
    }

    /// Ends all work. What is waiting is dropped, and its callers see their receivers close.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        state.queries.clear();
        state.urgent.clear();
        state.calls.clear();
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // No code that can panic runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    fn next_text(&mut self) -> Option<ModelTask> {
        let now = Instant::now();
        self.urgent.retain(|call| call.deadline.is_none_or(|deadline| now < deadline));
        let lane = if self.urgent.is_empty() { &mut self.calls } else { &mut self.urgent };
        let mut call = lane.pop_front()?;
        let sequence = call.sequences.pop_front()?;
        let job = ModelTask { sequence, reply: call.reply.clone(), call: Some(call.number), deadline: call.deadline };
        if !call.sequences.is_empty() {
            lane.push_back(call);
        }
        Some(job)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn text(index: usize) -> Sequence {
        Sequence { index, tokens: Vec::new(), wanted: EncoderOutput::Pooled }
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
    fn what_somebody_waits_for_goes_before_documents_until_its_time_is_over() {
        let queue = TextQueue::default();
        let _bulk = queue.documents((0..3).map(text).collect()).unwrap();
        let late = queue.urgent((20..22).map(text).collect(), Instant::now()).unwrap();
        let _urgent = queue.urgent((10..12).map(text).collect(), Instant::now() + Duration::from_secs(600)).unwrap();
        let order: Vec<usize> = (0..4).map(|_| next(&queue, WorkerLane::All)).collect();
        assert_eq!(order, [10, 11, 0, 1]);
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
