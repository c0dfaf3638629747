//! The person lets agents in, sees what they may and did read, and takes it back.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::access::policy::{AgentRegistry, agent_file, agent_page, revised_page, session};
use crate::access::request::{Owner, ReadScope, RequestError, SeenByAgent, Viewer, now, rfc3339, within};
use crate::access::rules::{self as access, Caller, LIBRARIAN_OFF, LIBRARIAN_TASKS, Policy, Refusal, Session};
use crate::base::path::composed;
use crate::index::engine::FileEntry;
use crate::index::search::subject;
use crate::serve::wire::{
    AgentParams, AgentPreview, AgentRules, AgentView, AgentWithToken, AgentsView, Explained, LibrarianParams,
    ListedAgent, ListedAgents, LogParams, LogView, Removed, RotateParams,
};
use crate::text::note::Note;
use crate::vault::disk::{Action, slug};

/// Maximum length of an agent's name, in characters.
const MAX_NAME_CHARS: usize = 60;
/// Maximum number of places at which a path may end, in what is to be explained.
const MAX_PATH_ENDS: usize = 8;
/// Private notes that are named where the person is shown what a new agent would see.
const PREVIEW_PATHS: usize = 50;
/// Entries of the log that are given when nobody says how many.
const LOG_ENTRIES: usize = 50;

/// Makes an agent: its page, and a token that is shown this once.
///
/// # Errors
/// When there is one of that name, a rule makes no sense, or the disk refuses.
pub fn add(owner: &Owner, params: &AgentParams) -> Result<AgentWithToken, RequestError> {
    let name = params.name.trim();
    let slug = slug(name);
    if name.is_empty() || name.chars().count() > MAX_NAME_CHARS || name.chars().any(char::is_control) {
        let message = format!("`name` is {name:?}; it takes one line of up to {MAX_NAME_CHARS} characters");
        return Err(RequestError::invalid(message));
    }
    let path =
        agent_file(&slug).ok_or_else(|| RequestError::invalid("`name` gives no folder name; use letters or digits"))?;
    let page = agent_page(name, &now(), &params.rules.frontmatter());
    makes_sense(&page)?;
    if agents(owner).page(&slug).is_some() {
        let message = format!("the agent `{slug}` already exists");
        let hint =
            format!("`vault agent rotate {slug}` makes a new token, `vault agent allow {slug}` sets what it may read");
        return Err(RequestError::conflict(message).hint(hint));
    }
    let inherits = left_behind(owner, &slug);
    // A token of an agent of that name that is gone must not come to life with the page.
    agents(owner).take_token(&slug)?;
    owner.workspace().files()?.create(&path, &page)?;
    let session = RotateParams { chat_type: params.chat_type.clone(), channel: params.channel.clone() }.session();
    let token = agents(owner).give_token(&slug, Some(session.unwrap_or_else(Session::direct)))?;
    owner.workspace().settled_in_time(&path);
    Ok(AgentWithToken { agent: view(owner, &slug)?, token: token.reveal().to_owned(), inherits })
}

/// The folders in which an earlier agent of a name left something: its memory, its traces.
fn left_behind(owner: &Owner, slug: &str) -> Vec<String> {
    let root = owner.workspace().home.root();
    let folders = [format!("agents/{slug}/"), format!("traces/{slug}/")].into_iter();
    let has_any = |folder: &String| {
        let mut entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        entries.any(|entry| entry.file_name() != "agent.md")
    };
    folders.filter(has_any).collect()
}

/// All agents.
///
/// # Errors
/// When the tokens cannot be read, or the index is not open yet.
pub fn list(owner: &Owner) -> Result<AgentsView, RequestError> {
    let slugs = agents(owner).slugs();
    Ok(AgentsView { agents: slugs.iter().map(|slug| view(owner, slug)).collect::<Result<_, _>>()? })
}

