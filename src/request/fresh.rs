//! Waiting, before a search, until it would find what was saved just before, and by its meaning.

use std::time::Duration;

use super::Request;
use crate::access::Principal;
use crate::config::{Mode, SearchConfig};
use crate::sync::{FRESH_WITHIN, ModelStatus, Phase};

/// Maximum time that an agent's search waits: what keeps the index busy may be hidden from it.
const AGENTS_WAIT: Duration = Duration::from_millis(100);
/// Maximum time that a search waits for a model. The bundled one takes half a second to load, and on a busy machine two.
const MODEL_WAIT: Duration = Duration::from_secs(3);

impl Request {
    /// Waits until all that was saved before can be found by its words: a second at most, and only while the index gets on with it. To be
    /// called before the request is held to a state of the index. Tells the person whether it can; nothing where nobody watches the vault.
    ///
    /// An agent is not told.
    pub(crate) fn make_fresh(&self) -> Option<bool> {
        if self.workspace.is_read_only() {
            return None;
        }
        let is_owner = matches!(self.principal, Principal::Owner);
        let most = if is_owner { FRESH_WITHIN.most } else { AGENTS_WAIT };
        let is_fresh = self.workspace.shared().fresh().wait(FRESH_WITHIN.within(self.half_left(most)));
        is_fresh.filter(|_| is_owner)
    }

    /// Waits until a model that is being loaded is there: without it the words would answer alone, and take what it knows for slips. To be
    /// called as [`Request::make_fresh`] is, with the settings of the search.
    pub(crate) fn await_model(&self, mode: Mode, config: &SearchConfig) {
        let timeout = Some(Duration::from_millis(config.timeout_ms)).filter(|timeout| !timeout.is_zero());
        let most = timeout.map_or(MODEL_WAIT, |timeout| timeout.min(MODEL_WAIT));
        if mode != Mode::Keyword {
            self.workspace.shared().wait(self.half_left(most), |progress| {
                progress.model != ModelStatus::Loading || progress.phase == Phase::Stopped
            });
        }
    }

    /// So long, and no longer than half of the time that whoever waits has left.
    fn half_left(&self, most: Duration) -> Duration {
        self.turn.left().map_or(most, |left| most.min(left / 2))
    }
}

/// What the person is told where it could not be made sure of.
pub(crate) const MAY_LACK_THE_NEWEST: &str = "what was saved in the last moment may not be found yet";
