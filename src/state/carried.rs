//! What an archive carries of work that waits, what was done, and calls of chat models: so that a vault that goes on elsewhere asks nothing
//! twice, keeps the limits of the day, and knows what it has cost. It holds no text.

use std::sync::Arc;

use rusqlite::{Connection, Row, ToSql, params};
use serde::{Deserialize, Serialize};

use super::error::StateError;
use super::jobs::JobTable;
use super::key::Digest;
use super::store::State;
use crate::fs::Context;

/// The file's name in the vault's state.
pub(super) const CARRIED: &str = "jobs.json";

/// The rows of all tables of jobs and calls.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct CarriedRows {
    jobs: Vec<CarriedJob>,
    done: Vec<CarriedDone>,
    calls: Vec<CarriedCall>,
    before: Vec<CarriedSum>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct CarriedJob {
    kind: String,
    key: Digest,
    content: Digest,
    dead: bool,
    due: i64,
    attempts: u32,
    revived: u32,
    passing: bool,
    reason: Option<String>,
    created: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct CarriedDone {
    kind: String,
    key: Digest,
    content: Digest,
    at: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct CarriedCall {
    at: i64,
    kind: String,
    model: String,
    outcome: String,
    prompt_tokens: u32,
    answer_tokens: u32,
    weight: u32,
    ms: u32,
    bytes: u32,
    kept: u32,
    dropped: u32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct CarriedSum {
    outcome: String,
    calls: u64,
    prompt_tokens: u64,
    answer_tokens: u64,
    bytes: u64,
    first: i64,
}

impl JobTable {
    /// All jobs, what was done, and the calls of chat models, as a file below the vault's state; `None` where there is none of it.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn as_file(state: &Arc<State>) -> Result<Option<(&'static str, Vec<u8>)>, StateError> {
        let rows = Self::new(state).rows()?;
        if rows == CarriedRows::default() {
            return Ok(None);
        }
        let json = serde_json::to_vec(&rows).map_err(std::io::Error::other).on("encode", state.file())?;
        Ok(Some((CARRIED, json)))
    }

    fn rows(&self) -> Result<CarriedRows, StateError> {
        let rows = self.handle.if_there(|opened| {
            let transaction = opened.connection.transaction()?;
            let jobs =
                "SELECT kind, key, content, state = 'dead', due, attempts, revived, passing, reason, created FROM jobs";
            let calls =
                "SELECT at, kind, model, outcome, prompt_tokens, answer_tokens, weight, ms, bytes, kept, dropped
                FROM model_calls ORDER BY id";
            let before = "SELECT outcome, calls, prompt_tokens, answer_tokens, bytes, first FROM model_calls_before";
            Ok(CarriedRows {
                jobs: all(&transaction, jobs, |row| {
                    Ok(CarriedJob {
                        kind: row.get(0)?,
                        key: row.get(1)?,
                        content: row.get(2)?,
                        dead: row.get(3)?,
                        due: row.get(4)?,
                        attempts: small(row, 5)?,
                        revived: small(row, 6)?,
                        passing: row.get(7)?,
                        reason: row.get(8)?,
                        created: row.get(9)?,
                    })
                })?,
                done: all(&transaction, "SELECT kind, key, content, at FROM jobs_done", |row| {
                    Ok(CarriedDone { kind: row.get(0)?, key: row.get(1)?, content: row.get(2)?, at: row.get(3)? })
                })?,
                calls: all(&transaction, calls, |row| {
                    Ok(CarriedCall {
                        at: row.get(0)?,
                        kind: row.get(1)?,
                        model: row.get(2)?,
                        outcome: row.get(3)?,
                        prompt_tokens: small(row, 4)?,
                        answer_tokens: small(row, 5)?,
                        weight: small(row, 6)?,
                        ms: small(row, 7)?,
                        bytes: small(row, 8)?,
                        kept: small(row, 9)?,
                        dropped: small(row, 10)?,
                    })
                })?,
                before: all(&transaction, before, |row| {
                    let number = |at| row.get(at).map(|number: i64| number.max(0).unsigned_abs());
                    Ok(CarriedSum {
                        outcome: row.get(0)?,
                        calls: number(1)?,
                        prompt_tokens: number(2)?,
                        answer_tokens: number(3)?,
                        bytes: number(4)?,
                        first: row.get(5)?,
                    })
                })?,
            })
        });
        Ok(rows?.unwrap_or_default())
    }
}

fn all<T>(connection: &Connection, query: &str, read: fn(&Row<'_>) -> rusqlite::Result<T>) -> rusqlite::Result<Vec<T>> {
    connection.prepare(query)?.query_map([], read)?.collect()
}

/// A number that may be larger than any that makes sense.
fn small(row: &Row<'_>, at: usize) -> rusqlite::Result<u32> {
    let number: i64 = row.get(at)?;
    Ok(u32::try_from(number.max(0)).unwrap_or(u32::MAX))
}

/// Takes over what an archive has brought. What is there already stays as it is.
pub(super) fn take_over(transaction: &Connection, bytes: &[u8]) -> Result<rusqlite::Result<()>, serde_json::Error> {
    let rows: CarriedRows = serde_json::from_slice(bytes)?;
    Ok(insert(transaction, &rows))
}

fn insert(transaction: &Connection, rows: &CarriedRows) -> rusqlite::Result<()> {
    for job in &rows.jobs {
        let state = if job.dead { "dead" } else { "queued" };
        let insert =
            "INSERT OR IGNORE INTO jobs(kind, key, content, state, due, attempts, revived, passing, reason, created)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        let CarriedJob { kind, due, attempts, revived, passing, reason, created, .. } = job;
        let (key, content) = (&job.key[..], &job.content[..]);
        transaction
            .execute(insert, params![kind, key, content, state, due, attempts, revived, passing, reason, created])?;
    }
    for CarriedDone { kind, key, content, at } in &rows.done {
        let insert = "INSERT OR IGNORE INTO jobs_done(kind, key, content, at) VALUES (?1, ?2, ?3, ?4)";
        transaction.execute(insert, params![kind, &key[..], &content[..], at])?;
    }
    for call in &rows.calls {
        let insert = "INSERT INTO model_calls(at, kind, model, outcome, prompt_tokens, answer_tokens, weight, ms, bytes, kept, dropped)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
        let numbers: [&dyn ToSql; 7] =
            [&call.prompt_tokens, &call.answer_tokens, &call.weight, &call.ms, &call.bytes, &call.kept, &call.dropped];
        let words: [&dyn ToSql; 4] = [&call.at, &call.kind, &call.model, &call.outcome];
        transaction.execute(insert, &words.into_iter().chain(numbers).collect::<Vec<_>>()[..])?;
    }
    for sum in &rows.before {
        let insert =
            "INSERT OR IGNORE INTO model_calls_before(outcome, calls, prompt_tokens, answer_tokens, bytes, first)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let [calls, prompt, answer, bytes] =
            [sum.calls, sum.prompt_tokens, sum.answer_tokens, sum.bytes].map(|number| number.min(1 << 60) as i64);
        transaction.execute(insert, params![sum.outcome, calls, prompt, answer, bytes, sum.first])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::model_calls::{CallAllowance, CallEnd, CallRoom, ModelCallTable};
    use super::*;

    #[test]
    fn what_is_carried_is_taken_over_once_and_whole() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let state = State::in_folder(here.path());
        assert_eq!(JobTable::as_file(&state).unwrap(), None);
        let (jobs, calls) = (JobTable::new(&state), ModelCallTable::new(&state));
        jobs.queue("extraction", [1; 16], [7; 16], 5, 0).unwrap();
        jobs.queue("extraction", [2; 16], [8; 16], 5, 0).unwrap();
        jobs.finish("extraction", [2; 16], [8; 16], 9).unwrap();
        jobs.queue("extraction", [3; 16], [9; 16], 0, 0).unwrap();
        jobs.bury("extraction", [3; 16], true, "no answer").unwrap();
        jobs.claim("extraction", 6).unwrap().unwrap();
        let allowance = CallAllowance { calls: 9, tokens: 999 };
        let CallRoom::Call(id) = calls.reserve("extraction", "m", [10, 20], allowance, 100).unwrap() else { panic!() };
        calls
            .finish(id, CallEnd { outcome: "answered", tokens: [3, 4], ms: 5, kept_and_dropped: [1, 0] }, 101)
            .unwrap();

        let (name, bytes) = JobTable::as_file(&state).unwrap().unwrap();
        std::fs::write(there.path().join(name), &bytes).unwrap();
        let taken = State::in_folder(there.path());
        for _ in 0..2 {
            let (jobs_there, calls_there) = (JobTable::new(&taken), ModelCallTable::new(&taken));
            // What was being done elsewhere is done here.
            assert_eq!(jobs_there.all("extraction").unwrap().len(), 2);
            assert!(
                jobs_there.all("extraction").unwrap().iter().all(|job| job.state != crate::state::JobState::Running)
            );
            assert_eq!(jobs_there.done("extraction").unwrap(), jobs.done("extraction").unwrap());
            assert_eq!(calls_there.newest(9).unwrap(), calls.newest(9).unwrap());
            assert_eq!(calls_there.totals(200).unwrap(), calls.totals(200).unwrap());
        }
        assert!(!there.path().join(name).exists());
    }
}
