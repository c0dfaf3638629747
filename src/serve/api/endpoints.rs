//! The endpoints: for each its address, what it takes and answers, for whom, and the function that answers. Those that stream, or answer
//! with something else than JSON and 200, are in files of their own.

use axum::extract::Query;
use serde::Serialize;
use utoipa::ToSchema;

use super::ask::JsonBody;
use super::endpoint::{Asked, Endpoint, EndpointMethod, EndpointText, Endpoints, endpoints, wants_fresh};
use super::qmd::{Browsing, Deleted, Ingest, Named, Page, QmdFound, SearchBody, Searching, drop_chunk, find, keep};
use crate::access::request::{EventSender, MemoryWriter, Owner, RequestError, Viewer};
use crate::base::config::Mode;
use crate::serve::wire::*;

endpoints! {
    // A group is a tag of the description.
    /// What there is, and how the vault is.
    routes {
        /// How the vault and its index are. An agent is told of what it may read.
        STATUS = GET "/status", () => AnyStatus, Viewer: status;

        /// Compares every note with the index, or builds it from nothing.
        REINDEX = POST "/reindex", JsonBody<ReindexParams> => Reindexing, Owner [repeatable]:
            |a| crate::serve::jobs::reindex(a.role, a.params.full);

        /// Compares everything in the index with its checksums; what is damaged is mended from then on.
        VERIFY = POST "/verify", () => Verification, Owner [slow repeatable]: |a| crate::serve::jobs::verify(a.role);

        /// Loads the model that memory.toml names now. The one there was serves until the vectors of that one are there.
        RELOAD_MODEL = POST "/model/reload", () => ModelReloaded, Owner: |a| crate::serve::jobs::reload_model(a.role);

        /// Drops the vectors that are kept of models which are not in use.
        DROP_KEPT_VECTORS = POST "/model/gc", () => DroppedVectors, Owner: |a| crate::serve::jobs::drop_kept_vectors(a.role);

        /// Finds passages by their words, their meaning, or both.
        SEARCH = GET "/api/user-memory/search", Query<SearchQuery> => SearchResponse, Viewer:
            |a| {
                let fresh = wants_fresh(a.params.fresh, a.is_local);
                crate::vault::notes::search(a.role, &SearchQuery { fresh, ..a.params })
            };

        /// Finds what an agent would find: for the person any agent, for an agent itself. Whether there is an agent that may not read
        /// the person's memory is not told.
        AGENT_SEARCH = GET "/api/user-memory/agent-search", Query<AgentSearchParams> => AgentFound, Viewer: agent_search;

        /// Lists passages, of the newest notes first.
        BROWSE = GET "/api/user-memory/browse", Query<BrowseParams> => Browse, Viewer [fresh]:
            |a| crate::vault::notes::browse(a.role, &a.params);

        /// What there is, in numbers.
        STATS = GET "/api/user-memory/stats", () => Stats, Viewer [fresh]: |a| crate::vault::notes::stats(a.role);

        /// The names of the collections.
        COLLECTIONS = GET "/api/user-memory/collections", () => Collections, Viewer [fresh]: |a| crate::vault::notes::collections(a.role);

        /// The passage with a hash, and the remarks on it.
        CHUNK = GET "/api/user-memory/chunk/{hash}", () => PassageView, Viewer:
            |a| crate::vault::notes::passage(a.role, a.name).map(|(passage, _)| passage);

        /// A whole note, with its body as nodes from which a page can be built.
        NOTE = GET "/api/user-memory/note", Query<NoteParams> => NoteView, Viewer: |a| crate::vault::notes::note(a.role, &a.params);
    }

    /// How notes hang together: links, what is near, tags, names.
    links {
        /// Where a note's links lead, and which notes link to it.
        LINKS = GET "/api/user-memory/links", Query<LinksParams> => LinksView, Viewer [fresh]:
            |a| crate::vault::notes::links(a.role, &a.params);

        /// The links of the whole vault that lead nowhere.
        UNRESOLVED_LINKS = GET "/api/user-memory/links/unresolved", Query<UnresolvedParams> => UnresolvedView, Owner [fresh slow]:
            |a| crate::vault::notes::unresolved(a.role, &a.params);

        /// The notes near a note, by meaning where it is embedded, else by its most telling words; those that it links to are marked, and those
        /// that link to it.
        RELATED = GET "/api/user-memory/related", Query<RelatedParams> => RelatedView, Viewer [fresh]:
            |a| crate::vault::notes::related(a.role, &a.params);

        /// The tags, with how many notes have them.
        TAGS = GET "/api/user-memory/tags", () => TagsView, Viewer [fresh]: |a| crate::vault::notes::tags(a.role);

        /// The same at a shorter address.
        ALL_TAGS = GET "/api/tags", () => TagsView, Viewer [fresh]: |a| crate::vault::notes::tags(a.role);

        /// Lists notes, the newest first.
        NOTES_IN = GET "/api/user-memory/notes", Query<NotesParams> => NotesView, Viewer [fresh]:
            |a| crate::vault::notes::list(a.role, &a.params);
    }

    /// Entries and the queue of proposals.
    entries {
        /// The entries of a memory that are seen: each where all its sources are.
        LIST_ENTRIES = GET "/api/entries", Query<EntriesParams> => EntriesView, Viewer:
            |a| crate::memory::entries::entries(a.role, &a.params);

        /// Adds an entry; an agent's waits for the person.
        ADD_ENTRY = POST "/api/entries", JsonBody<EntryAddParams> => EntryAdded, Viewer: |a| crate::memory::entries::add(a.role, &a.params);

        /// Changes an entry in its line.
        EDIT_ENTRY = POST "/api/entries/edit", JsonBody<EntryEditParams> => EntryChanged, Owner:
            |a| crate::memory::entries::edit(a.role, &a.params);

        /// Takes an entry away, or sets it aside in the archive. What it took the place of counts again.
        REMOVE_ENTRY = POST "/api/entries/remove", JsonBody<EntryRemoveParams> => EntryChanged, Owner:
            |a| crate::memory::entries::remove(a.role, &a.params);

        /// Writes another text in the place of a memory's file. One that drops more than a quarter of the entries is refused and shown.
        REWRITE_ENTRIES = POST "/api/entries/rewrite", JsonBody<EntriesRewriteParams> => EntriesRewritten, Owner:
            |a| crate::memory::entries::rewrite(a.role, &a.params);

        /// The proposals that wait, each beside what is known and with what its sources say.
        LIST_PROPOSALS = GET "/api/review", Query<ReviewParams> => ReviewView, Owner: |a| crate::memory::entries::review(a.role, &a.params);

        /// Accepts and rejects proposals, one, several, or all of a note.
        DECIDE_PROPOSALS = POST "/api/review", JsonBody<ReviewDecisions> => Reviewed, Owner:
            |a| crate::memory::entries::decide(a.role, &a.params);
    }

    /// Facts.
    facts {
        /// Facts by scope, namespace and key: one, those of a namespace, what was true then, what was known then, what has changed.
        LIST_FACTS = GET "/api/facts", Query<FactsParams> => FactsView, Viewer: |a| crate::memory::facts::facts(a.role, &a.params);

        /// Sets a fact: in its line of the scope's `facts.md`, or as a new one.
        SET_FACT = PUT "/api/facts", JsonBody<FactSetParams> => FactWrittenView, Viewer: |a| crate::memory::facts::set(a.role, &a.params);

        /// Takes a fact out of its file, as it is true no more. What was true before stays in its history.
        UNSET_FACT = POST "/api/facts/unset", JsonBody<FactNameParams> => FactWrittenView, Viewer:
            |a| crate::memory::facts::unset(a.role, &a.params);

        /// Strikes a fact out, as it was never true; with `from` and `until` what is known of that span, in the history alone.
        RETRACT_FACT = POST "/api/facts/retract", JsonBody<FactRetractParams> => FactWrittenView, Viewer:
            |a| crate::memory::facts::retract(a.role, &a.params);
    }

    /// Summaries and digests.
    summaries {
        /// Summaries of conversations, the newest first: of those that are seen, within `memory.summary_retention_days`.
        LIST_SUMMARIES = GET "/api/summaries", Query<SummariesParams> => SummariesView, Viewer [fresh]:
            |a| crate::memory::summaries::list(a.role, &a.params);

        /// Makes summaries now, by rules: of one conversation, or of all whose turns are others than they were.
        MAKE_SUMMARIES = POST "/api/summaries/make", JsonBody<SummaryMakeParams> => SummariesMade, Owner [fresh slow]:
            |a| crate::memory::summaries::make(a.role, &a.params);

        /// What was written, captured and decided on a day or in a week, made for the request of what is seen; every line with a citation.
        SHOW_DIGEST = GET "/api/digest", Query<DigestParams> => DigestView, Viewer [fresh]:
            |a| crate::memory::summaries::digest(a.role, &a.params);

        /// Writes the file of a day or a week. One that the person has edited stays.
        WRITE_DIGEST = POST "/api/digest", JsonBody<DigestParams> => DigestWritten, Owner [fresh]:
            |a| crate::memory::summaries::write_digest(a.role, &a.params);
    }

    /// What the chat model of the memory does.
    processing {
        /// What the chat model of the memory does, and what it has cost: calls, their outcomes and durations, tokens, what was put aside.
        PROCESSING = GET "/api/processing", () => ProcessingView, Owner: |a| a.app.processing(a.role);

        /// Has what was put aside tried again, by a model that is opened anew: one session, or all.
        RETRY_PROCESSING = POST "/api/processing/retry", JsonBody<RetryParams> => Retried, Owner:
            |a| a.app.retry_processing(a.role, &a.params);

        /// Has the conversations that wait read now, however short they have been quiet. It is begun when this answers.
        SYNC_MEMORY = POST "/api/processing/sync", () => ProcessingView, Owner: |a| a.app.sync_memory(a.role);

        /// Clears the derived layers: entries, proposals, the profile, summaries that nobody has edited. Notes and conversations stay.
        CLEAR_MEMORY = POST "/api/processing/clear", JsonBody<ClearParams> => Cleared, Owner:
            |a| a.app.clear_memory(a.role, &a.params);
    }

    /// The person's profile.
    profile {
        /// The profile: what is always given, `USER.md`, and the page that is made of entries and facts.
        SHOW = GET "/api/profile", () => ProfileView, Owner: |a| crate::memory::profile::profile(a.role);

        /// Writes into the frontmatter of `USER.md`, unless `[memory] user_profile_write_mode` is `off`.
        SET_USER = PUT "/api/profile/user", JsonBody<UserSetParams> => UserSet, Owner:
            |a| crate::memory::profile::set_user(a.role, &a.params);

        /// Makes the page anew, unless a person wrote or edited it.
        REGENERATE = POST "/api/profile/regenerate", () => ProfileMade, Owner [fresh]: |a| crate::memory::profile::regenerate(a.role);
    }

    /// The graph of notes.
    graph {
        /// What is around a note, the relations of a name, or the notes of a type.
        NOTES_AROUND = GET "/api/graph", Query<GraphParams> => GraphView, Viewer [fresh]:
            |a| crate::memory::graph::graph(a.role, &a.params);
    }

    /// What is written, and undone.
    writes {
        /// Saves a text as a note. Answers when it can be found.
        SAVE = POST "/api/user-memory/save", JsonBody<SaveParams> => Saved, Owner: |a| crate::vault::notes::save(a.role, &a.params);

        /// Deletes the passage with a hash, or the note. Answers when it can no longer be found.
        DELETE_CHUNK = DELETE "/api/user-memory/chunk/{hash}", Query<DeleteParams> => Forgotten, Owner [fresh]:
            |a| {
                let hash = Some(a.name.to_owned());
                crate::vault::notes::forget(a.role, &ForgetParams { hash, purge: a.params.purge, ..ForgetParams::default() })
            };

        /// Deletes a passage, lines or a note, or says what would go. Answers when it can no longer be found.
        FORGET = POST "/api/user-memory/forget", JsonBody<ForgetParams> => Forgotten, Owner [fresh]:
            |a| crate::vault::notes::forget(a.role, &a.params);

        /// Writes a remark on a passage. Answers when it can be found.
        ANNOTATE = POST "/api/user-memory/annotate", JsonBody<AnnotateParams> => Annotated, Owner [fresh]:
            |a| crate::vault::notes::annotate(a.role, &a.params);

        /// The changes that can be undone, newest first.
        CHECKPOINTS = GET "/api/user-memory/checkpoints", Query<CheckpointsParams> => CheckpointsView, Owner:
            |a| crate::vault::notes::checkpoints(a.role, &a.params);

        /// Makes a note again what it was before a change. Answers when it can be found so.
        RESTORE = POST "/api/user-memory/checkpoints/{id}/restore", JsonBody<RestoreParams> => Restored, Owner:
            |a| crate::vault::notes::restore(a.role, a.name, a.params);
    }

    /// What was forgotten for good, and what was changed.
    forgotten {
        /// What was forgotten for good, what was left out because of it, and what somebody wrote again. No text.
        FORGOTTEN = GET "/api/forgotten", () => ForgottenView, Owner: |a| crate::vault::notes::forgotten(a.role);

        /// Lets come back what was forgotten for good.
        LIFT = POST "/api/forgotten/{id}/lift", () => LiftedView, Owner: |a| crate::vault::notes::lift(a.role, a.number()?);

        /// What the program changed of the notes, newest first: a line a change, and no text.
        CHANGES = GET "/api/log", Query<ChangesParams> => ChangesView, Owner: |a| crate::vault::notes::changes(a.role, &a.params);
    }

    /// Documents beside the notes.
    attachments {
        /// The files beside the notes: PDF, Word documents, web pages and pictures, with why one is not searched.
        ATTACHMENTS = GET "/api/attachments", () => AttachmentsView, Owner: |a| crate::vault::notes::attachments(a.role);
    }

    /// Notes that were changed in two places.
    conflicts {
        /// The notes that were changed in two places: copies that sync services left, and conflict markers of git.
        CONFLICTS = GET "/api/conflicts", () => ConflictsView, Owner: |a| crate::vault::notes::conflicts(a.role);

        /// What differs between the two sides of a conflict.
        DIFFERENCE = GET "/api/conflicts/difference", Query<ConflictParams> => ConflictView, Owner:
            |a| crate::vault::notes::conflict(a.role, &a.params);

        /// Settles a conflict: one side is kept, or both. Answers when it can be found so.
        KEEP = POST "/api/conflicts/keep", JsonBody<KeepParams> => ConflictResolved, Owner:
            |a| crate::vault::notes::keep(a.role, &a.params);
    }

    /// Letting agents in.
    agents {
        /// All agents.
        LIST = GET "/api/agents", () => AgentsView, Owner: |a| crate::access::agents::list(a.role);

        /// Makes an agent: its page `agents/<slug>/agent.md`, and a token that is shown this once.
        ADD = POST "/api/agents", JsonBody<AgentParams> => AgentWithToken, Owner: |a| crate::access::agents::add(a.role, &a.params);

        /// An agent, and what it may read.
        SHOW = GET "/api/agents/{slug}", () => AgentView, Owner: |a| crate::access::agents::view(a.role, a.name);

        /// Changes what an agent's page says; what is absent stays as it is.
        CHANGE = PATCH "/api/agents/{slug}", JsonBody<AgentRules> => AgentView, Owner:
            |a| crate::access::agents::change(a.role, a.name, &a.params);

        /// How the librarian of an agent is: whether it reads what the agent tells of its work, and how far it is.
        LIBRARIAN = GET "/api/agents/{slug}/librarian", () => LibrarianView, Owner: |a| a.app.librarian(a.role, a.name);

        /// Switches the librarian of an agent on or off, says what it looks for, or has it read what waits now. What is absent stays as it is.
        CHANGE_LIBRARIAN = PATCH "/api/agents/{slug}/librarian", JsonBody<LibrarianParams> => LibrarianView, Owner:
            |a| a.app.change_librarian(a.role, a.name, &a.params);

        /// Removes an agent: its token counts no more, and its page goes to `.trash/`.
        REMOVE = DELETE "/api/agents/{slug}", () => AgentRemoved, Owner: |a| crate::access::agents::remove(a.role, a.name);

        /// Gives an agent a new token in place of the one it has.
        ROTATE = POST "/api/agents/{slug}/rotate", JsonBody<RotateParams> => AgentWithToken, Owner:
            |a| crate::access::agents::rotate(a.role, a.name, a.params);

        /// Whether an agent sees a note, and why.
        EXPLAIN = GET "/api/agents/{slug}/explain", Query<ExplainParams> => Explained, Owner:
            |a| crate::access::agents::explain(a.role, a.name, &a.params.what);

        /// What an agent asked, and which places it was given, also after it was removed.
        LOG = GET "/api/agents/{slug}/log", Query<LogParams> => LogView, Owner: |a| crate::access::agents::log(a.role, a.name, &a.params);

        /// The agents, in the shape that Osaurus has: all for the person, and for an agent itself.
        LISTED = GET "/agents", () => ListedAgents, Viewer: |a| crate::access::agents::listed(a.role, crate::memory::entries::count);
    }

    /// What other programs have kept.
    import {
        /// Takes a piece of an import: events and notes of another program. Once it answers they are safe on disk; a moment later they are in their
        /// files. Each comes once, however often it is sent.
        IMPORT = POST "/api/import", JsonBody<ImportParams> => ImportTaken, Owner: |a| a.app.import(a.role, a.params);
    }

    /// An agent's own memory.
    memory {
        /// Finds passages of the agent's own memory by their words, their meaning, or both.
        SEARCH = POST "/api/memory/search", JsonBody<MemorySearchParams> => SearchResponse, MemoryWriter:
            |a| crate::memory::agent::search(a.role, &a.params);

        /// Keeps what would be lost when a conversation is shortened: lines come to the end of the agent's memory of the day, and nothing is changed.
        FLUSH = POST "/api/memory/flush", JsonBody<MemoryFlushParams> => MemoryChange, MemoryWriter:
            |a| crate::memory::agent::flush(a.role, &a.params);

        /// A passage, lines or a whole file of the agent's own memory.
        GET = POST "/api/memory/get", JsonBody<MemoryGetParams> => MemoryText, MemoryWriter:
            |a| crate::memory::agent::get(a.role, &a.params);

        /// Adds a text to a file of the agent's own memory, or replaces what it says. Answers when it can be found.
        SAVE = POST "/api/memory/save", JsonBody<MemorySaveParams> => MemoryChange, MemoryWriter:
            |a| crate::memory::agent::save(a.role, &a.params);

        /// Deletes a text from a file of the agent's own memory, or the file. Answers when it can no longer be found.
        DELETE = POST "/api/memory/delete", JsonBody<MemoryDeleteParams> => MemoryChange, MemoryWriter:
            |a| crate::memory::agent::delete(a.role, &a.params);

        /// Forgets what is told in words, when it is clear what that is; else says what it may be.
        FORGET = POST "/api/memory/forget", JsonBody<MemoryForgetParams> => MemoryForgotten, MemoryWriter:
            |a| crate::memory::agent::forget(a.role, &a.params);

        /// Undoes a change that the agent made to its own memory. Answers when the index agrees.
        RESTORE = POST "/api/memory/restore", JsonBody<MemoryRestoreParams> => MemoryChange, MemoryWriter:
            |a| crate::memory::agent::restore(a.role, &a.params);
    }

    /// What agents tell of their work.
    traces {
        /// Keeps an event of an agent's work: its own, or for the person of the agent that `agent_name` names. Once it answers the event is safe
        /// on disk, without the secrets that are known by their shape. The same `id` again is not kept twice.
        KEEP_TRACE = POST "/api/trace", JsonBody<TraceParams> => TraceStored, Viewer [large]: |a| crate::memory::traces::keep(a.role, &a.params);

        /// The events of an agent's work, newest first: for that agent and the person. For others there is no such agent.
        LIST_TRACES = GET "/api/agents/{slug}/trace", Query<TracesParams> => TracesView, Viewer:
            |a| crate::memory::traces::list(a.role, a.name, &a.params);
    }

    /// What programs send.
    capture {
        /// Takes turns of a conversation, in the shape that Osaurus has. The same turn again counts once.
        INGEST = POST "/memory/ingest", JsonBody<TurnsParams> => TurnsIngested, EventSender: |a| a.app.ingest(a.role, &a.params);

        /// What is captured.
        SETTINGS = GET "/api/user-memory/settings", () => CaptureSettings, Owner: |a| Ok(crate::memory::capture::settings(a.role));

        /// Changes what is captured, in `memory.toml` and from now on. What is absent stays as it is.
        SET_SETTINGS = PUT "/api/user-memory/settings", JsonBody<CaptureSettingsParams> => CaptureSettings, Owner:
            |a| crate::memory::capture::set_settings(a.role, &a.params);
    }

    /// The addresses of QMD and Osaurus.
    qmd {
        /// Finds passages by their words.
        SEARCH = GET "/search", Query<Searching> => QmdFound, Viewer: |a| find(a, Mode::Keyword);

        /// Finds passages by their words.
        SEARCH_FOR = POST "/search", JsonBody<SearchBody> => QmdFound, Viewer: |a| find(a, Mode::Keyword);

        /// Finds passages by their meaning.
        VSEARCH = GET "/vsearch", Query<Searching> => QmdFound, Viewer: |a| find(a, Mode::Semantic);

        /// Finds passages by their meaning.
        VSEARCH_FOR = POST "/vsearch", JsonBody<SearchBody> => QmdFound, Viewer: |a| find(a, Mode::Semantic);

        /// Finds passages by their words and their meaning.
        HYBRID = GET "/query", Query<Searching> => QmdFound, Viewer: |a| find(a, Mode::Hybrid);

        /// Finds passages by their words and their meaning.
        HYBRID_FOR = POST "/query", JsonBody<SearchBody> => QmdFound, Viewer: |a| find(a, Mode::Hybrid);

        /// Lists passages, of the newest notes first.
        BROWSE = GET "/browse", Query<Browsing> => Page, Viewer:
            |a| {
                let params = a.params.params()?;
                crate::vault::notes::browse(a.role, &params).map(|found| Page::of(found, &params))
            };

        /// Keeps a text: the person's as a note, an agent's in its own memory. Answers when it can be found.
        INGEST = POST "/ingest", JsonBody<Ingest> => Saved, Viewer: |a| keep(a.role, &a.params.params()?);

        /// Deletes the passage with a hash, or the note; for an agent, a passage of its own memory. Answers when it can no longer be found.
        DELETE_CHUNK = POST "/delete-chunk", JsonBody<Named> => Deleted, Viewer:
            |a| drop_chunk(a.role, &a.params.hash()?).map(Deleted::of);
    }
}

/// How the vault and its index are; to an agent, what it may read of them.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum AnyStatus {
    /// The person's.
    Whole(Box<Status>),
    /// An agent's.
    Agents(AgentStatus),
}

fn status(a: Asked<'_, Viewer, ()>) -> Result<AnyStatus, RequestError> {
    match a.role.owner() {
        Some(owner) => a.app.status(&owner).map(|status| AnyStatus::Whole(Box::new(status))),
        None => crate::vault::notes::agent_status(a.role).map(AnyStatus::Agents),
    }
}

fn agent_search(a: Asked<'_, Viewer, AgentSearchParams>) -> Result<AgentFound, RequestError> {
    let params = AgentSearchParams { fresh: wants_fresh(a.params.fresh, a.is_local), ..a.params };
    let viewer = a.role.as_agent(params.agent_name.as_deref())?;
    let agent = viewer.agent().unwrap_or_default().to_owned();
    Ok(AgentFound { response: crate::vault::notes::search(&viewer, &params.into())?, agent })
}
