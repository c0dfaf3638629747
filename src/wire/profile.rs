//! The profile of the person.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// The whole profile.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProfileView {
    /// What `profile/overrides.md` says: the person's alone, given in any case.
    pub overrides: Option<String>,
    /// What `USER.md` says.
    pub user: Option<UserView>,
    /// What `profile/profile.md` says, each sentence with its sources.
    pub profile: Option<String>,
    /// How that was made.
    pub state: ProfileState,
    /// New contributions after which it is made anew.
    pub regenerate_after: usize,
}

/// What `USER.md` says of the person.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UserView {
    /// What they are called.
    pub name: Option<String>,
    /// As IANA names it.
    pub timezone: Option<String>,
    /// Degrees north.
    pub latitude: Option<f64>,
    /// Degrees east.
    pub longitude: Option<f64>,
    /// The place in words.
    pub location_place: Option<String>,
    /// When the place was written.
    pub location_updated_at: Option<String>,
    /// What stands below.
    pub text: String,
}

/// How the profile was made, and whether it is to be made anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProfileState {
    /// The page.
    pub path: String,
    /// How often it was made; 0 where it never was.
    pub version: u64,
    /// What it was made of.
    pub contributions: usize,
    /// What has come since.
    pub new: usize,
    /// Whether something that it was made of is gone, or says something else.
    pub outdated: bool,
    /// Whether a person wrote or edited it, so that it is never written over.
    pub is_persons: bool,
}

/// A profile that was made anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProfileMade {
    /// Always true.
    pub ok: bool,
    /// How it is now.
    pub state: ProfileState,
    /// Undoes it; missing where it said so already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}

/// What is to stand in `USER.md`; what is not said stays, and an empty text takes a field away.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserSetParams {
    /// What they are called.
    pub name: Option<String>,
    /// As IANA names it: `Europe/Vienna`.
    pub timezone: Option<String>,
    /// Degrees north; rounded to a tenth, which is a town, unless `exact` is true.
    #[schema(minimum = -90, maximum = 90)]
    pub latitude: Option<f64>,
    /// Degrees east, likewise.
    #[schema(minimum = -180, maximum = 180)]
    pub longitude: Option<f64>,
    /// The place in words.
    pub location_place: Option<String>,
    /// Whether the degrees are written as they are.
    pub exact: Option<bool>,
}

/// A change of `USER.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UserSet {
    /// Always true.
    pub ok: bool,
    /// The page.
    pub path: String,
    /// Undoes it; missing where it said so already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}
