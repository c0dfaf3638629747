//! Principals and the scope that follows from each.

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Principal {
    /// The person: the command line, and whoever holds the owner's token.
    Owner,
    /// A program that says what happens, by the name its token was made with. It reads nothing.
    Capture(String),
}

/// What a principal may read. The only thing that read paths accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Every note.
    Everything,
    /// Notes that are not private.
    Public,
    /// No note.
    Nothing,
}

impl Scope {
    /// The scope of a principal.
    pub fn of(principal: &Principal) -> Self {
        match principal {
            Principal::Owner => Self::Everything,
            Principal::Capture(_) => Self::Nothing,
        }
    }

    /// Everything that is not private: what nobody has a reason to hide.
    pub fn public() -> Self {
        Self::Public
    }

    /// Whether every note is in the scope, so that nothing needs to be looked up.
    pub fn is_everything(&self) -> bool {
        *self == Self::Everything
    }

    /// Whether a note is in the scope, given whether it is private.
    pub fn allows(&self, private: bool) -> bool {
        match self {
            Self::Everything => true,
            Self::Public => !private,
            Self::Nothing => false,
        }
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
        let none = Scope::of(&Principal::Capture("browser".into()));
        assert!(!none.allows(true) && !none.allows(false) && !none.is_everything());
    }
}
