//! The endpoints: for each its address, what it takes and answers, for whom, and the function that answers. Those that stream, or answer
//! with something else than JSON and 200, are in files of their own.

use axum::extract::Query;
use serde::Serialize;
use utoipa::ToSchema;

use super::ask::JsonBody;
use super::endpoint::{Asked, Endpoint, EndpointMethod, EndpointText, Endpoints, endpoints, wants_fresh};
use super::qmd::{
    Browsing, Embed, EmbedAnswer, Ingest, Named, NamedCollections, Page, QmdFound, SearchBody, Searching, browse,
    collections, drop_chunk, embed, find, keep,
};
use crate::access::request::{Editor, EventSender, MemoryWriter, Owner, Reader, RequestError, Viewer};
use crate::base::config::Mode;
use crate::serve::wire::*;

endpoints! {
    // A group is a tag of the description.
    /// State and maintenance of the vault.
    routes {
        /// The state of the vault and its index. An agent gets only what it may read.
        STATUS = GET "/status", () => AnyStatus, Reader: |a| status(a);

        /// Compares every note with the index, or rebuilds the index; `status` shows the progress.
        REINDEX = POST "/reindex", JsonBody<ReindexParams> => Done, Owner:
            |a| crate::serve::jobs::reindex(a.role, a.params.full);

        /// Compares everything in the index with its checksums, and starts to repair what is damaged.
        VERIFY = POST "/verify", () => Verification, Owner [slow]: |a| crate::serve::jobs::verify(a.role);

        /// Loads the model that memory.toml names now. The present model is used until the new vectors are complete.
        RELOAD_MODEL = POST "/model/reload", () => ModelReloaded, Owner: |a| crate::serve::jobs::reload_model(a.role);

        /// Deletes the stored vectors of models that are not in use.
        DROP_KEPT_VECTORS = POST "/model/gc", () => DroppedVectors, Owner: |a| crate::serve::jobs::drop_kept_vectors(a.role);

        /// Lists the browsers in which the page is open.
        PAGE_SESSIONS = GET "/api/sessions", () => PageSessionsView, Owner: |a| crate::access::page_sessions::list(a.role);

        /// Ends the page's session in a browser, or in all browsers but one.
        END_PAGE_SESSIONS = POST "/api/sessions/end", JsonBody<EndSessionsParams> => SessionsEnded, Owner:
            crate::access::page_sessions::end;

        /// Lists the links that show a note to whoever has them.
        SHARES = GET "/api/shares", () => ShareLinksView, Owner: |a| crate::access::share::list(a.role);

        /// Makes a link that shows one note, read only, for some days. The address is given this once.
        SHARE = POST "/api/shares", JsonBody<ShareParams> => NewShareLink, Owner: crate::access::share::share;

        /// Ends a link, or all links that show a note.
        END_SHARE = POST "/api/shares/end", JsonBody<EndShareParams> => SharesEnded, Owner: crate::access::share::end;

        /// Finds passages by their words, their meaning, or both.
        SEARCH = GET "/api/user-memory/search", Query<SearchQuery> => SearchResponse, Reader:
            |a| {
                let fresh = wants_fresh(a.params.fresh, a.is_local);
                crate::vault::notes::search(a.role, &SearchQuery { fresh, ..a.params })
            };

        /// Finds what an agent would find: the owner may name any agent, an agent only itself. The answer does not reveal whether an agent
        /// without access to the owner's memory exists.
        AGENT_SEARCH = GET "/api/user-memory/agent-search", Query<AgentSearchParams> => AgentFound, Viewer: |a| agent_search(a);

        /// Lists passages, newest notes first.
        BROWSE = GET "/api/user-memory/browse", Query<BrowseParams> => Browse, Reader [fresh]:
            crate::vault::notes::browse;

        /// Statistics of the vault.
        STATS = GET "/api/user-memory/stats", () => Stats, Reader [fresh]: |a| crate::vault::notes::stats(a.role);

        /// The names of the collections.
        COLLECTIONS = GET "/api/user-memory/collections", () => Collections, Reader [fresh]: |a| crate::vault::notes::collections(a.role);

        /// Returns the passage with a hash, and the remarks on it.
        CHUNK = GET "/api/user-memory/chunk/{hash}", () => PassageView, Reader:
            |a| crate::vault::notes::passage(a.role, a.name).map(|(passage, _)| passage);

        /// Returns a whole note, with its body as nodes for a page.
        NOTE = GET "/api/user-memory/note", Query<NoteParams> => NoteView, Reader: crate::vault::notes::note;
    }

    /// How notes are connected: links, related notes, tags, names.
    links {
        /// Lists the links of a note, and the notes that link to it.
        LINKS = GET "/api/user-memory/links", Query<LinksParams> => LinksView, Reader [fresh]:
            crate::vault::notes::links;

        /// Lists the broken links of the whole vault.
        UNRESOLVED_LINKS = GET "/api/user-memory/links/unresolved", Query<UnresolvedParams> => UnresolvedView, Owner [fresh slow]:
            crate::vault::notes::unresolved;

        /// Lists the notes related to a note, by meaning if it is embedded, else by its most distinctive words; links in either direction
        /// are marked.
        RELATED = GET "/api/user-memory/related", Query<RelatedParams> => RelatedView, Reader [fresh]:
            crate::vault::notes::related;

        /// Lists the lines of other notes that have the title or an alias of a note, without a link to it.
        MENTIONS = GET "/api/user-memory/mentions", Query<TextParams> => MentionsView, Owner [fresh]: crate::vault::notes::mentions;

        /// Lists the tags, with the number of notes for each.
        TAGS = GET "/api/user-memory/tags", () => TagsView, Reader [fresh]: |a| crate::vault::notes::tags(a.role);

        /// The same under a shorter address.
        ALL_TAGS = GET "/api/tags", () => TagsView, Reader [fresh]: |a| crate::vault::notes::tags(a.role);

        /// Finds notes, headings and tags by their names, as one types.
        FIND = GET "/api/user-memory/find", Query<FindParams> => NamesView, Reader: crate::vault::notes::find;

        /// Lists notes, newest first, by name or by size.
        NOTES_IN = GET "/api/user-memory/notes", Query<NotesParams> => NotesView, Reader [fresh]:
            crate::vault::notes::list;

        /// Lists the folders, with the number of notes in each and below it.
        FOLDERS = GET "/api/user-memory/folders", () => FoldersView, Reader: |a| crate::vault::notes::folders(a.role);

        /// Lists the days of a span that have a daily note, or notes last changed on them.
        DAYS = GET "/api/user-memory/days", Query<DaysParams> => DaysView, Owner: crate::vault::notes::days;
    }

    /// Entries and the queue of proposals.
    entries {
        /// Lists the visible entries of a memory: those whose sources are all visible.
        LIST_ENTRIES = GET "/api/entries", Query<EntriesParams> => EntriesView, Viewer: crate::memory::entries::entries;

        /// Adds an entry; an agent's entry waits until the owner accepts it.
        ADD_ENTRY = POST "/api/entries", JsonBody<EntryAddParams> => EntryAdded, Viewer: crate::memory::entries::add;

        /// Edits an entry in its line.
        EDIT_ENTRY = POST "/api/entries/edit", JsonBody<EntryEditParams> => EntryChanged, Owner:
            crate::memory::entries::edit;

        /// Deletes an entry, or archives it. After a deletion, the entries that it replaced are active again.
        REMOVE_ENTRY = POST "/api/entries/remove", JsonBody<EntryRemoveParams> => EntryChanged, Owner:
            crate::memory::entries::remove;

        /// Replaces the text of a memory's file. If that would drop more than a quarter of the entries, it fails and lists them.
        REWRITE_ENTRIES = POST "/api/entries/rewrite", JsonBody<EntriesRewriteParams> => EntriesRewritten, Owner:
            crate::memory::entries::rewrite;

        /// Lists the waiting proposals, each with the known entry that it affects, and quotes of its sources; the edits suggested for notes; and
        /// what may no longer be true.
        LIST_PROPOSALS = GET "/api/review", Query<ReviewParams> => ReviewView, Owner: |a| review(a);

        /// Accepts and rejects proposals: one, several, or all from a note.
        DECIDE_PROPOSALS = POST "/api/review", JsonBody<ReviewDecisions> => Reviewed, Owner:
            crate::memory::entries::decide;

        /// Accepts and rejects edits of notes that agents suggest: whole suggestions, or single edits.
        DECIDE_SUGGESTIONS = POST "/api/review/suggestions", JsonBody<SuggestionDecisions> => SuggestionsDecided, Owner [fresh]:
            crate::vault::notes::decide_suggestions;

        /// Says whether an entry or a fact is still true. What it was stays as history.
        ANSWER_CHECK = POST "/api/review/checks", JsonBody<CheckAnswerParams> => CheckAnswered, Owner: crate::memory::checks::answer;
    }

    /// What agents write into notes.
    agent_writes {
        /// Suggests exact edits of a note; the note is unchanged until the owner accepts them. Needs `can_suggest` on the agent's page.
        SUGGEST = POST "/api/notes/suggest", JsonBody<SuggestParams> => Suggested, MemoryWriter: crate::vault::notes::suggest;

        /// Edits a note, appends to it, or makes one, where `write_collections` on the agent's page says so. Answers when searches can find it.
        WRITE = POST "/api/notes/write", JsonBody<AgentWriteParams> => AgentWritten, MemoryWriter: crate::vault::notes::agent_write;
    }

    /// Facts.
    facts {
        /// Returns facts by scope, namespace and key: one, a namespace, as true or as known at a time, or those that changed.
        LIST_FACTS = GET "/api/facts", Query<FactsParams> => FactsView, Viewer: crate::memory::facts::facts;

        /// Sets a fact: in its line of the scope's `facts.md`, or as a new one.
        SET_FACT = PUT "/api/facts", JsonBody<FactSetParams> => FactWrittenView, Viewer: crate::memory::facts::set;

        /// Removes a fact from its file, because it is no longer true. Its history keeps the earlier values.
        UNSET_FACT = POST "/api/facts/unset", JsonBody<FactNameParams> => FactWrittenView, Viewer:
            crate::memory::facts::unset;

        /// Strikes a fact out, because it was never true; with `from` and `until` only its value in that period, in the history.
        RETRACT_FACT = POST "/api/facts/retract", JsonBody<FactRetractParams> => FactWrittenView, Viewer:
            crate::memory::facts::retract;
    }

    /// Summaries and digests.
    summaries {
        /// Lists summaries of visible conversations, newest first, within `memory.summary_retention_days`.
        LIST_SUMMARIES = GET "/api/summaries", Query<SummariesParams> => SummariesView, Viewer [fresh]:
            crate::memory::summaries::list;

        /// Makes summaries now, by rules: of one conversation, or of all whose turns have changed.
        MAKE_SUMMARIES = POST "/api/summaries/make", JsonBody<SummaryMakeParams> => SummariesMade, Owner [fresh slow]:
            crate::memory::summaries::make;

        /// Returns what was written, captured and decided on a day or in a week, from visible notes; every line has a citation.
        SHOW_DIGEST = GET "/api/digest", Query<DigestParams> => DigestView, Viewer [fresh]:
            crate::memory::summaries::digest;

        /// Writes the file of a day or a week. A file that the owner has edited stays unchanged.
        WRITE_DIGEST = POST "/api/digest", JsonBody<DigestParams> => DigestWritten, Owner [fresh]:
            crate::memory::summaries::write_digest;
    }

    /// The chat model of the memory.
    processing {
        /// Returns the activity and cost of the chat model of the memory: calls, their outcomes and durations, tokens, failed sessions.
        PROCESSING = GET "/api/processing", () => ProcessingView, Owner: |a| a.app.extraction.processing(a.role);

        /// Retries failed sessions with a reloaded model: one, or all.
        RETRY_PROCESSING = POST "/api/processing/retry", JsonBody<RetryParams> => Retried, Owner:
            |a| a.app.extraction.retry(a.role, &a.params);

        /// Starts to process the waiting conversations now, even if they have been quiet only briefly.
        SYNC_MEMORY = POST "/api/processing/sync", () => ProcessingView, Owner: |a| a.app.sync_memory(a.role);

        /// Clears the derived layers: entries, proposals, the profile, unedited summaries. Notes and conversations stay.
        CLEAR_MEMORY = POST "/api/processing/clear", JsonBody<ClearParams> => Cleared, Owner: crate::memory::extraction::clear;
    }

    /// The owner's profile.
    profile {
        /// Returns the profile: the text that is always included, `USER.md`, and the page made from entries and facts.
        SHOW = GET "/api/profile", () => ProfileView, Owner: |a| crate::memory::profile::profile(a.role);

        /// Writes into the frontmatter of `USER.md`, unless `[memory] user_profile_write_mode` is `off`.
        SET_USER = PUT "/api/profile/user", JsonBody<UserSetParams> => UserSet, Owner: crate::memory::profile::set_user;

        /// Makes the page again, unless a person wrote or edited it.
        REGENERATE = POST "/api/profile/regenerate", () => ProfileMade, Owner [fresh]: |a| crate::memory::profile::regenerate(a.role);
    }

    /// The graph of notes.
    graph {
        /// Returns the surroundings of a note, the relations with a name, or the notes of a type.
        NOTES_AROUND = GET "/api/graph", Query<GraphParams> => GraphView, Viewer [fresh]: crate::access::request::graph;
    }

    /// Writing and undoing.
    writes {
        /// Saves a text as a note. Answers when searches can find it.
        SAVE = POST "/api/user-memory/save", JsonBody<SaveParams> => Saved, Owner: crate::vault::notes::save;

        /// Returns the text of a note as it is on disk, with the hash by which a write says what it has seen.
        TEXT = GET "/api/user-memory/text", Query<TextParams> => NoteText, Editor: crate::vault::notes::note_text;

        /// Writes a note, or lines of it, unless it has changed since it was read: then the answer is 409, with `now`. Everything else keeps its
        /// bytes, a byte order mark and the ends of lines too. What is written within five minutes is undone as one change.
        WRITE_NOTE = PUT "/api/user-memory/note", JsonBody<NoteWriteParams> => NoteWritten, Editor [large]: crate::vault::notes::write;

        /// Makes a note. If there is one, the answer is 409 `exists`, with `now`.
        MAKE_NOTE = POST "/api/user-memory/note", JsonBody<NoteMakeParams> => NoteWritten, Editor [large]: crate::vault::notes::make;

        /// Ticks the box of a task, or unticks it. Only the character in its brackets changes.
        TICK = POST "/api/user-memory/task", JsonBody<TaskParams> => NoteWritten, Editor: crate::vault::notes::tick;

        /// Lists the versions of a note that can be restored, newest first: one for each change that can be undone.
        VERSIONS = GET "/api/user-memory/versions", Query<TextParams> => VersionsView, Owner: crate::vault::notes::versions;

        /// Returns the text that restoring a version would bring back.
        VERSION = GET "/api/user-memory/version", Query<VersionParams> => VersionText, Owner: crate::vault::notes::version;

        /// Appends a thought to today's note, the inbox or another note. Answers when searches can find it.
        CAPTURE = POST "/api/user-memory/capture", JsonBody<CaptureParams> => ThoughtCaptured, Owner: crate::vault::notes::capture;

        /// Deletes the passage with a hash, or the note. Answers when searches no longer find it.
        DELETE_CHUNK = DELETE "/api/user-memory/chunk/{hash}", Query<DeleteParams> => Forgotten, Owner [fresh]:
            |a| {
                let hash = Some(a.name.to_owned());
                crate::vault::notes::forget(a.role, &ForgetParams { hash, purge: a.params.purge, ..ForgetParams::default() })
            };

        /// Deletes a passage, lines or a note, or reports what would be deleted. Answers when searches no longer find it.
        FORGET = POST "/api/user-memory/forget", JsonBody<ForgetParams> => Forgotten, Owner [fresh]:
            crate::vault::notes::forget;

        /// Writes a remark on a passage. Answers when searches can find it.
        ANNOTATE = POST "/api/user-memory/annotate", JsonBody<AnnotateParams> => Annotated, Owner [fresh]:
            crate::vault::notes::annotate;

        /// Lists the changes that can be undone, newest first.
        CHECKPOINTS = GET "/api/user-memory/checkpoints", Query<CheckpointsParams> => CheckpointsView, Owner:
            crate::vault::notes::checkpoints;

        /// Restores a note as it was before a change. Answers when searches reflect it.
        RESTORE = POST "/api/user-memory/checkpoints/{id}/restore", JsonBody<RestoreParams> => Restored, Owner:
            |a| crate::vault::notes::restore(a.role, a.name, a.params);
    }

    /// Purged texts, and the log of changes.
    forgotten {
        /// Lists purged texts, what was left out because of them, and what somebody wrote again. Contains no text.
        FORGOTTEN = GET "/api/forgotten", () => ForgottenView, Owner: |a| crate::vault::notes::forgotten(a.role);

        /// Allows a purged text again.
        LIFT = POST "/api/forgotten/{id}/lift", () => Done, Owner: |a| crate::vault::notes::lift(a.role, a.number()?);

        /// Lists the changes that the program made to notes, newest first: one line per change, without text.
        CHANGES = GET "/api/log", Query<ChangesParams> => ChangesView, Owner: crate::vault::notes::changes;
    }

    /// Documents beside the notes.
    attachments {
        /// Lists the files beside the notes: PDF, Word documents, web pages and pictures, and why one is not searched.
        ATTACHMENTS = GET "/api/attachments", () => AttachmentsView, Owner: |a| crate::vault::notes::attachments(a.role);
    }

    /// Notes that were changed in two places.
    conflicts {
        /// Lists the notes that were changed in two places: copies of sync services, and conflict markers of git.
        CONFLICTS = GET "/api/conflicts", () => ConflictsView, Owner: |a| crate::vault::notes::conflicts(a.role);

        /// Returns the difference between the two sides of a conflict.
        DIFFERENCE = GET "/api/conflicts/difference", Query<ConflictParams> => ConflictView, Owner:
            crate::vault::notes::conflict;

        /// Resolves a conflict: keeps one side, or both. Answers when searches reflect it.
        KEEP = POST "/api/conflicts/keep", JsonBody<KeepParams> => ConflictResolved, Owner: crate::vault::notes::keep;
    }

    /// Agents and their access.
    agents {
        /// Lists all agents.
        LIST = GET "/api/agents", () => AgentsView, Owner: |a| crate::access::agents::list(a.role);

        /// Creates an agent: its page `agents/<slug>/agent.md`, and a token that is shown only once.
        ADD = POST "/api/agents", JsonBody<AgentParams> => AgentWithToken, Owner: crate::access::agents::add;

        /// Shows what an agent with these rules would see: how many notes, and which private ones never.
        PREVIEW = POST "/api/agent-preview", JsonBody<AgentRules> => AgentPreview, Owner: crate::access::agents::preview;

        /// Returns an agent, and what it may read.
        SHOW = GET "/api/agents/{slug}", () => AgentView, Owner: |a| crate::access::agents::view(a.role, a.name);

        /// Changes the rules on an agent's page; absent fields stay unchanged.
        CHANGE = PATCH "/api/agents/{slug}", JsonBody<AgentRules> => AgentView, Owner:
            |a| crate::access::agents::change(a.role, a.name, &a.params);

        /// Returns the state of the librarian of an agent: whether it reads the traces of the agent, and its progress.
        LIBRARIAN = GET "/api/agents/{slug}/librarian", () => LibrarianView, Owner: |a| a.app.extraction.librarian_view(a.role, a.name);

        /// Switches the librarian of an agent on or off, sets its tasks, or processes waiting traces now. Absent fields stay unchanged.
        CHANGE_LIBRARIAN = PATCH "/api/agents/{slug}/librarian", JsonBody<LibrarianParams> => LibrarianView, Owner:
            |a| a.app.change_librarian(a.role, a.name, &a.params);

        /// Removes an agent: its token becomes invalid, and its page is moved to `.trash/`.
        REMOVE = DELETE "/api/agents/{slug}", () => Removed, Owner: |a| crate::access::agents::remove(a.role, a.name);

        /// Replaces an agent's token with a new one.
        ROTATE = POST "/api/agents/{slug}/rotate", JsonBody<RotateParams> => AgentWithToken, Owner:
            |a| crate::access::agents::rotate(a.role, a.name, a.params);

        /// Explains whether an agent sees a note, and why.
        EXPLAIN = GET "/api/agents/{slug}/explain", Query<ExplainParams> => Explained, Owner:
            |a| crate::access::agents::explain(a.role, a.name, &a.params.what);

        /// Lists the requests of an agent, and the places that they returned, even if the agent was removed.
        LOG = GET "/api/agents/{slug}/log", Query<LogParams> => LogView, Owner: |a| crate::access::agents::log(a.role, a.name, &a.params);

        /// Lists agents in the format of Osaurus: all for the owner, for an agent only itself.
        LISTED = GET "/agents", () => ListedAgents, Viewer: |a| crate::access::agents::listed(a.role, crate::memory::entries::count);
    }

    /// Imports from other programs.
    import {
        /// Accepts a part of an import: events and notes of another program. When it answers, they are safe on disk; a moment later they are
        /// in their files. Each is imported once, however often it is sent.
        IMPORT = POST "/api/import", JsonBody<ImportParams> => ImportTaken, Owner: |a| a.app.import(a.role, a.params);
    }

    /// An agent's own memory.
    memory {
        /// Finds passages of the agent's own memory by their words, their meaning, or both.
        SEARCH = POST "/api/memory/search", JsonBody<MemorySearchParams> => SearchResponse, MemoryWriter:
            crate::memory::agent::search;

        /// Stores what would be lost when a conversation is shortened: lines are appended to the agent's memory of the day.
        FLUSH = POST "/api/memory/flush", JsonBody<MemoryFlushParams> => MemoryChange, MemoryWriter:
            crate::memory::agent::flush;

        /// Returns a passage, lines or a whole file of the agent's own memory.
        GET = POST "/api/memory/get", JsonBody<MemoryGetParams> => MemoryText, MemoryWriter: crate::memory::agent::get;

        /// Appends a text to a file of the agent's own memory, or replaces the text of the file. Answers when searches can find it.
        SAVE = POST "/api/memory/save", JsonBody<MemorySaveParams> => MemoryChange, MemoryWriter:
            crate::memory::agent::save;

        /// Deletes a text from a file of the agent's own memory, or the file. Answers when searches no longer find it.
        DELETE = POST "/api/memory/delete", JsonBody<MemoryDeleteParams> => MemoryChange, MemoryWriter:
            crate::memory::agent::delete;

        /// Forgets what a description names, if it is unambiguous; otherwise returns candidates.
        FORGET = POST "/api/memory/forget", JsonBody<MemoryForgetParams> => MemoryForgotten, MemoryWriter:
            crate::memory::agent::forget;

        /// Undoes a change that the agent made to its own memory. Answers when the index agrees.
        RESTORE = POST "/api/memory/restore", JsonBody<MemoryRestoreParams> => MemoryChange, MemoryWriter:
            crate::memory::agent::restore;
    }

    /// Traces of the work of agents.
    traces {
        /// Stores an event of an agent's work: an agent its own, the owner for the agent in `agent_name`. When it answers, the event is
        /// safe on disk, without recognisable secrets. A repeated `id` is stored once.
        KEEP_TRACE = POST "/api/trace", JsonBody<TraceParams> => TraceStored, Viewer [large]: crate::memory::traces::keep;

        /// Lists the events of an agent's work, newest first, for that agent and the owner. For others this agent does not exist.
        LIST_TRACES = GET "/api/agents/{slug}/trace", Query<TracesParams> => TracesView, Viewer:
            |a| crate::memory::traces::list(a.role, a.name, &a.params);
    }

    /// Captured events.
    capture {
        /// Accepts turns of a conversation, in the format of Osaurus. A repeated turn counts once.
        INGEST = POST "/memory/ingest", JsonBody<TurnsParams> => TurnsIngested, EventSender: |a| a.app.ingest(a.role, &a.params);

        /// Returns what is captured.
        SETTINGS = GET "/api/user-memory/settings", () => CaptureSettings, Owner: |a| Ok(crate::memory::capture::settings(a.role));

        /// Changes what is captured from now on, in `memory.toml`. Absent fields stay unchanged.
        SET_SETTINGS = PUT "/api/user-memory/settings", JsonBody<CaptureSettings> => CaptureSettings, Owner:
            crate::memory::capture::set_settings;
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

        /// Lists passages, newest notes first.
        BROWSE = GET "/browse", Query<Browsing> => Page, Viewer: |a| browse(a.role, a.params);

        /// The collections, by name.
        COLLECTIONS = GET "/collections", () => NamedCollections, Viewer: |a| collections(a.role);

        /// Embeds `text`, or keeps `content` as `/ingest` does.
        EMBED = POST "/embed", JsonBody<Embed> => EmbedAnswer, Viewer: |a| embed(a.role, a.params);

        /// Saves a text: for the owner as a note, for an agent in its own memory. Answers when searches can find it.
        INGEST = POST "/ingest", JsonBody<Ingest> => Saved, Viewer: |a| keep(a.role, &a.params.params()?);

        /// Deletes the passage or note with a hash; for an agent, a passage of its own memory. Answers when searches no longer find it.
        DELETE_CHUNK = POST "/delete-chunk", JsonBody<Named> => Removed, Viewer: |a| drop_chunk(a.role, a.params);
    }
}

