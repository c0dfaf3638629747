//! The threads that own the llama.cpp contexts.

use std::any::Any;
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_batch::LlamaBatch;

use super::super::ModelError;
use super::super::embedder::unit;
use super::backend::backend;
use super::model::LoadedModel;
use super::queue::{Reply, Sequence, TextQueue, WorkerLane};

/// Creates a context, says on `ready` whether that worked, and embeds until the queue stops.
pub(super) fn run(
    model: Arc<LoadedModel>,
    queue: Arc<TextQueue>,
    lane: WorkerLane,
    ready: Sender<Result<(), ModelError>>,
) {
    let mut encoder = match Encoder::new(&model) {
        Ok(encoder) => encoder,
        Err(error) => {
            // The receiver waits for just this; when it is gone, nobody is left to tell.
            let _ = ready.send(Err(error));
            return;
        }
    };
    let _ = ready.send(Ok(()));
    drop(ready);
    serve(&queue, lane, |sequence| encoder.encode(sequence));
}

/// Answers jobs until the queue stops. A panic becomes an error of its own job, and the next job is served.
pub(super) fn serve(queue: &TextQueue, lane: WorkerLane, mut encode: impl FnMut(&Sequence) -> Reply) {
    while let Some(job) = queue.next(lane) {
        let reply = catch_unwind(AssertUnwindSafe(|| encode(&job.sequence)))
            .unwrap_or_else(|panic| Err(ModelError::Panicked(message(&*panic))));
        if reply.is_err() {
            queue.abandon(&job);
        }
        // A caller that had an error from another text does not listen any more.
        let _ = job.reply.send(reply);
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

/// One context and its batch. Two contexts of one thread each beat one of two by 7 to 25 %, and one thread always adds in the
/// same order: the same text has the same vector to the bit, from whichever worker.
struct Encoder<'a> {
    model: &'a LoadedModel,
    context: LlamaContext<'a>,
    batch: LlamaBatch<'a>,
}

impl<'a> Encoder<'a> {
    fn new(model: &'a LoadedModel) -> Result<Self, ModelError> {
        let tokens = u32::try_from(model.max_tokens).unwrap_or(u32::MAX);
        // Flash attention stays at its default, `auto`: see the numbers in `gguf`.
        let params = LlamaContextParams::default()
            .with_embeddings(true)
            .with_pooling_type(model.pooling.to_llama())
            .with_n_ctx(NonZeroU32::new(tokens))
            .with_n_batch(tokens)
            .with_n_ubatch(tokens)
            .with_n_seq_max(1)
            .with_n_threads(1)
            .with_n_threads_batch(1)
            .with_no_perf(true);
        let context = model.llama.new_context(backend()?, params).map_err(|error| ModelError::Llama {
            action: "make room for computing",
            reason: format!("{error}, for {tokens} tokens of {}", model.path.display()),
            may_pass: true,
        })?;
        Ok(Self { model, context, batch: LlamaBatch::new(model.max_tokens, 1) })
    }

    fn encode(&mut self, sequence: &Sequence) -> Reply {
        let tokens = &sequence.tokens;
        if tokens.is_empty() || tokens.len() > self.model.max_tokens {
            // llama.cpp would end the process.
            return Err(failed(format!("a sequence of {} tokens", tokens.len())));
        }
        self.batch.clear();
        self.batch.add_sequence(tokens, 0, true).map_err(failed)?;
        // Models that only look back keep a cache, in which the last text would still be seen. The others have none, and
        // `decode` is `encode` for them.
        self.context.clear_kv_cache();
        self.context.decode(&mut self.batch).map_err(failed)?;
        let vector = self.context.embeddings_seq_ith(0).map_err(failed)?;
        let vector = unit(vector).ok_or_else(|| ModelError::UnsuitableModel {
            path: self.model.path.clone(),
            reason: "it computes vectors without a direction; the file may be damaged".to_owned(),
        })?;
        Ok((sequence.index, vector))
    }
}

fn failed(reason: impl ToString) -> ModelError {
    ModelError::Llama { action: "embed", reason: reason.to_string(), may_pass: false }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::thread;

    use super::*;

    #[test]
    fn a_panic_fails_its_own_call_and_the_worker_goes_on() {
        let queue = TextQueue::default();
        let text = |index| Sequence { index, tokens: Vec::new() };
        let bad = queue.documents(VecDeque::from([text(13), text(1), text(2)])).unwrap();
        let good = queue.documents(VecDeque::from([text(3)])).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                serve(&queue, WorkerLane::All, |sequence| match sequence.index {
                    13 => panic!("unlucky"),
                    index => Ok((index, vec![1.0])),
                });
            });
            assert!(matches!(bad.recv(), Ok(Err(ModelError::Panicked(why))) if why == "unlucky"));
            assert!(bad.recv().is_err(), "the rest of the call is dropped");
            assert!(matches!(good.recv(), Ok(Ok((3, vector))) if vector == [1.0]));
            queue.stop();
        });
    }
}
