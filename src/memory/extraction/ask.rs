//! One call of the model: within the limits of a day, counted before it is made. And what becomes of a job that was not answered: tried again,
//! put off or put aside.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::lane::{CHECK_INTERVAL, DAY_USED_UP, EXTRACTION, Extraction, SETTLE_DELAY};
use crate::base::fs::crash;
use crate::base::state::{
    CallAllowance, CallEnd, CallQuota, Job, MOST_ATTEMPTS, MOST_DELAY_MS, ModelCallTable, StateError,
};
use crate::models::{ChatModel, ModelError, ModelErrorKind};
use crate::text::derive::extraction::{
    CheckedAnswer, ExtractionPrompt, check_extraction, read_extraction, repair_prompt,
};

/// Who is asked, and how much.
pub(super) struct ExtractionAsker<'a> {
    /// What is asked for, as the calls are counted.
    pub(super) kind: &'static str,
    pub(super) model: &'a Arc<dyn ChatModel>,
    pub(super) calls: &'a ModelCallTable,
    pub(super) allowance: CallAllowance,
    pub(super) timeout: Duration,
    /// The time, in milliseconds since 1970.
    pub(super) now: Box<dyn Fn() -> i64 + 'a>,
    /// Whether what it is asked about is still what it was: what somebody has taken out meanwhile is not sent once more.
    pub(super) is_current: &'a dyn Fn() -> bool,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum SkipReason {
    /// The limits of the day are reached, until then at the earliest.
    Full(i64),
    /// It may work later: after so long, if it said so.
    Passing(String, Option<Duration>),
    /// It will not work for this conversation.
    Lasting(String),
    /// It will not work for any until somebody changes something.
    Refused(String),
    /// Somebody ended it.
    Stopped,
    /// What it was asked about is another text by now.
    Changed,
    /// The state cannot be written.
    State(StateError),
}

impl From<StateError> for SkipReason {
    fn from(error: StateError) -> Self {
        Self::State(error)
    }
}

impl ExtractionAsker<'_> {
    /// Asks, and once more where the answer cannot be read; gives what of it stands. Of nothing nothing is asked.
    pub(super) fn ask(&self, prompt: &ExtractionPrompt, date: Option<&str>) -> Result<CheckedAnswer, SkipReason> {
        if prompt.shown.is_empty() {
            return Ok(CheckedAnswer::default());
        }
        let problem = match self.ask_once(prompt, date)? {
            Ok(checked) => return Ok(checked),
            Err(problem) => problem,
        };
        if !(self.is_current)() {
            return Err(SkipReason::Changed);
        }
        self.ask_once(&repair_prompt(prompt, &problem), date)?
            .map_err(|problem| SkipReason::Lasting(format!("its answer cannot be read, even after a retry: {problem}")))
    }

    /// What of the answer stands, or why it cannot be read.
    fn ask_once(
        &self,
        prompt: &ExtractionPrompt,
        date: Option<&str>,
    ) -> Result<Result<CheckedAnswer, String>, SkipReason> {
        let request = &prompt.request;
        let bytes = (request.instructions.len() + request.material.len()) as u64;
        let room =
            self.calls.reserve(self.kind, self.model.name(), [prompt.tokens, bytes], self.allowance, (self.now)())?;
        let id = match room {
            CallQuota::Full(until) => return Err(SkipReason::Full(until)),
            CallQuota::Call(id) => id,
        };
        crash::point("extraction-reserved");
        let started = Instant::now();
        let asked = self.model.answer(request, started + self.timeout);
        let ms = started.elapsed().as_millis() as u64;
        crash::point("extraction-answered");
        let end = |outcome, tokens, kept_and_dropped| {
            self.calls.finish(id, CallEnd { outcome, tokens, ms, kept_and_dropped })
        };
        let reply = match asked {
            Ok(reply) => reply,
            Err(error) => {
                let reason = said(&error);
                let (outcome, skipped) = match error.kind() {
                    ModelErrorKind::Transient => ("failed", SkipReason::Passing(reason, error.retry_after())),
                    ModelErrorKind::Permanent => ("failed", SkipReason::Lasting(reason)),
                    ModelErrorKind::Refused => ("refused", SkipReason::Refused(reason)),
                    ModelErrorKind::Stopped => ("stopped", SkipReason::Stopped),
                };
                end(outcome, [0, 0], [0, 0])?;
                return Err(skipped);
            }
        };
        let tokens = [reply.usage.prompt_tokens, reply.usage.answer_tokens];
        let answer = match read_extraction(&reply.text) {
            Ok(answer) => answer,
            Err(problem) => {
                end("unreadable", tokens, [0, 0])?;
                return Ok(Err(problem));
            }
        };
        let checked = check_extraction(&answer, &prompt.shown, date);
        let kept = checked.entries.len() + checked.summary.iter().map(|(_, lines)| lines.len()).sum::<usize>();
        end("answered", tokens, [kept as u64, checked.dropped.values().sum::<usize>() as u64])?;
        Ok(Ok(checked))
    }
}

