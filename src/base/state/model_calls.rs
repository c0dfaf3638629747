//! What chat models were asked: when, for what, how it ended, what it cost by the provider's own count, and how much was sent. No text.
//!
//! A call has its place before it is made, so that the limits of a day hold whatever happens to the program in between.

use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::store::{Durability, Handle, State, StateError};

/// Period of the limits, in milliseconds.
const DAY_MS: i64 = 86_400_000;
/// How a call is called that is being made.
const UNDER_WAY: &str = "under way";
/// And one of which nobody knows how it ended.
const CUT_OFF: &str = "cut off";

/// How much may be asked within 24 hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallAllowance {
    /// Calls.
    pub calls: u64,
    /// Tokens, asked and answered.
    pub tokens: u64,
}

/// Whether there is room for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallQuota {
    /// There is, and the call has this number.
    Call(i64),
    /// There is not, until then at the earliest, in milliseconds since 1970.
    Full(i64),
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ProcessingCall)]
pub struct ModelCall {
    /// When.
    pub at: String,
    /// Its purpose: `extraction`.
    pub kind: String,
    /// The model.
    pub model: String,
    /// Its outcome.
    pub outcome: String,
    /// Tokens read, as counted by the provider.
    pub prompt_tokens: u64,
    /// Tokens written.
    pub answer_tokens: u64,
    /// Duration in milliseconds.
    pub ms: u64,
    /// Bytes of text sent.
    pub bytes: u64,
    /// Entries and summary lines from its answer.
    pub kept: u64,
    /// Those that were dropped, because the conversation does not say them.
    pub dropped: u64,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallEnd<'o> {
    /// In a word or two.
    pub outcome: &'o str,
    /// Tokens that it read and wrote, as the provider has counted; 0 where it did not.
    pub tokens: [u64; 2],
    /// How long it took.
    pub ms: u64,
    /// What of its answer was taken, and what was dropped.
    pub kept_and_dropped: [u64; 2],
}

/// What all calls came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelCallTotals {
    /// When the first was, in milliseconds since 1970.
    pub first: Option<i64>,
    /// Calls by how they ended, with both counts of tokens and the bytes that were sent.
    pub outcomes: Vec<(String, [u64; 4])>,
    /// Calls of the last 24 hours, and tokens: the provider's count, or an estimate where it gave none.
    pub day: [u64; 2],
}

/// The calls of a vault.
#[derive(Debug)]
pub struct ModelCallTable {
    handle: Handle,
}

impl ModelCallTable {
    /// Those of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        Self { handle: Handle::new(state, Durability::Full) }
    }

    /// Takes room for a call that may cost so many tokens.
    ///
    /// # Errors
    /// When the state cannot be written; so all that follow.
    pub fn reserve(
        &self,
        kind: &str,
        model: &str,
        [tokens, bytes]: [u64; 2],
        allowance: CallAllowance,
        now: i64,
    ) -> Result<CallQuota, StateError> {
        self.handle.with(|opened| {
            let transaction = opened.connection.transaction()?;
            // What a clock has dated ahead of now counts from now on.
            transaction.execute("UPDATE model_calls SET at = ?1 WHERE at > ?1", [now])?;
            let [calls, used] = of_day(&transaction, now)?;
            if calls >= allowance.calls || used.saturating_add(tokens) > allowance.tokens {
                let oldest = "SELECT min(at) FROM model_calls WHERE at > ?1";
                let oldest: Option<i64> =
                    transaction.query_row(oldest, [now.saturating_sub(DAY_MS)], |row| row.get(0))?;
                transaction.commit()?;
                return Ok(CallQuota::Full(oldest.unwrap_or(now).saturating_add(DAY_MS)));
            }
            let reserve =
                "INSERT INTO model_calls(at, kind, model, outcome, prompt_tokens, answer_tokens, weight, ms, bytes,
                    kept, dropped) VALUES (?1, ?2, ?3, ?4, 0, 0, ?5, 0, ?6, 0, 0)";
            transaction.execute(reserve, params![now, kind, model, UNDER_WAY, tokens as i64, bytes as i64])?;
            let id = transaction.last_insert_rowid();
            transaction.commit()?;
            Ok(CallQuota::Call(id))
        })
    }

    /// A call has ended. Where the provider has counted, its tokens count.
    pub fn finish(&self, id: i64, end: CallEnd<'_>) -> Result<(), StateError> {
        let finish = "UPDATE model_calls SET outcome = ?2, prompt_tokens = ?3, answer_tokens = ?4, ms = ?5,
            kept = ?6, dropped = ?7,
            weight = CASE WHEN ?3 + ?4 > 0 THEN ?3 + ?4 ELSE weight END WHERE id = ?1";
        let [prompt, answer] = end.tokens.map(|tokens| tokens.min(1 << 40) as i64);
        let [kept, dropped] = end.kept_and_dropped.map(|count| count as i64);
        self.handle.execute(finish, params![id, end.outcome, prompt, answer, end.ms as i64, kept, dropped])
    }

    /// Says of those that were being made when somebody was killed that nobody knows how they ended.
    pub fn cut_off(&self) -> Result<(), StateError> {
        let cut = self.handle.if_there(|opened| {
            opened.connection.execute("UPDATE model_calls SET outcome = ?2 WHERE outcome = ?1", [UNDER_WAY, CUT_OFF])
        });
        cut.map(drop)
    }

    /// The newest calls, newest first.
    pub fn newest(&self, limit: usize) -> Result<Vec<ModelCall>, StateError> {
        let newest =
            "SELECT at, kind, model, outcome, prompt_tokens, answer_tokens, ms, bytes, kept, dropped FROM model_calls
            ORDER BY id DESC LIMIT ?1";
        self.handle.rows(newest, params![limit as i64], |row| {
            let count = |at: usize| row.get::<_, i64>(at).map(i64::cast_unsigned);
            Ok(ModelCall {
                at: Timestamp::from_millisecond(row.get(0)?).unwrap_or_default().to_string(),
                kind: row.get(1)?,
                model: row.get(2)?,
                outcome: row.get(3)?,
                prompt_tokens: count(4)?,
                answer_tokens: count(5)?,
                ms: count(6)?,
                bytes: count(7)?,
                kept: count(8)?,
                dropped: count(9)?,
            })
        })
    }

    /// What all calls since the vault was made came to.
    pub fn totals(&self, now: i64) -> Result<ModelCallTotals, StateError> {
        let totals = self.handle.if_there(|opened| {
            let all = "SELECT outcome, count(*), sum(prompt_tokens), sum(answer_tokens), sum(bytes), min(at)
                FROM model_calls GROUP BY outcome ORDER BY count(*) DESC, outcome";
            let mut all = opened.connection.prepare_cached(all)?;
            let rows = all.query_map([], |row| {
                let number = |at: usize| row.get::<_, i64>(at).map(|number| number as u64);
                let numbers = [number(1)?, number(2)?, number(3)?, number(4)?];
                Ok((row.get::<_, String>(0)?, numbers, row.get::<_, i64>(5)?))
            })?;
            let rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
            let first = rows.iter().map(|(.., first)| *first).min();
            let outcomes = rows.into_iter().map(|(outcome, numbers, _)| (outcome, numbers)).collect();
            Ok(ModelCallTotals { first, outcomes, day: of_day(&opened.connection, now)? })
        });
        Ok(totals?.unwrap_or_default())
    }
}

