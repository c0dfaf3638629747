//! Waiting, before a search, until it would find what was saved just before.

use super::Request;
use crate::access::Principal;
use crate::sync::FRESH_WITHIN;

impl Request {
    /// Waits a tenth of a second at most until all that was saved before can be found by its words. To be called before the request
    /// is held to a state of the index. Tells the person whether it can; nothing where nobody watches the vault.
    ///
    /// An agent is not told: what keeps the index busy may be hidden from it.
    pub(crate) fn make_fresh(&self) -> Option<bool> {
        if self.workspace.is_read_only() {
            return None;
        }
        let patience = self.turn.left().map_or(FRESH_WITHIN, |left| FRESH_WITHIN.min(left / 2));
        let is_fresh = self.workspace.shared().fresh().wait(patience);
        is_fresh.filter(|_| matches!(self.principal, Principal::Owner))
    }
}

/// What the person is told where it could not be made sure of.
pub(crate) const MAY_LACK_THE_NEWEST: &str = "what was saved in the last moment may not be found yet";
