//! The profile of the person: `profile/overrides.md`, which is theirs alone, `USER.md`, and `profile/profile.md`, which is made of what they
//! said, by rules.

mod compose;
mod made;
mod read;
mod task;
mod user;

pub(crate) use made::regenerate;
pub(crate) use read::profile;
pub(crate) use task::keep_profile;
pub(crate) use user::set_user;
