//! Shows the profile to the person.

use super::made::{PROFILE, ProfilePage};
use crate::derive::{USER_FILE, UserPage};
use crate::note::Note;
use crate::path::VaultPath;
use crate::request::{Owner, RequestError};
use crate::vault::ReadError;
use crate::wire::{ProfileView, UserView};

/// What the person says in any case.
const OVERRIDES: &str = "profile/overrides.md";

/// The whole profile.
///
/// # Errors
/// When a file cannot be read.
pub(crate) fn profile(owner: &Owner) -> Result<ProfileView, RequestError> {
    let state = ProfilePage::read(owner.workspace())?.state;
    let user = text(owner, USER_FILE)?.map(|text| {
        let note = Note::parse(&text, "USER");
        let page = UserPage::read(&note.metadata);
        UserView {
            name: page.name,
            timezone: page.timezone,
            latitude: page.latitude,
            longitude: page.longitude,
            location_place: page.location_place,
            location_updated_at: page.location_updated_at,
            text: text[note.body].trim().to_owned(),
        }
    });
    let body = |path: &str| {
        let text = text(owner, path)?;
        Ok::<_, RequestError>(text.map(|text| text[Note::parse(&text, "").body].trim().to_owned()))
    };
    Ok(ProfileView {
        overrides: body(OVERRIDES)?,
        user,
        profile: body(PROFILE)?,
        state,
        regenerate_after: owner.workspace().config().memory.regenerate_after,
    })
}

fn text(owner: &Owner, path: &str) -> Result<Option<String>, RequestError> {
    let path = VaultPath::new(path).map_err(|error| RequestError::internal(error.to_string()))?;
    match owner.workspace().source(&path) {
        Ok(source) => Ok(Some(source.text)),
        Err(ReadError::Gone) => Ok(None),
        Err(error) => Err(RequestError::unavailable(format!("`{path}`: {error}"), "try again in a moment")),
    }
}