/// What is kept of a failure: without what the service says, which may quote what it was sent.
fn said(error: &ModelError) -> String {
    let said = error.to_string();
    match said.split_once("): ") {
        Some((said, _)) => format!("{said})"),
        None => said,
    }
}

impl Extraction {
    /// What is read is not what its job says: that follows in a moment, and then it is another job.
    pub(super) fn has_changed(&self, kind: &str, job: &Job) -> Result<Option<Duration>, StateError> {
        let later = self.now() + SETTLE_DELAY.as_millis() as i64;
        self.look_again();
        self.jobs.put_off(kind, job.key, later, false, "it has just changed")?;
        Ok(None)
    }

    /// What was to be sent, or one that it was made of, was made private, and goes to no model on another machine.
    pub(super) fn is_private_by_now(&self, job: &Job) -> Result<Option<Duration>, StateError> {
        self.look_again();
        self.fails(EXTRACTION, job, "it is private", Some(SETTLE_DELAY))?;
        Ok(None)
    }

    /// What becomes of a job that was not answered.
    pub(super) fn skipped(&self, kind: &str, job: &Job, skipped: SkipReason) -> Result<Option<Duration>, StateError> {
        let now = self.now();
        match skipped {
            SkipReason::State(error) => {
                self.jobs.put_off(kind, job.key, now, false, "the state cannot be written")?;
                Err(error)
            }
            SkipReason::Full(until) => {
                let later = until.max(now + 1_000);
                let [calls, tokens] = self.calls.totals(now)?.day;
                let memory = &self.workspace.config.memory;
                if calls < memory.calls_per_day && tokens < memory.tokens_per_day {
                    // Others that are smaller may go before.
                    self.jobs.put_off(kind, job.key, later, false, DAY_USED_UP)?;
                    return Ok(None);
                }
                self.jobs.put_off(kind, job.key, now, false, DAY_USED_UP)?;
                let left = Duration::from_millis(later.saturating_sub(now).max(1_000) as u64);
                Ok(self.waits_for(DAY_USED_UP.into(), left.min(CHECK_INTERVAL)))
            }
            SkipReason::Changed => self.has_changed(kind, job),
            SkipReason::Stopped => {
                self.jobs.put_off(kind, job.key, now, false, "the program is stopping")?;
                Ok(Some(CHECK_INTERVAL))
            }
            SkipReason::Refused(reason) => {
                self.jobs.put_off(kind, job.key, now, false, &reason)?;
                tracing::warn!("conversations are not read: {reason}");
                self.state_mut().stopped = Some(reason);
                Ok(Some(CHECK_INTERVAL))
            }
            SkipReason::Lasting(reason) => {
                self.jobs.bury(kind, job.key, false, &reason)?;
                Ok(None)
            }
            SkipReason::Passing(reason, after) => {
                self.fails(kind, job, &reason, after)?;
                self.state_mut().waits = Some(reason);
                Ok(None)
            }
        }
    }

