//! Principals and the scope that follows from each.

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Principal {
    /// The person: the command line, and whoever holds the owner's token.
    Owner,
}

/// What a principal may read. The only thing that read paths accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    private: bool,
}

impl Scope {
    /// The scope of a principal.
    pub fn of(principal: &Principal) -> Self {
        match principal {
            Principal::Owner => Self { private: true },
        }
    }

    /// Everything that is not private: what nobody has a reason to hide.
    pub fn public() -> Self {
        Self { private: false }
    }

    /// Whether every note is in the scope, so that nothing needs to be looked up.
    pub fn is_everything(&self) -> bool {
        self.private
    }

    /// Whether a note is in the scope, given whether it is private.
    pub fn allows(&self, private: bool) -> bool {
        self.private || !private
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_sees_private_notes() {
        let owner = Scope::of(&Principal::Owner);
        assert!(owner.allows(true) && owner.allows(false) && owner.is_everything());
        let public = Scope::public();
        assert!(!public.allows(true) && public.allows(false) && !public.is_everything());
    }
}
