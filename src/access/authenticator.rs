//! Whose a token is.

use super::{Principal, Token, TokenHash};

/// Tells whose tokens of one kind are.
pub trait Authenticator: Send + Sync {
    /// Who holds a token; `None` when it is none of these.
    fn holder(&self, token: &TokenHash) -> Option<Principal>;
}

/// The one token that is the person's.
pub struct OwnerToken(TokenHash);

impl OwnerToken {
    /// Remembers the token by its hash.
    pub fn new(token: &Token) -> Self {
        Self(token.hash())
    }
}

impl Authenticator for OwnerToken {
    fn holder(&self, token: &TokenHash) -> Option<Principal> {
        (*token == self.0).then_some(Principal::Owner)
    }
}
