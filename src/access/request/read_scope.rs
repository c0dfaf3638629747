//! What a request sees: the files of one state of the index, and how much of them; a line of a file, and what was derived from others; and by whose
//! word at most something is known that was learned from a note. Every read goes through one.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use super::{Budget, Request, RequestError, Viewer, Workspace, rfc3339};
use crate::access::rules::{Policy, Principal, Scope, Subject, Turn, is_agents, may_read};
use crate::base::config::AgentLimits;
use crate::base::path::VaultPath;
use crate::index::engine::{ChunkText, EngineError, FileEntry, FileSet, FileTable, Reader};
use crate::index::search::{Visible, has_by_itself};
use crate::models::ModelAsker;
use crate::serve::wire::{ChunkView, passage_citation, percent_encode};
use crate::text::derive::entries::{TrustLevel, is_trace_of, source_path};
use crate::text::derive::{ChunkId, Label, target_name};
use crate::text::note::Note;
use crate::vault::attachments::page_of;
use crate::vault::disk::{ReadError, Source};

/// What a request sees of one state of the index.
#[derive(Clone)]
pub struct ReadScope {
    pub(super) workspace: Arc<Workspace>,
    pub(super) reader: Arc<dyn Reader>,
    pub(super) visible: Visible,
    pub(super) limits: Option<AgentLimits>,
    pub(super) turn: Turn,
    /// Whether it is told nothing of what it does not see.
    is_agents: bool,
    /// For whom the answers of a chat model are remembered.
    pub(super) model_asker: Option<ModelAsker>,
}

impl ReadScope {
    /// The vault.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The state of the index. What it says of files that are not seen is for the person alone.
    pub fn reader(&self) -> &dyn Reader {
        self.reader.as_ref()
    }

    /// Whether a file is seen.
    pub fn has(&self, file: &FileEntry) -> bool {
        self.visible.has(file)
    }

    /// The files that are seen, as a set; `None` for all.
    pub(crate) fn visible(&self) -> Option<&FileSet> {
        self.visible.set()
    }

    /// How many results are given, of those that are asked for.
    pub fn results(&self, asked: usize) -> usize {
        self.limits.map_or(asked, |limits| asked.min(limits.max_results))
    }

    /// How much of notes is given.
    pub(crate) fn room(&self) -> Budget {
        Budget::of(self.limits, 1)
    }

    /// Until when it is waited for.
    pub fn turn(&self) -> &Turn {
        &self.turn
    }

    /// The files that are seen, in no particular order.
    pub fn files(&self) -> impl Iterator<Item = &Arc<FileEntry>> {
        self.reader.files().iter().filter(|file| self.visible.has(file))
    }

    /// The file at a path, if it is seen; differences of Unicode normalisation do not count.
    pub fn file(&self, path: &str) -> Option<&Arc<FileEntry>> {
        let files = self.reader.files();
        let seen = |file: &&Arc<FileEntry>| self.visible.has(file);
        // Neither case nor normalisation counts for a name, so that only those of this name have to be compared.
        let of_name = || {
            let document = VaultPath::new(path).ok().filter(VaultPath::is_document);
            let name = document.as_ref().map_or_else(|| target_name(path), VaultPath::stem);
            let called = files.facets().labelled(Label::of_name(name)?);
            called.iter().filter_map(|id| files.get(id)).find(|file| seen(file) && file.path.same_as(path))
        };
        files.at(path).filter(seen).or_else(of_name)
    }

    /// Ends what nobody waits for any more.
    ///
    /// # Errors
    /// When nobody does.
    pub fn go_on(&self) -> Result<(), RequestError> {
        if self.turn.is_over() {
            return Err(RequestError::unavailable("the answer took too long", "ask for less"));
        }
        Ok(())
    }

    /// Whether the answer is an agent's, who is told nothing of what it does not see.
    pub fn is_agents(&self) -> bool {
        self.is_agents
    }

    /// Embedded chunks, and those that have something to embed.
    pub fn embedded(&self) -> (usize, usize) {
        self.reader.embedded(self.visible.set())
    }

    /// Hides from an agent what has changed since it was indexed.
    pub(super) fn settle(&mut self) -> Result<(), RequestError> {
        if !self.is_agents() {
            return Ok(());
        }
        let mut changed = Vec::new();
        for file in self.files() {
            self.go_on()?;
            if !self.is_as_indexed(file) {
                changed.push(Arc::clone(file));
            }
        }
        changed.iter().for_each(|file| self.visible.hide(file));
        Ok(())
    }