/// Agents, as other programs list them: all for the person, and for an agent itself, with as many entries as `count` says that it sees.
///
/// # Errors
/// When a page or a file of entries cannot be read.
pub fn listed(
    viewer: &Viewer,
    count: impl Fn(&Viewer, &str) -> Result<usize, RequestError>,
) -> Result<ListedAgents, RequestError> {
    let workspace = viewer.workspace();
    let slugs = match viewer.agent() {
        Some(own) => vec![own.to_owned()],
        None => workspace.agents.slugs(),
    };
    let one = |slug: String| -> Result<ListedAgent, RequestError> {
        let path = agent_file(&slug).ok_or_else(|| no_agent(&slug))?;
        let source = workspace.source(&path).map_err(|_| no_agent(&slug))?;
        let note = Note::parse(&source.text, &slug);
        let text = |key: &str| note.metadata.get(key).and_then(Value::as_str).map(str::to_owned);
        // When the person last touched the page is none of the agent's business.
        let updated = viewer.agent().is_none().then_some(source.stamp.mtime_ns / 1_000_000);
        Ok(ListedAgent {
            name: note.title.clone(),
            description: text("description").unwrap_or_default(),
            default_model: text("model"),
            is_built_in: false,
            memory_entry_count: count(viewer, &slug)?,
            created_at: note.created.map(Timestamp::as_millisecond).or(updated).map(rfc3339),
            updated_at: updated.map(rfc3339),
            id: slug,
        })
    };
    Ok(ListedAgents { agents: slugs.into_iter().map(one).collect::<Result<_, _>>()? })
}

/// An agent.
///
/// # Errors
/// When there is none of that name.
pub fn view(owner: &Owner, slug: &str) -> Result<AgentView, RequestError> {
    let policy = agents(owner).page(slug).ok_or_else(|| no_agent(slug))?;
    agents(owner).look_at_page(slug);
    let path = agent_file(slug).ok_or_else(|| no_agent(slug))?;
    let name = owner.workspace().source(&path).map(|source| Note::parse(&source.text, slug).title);
    let token = agents(owner).token_of(slug)?;
    let session = token.as_ref().map_or_else(Session::direct, session);
    let scope = owner.as_seen_by(caller(slug, session, &policy))?.given;
    let holds_notes = |name: &str| {
        let same = |file: &FileEntry| composed(file.path.collection()) == composed(name);
        name == "*" || (!access::is_agents(name) && scope.reader().files().iter().any(|file| same(file)))
    };
    let empty = policy.rules.collections.iter().filter(|name| !holds_notes(name));
    Ok(AgentView {
        slug: slug.to_owned(),
        name: name.unwrap_or_else(|_| slug.to_owned()),
        path: path.to_string(),
        can_read_user_memory: policy.rules.can_read_user_memory,
        collections: policy.rules.collections.clone(),
        exclude_tags: policy.rules.exclude_tags.clone(),
        paths: policy.rules.paths.clone(),
        write_mode: policy.write_mode,
        can_suggest: policy.can_suggest,
        write_collections: policy.write_collections.clone(),
        expires: policy.expires.map(|at| at.to_string()),
        expired: policy.is_expired(Timestamp::now()),
        token_since: token.as_ref().map(|token| token.created_at.to_string()),
        rights_since: token.as_ref().and_then(|token| token.given_since).map(|at| at.to_string()),
        chat_type: token.as_ref().and_then(|token| token.chat_type.clone()),
        channel: token.and_then(|token| token.channel),
        problems: policy.problems.clone(),
        empty_collections: empty.cloned().collect(),
        files: scope.files().count(),
        chunks: scope.files().map(|file| file.chunks.len()).sum(),
    })
}

/// What an agent with these rules would see, in a direct chat.
///
/// # Errors
/// When the index is not open yet.
pub(crate) fn preview(owner: &Owner, rules: &AgentRules) -> Result<AgentPreview, RequestError> {
    // No agent has this name.
    const NOBODY: &str = "-";
    let policy = Arc::new(agents(owner).policy_on(NOBODY, &agent_page(NOBODY, &now(), &rules.frontmatter())));
    let given = owner.as_seen_by(caller(NOBODY, Session::direct(), &policy))?.given;
    let all = owner.read_scope()?;
    let private: Vec<_> =
        all.files().filter(|file| file.private && !access::is_agents(file.path.collection())).collect();
    let private_paths = private.iter().take(PREVIEW_PATHS).map(|file| file.path.to_string()).collect();
    Ok(AgentPreview {
        files: given.files().count(),
        private: private.len(),
        private_paths,
        problems: policy.problems.clone(),
    })
}

/// Changes what an agent's page says. It counts when this returns.
///
/// # Errors
/// When there is no such agent, a rule makes no sense, the page is edited at this moment, or the disk refuses.
pub fn change(owner: &Owner, slug: &str, rules: &AgentRules) -> Result<AgentView, RequestError> {
    revise(owner, slug, &rules.frontmatter())?;
    view(owner, slug)
}

