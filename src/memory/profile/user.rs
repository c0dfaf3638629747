//! Writes `USER.md`, as far as the person lets the program.

use serde_json::{Map, Value, json};

use crate::access::request::{Owner, RequestError, Workspace, now};
use crate::base::config::{MemoryScope, ProfileWriteMode};
use crate::base::fs::crash;
use crate::base::path::VaultPath;
use crate::serve::wire::{UserSet, UserSetParams};
use crate::text::derive::{USER_FILE, UserPage};
use crate::text::note::{Note, compose, revise};
use crate::vault::disk::{Action, CheckpointId, NoteEdit};

/// Maximum length of a name or a place.
const MAX_CHARS: usize = 200;
/// A tenth of a degree is a town, about ten kilometres.
const TOWN: f64 = 10.0;

/// Writes what is said into the frontmatter of `USER.md`; an empty text takes a field away. All else in it stays.
///
/// # Errors
/// When the settings keep the program from writing it, a value makes no sense, or the disk refuses.
pub(crate) fn set_user(owner: &Owner, params: &UserSetParams) -> Result<UserSet, RequestError> {
    let workspace = owner.workspace();
    if workspace.config().memory.user_profile_write_mode == ProfileWriteMode::Off {
        let hint = format!("edit {USER_FILE} yourself, or change `[memory] user_profile_write_mode`");
        let message = format!("only you may edit {USER_FILE}: `user_profile_write_mode` is \"off\"");
        return Err(RequestError { hint: Some(hint), ..RequestError::forbidden(message) });
    }
    let set = checked(params)?;
    if set.is_empty() {
        return Err(RequestError::invalid("there is nothing to write"));
    }
    let checkpoint = write(workspace, |_| set.clone(), "owner")?;
    Ok(UserSet { ok: true, path: USER_FILE.to_owned(), checkpoint_id: checkpoint.map(|id| id.to_string()) })
}

/// What is to stand in the frontmatter.
fn checked(params: &UserSetParams) -> Result<Map<String, Value>, RequestError> {
    let mut set = Map::new();
    for (field, text) in
        [("name", &params.name), ("timezone", &params.timezone), ("location_place", &params.location_place)]
    {
        let Some(text) = text else { continue };
        let text = text.trim();
        if text.chars().count() > MAX_CHARS || text.chars().any(char::is_control) {
            return Err(RequestError::invalid(format!("`{field}` takes a line of up to {MAX_CHARS} characters")));
        }
        if field == "timezone" && !text.is_empty() && jiff::tz::TimeZone::get(text).is_err() {
            return Err(RequestError::invalid(format!(
                "`timezone` is `{text}`; it takes a name such as Europe/Vienna"
            )));
        }
        set.insert(field.into(), text.into());
    }
    for (field, degrees, most) in [("latitude", params.latitude, 90.0), ("longitude", params.longitude, 180.0)] {
        let Some(degrees) = degrees else { continue };
        if !(-most..=most).contains(&degrees) {
            return Err(RequestError::invalid(format!("`{field}` is {degrees}; it takes -{most} to {most}")));
        }
        let exact = params.exact == Some(true);
        set.insert(field.into(), json!(if exact { degrees } else { (degrees * TOWN).round() / TOWN }));
    }
    if ["latitude", "longitude", "location_place"].iter().any(|field| set.contains_key(*field)) {
        set.insert("location_updated_at".into(), now().into());
    }
    Ok(set)
}

/// Puts what the person's facts say of them into fields of `USER.md` that are missing, where the person lets the program do so.
///
/// # Errors
/// When a file cannot be read, or the disk refuses.
pub(super) fn fill_in(workspace: &Workspace) -> Result<(), RequestError> {
    if workspace.config().memory.user_profile_write_mode != ProfileWriteMode::ExplicitAndAuto {
        return Ok(());
    }
    let book = workspace.fact_store().book(&MemoryScope::User)?;
    let now = jiff::Timestamp::now().as_millisecond();
    let said = |key: &str| {
        let fact = book.facts.get("profile", key)?;
        book.value_at(fact, now).map(str::to_owned)
    };
    let params = UserSetParams {
        name: said("name"),
        timezone: said("timezone").filter(|zone| jiff::tz::TimeZone::get(zone).is_ok()),
        location_place: said("location_place"),
        ..UserSetParams::default()
    };
    let missing = |page: &UserPage| {
        let has = [
            ("name", page.name.is_some()),
            ("timezone", page.timezone.is_some()),
            ("location_place", page.location_place.is_some()),
        ];
        let mut set = checked(&params).unwrap_or_default();
        has.iter().filter(|(_, has)| *has).for_each(|(field, _)| drop(set.shift_remove(*field)));
        if !set.contains_key("location_place") {
            set.shift_remove("location_updated_at");
        }
        set
    };
    write(workspace, missing, "profile").map(drop)
}

/// Puts fields into the frontmatter; those that are empty are taken away. Every other byte stays, as far as that can be had.
fn write(
    workspace: &Workspace,
    set_in: impl Fn(&UserPage) -> Map<String, Value>,
    by: &str,
) -> Result<Option<CheckpointId>, RequestError> {
    let path = VaultPath::new(USER_FILE).map_err(|error| RequestError::internal(error.to_string()))?;
    let files = workspace.files()?;
    let act = |is_new| {
        let action = if is_new { Action::Create } else { Action::Edit };
        if by == "owner" { action.into() } else { action.done_by(by) }
    };
    files.edit(&path, act, |bytes| {
        let refused = |_| RequestError::conflict(format!("`{path}` is not text; nothing was written"));
        let before = bytes.map(std::str::from_utf8).transpose().map_err(refused)?.unwrap_or_default();
        let note = Note::parse(before, path.stem());
        let set = set_in(&UserPage::read(&note.metadata));
        let text = with_fields(before, &note, &set);
        if text == before || set.is_empty() {
            return Ok(NoteEdit::Stays);
        }
        crash::point("user-page-made");
        Ok(NoteEdit::Text(text))
    })
}

fn with_fields(before: &str, note: &Note, set: &Map<String, Value>) -> String {
    let is_said = |value: &Value| value.as_str().is_none_or(|text| !text.is_empty());
    let goes = |key: &String| set.get(key).is_some_and(|value| !is_said(value));
    let said: Map<String, Value> =
        set.iter().filter(|(_, value)| is_said(value)).map(|(key, value)| (key.clone(), value.clone())).collect();
    let body = &before[note.body.clone()];
    let has_all = |text: &str| {
        let metadata = Note::parse(text, "USER").metadata;
        said.iter().all(|(key, value)| metadata.get(key) == Some(value))
    };
    if !note.metadata.is_empty() && !note.metadata.keys().any(goes) {
        let revised = revise(before, "USER", &note.title, &said, &[], body);
        if has_all(&revised) {
            return revised;
        }
    }
    let mut frontmatter: Map<String, Value> =
        note.metadata.iter().filter(|(key, _)| !goes(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
    frontmatter.extend(said);
    compose(&frontmatter, body)
}