    /// Whether a file, and what it was made of, is on disk as it was indexed.
    pub fn is_as_indexed(&self, file: &FileEntry) -> bool {
        with_sources(self.reader.files(), file).into_iter().all(|file| self.workspace.has_stamp(file))
    }

    /// Whether a file may be given: to an agent only as it was indexed.
    pub fn gives(&self, file: &FileEntry) -> bool {
        !self.is_agents() || self.is_as_indexed(file)
    }

    /// A chunk of a file as it is answered.
    ///
    /// # Errors
    /// When the catalog is damaged.
    pub fn view(&self, file: &FileEntry, chunk: ChunkText) -> Result<ChunkView, EngineError> {
        chunk_view(self.reader(), file, chunk, self.obsidian_url(&file.path))
    }

    /// Opens a note in Obsidian. Agents are not told where the vault is.
    pub fn obsidian_url(&self, path: &VaultPath) -> Option<String> {
        let on_disk = self.workspace.on_disk(path);
        let place = percent_encode(&on_disk.to_string_lossy());
        (!self.is_agents()).then(|| format!("obsidian://open?path={place}"))
    }

    /// The chunk with a name, as it is answered.
    ///
    /// # Errors
    /// When the name is not one, or no chunk that is seen has it.
    pub fn chunk(&self, hash: &str) -> Result<ChunkView, RequestError> {
        self.go_on()?;
        let id: ChunkId =
            hash.parse().map_err(|error| RequestError::invalid(format!("`{hash}` is not a hash: {error}")))?;
        match self.chunk_of(id)?.filter(|(file, _)| self.gives(file)) {
            Some((file, chunk)) => self.view(file, chunk).map_err(|error| self.workspace.damaged(error)),
            None => Err(no_chunk(hash)),
        }
    }

    /// The chunk with a name, and its note, where that is seen.
    ///
    /// # Errors
    /// When the catalog is damaged.
    pub fn chunk_of(&self, id: ChunkId) -> Result<Option<(&FileEntry, ChunkText)>, RequestError> {
        let reader = &self.reader;
        let mut rows = reader.rows_of(id).map_err(|error| self.workspace.damaged(error))?;
        if rows.is_empty() && self.is_agents() {
            // Any other: what is not there takes as long as what is hidden (`benches/hidden`).
            rows.extend(reader.files().iter().find_map(|file| file.chunks.first()).map(|chunk| chunk.row));
        }
        for row in rows {
            let chunk = match reader.chunk(row) {
                Ok(Some(chunk)) if chunk.id == id => chunk,
                Ok(_) => continue,
                // An agent is not told that what it may not see is damaged.
                Err(error) if error.is_damage() && self.is_agents() => {
                    self.workspace.damaged(error);
                    continue;
                }
                Err(error) => return Err(self.workspace.damaged(error)),
            };
            if let Some(file) = reader.files().get(chunk.file).filter(|file| self.visible.has(file)) {
                return Ok(Some((file, chunk)));
            }
        }
        Ok(None)
    }

    /// The note with a name, which is of its path and its content, where it is seen.
    pub fn note_of(&self, id: ChunkId) -> Option<&FileEntry> {
        self.files().find(|file| ChunkId::of_note(&file.path, &file.hash) == id).map(AsRef::as_ref)
    }
}

/// A chunk of a file as it is answered, with what opens it in Obsidian.
///
/// # Errors
/// When the frontmatter cannot be read.
pub(crate) fn chunk_view(
    reader: &dyn Reader,
    file: &FileEntry,
    chunk: ChunkText,
    obsidian_url: Option<String>,
) -> Result<ChunkView, EngineError> {
    let metadata = reader.metadata(file.id)?;
    let metadata = metadata.and_then(|metadata| serde_json::from_str(&metadata).ok());
    let (line_start, line_end) = chunk.lines;
    let page = page_of(file.path.as_str(), &chunk.heading_path);
    Ok(ChunkView {
        hash: chunk.id.to_string(),
        collection: file.path.collection().to_owned(),
        path: file.path.to_string(),
        title: file.title.clone(),
        heading_path: chunk.heading_path,
        content: chunk.text,
        line_start,
        line_end,
        page,
        citation: passage_citation(file.path.as_str(), page, line_start, line_end),
        obsidian_url,
        tags: file.tags.clone(),
        metadata: metadata.unwrap_or(Value::Object(serde_json::Map::new())),
        created_at: rfc3339(file.created_ms),
        updated_at: rfc3339(file.updated_ms),
    })
}

/// A part of a whole, 0 to 1; all of nothing is 1.
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part.min(whole) as f64 / whole as f64 }
}