fn revise(owner: &Owner, slug: &str, rules: &Map<String, Value>) -> Result<(), RequestError> {
    let path = agent_file(slug).ok_or_else(|| no_agent(slug))?;
    let files = owner.workspace().files()?;
    let (bytes, hash) = files.read(&path)?.ok_or_else(|| no_agent(slug))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| RequestError::conflict(format!("`{path}` is not text; repair it by hand")))?;
    let revised = revised_page(&text, rules);
    // What was wrong before does not keep the person from taking back what was given.
    if policy_on(&text).problems.is_empty() {
        makes_sense(&revised)?;
    }
    files.replace(&path, hash, &revised, Action::Edit)?;
    agents(owner).look_at_page(slug);
    owner.workspace().settled_in_time(&path);
    Ok(())
}

/// Gives an agent a new token in place of the one it has. It is shown this once.
///
/// # Errors
/// When there is no such agent, or the disk refuses.
pub fn rotate(owner: &Owner, slug: &str, params: RotateParams) -> Result<AgentWithToken, RequestError> {
    agents(owner).page(slug).ok_or_else(|| no_agent(slug))?;
    let token = agents(owner).give_token(slug, params.session())?;
    Ok(AgentWithToken { agent: view(owner, slug)?, token: token.reveal().to_owned(), inherits: Vec::new() })
}

/// Removes an agent: its token counts no more from this moment, and its page goes to `.trash/`. What it remembered stays,
/// as does the log of what it read.
///
/// # Errors
/// When there is no such agent, or the disk refuses.
pub fn remove(owner: &Owner, slug: &str) -> Result<Removed, RequestError> {
    let path = agent_file(slug).ok_or_else(|| no_agent(slug))?;
    let had_token = agents(owner).take_token(slug)?;
    let files = owner.workspace().files()?;
    let checkpoint_id = match files.read(&path)? {
        Some((_, hash)) => {
            let id = files.trash(&path, hash, Action::Trash)?;
            owner.workspace().settled_in_time(&path);
            Some(id.to_string())
        }
        None if had_token => None,
        None => return Err(no_agent(slug)),
    };
    Ok(Removed { ok: true, checkpoint_id })
}

/// Whether an agent sees a note now, and why.
///
/// # Errors
/// When there is no such agent, note or chunk.
pub fn explain(owner: &Owner, slug: &str, what: &str) -> Result<Explained, RequestError> {
    let policy = agents(owner).page(slug).ok_or_else(|| no_agent(slug))?;
    let everything = owner.read_scope()?;
    let file = named_file(&everything, what)?;
    let token = agents(owner).token_of(slug)?;
    let session = token.as_ref().map_or_else(Session::direct, session);
    let SeenByAgent { given, own, session_is_open } = owner.as_seen_by(caller(slug, session, &policy))?;
    let mut because = Vec::new();
    if policy.is_expired(Timestamp::now()) {
        because.push("the agent has expired: `expires` is in the past".into());
    } else if !session_is_open {
        because.push("its token is bound to a session in which `[scope]` in memory.toml lets it read nothing".into());
    }
    because.extend(policy.problems.iter().map(|problem| format!("its page has an error: {problem}")));
    if own.has(file) {
        because.push("it is part of the memory of agents that this agent reads".into());
    } else if !given.has(file) {
        if !policy.rules.can_read_user_memory {
            because.push("`can_read_user_memory` is not true".into());
        }
        because.extend(hidden_by(&given, &policy, file));
    }
    if policy.session_headers {
        because.push("each request names its session; this answer is for a direct chat".into());
    }
    let seen = |scope: &ReadScope| scope.has(file) && scope.is_as_indexed(file);
    let visible = seen(&given) || seen(&own);
    let told = because.len() - usize::from(policy.session_headers);
    if visible && told == 0 {
        because.push("the rules on its page allow it".into());
    } else if !visible && told == 0 {
        because.push("it has changed and is not read again yet".into());
    }
    Ok(Explained { path: file.path.to_string(), visible, because })
}