fn of_day(connection: &Connection, now: i64) -> rusqlite::Result<[u64; 2]> {
    let day = "SELECT count(*), coalesce(sum(weight), 0) FROM model_calls WHERE at > ?1";
    let mut day = connection.prepare_cached(day)?;
    day.query_row([now.saturating_sub(DAY_MS)], |row| Ok([row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> (tempfile::TempDir, ModelCallTable) {
        let folder = tempfile::tempdir().unwrap();
        let table = ModelCallTable::new(&State::in_folder(folder.path()));
        (folder, table)
    }

    fn reserve(table: &ModelCallTable, tokens: u64, now: i64) -> CallQuota {
        table.reserve("extraction", "m", [tokens, 10], CallAllowance { calls: 3, tokens: 1_000 }, now).unwrap()
    }

    fn end(tokens: [u64; 2]) -> CallEnd<'static> {
        CallEnd { outcome: "answered", tokens, ms: 1, kept_and_dropped: [1, 2] }
    }

    fn call(table: &ModelCallTable, tokens: u64, now: i64) -> i64 {
        match reserve(table, tokens, now) {
            CallQuota::Call(id) => id,
            CallQuota::Full(_) => panic!("no room"),
        }
    }

    #[test]
    fn the_limits_of_a_day_hold_whatever_becomes_of_the_calls() {
        let (_folder, table) = table();
        assert_eq!(table.totals(0).unwrap(), ModelCallTotals::default());
        let one = call(&table, 400, 1_000);
        // The program is killed in the middle of the second: it counts as what it may have cost.
        call(&table, 400, 2_000);
        table.cut_off().unwrap();
        assert_eq!(reserve(&table, 400, 3_000), CallQuota::Full(1_000 + DAY_MS));
        table.finish(one, end([100, 20])).unwrap();
        call(&table, 400, 3_000);
        assert_eq!(reserve(&table, 1, 4_000), CallQuota::Full(1_000 + DAY_MS), "three calls are enough");
        assert!(matches!(reserve(&table, 1, 1_001 + DAY_MS), CallQuota::Call(_)), "a day rolls on");
        let totals = table.totals(1_001 + DAY_MS).unwrap();
        assert_eq!(totals.day, [3, 400 + 400 + 1]);
        assert_eq!(totals.first, Some(1_000));
        assert!(totals.outcomes.contains(&("answered".into(), [1, 100, 20, 10])), "{totals:?}");
        assert!(totals.outcomes.iter().any(|(outcome, _)| outcome == CUT_OFF));
    }

    #[test]
    fn a_provider_that_does_not_count_costs_what_was_estimated() {
        let (_folder, table) = table();
        let id = call(&table, 900, 0);
        table.finish(id, end([0, 0])).unwrap();
        assert_eq!(table.totals(1).unwrap().day, [1, 900]);
        assert!(matches!(reserve(&table, 200, 1), CallQuota::Full(_)));
        assert_eq!(table.newest(9).unwrap()[0].prompt_tokens, 0, "and no estimate is shown as a count");
    }

    #[test]
    fn a_clock_that_was_years_ahead_stops_nothing_for_longer_than_a_day() {
        let (_folder, table) = table();
        let ahead = 100_000 * DAY_MS;
        (0..3).for_each(|_| _ = call(&table, 10, ahead));
        assert_eq!(reserve(&table, 1, 5_000), CallQuota::Full(5_000 + DAY_MS), "they count, and from now on");
        assert!(matches!(reserve(&table, 1, 5_001 + DAY_MS), CallQuota::Call(_)));
    }
}