/// Says that a hash names nothing.
pub(crate) fn no_chunk(hash: &str) -> RequestError {
    RequestError::not_found(format!("no passage or note has the hash {hash}; a hash changes with the text"))
}

/// A note that is seen, as it is on disk.
///
/// # Errors
/// When no note that is seen has the path, or it cannot be read.
pub(crate) fn read_seen<'a>(scope: &'a ReadScope, path: &str) -> Result<(&'a Arc<FileEntry>, Source), RequestError> {
    let path = VaultPath::new(path).map_err(|error| RequestError::invalid(format!("`path` names no note: {error}")))?;
    let absent = || RequestError::no_note(&path);
    scope.go_on()?;
    let file = scope.file(path.as_str()).ok_or_else(absent)?;
    if !scope.gives(file) {
        return Err(absent());
    }
    let source = match scope.workspace().source(&file.path) {
        Ok(source) => source,
        Err(ReadError::Gone) => return Err(absent()),
        Err(error @ ReadError::Changing) => {
            return Err(RequestError::unavailable(format!("{path}: {error}"), "try again in a moment"));
        }
        Err(ReadError::Unfit(reason)) => return Err(RequestError::internal(format!("{path}: {reason}"))),
    };
    // The file may say since it was indexed that it is private.
    if scope.is_agents() && source.stamp != file.stamp {
        return Err(absent());
    }
    Ok((file, source))
}

impl Request {
    /// What rights show of a state of the index.
    pub(super) fn scope_of(&self, reader: Arc<dyn Reader>, rights: &Scope) -> ReadScope {
        let model_asker = match &self.principal {
            Principal::Owner(_) => Some(ModelAsker::Person),
            // No agent has a name with a slash.
            Principal::Member(member) => Some(ModelAsker::Agent(format!("person/{}", member.name))),
            Principal::Agent(caller) if !self.is_tried => Some(ModelAsker::Agent(caller.slug.clone())),
            // An agent does not learn by how soon it is answered what the person has tried in its place.
            Principal::Agent(_) | Principal::Capture(_) => None,
        };
        ReadScope {
            workspace: Arc::clone(&self.workspace),
            visible: Visible::of(rights, reader.files()),
            reader,
            limits: self.limits,
            turn: self.turn.clone(),
            is_agents: !matches!(self.principal, Principal::Owner(_)),
            model_asker,
        }
    }

    /// Whether `[scope]` lets it read in the session in which it is made.
    pub(super) fn is_of_open_session(&self) -> bool {
        let Principal::Agent(caller) = &self.principal else { return true };
        let scope = &self.workspace.config.scope;
        match caller.policy.session_headers {
            false => may_read(scope, &caller.session),
            // Who says itself where it talks has to say it.
            true => caller.claimed.chat_type.is_some() && may_read(scope, &caller.claimed),
        }
    }

    /// What may be read of the person's memory.
    pub(super) fn reading_rights(&self) -> Scope {
        match &self.principal {
            Principal::Owner(_) => Scope::Everything,
            Principal::Capture(_) => Scope::Nothing,
            Principal::Member(member) => {
                member.policy.grant.clone().map_or(Scope::Nothing, |grant| Scope::Given(Arc::new(grant)))
            }
            Principal::Agent(caller) if self.is_of_open_session() && !self.is_over(&caller.policy) => {
                caller.policy.grant.clone().map_or(Scope::Nothing, |grant| Scope::Given(Arc::new(grant)))
            }
            Principal::Agent(_) => Scope::Nothing,
        }
    }

    /// What an agent may read of the agents' own memory: its own, and with `shared` that of those who share theirs with it and have its in
    /// return. Nobody else has any.
    pub(super) fn own_rights(&self, shared: bool) -> Scope {
        let Principal::Agent(caller) = &self.principal else { return Scope::Nothing };
        let policy = &caller.policy;
        if !policy.problems.is_empty() || self.is_over(policy) || !self.is_of_open_session() {
            return Scope::Nothing;
        }
        let shares = |other: &String| {
            let theirs = self.workspace.agents.policy(other);
            *other != caller.slug && theirs.is_some_and(|theirs| theirs.shares_memory_with.contains(&caller.slug))
        };
        let others = policy.shares_memory_with.iter().filter(|other| shared && shares(other)).cloned();
        Scope::Own {
            slugs: std::iter::once(caller.slug.clone()).chain(others).collect(),
            given: policy.grant.clone().map(Arc::new),
        }
    }

    fn is_over(&self, policy: &Policy) -> bool {
        policy.is_expired(self.at)
    }

