//! A cross-encoder: reads a query and a chunk together, and says how well the one answers the other.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::super::{ModelAsker, ModelError, Reranker};
use super::embedder::collect;
use super::model::{GgufOptions, LoadedModel, ModelSource};
use super::queue::Sequence;
use super::worker::WorkingModel;

/// Judges chunks with a GGUF model in this process, a chunk on each core at a time.
pub(crate) struct GgufReranker {
    working: WorkingModel,
}

impl GgufReranker {
    /// Loads a model and starts its threads.
    ///
    /// # Errors
    /// When the file is missing, damaged, or not of a model that judges pairs of texts. The message names the file.
    pub(crate) fn open(file: &Path, options: &GgufOptions) -> Result<Self, ModelError> {
        let model = LoadedModel::load_reranker(&ModelSource::File(file.to_owned()), options)?;
        Ok(Self { working: WorkingModel::start(model, options, "rerank")? })
    }
}

impl Reranker for GgufReranker {
    fn rerank(
        &self,
        query: &str,
        passages: &[String],
        _: Option<&ModelAsker>,
        deadline: Instant,
    ) -> Result<Arc<[f64]>, ModelError> {
        let sequence = |(index, passage): (usize, &String)| {
            let tokens = self.working.tokenizer.pair(query, passage);
            Sequence { index, tokens, with_tokens: None }
        };
        let sequences: VecDeque<Sequence> = passages.iter().enumerate().map(sequence).collect();
        let replies = self.working.queue.urgent(sequences, deadline)?;
        let judged = collect(passages.len(), &replies, Some(deadline))?;
        // The logistic function of what it says: such models are taught to say how likely it is that the chunk answers.
        let likely = |scores: Vec<f32>| {
            let said = f64::from(scores.first().copied().unwrap_or(f32::NAN));
            1.0 / (1.0 + (-said).exp())
        };
        let likely: Arc<[f64]> = judged.into_iter().map(likely).collect();
        if likely.iter().any(|score| !score.is_finite()) {
            let reason = "a score that is not a number; its file may be damaged".to_owned();
            return Err(ModelError::UnsuitableModel { path: self.working.model.path.clone(), reason });
        }
        Ok(likely)
    }
}
