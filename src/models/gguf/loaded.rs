//! The models that are loaded and at work in this process, with their threads and the queue that they serve: vaults which name the same one share it.

use std::fs::metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread::{self, JoinHandle};

use super::super::ModelError;
use super::embedder::GgufEmbedder;
use super::model::{GgufOptions, LoadedModel, ModelSource};
use super::queue::{TextQueue, WorkerLane};
use super::reranker::GgufReranker;
use super::tokens::Tokenizer;
use super::worker;

static EMBEDDERS: LoadedModels<WorkingModel> = LoadedModels::new();
static RERANKERS: LoadedModels<GgufReranker> = LoadedModels::new();

impl GgufEmbedder {
    /// An embedder by a model that is shared: it is loaded where no other embedder of this process has it, and let go of with the last.
    ///
    /// # Errors
    /// As [`GgufEmbedder::open`].
    pub(crate) fn shared(source: &ModelSource, options: &GgufOptions) -> Result<Self, ModelError> {
        let key = ModelKey::of(source, options);
        Ok(Self::by(EMBEDDERS.get(key, || Ok(Self::open(source, options)?.working))?))
    }
}

impl GgufReranker {
    /// A reranker that is shared so.
    ///
    /// # Errors
    /// As [`GgufReranker::open`].
    pub(crate) fn shared(file: &Path, options: &GgufOptions) -> Result<Arc<Self>, ModelError> {
        let key = ModelKey::of(&ModelSource::File(file.to_owned()), options);
        RERANKERS.get(key, || Self::open(file, options).map(Arc::new))
    }
}

/// What makes two models one: the file as it is now, and how it is run.
#[derive(Clone, PartialEq, Eq)]
struct ModelKey {
    source: ModelSource,
    file: Option<[i64; 4]>,
    options: GgufOptions,
}

impl ModelKey {
    fn of(source: &ModelSource, options: &GgufOptions) -> Self {
        let file = match source {
            ModelSource::Bundled => None,
            ModelSource::File(path) => metadata(path).ok().map(|meta| {
                // The numbers of a file have no sign, and are compared alone.
                [meta.dev() as i64, meta.ino() as i64, meta.mtime(), meta.mtime_nsec()]
            }),
        };
        Self { source: source.clone(), file, options: options.clone() }
    }
}

/// Models by what makes them one. One is loaded at a time: whoever wants the same waits for it, and has it then.
struct LoadedModels<M>(Mutex<Vec<(ModelKey, Weak<M>)>>);

impl<M> LoadedModels<M> {
    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn get(&self, key: ModelKey, load: impl FnOnce() -> Result<Arc<M>, ModelError>) -> Result<Arc<M>, ModelError> {
        let mut models = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        models.retain(|(_, model)| model.strong_count() > 0);
        let known = models.iter().find(|(known, _)| *known == key);
        if let Some(model) = known.and_then(|(_, model)| model.upgrade()) {
            return Ok(model);
        }
        let model = load()?;
        models.push((key, Arc::downgrade(&model)));
        Ok(model)
    }
}

/// A model with its threads, which end when it is dropped.
pub(super) struct WorkingModel {
    pub(super) model: Arc<LoadedModel>,
    pub(super) tokenizer: Tokenizer,
    pub(super) queue: Arc<TextQueue>,
    /// The mean of its tokens, once those of a chunk are kept.
    pub(super) typical: OnceLock<Vec<f32>>,
    threads: Vec<JoinHandle<()>>,
}

/// The work of threads that embed.
pub(super) const EMBED: &str = "embed";

impl WorkingModel {
    /// Starts the threads of a model that was loaded: so many that are named after `work`, and one for queries alone if they `embed`.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(super) fn start(model: LoadedModel, options: &GgufOptions, work: &str) -> Result<Self, ModelError> {
        let model = Arc::new(model);
        let workers = match options.threads {
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
        if work == EMBED {
            working.start_thread(format!("{work}-query"), WorkerLane::Queries)?;
        }
        for number in 0..workers {
            working.start_thread(format!("{work}-{number}"), WorkerLane::All)?;
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;

    fn key(threads: usize) -> ModelKey {
        ModelKey::of(&ModelSource::Bundled, &GgufOptions { threads, ..GgufOptions::new("/none") })
    }

    #[test]
    fn one_model_is_loaded_once_however_many_want_it_and_let_go_of_with_the_last() {
        let models = LoadedModels::<u32>::new();
        let loads = AtomicU64::new(0);
        let load = || {
            loads.fetch_add(1, Ordering::SeqCst);
            Ok(Arc::new(7))
        };
        let all: Vec<Arc<u32>> = thread::scope(|scope| {
            let started: Vec<_> = (0..8).map(|_| scope.spawn(|| models.get(key(1), load).unwrap())).collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(loads.load(Ordering::SeqCst), 1);
        let other = models.get(key(2), load).unwrap();
        assert_eq!(loads.load(Ordering::SeqCst), 2, "another is another");
        drop(all);
        drop(models.get(key(1), load).unwrap());
        assert_eq!(loads.load(Ordering::SeqCst), 3, "the first was let go of");
        assert!(models.get(key(3), || Err(ModelError::Stopped)).is_err());
        assert!(models.get(key(3), load).is_ok(), "what could not be loaded is tried again");
        assert!(Arc::ptr_eq(&other, &models.get(key(2), load).unwrap()));
        assert!(models.0.lock().unwrap().len() <= 2);
    }

    #[test]
    fn a_file_that_was_replaced_is_another_model() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.gguf");
        std::fs::write(&path, "one").unwrap();
        let (source, options) = (ModelSource::File(path.clone()), GgufOptions::new("/none"));
        let before = ModelKey::of(&source, &options);
        assert!(before == ModelKey::of(&source, &options));
        std::fs::write(folder.path().join("new"), "two").unwrap();
        std::fs::rename(folder.path().join("new"), &path).unwrap();
        assert!(before != ModelKey::of(&source, &options));
    }

    #[test]
    #[cfg(feature = "bundled-model")]
    fn embedders_of_one_model_stop_alone() {
        use super::super::super::Embedder;

        let folder = tempfile::tempdir().unwrap();
        let options = GgufOptions { threads: 1, ..GgufOptions::new(folder.path()) };
        let open = || GgufEmbedder::shared(&ModelSource::Bundled, &options).unwrap();
        let (one, other) = (open(), open());
        assert!(Arc::ptr_eq(&one.working, &other.working));
        assert_eq!(one.embed_query("river", None).unwrap(), other.embed_query("river", None).unwrap());
        one.stop();
        assert!(matches!(one.embed_query("too late", None), Err(ModelError::Stopped)));
        assert!(other.embed_query("not too late", None).is_ok());
        drop(one);
        assert!(other.embed_query("nor after that", None).is_ok());
        let working = Arc::downgrade(&other.working);
        drop(other);
        assert!(working.upgrade().is_none(), "its threads have ended");
    }
}
