//! What earlier versions kept in files of their own is taken over once: in one transaction, and then the file is removed. A
//! kill in between leaves a file whose content was taken over, and that is told by its hash.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use blake3::Hash;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde::Deserialize;

use super::agents::AgentRow;
use super::carried;
use super::damage::aside;
use super::error::StateError;
use super::imported;
use super::key::{DigestKey, KEY, keys_of};
use super::read_log;
use super::store::State;
use super::tokens::TokenRow;
use super::tombstones;
use crate::fs::{Context, crash};

const CAPTURE_TOKENS: &str = "tokens.json";
const AGENTS: &str = "agents.json";
/// The folder of a log for each agent, `SLUG.jsonl`, and what was put aside of it before, `SLUG.jsonl.1`.
const READ_LOG: &str = "agents";
/// What it is called when it was taken over, and is about to be removed.
const READ_LOG_TAKEN: &str = "agents.taken-over";

/// Whether there is anything to be taken over.
pub(super) fn is_there(folder: &Path) -> bool {
    [CAPTURE_TOKENS, AGENTS, READ_LOG, tombstones::BROUGHT, imported::BROUGHT, carried::CARRIED]
        .iter()
        .any(|name| folder.join(name).exists())
}

/// Takes over what there is.
pub(super) fn take_over(state: &State, connection: &mut Connection) -> Result<(), StateError> {
    take(state, connection, CAPTURE_TOKENS, capture_tokens)?;
    take(state, connection, AGENTS, agents)?;
    // Of an archive, and not of an earlier version.
    take(state, connection, tombstones::BROUGHT, forgotten)?;
    remove_keys_beside(state)?;
    take(state, connection, imported::BROUGHT, |_, transaction, bytes| Ok(imported::take_over(transaction, bytes)??))?;
    take(state, connection, carried::CARRIED, |_, transaction, bytes| Ok(carried::take_over(transaction, bytes)??))?;
    take_log(state, connection)
}

/// Why a file is not taken over.
enum Left {
    /// It is not as the earlier versions wrote it.
    Unread(String),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Left {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<serde_json::Error> for Left {
    fn from(error: serde_json::Error) -> Self {
        Self::Unread(error.to_string())
    }
}

fn take(
    state: &State,
    connection: &mut Connection,
    name: &str,
    how: fn(&State, &Transaction<'_>, &[u8]) -> Result<(), Left>,
) -> Result<(), StateError> {
    let path = state.former.join(name);
    if !path.exists() {
        return Ok(());
    }
    let sqlite = |error| StateError::of(&state.file, error);
    let transaction = connection.transaction().map_err(sqlite)?;
    let bytes = match std::fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        bytes => bytes.on("read", &path)?,
    };
    let hash = blake3::hash(&bytes).to_hex().to_string();
    let taken = match taken_before(&transaction, name).map_err(sqlite)? {
        Some(before) if before == hash => Ok(()),
        // A token that was taken back since must not come to life again with a file that was restored.
        Some(_) => Err(Left::Unread("one of that name was taken over before, so this one does not count".into())),
        None => how(state, &transaction, &bytes),
    };
    match taken {
        Ok(()) => {
            commit_taken(transaction, name, &hash).map_err(sqlite)?;
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error).on("remove", &path)?,
                _ => {}
            }
        }
        Err(Left::Unread(why)) => {
            drop(transaction);
            let aside = aside(&path);
            tracing::warn!("{} cannot be taken over: {why}. It is {} now", path.display(), aside.display());
            std::fs::rename(&path, &aside).on("rename", &path)?;
        }
        Err(Left::Sqlite(error)) => return Err(sqlite(error)),
    }
    Ok(())
}

/// The hash of what was taken over under a name, if anything was.
fn taken_before(transaction: &Transaction<'_>, name: &str) -> rusqlite::Result<Option<String>> {
    transaction.query_row("SELECT hash FROM taken_over WHERE name = ?1", [name], |row| row.get(0)).optional()
}

fn commit_taken(transaction: Transaction<'_>, name: &str, hash: &str) -> rusqlite::Result<()> {
    transaction.execute("INSERT OR REPLACE INTO taken_over(name, hash) VALUES (?1, ?2)", [name, hash])?;
    transaction.commit()?;
    crash::point("state-taken-over");
    Ok(())
}