    /// Why an agent may read nothing at all of the person's memory, if so.
    pub(super) fn refusal(&self) -> Option<String> {
        let Principal::Agent(caller) = &self.principal else { return None };
        let policy = &caller.policy;
        if self.is_over(policy) {
            return Some("no such agent".into());
        }
        if !self.is_of_open_session() {
            return Some("`[scope]` in memory.toml lets it read nothing in this session".into());
        }
        let problems = policy.problems.join("; ");
        match (&policy.grant, problems.is_empty()) {
            (Some(_), _) => None,
            (None, true) => Some("`can_read_user_memory` is not true".into()),
            (None, false) => Some(format!("its agent.md has errors: {problems}")),
        }
    }
}

/// What a request may see of the owner's memory and, for an agent, of its own.
///
/// A derived line is seen where all of its sources are.
pub(crate) struct Visibility {
    /// Who asks.
    pub(crate) viewer: Viewer,
    /// The owner's memory.
    pub(crate) given: ReadScope,
    /// An agent's own memory, without what others share with it.
    pub(crate) own: Option<ReadScope>,
}

impl Visibility {
    /// # Errors
    /// When the index is not open yet.
    pub(crate) fn of(viewer: &Viewer) -> Result<Self, RequestError> {
        let given = viewer.read_scope()?;
        // What others share with it is found by the tools of its memory alone.
        let own = viewer.agent().map(|_| viewer.seen_now(&viewer.own_rights(false))).transpose()?;
        Ok(Self { viewer: viewer.clone(), given, own })
    }

    /// Both, the owner's first.
    pub(crate) fn scopes(&self) -> impl Iterator<Item = &ReadScope> {
        std::iter::once(&self.given).chain(&self.own)
    }

    /// Whether an agent asks, who must not distinguish a hidden place from a missing one.
    pub(crate) fn is_agents(&self) -> bool {
        self.given.is_agents()
    }

    /// The file at a path, where it is seen as a whole and, for an agent, is on disk as it was indexed; with the scope that has it.
    pub(crate) fn file(&self, path: &str) -> Option<(&ReadScope, &Arc<FileEntry>)> {
        self.scopes().find_map(|scope| Some((scope, scope.file(path).filter(|file| scope.gives(file))?)))
    }

    /// The file at a path, where it is seen by its own place, tags and frontmatter: then each of its lines is seen where the line's own
    /// sources are.
    pub(crate) fn file_by_itself(&self, path: &str) -> Option<&Arc<FileEntry>> {
        let is_own = is_agents(path);
        let scope = self.own.as_ref().filter(|_| is_own).unwrap_or(&self.given);
        let files = scope.reader().files();
        let rights = || if is_own { self.viewer.own_rights(false) } else { self.viewer.reading_rights() };
        files.at(path).filter(|file| !self.is_agents() || has_by_itself(&rights(), files, file.id))
    }

    /// Whether a place that something was derived from is seen: `notes/a.md#L3`, or a trace that the agent sent itself.
    pub(crate) fn sees_source(&self, place: &str) -> bool {
        self.sees_source_where(place, |path| self.file(path).is_some())
    }

    /// The same where `is_seen` says of a path whether it is.
    pub(crate) fn sees_source_where(&self, place: &str, is_seen: impl FnOnce(&str) -> bool) -> bool {
        let is_own = || self.viewer.agent().is_some_and(|own| is_trace_of(place, own));
        !self.is_agents() || is_own() || is_seen(source_path(place))
    }

    /// Whether a line that was derived from these places is seen: where all of them are.
    pub(crate) fn sees_derived(&self, sources: &[String]) -> bool {
        sources.iter().all(|source| self.sees_source(source))
    }

    /// Whether a history of facts is seen, by its place and its frontmatter: it is in no index.
    pub(crate) fn sees_history(&self, path: &VaultPath) -> bool {
        let workspace = self.viewer.workspace();
        let grant = match self.viewer.principal() {
            Principal::Owner(_) => return true,
            Principal::Agent(caller) => &caller.policy.grant,
            Principal::Member(member) => &member.policy.grant,
            Principal::Capture(_) => return false,
        };
        if !workspace.on_disk(path).exists() {
            return true;
        }
        let Ok(source) = workspace.source(path) else { return false };
        let note = Note::parse(head(&source.text), path.stem());
        let is_private = workspace.is_private(path);
        let (private, doubtful) = (note.is_private() || is_private, if is_private { &[][..] } else { &note.doubtful });
        let subject = Subject { path: path.as_str(), tags: &note.tags, doubtful, private };
        match (is_agents(path.as_str()), grant) {
            (true, _) => !private,
            (false, grant) => grant.as_ref().is_some_and(|grant| grant.refusal(&subject).is_none()),
        }
    }
}