/// State of the vault and its index; for an agent, what it may read.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum AnyStatus {
    /// For the owner.
    Whole(Box<Status>),
    /// For an agent.
    Agents(AgentStatus),
}

/// All queues; what is suggested for notes, and what may no longer be true, is of no one memory, and of no one source.
fn review(a: Asked<'_, Owner, ReviewParams>) -> Result<ReviewView, RequestError> {
    let is_all = a.params.agent.is_none() && a.params.source.is_none();
    let suggestions = if is_all { crate::vault::notes::suggestions(a.role)? } else { Vec::new() };
    let checks = if is_all { crate::memory::checks::due(a.role)? } else { Vec::new() };
    Ok(ReviewView { suggestions, checks, ..crate::memory::entries::review(a.role, &a.params)? })
}

fn status(a: Asked<'_, Reader, ()>) -> Result<AnyStatus, RequestError> {
    match a.role.owner() {
        Some(owner) => a.app.status(&owner).map(|status| AnyStatus::Whole(Box::new(status))),
        None => crate::vault::notes::agent_status(a.role).map(AnyStatus::Agents),
    }
}

fn agent_search(a: Asked<'_, Viewer, AgentSearchParams>) -> Result<AgentFound, RequestError> {
    let AgentSearchParams { q, agent_name, limit, collection, timeout_ms, fresh } = a.params;
    let (collection, fresh) = (collection.filter(|name| !name.is_empty()), wants_fresh(fresh, a.is_local));
    let query = SearchQuery { q, limit, collection, timeout_ms, fresh, ..SearchQuery::default() };
    let viewer = a.role.as_agent(agent_name.as_deref())?;
    let agent = viewer.agent().unwrap_or_default().to_owned();
    Ok(AgentFound { response: crate::vault::notes::search(&viewer, &query)?, agent })
}