/// The logs are renamed, all in one step, before one of them is removed: what is left by a kill is whole, or was taken over.
fn take_log(state: &State, connection: &mut Connection) -> Result<(), StateError> {
    let (folder, taken) = (state.former.join(READ_LOG), state.former.join(READ_LOG_TAKEN));
    if taken.exists() {
        std::fs::remove_dir_all(&taken).on("remove", &taken)?;
    }
    if !folder.is_dir() {
        return Ok(());
    }
    let sqlite = |error| StateError::of(&state.file, error);
    let transaction = connection.transaction().map_err(sqlite)?;
    let (mut entries, mut hasher) = (Vec::new(), blake3::Hasher::new());
    for (slug, path) in logs(&folder)? {
        let bytes = std::fs::read(&path).on("read", &path)?;
        hasher.update(path.as_os_str().as_encoded_bytes()).update(&bytes);
        // A line that was cut short by a kill is passed over.
        let whole = |line: &&str| serde_json::from_str::<serde_json::Value>(line).is_ok_and(|entry| entry.is_object());
        let text = String::from_utf8_lossy(&bytes);
        entries.extend(text.lines().filter(whole).map(|line| (slug.clone(), line.to_owned())));
    }
    let hash = hasher.finalize().to_hex().to_string();
    if taken_before(&transaction, READ_LOG).map_err(sqlite)?.is_none_or(|before| before != hash) {
        read_log::write(&transaction, &entries).map_err(sqlite)?;
    }
    commit_taken(transaction, READ_LOG, &hash).map_err(sqlite)?;
    std::fs::rename(&folder, &taken).on("rename", &folder)?;
    std::fs::remove_dir_all(&taken).on("remove", &taken)?;
    Ok(())
}

/// The logs in a folder with whose they are, older before newer.
fn logs(folder: &Path) -> Result<Vec<(String, PathBuf)>, StateError> {
    let names = std::fs::read_dir(folder)
        .on("list", folder)?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    let slugs: BTreeSet<String> = names
        .filter_map(|name| Some(name.strip_suffix(".1").unwrap_or(&name).strip_suffix(".jsonl")?.to_owned()))
        .collect();
    let files = slugs
        .into_iter()
        .flat_map(|slug| ["jsonl.1", "jsonl"].map(|kind| (slug.clone(), folder.join(format!("{slug}.{kind}")))));
    Ok(files.filter(|(_, path)| path.is_file()).collect())
}

#[derive(Deserialize)]
struct FormerCaptureToken {
    name: String,
    created_at: Timestamp,
    hash: String,
}

fn capture_tokens(_: &State, transaction: &Transaction<'_>, bytes: &[u8]) -> Result<(), Left> {
    for FormerCaptureToken { name, created_at, hash } in serde_json::from_slice::<Vec<FormerCaptureToken>>(bytes)? {
        TokenRow { name, created_at, hash: hash_of(&hash)? }.insert(transaction)?;
    }
    Ok(())
}

#[derive(Deserialize)]
struct Agent {
    slug: String,
    created_at: Timestamp,
    #[serde(default)]
    session: FormerSession,
    #[serde(default)]
    given: serde_json::Value,
    #[serde(default)]
    given_since: Option<Timestamp>,
    hash: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FormerSession {
    chat_type: Option<String>,
    channel: Option<String>,
}

fn agents(_: &State, transaction: &Transaction<'_>, bytes: &[u8]) -> Result<(), Left> {
    for Agent { slug, created_at, session, given, given_since, hash } in serde_json::from_slice::<Vec<Agent>>(bytes)? {
        let FormerSession { chat_type, channel } = session;
        let (given, hash) = (given.to_string(), hash_of(&hash)?);
        AgentRow { slug, created_at, hash, chat_type, channel, given, given_since }.insert(transaction)?;
    }
    Ok(())
}

/// What was forgotten for good in the vault that an archive is of. The key came beside it.
fn forgotten(state: &State, transaction: &Transaction<'_>, bytes: &[u8]) -> Result<(), Left> {
    let keys = keys_beside(state).map_err(|error| Left::Unread(error.to_string()))?;
    Ok(tombstones::take_over(transaction, &keys, bytes)??)
}

/// The names of the keys that came with it, in their order. Where the state is elsewhere, so are the keys from now on.
fn keys_beside(state: &State) -> Result<Vec<i64>, StateError> {
    let brought = state.former.join(KEY);
    let own = || Ok(state.keys()?.iter().map(DigestKey::name).collect());
    if brought == state.key_file() {
        return own();
    }
    let bytes = std::fs::read(&brought).on("read", &brought)?;
    let Some(keys) = keys_of(&bytes) else { return Ok(Vec::new()) };
    state.add_keys(&keys)?;
    Ok(keys.into_iter().map(|key| DigestKey::new(key).name()).collect())
}

/// The keys that came along stay nowhere but beside the state. A kill may have come between.
fn remove_keys_beside(state: &State) -> Result<(), StateError> {
    let brought = state.former.join(KEY);
    if brought == state.key_file() || state.former.join(tombstones::BROUGHT).exists() {
        return Ok(());
    }
    match std::fs::remove_file(&brought) {
        Err(error) if error.kind() != ErrorKind::NotFound => Ok(Err(error).on("remove", &brought)?),
        _ => Ok(()),
    }
}

fn hash_of(hex: &str) -> Result<Hash, Left> {
    Hash::from_hex(hex).map_err(|error| Left::Unread(format!("a hash in it is none: {error}")))
}
