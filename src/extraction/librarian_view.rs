//! The librarian as the person sees it, and has it read at once.

use std::collections::HashSet;

use super::lane::Extraction;
use super::librarian::{LIBRARIAN, TraceProgress};
use crate::access::LIBRARIAN_TASKS;
use crate::request::{Owner, RequestError, rfc3339};
use crate::state::{Digest, Job, JobState};
use crate::wire::LibrarianView;

/// Why nothing is sent.
const WITHHELD: &str =
    "the model is on another machine, and traces are sent to none unless `send_private` of `[memory]` is true";

impl Extraction {
    /// How the librarian of an agent is.
    ///
    /// # Errors
    /// When there is no such agent, or the state cannot be read.
    pub(crate) fn librarian_view(&self, owner: &Owner, slug: &str) -> Result<LibrarianView, RequestError> {
        let policy = owner.workspace().agents().policies().of(slug);
        let absent = || RequestError::not_found(format!("there is no agent `{slug}`"));
        let policy = policy.ok_or_else(absent)?;
        let (is_on, rules) = (policy.librarian, &policy.librarian_rules);
        let lane = self.state();
        let keys: HashSet<Digest> = self.trace_sources(slug).into_iter().map(|source| source.key).collect();
        let mut done = self.jobs.done_at(LIBRARIAN)?;
        done.retain(|(key, ..)| keys.contains(key));
        let mut jobs = self.jobs.all(LIBRARIAN)?;
        jobs.retain(|job| keys.contains(&job.key));
        let (dead, waiting): (Vec<&Job>, Vec<&Job>) = jobs.iter().partition(|job| job.state == JobState::Dead);
        let (queued, dead, reason) =
            (waiting.len(), dead.len(), dead.iter().chain(&waiting).find_map(|job| job.reason.clone()));
        let model = self.model();
        let memory = &self.workspace.config().memory;
        let (state, reason) = match &model {
            _ if !is_on => ("off", None),
            _ if !rules.finds_any() => ("off", Some("both tasks that find something are switched off".to_owned())),
            _ if !memory.enabled => ("off", Some("`enabled` of `[memory]` in memory.toml is false".to_owned())),
            None => ("off", Some("`model` of `[memory]` in memory.toml names no model".to_owned())),
            Some(Err(reason)) => ("stopped", Some(reason.clone())),
            Some(Ok(model)) if !model.takes_private() => ("withheld", Some(WITHHELD.to_owned())),
            Some(Ok(_)) if lane.stopped.is_some() => ("stopped", lane.stopped),
            Some(Ok(_)) if queued > 0 && lane.is_working => ("working", None),
            Some(Ok(_)) if queued + dead > 0 => ("waiting", reason),
            Some(Ok(_)) => ("idle", None),
        };
        Ok(LibrarianView {
            agent_name: slug.to_owned(),
            enabled: is_on,
            model: (!memory.model.is_empty()).then(|| memory.model.clone()),
            state: state.to_owned(),
            reason,
            last_run: done.iter().map(|(.., at)| *at).max().map(rfc3339),
            covered: done.iter().map(|(_, done, _)| TraceProgress::of(done).events).sum(),
            queued,
            dead,
            tasks: LIBRARIAN_TASKS.iter().map(|task| ((*task).to_owned(), rules.does(task))).collect(),
        })
    }

    /// Has all traces that wait read at once, and what was put aside tried again.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub(crate) fn run_librarian(&self, _: &Owner) -> Result<(), RequestError> {
        self.open_again();
        self.jobs.retry(LIBRARIAN, None, self.now())?;
        self.hurry();
        Ok(())
    }
}
