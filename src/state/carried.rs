//! What an archive carries of work that waits, what was done, and calls of chat models: so that a vault that goes on elsewhere asks nothing
//! twice, keeps the limits of the day, and knows what it has cost. It holds no text.

use rusqlite::{Connection, Row, ToSql, params};
use serde::{Deserialize, Serialize};

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
    key: [u8; 16],
    content: [u8; 16],
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
    key: [u8; 16],
    content: [u8; 16],
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

/// All jobs, what was done, and the calls of chat models, as a file below the vault's state has it; `None` where there is none of it.
pub(super) fn carried(connection: &Connection) -> rusqlite::Result<Option<(&'static str, Vec<u8>)>> {
    let rows = rows(connection)?;
    if rows == CarriedRows::default() {
        return Ok(None);
    }
    let json = serde_json::to_vec(&rows);
    let json = json.map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    Ok(Some((CARRIED, json)))
}

fn rows(connection: &Connection) -> rusqlite::Result<CarriedRows> {
    let jobs = "SELECT kind, key, content, state = 'dead', due, attempts, revived, passing, reason, created FROM jobs";
    let calls = "SELECT at, kind, model, outcome, prompt_tokens, answer_tokens, weight, ms, bytes, kept, dropped
        FROM model_calls ORDER BY id";
    let before = "SELECT outcome, calls, prompt_tokens, answer_tokens, bytes, first FROM model_calls_before";
    Ok(CarriedRows {
        jobs: all(connection, jobs, |row| {
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
        done: all(connection, "SELECT kind, key, content, at FROM jobs_done", |row| {
            Ok(CarriedDone { kind: row.get(0)?, key: row.get(1)?, content: row.get(2)?, at: row.get(3)? })
        })?,
        calls: all(connection, calls, |row| {
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
        before: all(connection, before, |row| {
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
