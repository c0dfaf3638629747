//! The daemon's side of what commands ask: over its socket.

use std::time::Duration;

use hyper::Method;
use serde_json::Value;

use super::backend::CommandAnswers;
use super::client::Client;
use crate::wire::{
    AgentParams, AgentRemoved, AgentRules, AgentView, AgentWithToken, AgentsView, AnnotateParams, Annotated,
    AttachmentsView, BrowseParams, ChangesParams, ChangesView, CheckpointsParams, CheckpointsView, ChunkView,
    ClearParams, Cleared, ConflictParams, ConflictSettled, ConflictView, ConflictsView, ContextParams, ContextView,
    DigestParams, DigestView, DigestWritten, EntriesParams, EntriesView, EntryAddParams, EntryAdded, EntryChanged,
    EntryEditParams, EntryRemoveParams, EventsAccepted, ExplainParams, Explained, FactNameParams, FactRetractParams,
    FactSetParams, FactWrittenView, FactsParams, FactsView, ForgetParams, Forgotten, ForgottenView, GraphParams,
    GraphView, ImportParams, ImportTaken, KeepParams, KeptVectors, LiftedView, LinksParams, LinksView, LogParams,
    LogView, NotesParams, NotesView, ProcessingView, ProfileMade, ProfileView, ReindexParams, Reindexing,
    RelatedParams, RelatedView, RestoreParams, Restored, Retried, RetryParams, ReviewDecisions, ReviewParams,
    ReviewView, Reviewed, RotateParams, SaveParams, Saved, SearchQuery, SearchResponse, Stats, Status, SummariesMade,
    SummariesParams, SummariesView, SummaryMakeParams, TagsView, TracesParams, TracesView, UnresolvedParams,
    UnresolvedView, UserSet, UserSetParams, Verification, percent_encode,
};

/// The daemon reads the whole index from a disk that may be slow.
const VERIFY_PATIENCE: Duration = Duration::from_secs(1800);

fn agent_path(slug: &str, rest: &str) -> String {
    format!("/api/agents/{}{rest}", percent_encode(slug))
}

impl CommandAnswers for Client {
    fn search(&mut self, params: &SearchQuery) -> anyhow::Result<SearchResponse> {
        self.get("/api/user-memory/search", params)
    }

    fn related(&mut self, params: &RelatedParams) -> anyhow::Result<RelatedView> {
        self.get("/api/user-memory/related", params)
    }

    fn links(&mut self, params: &LinksParams) -> anyhow::Result<LinksView> {
        self.get("/api/user-memory/links", params)
    }

    fn unresolved(&mut self, params: &UnresolvedParams) -> anyhow::Result<UnresolvedView> {
        self.be_patient(VERIFY_PATIENCE).get("/api/user-memory/links/unresolved", params)
    }

    fn graph(&mut self, params: &GraphParams) -> anyhow::Result<GraphView> {
        self.get("/api/graph", params)
    }

    fn tags(&mut self) -> anyhow::Result<TagsView> {
        self.get("/api/user-memory/tags", &())
    }

    fn notes(&mut self, params: &NotesParams) -> anyhow::Result<NotesView> {
        self.get("/api/user-memory/notes", params)
    }

    fn entries(&mut self, params: &EntriesParams) -> anyhow::Result<EntriesView> {
        self.get("/api/entries", params)
    }

    fn add_entry(&mut self, params: &EntryAddParams) -> anyhow::Result<EntryAdded> {
        self.post("/api/entries", params)
    }

    fn edit_entry(&mut self, params: &EntryEditParams) -> anyhow::Result<EntryChanged> {
        self.post("/api/entries/edit", params)
    }

    fn remove_entry(&mut self, params: &EntryRemoveParams) -> anyhow::Result<EntryChanged> {
        self.post("/api/entries/remove", params)
    }

    fn proposals(&mut self, params: &ReviewParams) -> anyhow::Result<ReviewView> {
        self.get("/api/review", params)
    }

    fn decide_proposals(&mut self, params: &ReviewDecisions) -> anyhow::Result<Reviewed> {
        self.post("/api/review", params)
    }

    fn facts(&mut self, params: &FactsParams) -> anyhow::Result<FactsView> {
        self.get("/api/facts", params)
    }

    fn context(&mut self, params: &ContextParams) -> anyhow::Result<ContextView> {
        self.post_idempotent("/api/context", params)
    }

    fn profile(&mut self) -> anyhow::Result<ProfileView> {
        self.get("/api/profile", &())
    }

    fn set_user(&mut self, params: &UserSetParams) -> anyhow::Result<UserSet> {
        self.ask(Method::PUT, "/api/profile/user", params)
    }

    fn make_profile(&mut self) -> anyhow::Result<ProfileMade> {
        self.post("/api/profile/regenerate", &())
    }

    fn import(&mut self, params: ImportParams) -> anyhow::Result<ImportTaken> {
        self.post("/api/import", &params)
    }

    fn send_events(&mut self, events: &[Value]) -> anyhow::Result<()> {
        self.post::<EventsAccepted>("/api/user-memory/events", &events).map(drop)
    }

    fn set_fact(&mut self, params: &FactSetParams) -> anyhow::Result<FactWrittenView> {
        self.ask(Method::PUT, "/api/facts", params)
    }

    fn unset_fact(&mut self, params: &FactNameParams) -> anyhow::Result<FactWrittenView> {
        self.post("/api/facts/unset", params)
    }

    fn retract_fact(&mut self, params: &FactRetractParams) -> anyhow::Result<FactWrittenView> {
        self.post("/api/facts/retract", params)
    }

