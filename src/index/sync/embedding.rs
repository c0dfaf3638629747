//! Keeps the models busy, brings what they made into the stores, and has the next model serve once its vectors are there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::lane::{BATCH, EmbedOutcome, ModelLane};
use super::shared::{ModelStatus, ModelsAtWork, NextModel};
use super::syncer::RefusedError;
use super::worker::Worker;
use crate::base::allocator;
use crate::base::config::EmbedConfig;
use crate::base::fs::crash;
use crate::index::engine::EngineError;
use crate::models::{ChosenModel, EmbeddingSpace, ModelError, ModelErrorKind};

/// Minimum number of texts of an import, after which memory is given back, and which a model that is to be replaced is not given any more.
const BULK: usize = 500;

/// Interval at which a state is published while many texts are being embedded.
pub(super) const PUBLISH_EVERY: Duration = Duration::from_millis(250);

/// Number of chunks out of ten that the next model has to have embedded when it is through: those left are the ones
/// that it fails on.
const WHOLE_FROM: usize = 9;

impl Worker<'_> {
    /// Takes a model that was loaded. Where another serves, that one goes on until the vectors of this one are there.
    pub(super) fn take_model(&mut self, model: ChosenModel) -> Result<(), EngineError> {
        let is_other = |serving: &ModelLane| serving.fingerprint() != model.embedder.fingerprint();
        let may_go_on = |serving: &ModelLane| serving.model.may_serve_until(model.config.as_ref());
        if !self.serving.as_ref().is_some_and(|serving| is_other(serving) && may_go_on(serving)) {
            return self.use_model(model);
        }
        if let Some(before) = self.filling.take() {
            before.end(&model);
        }
        tracing::info!("{} serves once its vectors are there", model.embedder.name());
        let lane = self.start_lane(model);
        self.fill_by(lane)
    }

    /// Turns to a model at once: what has no vector of it is found by its words until it has one.
    pub(super) fn use_model(&mut self, model: ChosenModel) -> Result<(), EngineError> {
        for before in [self.serving.take(), self.filling.take()].into_iter().flatten() {
            before.end(&model);
        }
        let space = EmbeddingSpace::of(model.embedder.as_ref());
        // It is at work, whatever becomes of the stores.
        self.serving = Some(self.start_lane(model));
        self.publish_models();
        self.store.use_model(&space)?;
        self.say_notices();
        self.publish()?;
        self.count_kept()?;
        self.show_models();
        Ok(())
    }

    /// Has a model make its vectors beside the one that serves.
    fn fill_by(&mut self, lane: ModelLane) -> Result<(), EngineError> {
        let space = EmbeddingSpace::of(lane.embedder().as_ref());
        self.filling = Some(lane);
        self.publish_models();
        self.store.open_vectors(&space)?;
        self.say_notices();
        self.count_kept()?;
        self.show_models();
        Ok(())
    }

    /// Takes the model whose vectors served last.
    pub(super) fn take_former(&mut self, former: ChosenModel) -> Result<(), EngineError> {
        if self.serving.is_none() { self.use_model(former) } else { Ok(()) }
    }

    /// Ends the work of models elsewhere that the configuration does not name any more, or with `None` of all.
    pub(super) fn leave(&mut self, named: Option<&EmbedConfig>) -> Result<(), EngineError> {
        let stays = |lane: &ModelLane| named.is_some() && lane.model.may_serve_until(named);
        let gone = [self.serving.take_if(|lane| !stays(lane)), self.filling.take_if(|lane| !stays(lane))];
        for lane in gone.into_iter().flatten() {
            lane.embedder().stop();
        }
        self.publish_models();
        if self.serving.is_none() {
            self.shared.update(|progress| {
                progress.model = if named.is_some() { ModelStatus::Loading } else { ModelStatus::Off };
                progress.pending_embeddings = 0;
            });
        }
        self.show_models();
        Ok(())
    }

    /// The models at work.
    pub(super) fn lanes(&self) -> impl Iterator<Item = &ModelLane> {
        self.serving.iter().chain(&self.filling)
    }

    fn start_lane(&self, model: ChosenModel) -> ModelLane {
        ModelLane::start(model, self.messages)
    }

    /// Whether a model has embedded what it can, and that is not little.
    fn is_whole(&self, lane: &ModelLane) -> bool {
        let (embedded, of) = self.store.coverage(lane.fingerprint());
        // A text that a service always fails at does not keep a model from serving.
        let is_done = lane.is_done || lane.trouble.is_some();
        self.scanned && !self.rebuilding && is_done && embedded * 10 >= of * WHOLE_FROM
    }

    /// Has the next model serve, once it is whole, or has nothing to be compared with.
    fn serve_next_if_whole(&mut self) -> Result<(), EngineError> {
        let Some(next) = &self.filling else { return Ok(()) };
        let is_of_use = |serving: &ModelLane| serving.gets_on() || self.store.coverage(serving.fingerprint()).0 > 0;
        let goes_on = self.serving.as_ref().is_some_and(is_of_use) && !self.is_whole(next);
        if self.rebuilding || !self.scanned || goes_on {
            return Ok(());
        }
        self.store.serve_vectors(next.fingerprint())?;
        crash::point("model-switched");
        let former = std::mem::replace(&mut self.serving, self.filling.take());
        // Until both are published the models are those of either state.
        self.publish()?;
        self.publish_models();
        // What it is at is waited for, and not by those who search or save.
        if let Some(former) = &former {
            former.embedder().stop();
        }
        std::thread::spawn(move || drop(former));
        self.count_kept()?;
        if let Some(serving) = &self.serving {
            let (embedded, of) = self.store.coverage(serving.fingerprint());
            tracing::info!("{} serves from now on: {embedded} of {of} passages", serving.embedder().name());
        }
        Ok(())
    }

    /// Shows the models to those who search, and to whoever opens the stores next.
    fn publish_models(&self) {
        let model = |lane: &ModelLane| lane.model.clone();
        self.shared.set_models(ModelsAtWork {
            serving: self.serving.as_ref().map(model),
            next: self.filling.as_ref().map(model),
        });
    }

    /// Writes which model serves, once its vectors are there or nothing else is known, so that the next start begins with it.
    fn write_in_use(&mut self) {
        let Some(serving) = &self.serving else { return };
        if serving.is_written || !self.is_whole(serving) && self.knows_in_use {
            return;
        }
        if let Some(config) = &serving.model.config
            && let Err(error) = self.options.in_use.write(serving.fingerprint(), config)
        {
            tracing::warn!("after a change of model, search is by words alone until it is through: {error}");
        }
        if let Some(serving) = &mut self.serving {
            serving.is_written = true;
        }
        self.knows_in_use = true;
    }

    /// Drops the vectors of models that are not in use.
    pub(super) fn drop_kept(&mut self) -> Result<Result<usize, RefusedError>, EngineError> {
        let has_failed = matches!(self.shared.progress().model, ModelStatus::Failed(_));
        if self.shared.coming().is_some() || self.serving.is_none() && has_failed {
            let refused = "it is not known yet which vectors to keep: the model is not loaded; `vault status` says why";
            return Ok(Err(RefusedError(refused.into())));
        }
        let dropped = self.store.drop_kept_vectors()?;
        self.count_kept()?;
        Ok(Ok(dropped))
    }

    pub(super) fn count_kept(&self) -> Result<(), EngineError> {
        // Those of a model that is being loaded are not known from others.
        let kept_vectors = if self.shared.coming().is_some() { 0 } else { self.store.kept_vectors()? };
        self.shared.update(|progress| progress.kept_vectors = kept_vectors);
        Ok(())
    }

    /// Shows how the models are, and how much waits for them: in one, so that nobody thinks for a moment that nothing does.
    pub(super) fn show_models(&self) {
        let pending =
            |lane: &ModelLane| if lane.refused.is_some() { 0 } else { self.store.pending(lane.fingerprint()) };
        // What is not published yet waits still: whoever is told that nothing waits finds all of it.
        let pending_embeddings = self.serving.as_ref().map_or(0, |serving| pending(serving) + self.unpublished);
        let serving = self.serving.as_ref().map(ModelLane::status);
        let filling = self.filling.as_ref().map(|next| {
            let (embedded, of) = self.store.coverage(next.fingerprint());
            NextModel { model: next.status(), embedded, of }
        });
        let coming = || Some(NextModel { model: self.shared.coming()?, embedded: 0, of: 0 });
        let next = filling.or_else(|| serving.is_some().then(coming).flatten());
        self.shared.update(|progress| {
            progress.pending_embeddings = pending_embeddings;
            progress.next = next;
            if let Some(serving) = serving {
                progress.model = serving;
            }
        });
    }

    /// How many texts wait, for the model that has most to do.
    pub(super) fn waiting(&self) -> usize {
        let lanes = self.lanes().filter(|lane| lane.refused.is_none());
        lanes.map(|lane| self.store.pending(lane.fingerprint())).max().unwrap_or_default()
    }

    /// Keeps the models busy, and publishes what they have done.
    pub(super) fn embed(&mut self) -> Result<(), EngineError> {
        let Some(serving) = &mut self.serving else { return self.serve_next_if_whole() };
        // What is saved meanwhile is found by its meaning; an import is left to the model that stays, as long as that one gets on.
        let is_left = self.filling.as_ref().is_some_and(ModelLane::gets_on);
        if !is_left || self.store.pending(serving.fingerprint()) <= BULK {
            serving.feed(self.store.as_mut())?;
        }
        let waits = self.store.pending(serving.fingerprint());
        if let Some(next) = &mut self.filling {
            next.feed(self.store.as_mut())?;
        }
        let idle = self.in_flight() == 0;
        self.bulk |= self.waiting() > BULK;
        if self.unpublished > 0 && (idle || waits < BATCH || self.published.elapsed() >= PUBLISH_EVERY) {
            self.publish()?;
        }
        self.serve_next_if_whole()?;
        self.write_in_use();
        if idle && std::mem::take(&mut self.bulk) {
            allocator::release();
        }
        Ok(())
    }

    /// Requests under way.
    pub(super) fn in_flight(&self) -> usize {
        self.lanes().map(|lane| lane.in_flight).sum()
    }

    /// Takes what came of a request, after so long, to the model of a number; another may have taken its place since.
    pub(super) fn keep(&mut self, model: u64, took: Duration, outcome: EmbedOutcome) -> Result<(), EngineError> {
        let mut lanes = self.serving.iter_mut().chain(&mut self.filling);
        let Some(lane) = lanes.find(|lane| lane.number == model) else { return Ok(()) };
        lane.note_end(&outcome, took);
        let EmbedOutcome { embeddings, failed, later } = outcome;
        let count = embeddings.len();
        self.store.embedded(lane.model.embedder.fingerprint(), embeddings)?;
        if count > 0 || !failed.is_empty() {
            lane.retry.answered();
            if later.is_none() {
                lane.trouble = None;
            }
        }
        let failure = failed.first().map(|(_, error)| error.to_string());
        if let Some((content, error)) = failed.first() {
            let texts = if failed.len() == 1 { "text" } else { "texts" };
            tracing::warn!("{} {texts} could not be embedded, {content} for one: {error}", failed.len());
            // What is refused is refused again, and may be paid for: until another text or model is there, or a start, it is not asked.
        }
        if let Some((contents, error)) = later {
            // Behind all others.
            self.store.requeue(lane.model.embedder.fingerprint(), &contents);
            lane.try_later(&error);
        }
        // What the next model makes is seen when it serves.
        let is_seen = self.serving.as_ref().is_some_and(|serving| serving.number == model);
        self.unpublished += if is_seen { count } else { 0 };
        self.shared.update(|progress| {
            progress.embeddings_done += count;
            progress.failure = failure.or_else(|| progress.failure.take());
        });
        // That nothing waits any more is told once it can be found.
        Ok(())
    }
}

impl ModelLane {
    /// Ends the work of a model, and has it stop unless it is the one that comes.
    fn end(self, next: &ChosenModel) {
        if !Arc::ptr_eq(self.embedder(), &next.embedder) {
            self.embedder().stop();
        }
    }

    /// Waits after a failure that may pass, or for good after one that somebody has to see to.
    fn try_later(&mut self, error: &ModelError) {
        // What was under way when it refused has nothing to add.
        if self.refused.is_some() {
            return;
        }
        if error.kind() == ModelErrorKind::Refused {
            tracing::warn!("what is not embedded yet is found by its words alone: {error}");
            self.refused = Some(error.to_string());
            return;
        }
        self.retry.failed(Instant::now(), error.retry_after());
        let trouble = error.to_string();
        if self.trouble.as_ref() != Some(&trouble) {
            tracing::warn!("embedding waits and is tried again: {trouble}");
            self.trouble = Some(trouble);
        }
    }
}
