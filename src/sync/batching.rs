//! Brings what batches made into the stores, and ends those that nobody wants any more.

use std::sync::Arc;

use jiff::Timestamp;

use super::batch::Batches;
use super::batch_run::{BatchEvent, BatchReport};
use super::lane::ModelLane;
use super::shared::BatchProgress;
use super::worker::{Worker, WorkerMessage};
use crate::engine::{ContentHash, EngineError};
use crate::models::{BatchPlace, ChosenModel, abandon_batch, is_at_service};

impl Worker<'_> {
    /// What hands over a model's texts in batches, where it takes them so.
    pub(super) fn batches_of(&self, model: &ChosenModel, number: u64) -> Option<Batches> {
        let service = model.embedder.batches()?;
        let messages = self.messages.clone();
        let report = move |report| {
            let _ = messages.send(WorkerMessage::Batch(report));
        };
        Some(Batches::new(service, self.options.batches.clone(), number, Arc::new(report)))
    }

    pub(super) fn hands_over(&self) -> bool {
        self.lanes().any(ModelLane::hands_over)
    }

    /// Takes what became of a batch.
    pub(super) fn take_batch(&mut self, report: BatchReport) -> Result<(), EngineError> {
        let BatchReport { model: number, batch, mut event } = report;
        let mut lanes = self.serving.iter_mut().chain(&mut self.filling);
        let Some(lane) = lanes.find(|lane| lane.number == number) else { return Ok(()) };
        let model = lane.model.embedder.fingerprint();
        let mut count = 0;
        if let BatchEvent::Embedded(embeddings) = &mut event {
            count = embeddings.len();
            self.store.embedded(model, std::mem::take(embeddings))?;
        }
        if let Some(batches) = &mut lane.batches {
            batches.take(batch, event, self.store.as_mut(), model);
        }
        self.count_made(number, count);
        self.show_models();
        Ok(())
    }

    /// Leaves nothing in the records of texts that no note has any more.
    pub(super) fn forget_in_batches(&mut self, contents: &[ContentHash]) -> Result<(), EngineError> {
        let mut waiting = Vec::new();
        for lane in self.serving.iter().chain(&self.filling) {
            waiting.extend(self.store.pending_texts(lane.fingerprint(), contents)?);
        }
        let is_gone = |content: &&ContentHash| waiting.iter().all(|text| text.content != **content);
        self.options.batches.forget(&contents.iter().filter(is_gone).copied().collect::<Vec<_>>());
        Ok(())
    }

    /// Ends the batches of models that are not at work any more, once it is known which are.
    pub(super) fn end_batches_of_others(&self) {
        if self.options.batches.is_empty() || self.shared.coming().is_some() {
            return;
        }
        let places: Vec<&BatchPlace> = self.lanes().filter_map(|lane| Some(lane.batches.as_ref()?.place())).collect();
        // What memory.toml names is what is at work; a record says nothing of where a key may go.
        let is_named = |place: &BatchPlace| {
            let mut named = self.lanes().filter_map(|lane| lane.model.config.as_ref());
            named.any(|config| is_at_service(place, &config.embed))
        };
        for record in self.options.batches.take_others(&places, is_named, Timestamp::now().as_millisecond()) {
            tracing::info!("a batch of a model that is not in use any more is ended");
            std::thread::spawn(move || abandon_batch(&record));
        }
    }

    /// How the batches are, and how many of the texts that wait for the model that serves are in them.
    pub(super) fn batch_progress(&self) -> (Option<BatchProgress>, usize) {
        let aside = |lane: &ModelLane| self.store.aside(lane.fingerprint());
        let batches = || self.lanes().filter_map(|lane| lane.batches.as_ref());
        let first = batches().filter_map(Batches::first).min_by_key(|(since, _)| *since);
        let problem = batches().find_map(Batches::problem).map(str::to_owned);
        let trouble = batches().find_map(Batches::trouble).map(str::to_owned);
        if first.is_none() && problem.is_none() && !self.hands_over() {
            return (None, 0);
        }
        let state = match first {
            _ if self.hands_over() => "handing_over",
            Some((_, status)) => status.map_or("handing_over", |status| status.as_str()),
            None => "ended",
        };
        let texts = self.lanes().map(aside).sum();
        let progress = BatchProgress { texts, since: first.map(|(since, _)| since), state, trouble, problem };
        let is_handed_over = |lane: &&ModelLane| !lane.hands_over();
        let in_batches = self.serving.as_ref().filter(is_handed_over).map_or(0, aside);
        (Some(progress), in_batches)
    }
}