    fn summaries(&mut self, params: &SummariesParams) -> anyhow::Result<SummariesView> {
        self.get("/api/summaries", params)
    }

    fn make_summaries(&mut self, params: &SummaryMakeParams) -> anyhow::Result<SummariesMade> {
        self.be_patient(VERIFY_PATIENCE).post("/api/summaries/make", params)
    }

    fn digest(&mut self, params: &DigestParams) -> anyhow::Result<DigestView> {
        self.get("/api/digest", params)
    }

    fn write_digest(&mut self, params: &DigestParams) -> anyhow::Result<DigestWritten> {
        self.post("/api/digest", params)
    }

    fn save(&mut self, params: &SaveParams) -> anyhow::Result<Saved> {
        self.post("/api/user-memory/save", params)
    }

    fn forget(&mut self, params: &ForgetParams) -> anyhow::Result<Forgotten> {
        self.post("/api/user-memory/forget", params)
    }

    fn forgotten(&mut self) -> anyhow::Result<ForgottenView> {
        self.get("/api/forgotten", &())
    }

    fn lift(&mut self, id: i64) -> anyhow::Result<LiftedView> {
        self.post(&format!("/api/forgotten/{id}/lift"), &())
    }

    fn processing(&mut self) -> anyhow::Result<ProcessingView> {
        self.get("/api/processing", &())
    }

    fn retry_processing(&mut self, params: &RetryParams) -> anyhow::Result<Retried> {
        self.post("/api/processing/retry", params)
    }

    fn sync_memory(&mut self) -> anyhow::Result<ProcessingView> {
        self.post("/api/processing/sync", &())
    }

    fn clear_memory(&mut self, params: &ClearParams) -> anyhow::Result<Cleared> {
        self.post("/api/processing/clear", params)
    }

    fn changes(&mut self, params: &ChangesParams) -> anyhow::Result<ChangesView> {
        self.get("/api/log", params)
    }

    fn annotate(&mut self, params: &AnnotateParams) -> anyhow::Result<Annotated> {
        self.post("/api/user-memory/annotate", params)
    }

    fn attachments(&mut self) -> anyhow::Result<AttachmentsView> {
        self.get("/api/attachments", &())
    }

    fn conflicts(&mut self) -> anyhow::Result<ConflictsView> {
        self.get("/api/conflicts", &())
    }

    fn conflict(&mut self, params: &ConflictParams) -> anyhow::Result<ConflictView> {
        self.get("/api/conflicts/difference", params)
    }

    fn keep(&mut self, params: &KeepParams) -> anyhow::Result<ConflictSettled> {
        self.post("/api/conflicts/keep", params)
    }

    fn checkpoints(&mut self, params: &CheckpointsParams) -> anyhow::Result<CheckpointsView> {
        self.get("/api/user-memory/checkpoints", params)
    }

    fn restore(&mut self, id: &str, params: RestoreParams) -> anyhow::Result<Restored> {
        let id = percent_encode(id);
        self.post(&format!("/api/user-memory/checkpoints/{id}/restore"), &params)
    }

    fn chunk(&mut self, hash: &str) -> anyhow::Result<ChunkView> {
        self.get(&format!("/api/user-memory/chunk/{hash}"), &())
    }

    fn stats(&mut self) -> anyhow::Result<Stats> {
        self.get("/api/user-memory/stats", &BrowseParams::default())
    }

    fn status(&mut self) -> anyhow::Result<Status> {
        self.get("/status", &())
    }

    fn reindex(&mut self, full: bool) -> anyhow::Result<Reindexing> {
        self.post_idempotent("/reindex", &ReindexParams { full })
    }

    fn verify(&mut self) -> anyhow::Result<Verification> {
        self.be_patient(VERIFY_PATIENCE).post_idempotent("/verify", &())
    }

    fn drop_kept_vectors(&mut self) -> anyhow::Result<KeptVectors> {
        self.post("/model/gc", &())
    }

    fn agents(&mut self) -> anyhow::Result<AgentsView> {
        self.get("/api/agents", &())
    }

    fn agent(&mut self, slug: &str) -> anyhow::Result<AgentView> {
        self.get(&agent_path(slug, ""), &())
    }

    fn add_agent(&mut self, params: &AgentParams) -> anyhow::Result<AgentWithToken> {
        self.post("/api/agents", params)
    }

    fn change_agent(&mut self, slug: &str, rules: &AgentRules) -> anyhow::Result<AgentView> {
        self.ask(Method::PATCH, &agent_path(slug, ""), rules)
    }

    fn rotate_agent(&mut self, slug: &str, params: &RotateParams) -> anyhow::Result<AgentWithToken> {
        self.post(&agent_path(slug, "/rotate"), params)
    }

    fn remove_agent(&mut self, slug: &str) -> anyhow::Result<AgentRemoved> {
        self.ask(Method::DELETE, &agent_path(slug, ""), &())
    }

    fn explain_agent(&mut self, slug: &str, what: &str) -> anyhow::Result<Explained> {
        self.get(&agent_path(slug, "/explain"), &ExplainParams { what: what.to_owned() })
    }

    fn traces(&mut self, slug: &str, params: &TracesParams) -> anyhow::Result<TracesView> {
        self.get(&agent_path(slug, "/trace"), params)
    }

    fn agent_log(&mut self, slug: &str, params: &LogParams) -> anyhow::Result<LogView> {
        self.get(&agent_path(slug, "/log"), params)
    }
}
