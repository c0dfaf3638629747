//! Whose a token is.

use super::{Principal, Token, TokenHash};

/// Tokens of one kind, and whose they are.
pub trait Keys: Send + Sync {
    /// Who holds a token; `None` when it is none of these.
    fn holder(&self, token: &TokenHash) -> Option<Principal>;

    /// Whether looking for a holder may touch a disk, which may not answer.
    fn may_block(&self) -> bool {
        true
    }
}

/// The one token that is the person's.
pub struct OwnerKey(TokenHash);

impl OwnerKey {
    /// Remembers the token by its hash.
    pub fn new(token: &Token) -> Self {
        Self(token.hash())
    }
}

impl Keys for OwnerKey {
    fn holder(&self, token: &TokenHash) -> Option<Principal> {
        (*token == self.0).then_some(Principal::Owner)
    }

    fn may_block(&self) -> bool {
        false
    }
}