    /// A job failed in a way that may pass: it is tried again after 1, 2 and 4 s, then put aside.
    pub(super) fn fails(&self, kind: &str, job: &Job, reason: &str, after: Option<Duration>) -> Result<(), StateError> {
        if job.attempts >= MOST_ATTEMPTS {
            return self.jobs.bury(kind, job.key, true, reason);
        }
        let wait = Duration::from_secs(1 << job.attempts.saturating_sub(1)).max(after.unwrap_or_default());
        let wait = wait.min(Duration::from_millis(MOST_DELAY_MS as u64));
        self.jobs.put_off(kind, job.key, self.now() + wait.as_millis() as i64, true, reason)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use super::*;
    use crate::base::state::State;
    use crate::models::{ChatReply, ChatRequest, ChatUsage};
    use crate::text::derive::extraction::{extraction_prompt, read_turns};

    /// Says what it was given, one after the other.
    struct Scripted(Mutex<VecDeque<Result<&'static str, ModelError>>>);

    impl ChatModel for Scripted {
        fn name(&self) -> &str {
            "scripted"
        }

        fn answer(&self, _: &ChatRequest, _: Instant) -> Result<ChatReply, ModelError> {
            let usage = ChatUsage { answers: 1, prompt_tokens: 70, answer_tokens: 7 };
            let said = self.0.lock().unwrap().pop_front().unwrap();
            said.map(|text| ChatReply { text: text.into(), usage })
        }
    }

    /// How calls ended, and what they cost.
    type Outcomes = Vec<(String, [u64; 4])>;

    fn ask(
        said: Vec<Result<&'static str, ModelError>>,
        allowance: CallAllowance,
    ) -> (Result<CheckedAnswer, SkipReason>, Outcomes) {
        let folder = tempfile::tempdir().unwrap();
        let calls = ModelCallTable::new(&State::in_folder(folder.path()));
        let model: Arc<dyn ChatModel> = Arc::new(Scripted(Mutex::new(said.into())));
        let prompt = extraction_prompt(&read_turns("**18:32 · user:** I like tea\n", &[]), None);
        let timeout = Duration::from_secs(1);
        let asker = ExtractionAsker {
            kind: "extraction",
            model: &model,
            calls: &calls,
            allowance,
            timeout,
            now: Box::new(|| 5),
            is_current: &|| true,
        };
        (asker.ask(&prompt, None), calls.totals(5).unwrap().outcomes)
    }

    const ALL: CallAllowance = CallAllowance { calls: 9, tokens: 99_999 };
    const GOOD: &str = r#"{"entries":[{"kind":"preference","text":"Likes tea","lines":[1],"quote":"I like tea"},{"kind":"fact","text":"x","lines":[9]}]}"#;

    fn endpoint(kind: ModelErrorKind) -> ModelError {
        let problem = "refuses a text (400): I like tea".into();
        ModelError::Endpoint { service: "the endpoint", endpoint: "x".into(), problem, kind, retry_after: None }
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_asked_for_once_more() {
        let (answer, outcomes) = ask(vec![Ok("prose"), Ok(GOOD)], ALL);
        let answer = answer.unwrap();
        assert_eq!((answer.entries.len(), answer.dropped.len()), (1, 1));
        assert_eq!(
            outcomes.iter().map(|(outcome, numbers)| (outcome.as_str(), numbers[0])).collect::<Vec<_>>(),
            [("answered", 1), ("unreadable", 1)]
        );
        assert!(outcomes.iter().all(|(_, numbers)| numbers[1..3] == [70, 7]));
        let (answer, _) = ask(vec![Ok("prose"), Ok("{\"entries\":[")], ALL);
        assert!(matches!(answer, Err(SkipReason::Lasting(reason)) if reason.contains("cannot be read")));
    }

    #[test]
    fn beyond_the_limits_of_a_day_nothing_is_asked() {
        let (answer, outcomes) = ask(vec![], CallAllowance { calls: 0, tokens: 99_999 });
        assert!(matches!(answer, Err(SkipReason::Full(_))) && outcomes.is_empty());
        let (answer, _) = ask(vec![], CallAllowance { calls: 9, tokens: 100 });
        assert!(matches!(answer, Err(SkipReason::Full(_))), "it would cost more");
        let (answer, outcomes) = ask(vec![Ok("prose")], CallAllowance { calls: 1, tokens: 99_999 });
        assert!(matches!(answer, Err(SkipReason::Full(_))), "nor once more");
        assert_eq!(outcomes.len(), 1);
    }

    #[test]
    fn what_a_failure_means_is_told_and_nothing_quoted_is_kept() {
        for kind in [ModelErrorKind::Transient, ModelErrorKind::Permanent, ModelErrorKind::Refused] {
            let (answer, outcomes) = ask(vec![Err(endpoint(kind))], ALL);
            let reason = match (kind, answer.unwrap_err()) {
                (ModelErrorKind::Transient, SkipReason::Passing(reason, None))
                | (ModelErrorKind::Permanent, SkipReason::Lasting(reason))
                | (ModelErrorKind::Refused, SkipReason::Refused(reason)) => reason,
                (_, other) => panic!("{other:?}"),
            };
            assert!(reason.ends_with("refuses a text (400)"), "{reason}");
            assert_eq!(outcomes.len(), 1);
        }
        assert!(matches!(ask(vec![Err(ModelError::Stopped)], ALL).0, Err(SkipReason::Stopped)));
    }
}
