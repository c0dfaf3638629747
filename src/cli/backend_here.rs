//! This process's side of what commands ask: by itself, as the person.

use anyhow::anyhow;
use serde_json::Value;

use super::backend::CommandAnswers;
use crate::agents;
use crate::app::App;
use crate::entries;
use crate::facts;
use crate::graph;
use crate::jobs;
use crate::notes;
use crate::profile;
use crate::summaries;
use crate::traces;
use crate::wire::{
    AgentParams, AgentRemoved, AgentRules, AgentView, AgentWithToken, AgentsView, AnnotateParams, Annotated,
    AttachmentsView, ChangesParams, ChangesView, CheckpointsParams, CheckpointsView, ChunkView, ClearParams, Cleared,
    ConflictParams, ConflictSettled, ConflictView, ConflictsView, ContextParams, ContextView, DigestParams, DigestView,
    DigestWritten, EntriesParams, EntriesView, EntryAddParams, EntryAdded, EntryChanged, EntryEditParams,
    EntryRemoveParams, Explained, FactNameParams, FactRetractParams, FactSetParams, FactWrittenView, FactsParams,
    FactsView, ForgetParams, Forgotten, ForgottenView, GraphParams, GraphView, ImportParams, ImportTaken, KeepParams,
    KeptVectors, LiftedView, LinksParams, LinksView, LogParams, LogView, NotesParams, NotesView, ProcessingView,
    ProfileMade, ProfileView, Reindexing, RelatedParams, RelatedView, RestoreParams, Restored, Retried, RetryParams,
    ReviewDecisions, ReviewParams, ReviewView, Reviewed, RotateParams, SaveParams, Saved, SearchQuery, SearchResponse,
    Stats, Status, SummariesMade, SummariesParams, SummariesView, SummaryMakeParams, TagsView, TracesParams,
    TracesView, UnresolvedParams, UnresolvedView, UserSet, UserSetParams, Verification,
};

impl CommandAnswers for App {
    fn search(&mut self, params: &SearchQuery) -> anyhow::Result<SearchResponse> {
        let app: &Self = self;
        let mut found = notes::search(&app.owner(), params)?;
        // All that was saved before has been read before.
        found.fresh = (!app.is_read_only()).then_some(true);
        Ok(found)
    }

    fn related(&mut self, params: &RelatedParams) -> anyhow::Result<RelatedView> {
        Ok(notes::related(&self.owner(), params)?)
    }

    fn links(&mut self, params: &LinksParams) -> anyhow::Result<LinksView> {
        Ok(notes::links(&self.owner(), params)?)
    }

    fn unresolved(&mut self, params: &UnresolvedParams) -> anyhow::Result<UnresolvedView> {
        Ok(notes::unresolved(&self.owner(), params)?)
    }

    fn graph(&mut self, params: &GraphParams) -> anyhow::Result<GraphView> {
        Ok(graph::graph(&self.owner(), params)?)
    }

    fn tags(&mut self) -> anyhow::Result<TagsView> {
        Ok(notes::tags(&self.owner())?)
    }

    fn notes(&mut self, params: &NotesParams) -> anyhow::Result<NotesView> {
        Ok(notes::list(&self.owner(), params)?)
    }

    fn entries(&mut self, params: &EntriesParams) -> anyhow::Result<EntriesView> {
        Ok(entries::entries(&self.owner(), params)?)
    }

    fn add_entry(&mut self, params: &EntryAddParams) -> anyhow::Result<EntryAdded> {
        Ok(entries::add(&self.owner(), params)?)
    }

    fn edit_entry(&mut self, params: &EntryEditParams) -> anyhow::Result<EntryChanged> {
        Ok(entries::edit(&self.owner(), params)?)
    }

    fn remove_entry(&mut self, params: &EntryRemoveParams) -> anyhow::Result<EntryChanged> {
        Ok(entries::remove(&self.owner(), params)?)
    }

