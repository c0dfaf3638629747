//! The work of the machine: indexing and checking, how far it is, models, and embedding for others.

use crate::access::request::{Owner, RequestError, Viewer, text};
use crate::base::config::Config;
use crate::index::engine::Reader;
use crate::index::sync::{ModelStatus, Phase, SyncProgress};
use crate::models::{Document, ModelChoice, ModelError};
use crate::serve::wire::{
    Done, DroppedVectors, EmbeddedAs, Embedding, Model, ModelReloaded, ProgressView, Verification,
};

/// Starts to compare every note with the index, or with `full` to build it from nothing.
///
/// # Errors
/// When the index cannot be written.
pub fn reindex(owner: &Owner, full: bool) -> Result<Done, RequestError> {
    owner.workspace().syncer.reindex(full)?;
    Ok(Done { ok: true })
}

/// Compares everything in the index with its checksums. What is damaged is mended from then on.
///
/// # Errors
/// When the index cannot be read.
pub fn verify(owner: &Owner) -> Result<Verification, RequestError> {
    Ok(owner.workspace().syncer.verify()?)
}

/// Loads the model that `memory.toml` names now, or does without one. The one there was serves until the vectors of that one are there.
///
/// # Errors
/// When `memory.toml` is not right.
pub fn reload_model(owner: &Owner) -> Result<ModelReloaded, RequestError> {
    let workspace = owner.workspace();
    let config = Config::load(workspace.home.root()).map_err(|error| RequestError::invalid(error.to_string()))?;
    let choice = ModelChoice::of(&config.embed, workspace.home.root(), &workspace.index_dir);
    match choice {
        None => workspace.syncer.drop_model(),
        Some(choice) if workspace.shared.embedder().is_some() => {
            workspace.syncer.replace_model(ModelChoice { former: None, ..choice });
        }
        Some(choice) => workspace.syncer.replace_model(choice),
    }
    workspace.switches.took_model(&config.embed);
    Ok(ModelReloaded { model: config.embed.model })
}

/// Drops the vectors of models that are not in use.
///
/// # Errors
/// While a model is being loaded, or when the index cannot be written.
pub fn drop_kept_vectors(owner: &Owner) -> Result<DroppedVectors, RequestError> {
    Ok(DroppedVectors { dropped: owner.workspace().syncer.drop_kept_vectors()? })
}

/// How far the index is.
pub fn view(progress: &SyncProgress, snapshot: Option<&dyn Reader>) -> ProgressView {
    let (embedded, embeddable) = snapshot.map_or((0, 0), |snapshot| snapshot.embedded(None));
    ProgressView {
        phase: phase(progress.phase).into(),
        caught_up: progress.caught_up,
        seq: snapshot.map_or(0, Reader::generation),
        files: snapshot.map_or(0, |snapshot| snapshot.files().len()),
        embeddable,
        embedded,
        expired_facts: progress.expired_facts,
        pending_files: progress.pending_files,
        files_done: progress.files_done,
        pending_embeddings: to_embed(progress, snapshot),
        embeddings_done: progress.embeddings_done,
        model: Model::with_others(progress.model.clone(), progress.next.clone(), progress.kept_vectors),
        failure: progress.failure.clone(),
    }
}

/// How many chunks wait to be embedded, by the model that serves or by the next one, which makes another set of vectors beside its. The model
/// is handed each text once, however many chunks have it, so its own count is another, and tells when nothing waits.
pub(crate) fn to_embed(progress: &SyncProgress, snapshot: Option<&dyn Reader>) -> usize {
    let (embedded, embeddable) = snapshot.map_or((0, 0), |snapshot| snapshot.embedded(None));
    let without = embeddable.saturating_sub(embedded);
    let serving = match progress.model {
        ModelStatus::Loading => without,
        ModelStatus::Ready { .. } if progress.pending_embeddings > 0 => without.max(progress.pending_embeddings),
        ModelStatus::Ready { .. } | ModelStatus::Off | ModelStatus::Failed(_) => 0,
    };
    let next = progress.next.as_ref().filter(|next| matches!(next.model, ModelStatus::Ready { .. }));
    serving.max(next.map_or(0, |next| next.of.saturating_sub(next.embedded)))
}

/// A phase of the indexer in a word.
pub(crate) fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Starting => "starting",
        Phase::Indexing => "indexing",
        Phase::Embedding => "embedding",
        Phase::Idle => "idle",
        Phase::Failing => "failing",
        Phase::Stopped => "stopped",
    }
}

/// Embeds a text of at most 50 KB. Of a longer one than the model reads, the rest does not count.
///
/// # Errors
/// When the text is empty or too long, or no model is ready.
pub(crate) fn embed(viewer: &Viewer, content: &str, kind: EmbeddedAs) -> Result<Embedding, RequestError> {
    let content = text("text", content)?;
    let model = viewer.workspace().shared.embedder().ok_or_else(|| {
        let Model { state, detail, .. } = Model::of(viewer.workspace().shared.progress().model);
        let why = detail.filter(|_| state == "failed").unwrap_or_else(|| format!("the model is {state}"));
        RequestError::unavailable(format!("cannot embed: {why}"), "`vault status` shows the state of the model")
    })?;
    let embedded = match kind {
        EmbeddedAs::Query => model.embed_query(&content, viewer.turn().until_when()),
        EmbeddedAs::Document => {
            let document = Document { context: String::new(), text: content, ..Document::default() };
            let one = |mut vectors: Vec<Vec<f32>>| vectors.pop().ok_or(ModelError::Stopped);
            model.embed_documents(&[document], viewer.turn().until_when()).and_then(one)
        }
    };
    let embedding = embedded.map_err(|error| {
        RequestError::unavailable(format!("cannot embed: {error}"), "try again, or use another text")
    })?;
    Ok(Embedding { dimension: embedding.len(), embedding, model: model.name().to_owned(), kind })
}
