//! A model at work: loaded, with its threads and the queue that they serve.

use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use super::super::ModelError;
use super::model::{GgufOptions, LoadedModel, ModelSource};
use super::queue::{TextQueue, WorkerLane};
use super::tokens::Tokenizer;
use super::worker;

/// A model with its threads, which end when it is dropped.
pub(super) struct WorkingModel {
    pub(super) model: Arc<LoadedModel>,
    pub(super) tokenizer: Tokenizer,
    pub(super) queue: Arc<TextQueue>,
    /// The mean of its tokens, once those of a chunk are kept.
    pub(super) typical: OnceLock<Vec<f32>>,
    threads: Vec<JoinHandle<()>>,
}

impl WorkingModel {
    /// Loads a model and starts its threads.
    ///
    /// # Errors
    /// When it cannot be loaded, is none that embeds, or no thread can be started.
    pub(super) fn start(source: &ModelSource, options: &GgufOptions) -> Result<Self, ModelError> {
        let model = Arc::new(LoadedModel::load(source, options)?);
        let document_workers = match options.threads {
            0 => thread::available_parallelism().map_or(1, usize::from).min(super::MOST_AUTOMATIC_THREADS),
            threads => threads,
        };
        let mut working = Self {
            tokenizer: Tokenizer::new(Arc::clone(&model), &options.query_prefix, &options.document_prefix),
            model,
            queue: Arc::default(),
            typical: OnceLock::new(),
            threads: Vec::new(),
        };
        working.start_thread("embed-query".to_owned(), WorkerLane::Queries)?;
        for number in 0..document_workers {
            working.start_thread(format!("embed-{number}"), WorkerLane::All)?;
        }
        Ok(working)
    }

    fn start_thread(&mut self, name: String, lane: WorkerLane) -> Result<(), ModelError> {
        self.threads.push(worker::start(name, Arc::clone(&self.model), Arc::clone(&self.queue), lane)?);
        Ok(())
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