    fn proposals(&mut self, params: &ReviewParams) -> anyhow::Result<ReviewView> {
        Ok(entries::review(&self.owner(), params)?)
    }

    fn decide_proposals(&mut self, params: &ReviewDecisions) -> anyhow::Result<Reviewed> {
        Ok(entries::decide(&self.owner(), params)?)
    }

    fn facts(&mut self, params: &FactsParams) -> anyhow::Result<FactsView> {
        Ok(facts::facts(&self.owner(), params)?)
    }

    fn context(&mut self, params: &ContextParams) -> anyhow::Result<ContextView> {
        let app: &Self = self;
        Ok(app.context(&app.owner(), params)?)
    }

    fn profile(&mut self) -> anyhow::Result<ProfileView> {
        Ok(profile::profile(&self.owner())?)
    }

    fn set_user(&mut self, params: &UserSetParams) -> anyhow::Result<UserSet> {
        Ok(profile::set_user(&self.owner(), params)?)
    }

    fn make_profile(&mut self) -> anyhow::Result<ProfileMade> {
        Ok(profile::regenerate(&self.owner())?)
    }

    fn import(&mut self, params: ImportParams) -> anyhow::Result<ImportTaken> {
        let app: &Self = self;
        Ok(app.import(&app.owner(), params)?)
    }

    fn send_events(&mut self, _: &[Value]) -> anyhow::Result<()> {
        Err(anyhow!("no daemon serves this vault; start `vault serve`"))
    }

    fn set_fact(&mut self, params: &FactSetParams) -> anyhow::Result<FactWrittenView> {
        Ok(facts::set(&self.owner(), params)?)
    }

    fn unset_fact(&mut self, params: &FactNameParams) -> anyhow::Result<FactWrittenView> {
        Ok(facts::unset(&self.owner(), params)?)
    }

    fn retract_fact(&mut self, params: &FactRetractParams) -> anyhow::Result<FactWrittenView> {
        Ok(facts::retract(&self.owner(), params)?)
    }

    fn summaries(&mut self, params: &SummariesParams) -> anyhow::Result<SummariesView> {
        Ok(summaries::list(&self.owner(), params)?)
    }

    fn make_summaries(&mut self, params: &SummaryMakeParams) -> anyhow::Result<SummariesMade> {
        Ok(summaries::make(&self.owner(), params)?)
    }

    fn digest(&mut self, params: &DigestParams) -> anyhow::Result<DigestView> {
        Ok(summaries::digest(&self.owner(), params)?)
    }

    fn write_digest(&mut self, params: &DigestParams) -> anyhow::Result<DigestWritten> {
        Ok(summaries::write_digest(&self.owner(), params)?)
    }

    fn save(&mut self, params: &SaveParams) -> anyhow::Result<Saved> {
        Ok(notes::save(&self.owner(), params)?)
    }

    fn forget(&mut self, params: &ForgetParams) -> anyhow::Result<Forgotten> {
        Ok(notes::forget(&self.owner(), params)?)
    }

    fn forgotten(&mut self) -> anyhow::Result<ForgottenView> {
        Ok(notes::forgotten(&self.owner())?)
    }

    fn lift(&mut self, id: i64) -> anyhow::Result<LiftedView> {
        Ok(notes::lift(&self.owner(), id)?)
    }

    fn processing(&mut self) -> anyhow::Result<ProcessingView> {
        let app: &Self = self;
        Ok(app.processing(&app.owner())?)
    }

    fn retry_processing(&mut self, params: &RetryParams) -> anyhow::Result<Retried> {
        let app: &Self = self;
        Ok(app.retry_processing(&app.owner(), params)?)
    }

    fn sync_memory(&mut self) -> anyhow::Result<ProcessingView> {
        let app: &Self = self;
        Ok(app.sync_memory(&app.owner())?)
    }