/// Maximum length of the head in which a history without frontmatter is looked at, in characters.
const MAX_HEAD_CHARS: usize = 4096;

/// The frontmatter of a history, or its first lines: the rest is the program's.
fn head(text: &str) -> &str {
    let closed = text.find("\n---\n").filter(|_| text.starts_with("---")).map(|at| at + "\n---\n".len());
    let first = || text.char_indices().map(|(at, _)| at).nth(MAX_HEAD_CHARS).unwrap_or(text.len());
    &text[..closed.unwrap_or_else(first)]
}

/// What a note says of itself that is of others, and how far it is trusted then.
const SAID: [(&str, TrustLevel); 4] = [
    ("web", TrustLevel::Web),
    ("untrusted", TrustLevel::Web),
    ("tool", TrustLevel::Tool),
    ("agent", TrustLevel::Agent),
];

/// Collections of what programs noted, in which nobody said anything, and how far each is trusted.
const NOTED: [(&str, TrustLevel); 5] = [
    ("bookmarks", TrustLevel::Web),
    ("snippets", TrustLevel::Tool),
    ("searches", TrustLevel::Tool),
    ("files", TrustLevel::Tool),
    ("agent-activity", TrustLevel::Tool),
];
/// Speakers of conversations that are no people and no models.
pub(crate) const SPEAKING_TOOLS: [&str; 3] = ["tool", "system", "function"];
/// Where the digests of days and weeks are.
const DIGESTS: [&str; 2] = ["summaries/days/", "summaries/weeks/"];

/// How far a place may be trusted, `notes/api.md#L12`: as the least trusted of its note and of all that this was made of. A document is of
/// others, and what a program captured of the web or of other programs. Of what is not indexed nothing is known against it.
///
/// Hidden notes count as well: nobody but the person is told.
pub(crate) fn trust_of_place(files: &FileTable, place: &str) -> TrustLevel {
    files.at(source_path(place)).map_or(TrustLevel::Person, |file| trust_of_note(files, file))
}

/// The same of a note. A digest says of what programs noted how much there is, and nothing of what it says.
pub(crate) fn trust_of_note(files: &FileTable, file: &FileEntry) -> TrustLevel {
    let is_digest = DIGESTS.iter().any(|folder| file.path.as_str().starts_with(folder));
    let trust = |file: &FileEntry| {
        let by_kind = if file.path.is_document() { TrustLevel::Web } else { TrustLevel::Person };
        said(file).or_else(|| captured(file).filter(|_| !is_digest)).unwrap_or(by_kind)
    };
    with_sources(files, file).into_iter().map(trust).min().unwrap_or(TrustLevel::Person)
}

/// Whether others may have put into a note what it says: it is of the web or of tools, was captured and nobody vouches for it, or a tool
/// speaks in it.
pub(super) fn may_be_planted(files: &FileTable, file: &FileEntry) -> bool {
    let by_tool = || SPEAKING_TOOLS.iter().any(|term| file.is_labelled(Label::of_speaker(term)));
    let is_captured = || file.is_labelled(Label::of_capture()) && said(file) != Some(TrustLevel::Person);
    trust_of_note(files, file) <= TrustLevel::Tool || is_captured() || by_tool()
}

/// A file, and all that it was made of, as far as that is indexed.
pub(crate) fn with_sources<'f>(files: &'f FileTable, file: &'f FileEntry) -> Vec<&'f FileEntry> {
    let (mut all, mut known) = (vec![file], HashSet::from([file.id]));
    let mut at = 0;
    while let Some(file) = all.get(at).copied() {
        let sources = file.sources.iter().filter_map(|source| files.at(source)).map(AsRef::as_ref);
        all.extend(sources.filter(|source| known.insert(source.id)));
        at += 1;
    }
    all
}

/// How far a file says that it is to be trusted.
fn said(file: &FileEntry) -> Option<TrustLevel> {
    let says = |value: &str| file.is_labelled(Label::of_property("trust", Some(value)));
    let less = SAID.into_iter().filter(|(word, _)| says(word)).map(|(_, trust)| trust).min();
    less.or_else(|| says("person").then_some(TrustLevel::Person))
}

/// How far what a program captured is trusted: a page of the web as such, wherever the person has moved it.
fn captured(file: &FileEntry) -> Option<TrustLevel> {
    let noted = || NOTED.into_iter().find(|(collection, _)| *collection == file.path.collection());
    if !file.is_labelled(Label::of_capture()) {
        return None;
    }
    match file.is_labelled(Label::of_property("url", None)) {
        true => Some(TrustLevel::Web),
        false => noted().map(|(_, trust)| trust),
    }
}
