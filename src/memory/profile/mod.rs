//! The profile of the person: `profile/overrides.md`, which is theirs alone, `USER.md`, and `profile/profile.md`, which is made of what they
//! said, by rules.

mod page;
mod user;

pub(crate) use page::{keep_profile, profile, regenerate};
pub(crate) use user::set_user;
