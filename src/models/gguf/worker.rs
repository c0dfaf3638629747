//! A model at work: the threads that own the llama.cpp contexts, and the queue that they serve.

use std::any::Any;
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::{LlamaContextParams, LlamaPoolingType};
use llama_cpp_2::llama_batch::LlamaBatch;

use super::super::ModelError;
use super::super::token_vectors::unit;
use super::model::{LoadedModel, backend};
use super::queue::{Reply, Sequence, TextQueue, WorkerLane};
use super::tokens::Tokenizer;
use crate::base::config::{EmbedConfig, PoolingChoice};

/// A model with its threads, which end when it is dropped.
pub(super) struct WorkingModel {
    pub(super) model: Arc<LoadedModel>,
    pub(super) tokenizer: Tokenizer,
    pub(super) queue: Arc<TextQueue>,
    threads: Vec<JoinHandle<()>>,
}

impl WorkingModel {
    /// Starts the threads of a model that was loaded: those that embed whatever there is, and one for queries alone.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(super) fn start(model: LoadedModel, config: &EmbedConfig) -> Result<Self, ModelError> {
        let model = Arc::new(model);
        let workers = match config.threads {
            0 => thread::available_parallelism().map_or(1, usize::from).min(super::MOST_AUTOMATIC_THREADS),
            threads => threads,
        };
        let mut working = Self {
            tokenizer: Tokenizer::new(Arc::clone(&model), &config.query_prefix, &config.document_prefix),
            model,
            queue: Arc::default(),
            threads: Vec::new(),
        };
        let names = (0..workers).map(|number| (format!("embed-{number}"), WorkerLane::All));
        for (name, lane) in [("embed-query".to_owned(), WorkerLane::Queries)].into_iter().chain(names) {
            working.threads.push(start(name, Arc::clone(&working.model), Arc::clone(&working.queue), lane)?);
        }
        Ok(working)
    }
}

impl Drop for WorkingModel {
    fn drop(&mut self) {
        self.queue.stop();
        for thread in self.threads.drain(..) {
            // A worker that panicked outside of a job has printed its message, and there is nothing left to save.
            let _ = thread.join();
        }
    }
}

/// Starts a worker and waits until it has its context: making two of one model at a time is not safe in llama.cpp.
fn start(
    name: String,
    model: Arc<LoadedModel>,
    queue: Arc<TextQueue>,
    lane: WorkerLane,
) -> Result<JoinHandle<()>, ModelError> {
    let (sender, ready) = mpsc::channel();
    let run = move || {
        let mut encoder = match Encoder::new(&model) {
            Ok(encoder) => encoder,
            // The receiver waits for just this; when it is gone, nobody is left to tell.
            Err(error) => return drop(sender.send(Err(error))),
        };
        let _ = sender.send(Ok(()));
        drop(sender);
        serve(&queue, lane, |sequence| encoder.encode(sequence));
    };
    let thread = thread::Builder::new().name(name).spawn(run).map_err(|error| ModelError::Llama {
        action: "start a thread",
        reason: error.to_string(),
        may_pass: true,
    })?;
    let died = || ModelError::Panicked("a worker stopped before it started".to_owned());
    ready.recv().unwrap_or_else(|_| Err(died()))?;
    Ok(thread)
}

/// Answers jobs until the queue stops. A panic becomes an error of its own job, and the next job is served.
fn serve(queue: &TextQueue, lane: WorkerLane, mut encode: impl FnMut(&Sequence) -> Reply) {
    while let Some(job) = queue.next(lane) {
        let reply = catch_unwind(AssertUnwindSafe(|| encode(&job.sequence)))
            .unwrap_or_else(|panic| Err(ModelError::Panicked(message(&*panic))));
        let failed = reply.is_err();
        // A caller whose time is over, or that had an error from another text, does not listen any more.
        if job.reply.send(reply).is_err() || failed {
            queue.abandon(&job);
        }
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
            // The vectors of the tokens are wanted too, so that pooling is done here.
            .with_pooling_type(LlamaPoolingType::None)
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
        let vector = |at: usize| self.context.embeddings_ith(i32::try_from(at).map_err(failed)?).map_err(failed);
        let pooled = match self.model.pooling {
            PoolingChoice::Cls => unit(vector(0)?),
            PoolingChoice::Last => unit(vector(tokens.len() - 1)?),
            PoolingChoice::Mean | PoolingChoice::Auto => {
                let mut sum = vec![0.0_f32; self.model.dimension];
                for at in 0..tokens.len() {
                    sum.iter_mut().zip(vector(at)?).for_each(|(sum, value)| *sum += value);
                }
                unit(&sum)
            }
        };
        let mut computed = pooled.ok_or_else(|| ModelError::UnsuitableModel {
            path: self.model.path.clone(),
            reason: "it computes invalid vectors; the file may be damaged".to_owned(),
        })?;
        for at in sequence.tokens_wanted.clone() {
            computed.extend_from_slice(vector(at)?);
        }
        Ok((sequence.index, computed))
    }
}

fn failed(reason: impl ToString) -> ModelError {
    ModelError::Llama { action: "embed", reason: reason.to_string(), may_pass: true }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    #[test]
    fn a_panic_fails_its_own_call_and_the_worker_goes_on() {
        let queue = Arc::<TextQueue>::default();
        let text = |index| Sequence { index, tokens: Vec::new(), tokens_wanted: 0..0 };
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

    #[test]
    fn what_nobody_waits_for_any_more_is_not_computed() {
        let queue = Arc::<TextQueue>::default();
        let text = |index| Sequence { index, tokens: Vec::new(), tokens_wanted: 0..0 };
        drop(queue.documents((1..4).map(text).collect()).unwrap());
        let good = queue.documents(VecDeque::from([text(9)])).unwrap();
        let (seen, computed) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                serve(&queue, WorkerLane::All, |sequence| {
                    let _ = seen.send(sequence.index);
                    Ok((sequence.index, vec![1.0]))
                });
            });
            assert!(matches!(good.recv(), Ok(Ok((9, _)))));
            queue.stop();
        });
        assert_eq!(computed.try_iter().collect::<Vec<_>>(), [1, 9]);
    }
}