/// The rule that hides a note, or one of those it was made of.
fn hidden_by(given: &ReadScope, policy: &Policy, file: &FileEntry) -> Vec<String> {
    let rule = |file: &FileEntry| {
        let private = file.private.then_some(Refusal::Private);
        policy.grant.as_ref().map_or(private, |grant| grant.refusal(&subject(file)))
    };
    if let Some(refusal) = rule(file) {
        return vec![refusal.to_string()];
    }
    let linked = given.reader().files().facets().linked().find(|names| names.contains(&file.id)).unwrap_or_default();
    let others = linked.iter().filter(|id| **id != file.id).filter_map(|id| given.reader().files().get(*id));
    if let Some((other, refusal)) = others.filter_map(|other| Some((other, rule(other)?))).next() {
        return vec![format!("the same file is `{}` (a hard link): {refusal}", other.path)];
    }
    let sources = file.sources.iter().filter_map(|source| match given.reader().files().at(source) {
        None => Some(format!("it was made from `{source}`, which does not exist")),
        Some(source) if given.has(source) => None,
        Some(source) => {
            let why =
                rule(source).map_or_else(|| "the agent does not see that note".into(), |refusal| refusal.to_string());
            Some(format!("it was made from `{}`: {why}", source.path))
        }
    });
    sources.collect()
}

/// The note with a path, or that of the chunk with a hash.
fn named_file<'a>(scope: &'a ReadScope, what: &str) -> Result<&'a FileEntry, RequestError> {
    // A path may have a `#` of its own before that of the lines.
    let ends = std::iter::once(what.len()).chain(what.rmatch_indices('#').map(|(at, _)| at));
    if let Some(file) = ends.take(MAX_PATH_ENDS).find_map(|end| scope.file(&what[..end])) {
        return Ok(file);
    }
    let found = what.parse().ok().map(|id| scope.chunk_of(id)).transpose()?.flatten();
    found.map(|(file, _)| file).ok_or_else(|| RequestError::no_note(what))
}

/// What an agent asked and which places it was given, newest first.
///
/// # Errors
/// When there never was such an agent, or the log cannot be read.
pub fn log(owner: &Owner, slug: &str, params: &LogParams) -> Result<LogView, RequestError> {
    let limit = within("limit", params.limit, 1..=10_000)?.unwrap_or(LOG_ENTRIES);
    agent_file(slug).ok_or_else(|| no_agent(slug))?;
    let entries = agents(owner).log().entries(slug, limit)?;
    if entries.is_empty() && agents(owner).page(slug).is_none() {
        return Err(no_agent(slug));
    }
    Ok(LogView { entries })
}

fn agents(owner: &Owner) -> &AgentRegistry {
    &owner.workspace().agents
}

/// An agent that asks in a session, and says that it is a direct chat where it is to say so.
fn caller(slug: &str, session: Session, policy: &Arc<Policy>) -> Caller {
    Caller { claimed: Session::direct(), ..Caller::new(slug, session, Arc::clone(policy)) }
}

/// That there is no agent of that name, for the person alone; a title is not the name.
pub(crate) fn no_agent(name: &str) -> RequestError {
    let folder = slug(name);
    let meant =
        if folder == name { String::new() } else { format!("use the name of its folder, perhaps `{folder}`; ") };
    let hint = format!("{meant}`vault agent list` lists all agents");
    RequestError::not_found(format!("there is no agent `{name}`")).hint(hint)
}

fn policy_on(page: &str) -> Policy {
    Policy::parse(&Note::parse(page, "agent").metadata)
}

/// Refuses a page that would deny all because of what was asked for.
fn makes_sense(page: &str) -> Result<(), RequestError> {
    match policy_on(page).problems.first() {
        None => Ok(()),
        Some(problem) => Err(RequestError::invalid(problem.clone())),
    }
}

/// Changes how the librarian of an agent is to work, on its page; what is not named stays.
///
/// # Errors
/// When there is no such agent, or the disk refuses.
pub(crate) fn set_librarian(owner: &Owner, slug: &str, params: &LibrarianParams) -> Result<(), RequestError> {
    let policy = agents(owner).page(slug).ok_or_else(|| no_agent(slug))?;
    let mut set = Map::new();
    if let Some(enabled) = params.enabled.filter(|enabled| *enabled != policy.librarian) {
        set.insert("librarian".to_owned(), enabled.into());
    }
    let mut off = policy.librarian_off.clone();
    let known = params.tasks.iter().flatten().filter(|(task, _)| LIBRARIAN_TASKS.contains(&task.as_str()));
    for (task, does) in known {
        off.retain(|other| other != task);
        if !does {
            off.push(task.clone());
        }
    }
    if off != policy.librarian_off {
        set.insert(LIBRARIAN_OFF.to_owned(), off.into());
    }
    if set.is_empty() { Ok(()) } else { revise(owner, slug, &set) }
}