    fn clear_memory(&mut self, params: &ClearParams) -> anyhow::Result<Cleared> {
        let app: &Self = self;
        Ok(app.clear_memory(&app.owner(), params)?)
    }

    fn changes(&mut self, params: &ChangesParams) -> anyhow::Result<ChangesView> {
        Ok(notes::changes(&self.owner(), params)?)
    }

    fn annotate(&mut self, params: &AnnotateParams) -> anyhow::Result<Annotated> {
        Ok(notes::annotate(&self.owner(), params)?)
    }

    fn attachments(&mut self) -> anyhow::Result<AttachmentsView> {
        Ok(notes::attachments(&self.owner())?)
    }

    fn conflicts(&mut self) -> anyhow::Result<ConflictsView> {
        Ok(notes::conflicts(&self.owner())?)
    }

    fn conflict(&mut self, params: &ConflictParams) -> anyhow::Result<ConflictView> {
        Ok(notes::conflict(&self.owner(), params)?)
    }

    fn keep(&mut self, params: &KeepParams) -> anyhow::Result<ConflictSettled> {
        Ok(notes::keep(&self.owner(), params)?)
    }

    fn checkpoints(&mut self, params: &CheckpointsParams) -> anyhow::Result<CheckpointsView> {
        Ok(notes::checkpoints(&self.owner(), params)?)
    }

    fn restore(&mut self, id: &str, params: RestoreParams) -> anyhow::Result<Restored> {
        Ok(notes::restore(&self.owner(), id, params)?)
    }

    fn chunk(&mut self, hash: &str) -> anyhow::Result<ChunkView> {
        Ok(notes::chunk(&self.owner(), hash)?)
    }

    fn stats(&mut self) -> anyhow::Result<Stats> {
        Ok(notes::stats(&self.owner())?)
    }

    fn status(&mut self) -> anyhow::Result<Status> {
        let app: &Self = self;
        Ok(app.status(&app.owner())?)
    }

    fn reindex(&mut self, full: bool) -> anyhow::Result<Reindexing> {
        Ok(jobs::reindex(&self.owner(), full)?)
    }

    fn verify(&mut self) -> anyhow::Result<Verification> {
        Ok(jobs::verify(&self.owner())?)
    }

    fn drop_kept_vectors(&mut self) -> anyhow::Result<KeptVectors> {
        Ok(jobs::drop_kept_vectors(&self.owner())?)
    }

    fn agents(&mut self) -> anyhow::Result<AgentsView> {
        Ok(agents::list(&self.owner())?)
    }

    fn agent(&mut self, slug: &str) -> anyhow::Result<AgentView> {
        Ok(agents::view(&self.owner(), slug)?)
    }

    fn add_agent(&mut self, params: &AgentParams) -> anyhow::Result<AgentWithToken> {
        Ok(agents::add(&self.owner(), params)?)
    }

    fn change_agent(&mut self, slug: &str, rules: &AgentRules) -> anyhow::Result<AgentView> {
        Ok(agents::change(&self.owner(), slug, rules)?)
    }

    fn rotate_agent(&mut self, slug: &str, params: &RotateParams) -> anyhow::Result<AgentWithToken> {
        Ok(agents::rotate(&self.owner(), slug, params.clone())?)
    }

    fn remove_agent(&mut self, slug: &str) -> anyhow::Result<AgentRemoved> {
        Ok(agents::remove(&self.owner(), slug)?)
    }

    fn explain_agent(&mut self, slug: &str, what: &str) -> anyhow::Result<Explained> {
        Ok(agents::explain(&self.owner(), slug, what)?)
    }

    fn traces(&mut self, slug: &str, params: &TracesParams) -> anyhow::Result<TracesView> {
        Ok(traces::list(&self.owner(), slug, params)?)
    }

    fn agent_log(&mut self, slug: &str, params: &LogParams) -> anyhow::Result<LogView> {
        Ok(agents::log(&self.owner(), slug, params)?)
    }
}
