//! `vault profile`

use std::io::Write;
use std::path::Path;

use clap::{Args, Subcommand};

use super::backend::Backend;
use super::exit::Outcome;
use super::terminal::{answer, is_in_json, remark, remark_none, say_undo};
use crate::serve::api::endpoints;
use crate::serve::wire::{ProfileView, UserSetParams};

/// Show what your agents know about you; set it, or regenerate the profile page.
///
/// Only you edit profile/overrides.md; agents always get it first. USER.md has your name, time zone and place. vault writes
/// profile/profile.md from entries and facts that you stated or accepted, each sentence with its source.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault profile\n  vault profile set --name Maya --timezone Europe/Vienna --place Wien\n  vault profile make"
)]
pub(super) struct ProfileCommand {
    #[command(subcommand)]
    action: Option<ProfileAction>,
}

#[derive(Debug, Subcommand)]
enum ProfileAction {
    /// Write to USER.md. An empty text removes a field.
    Set(UserSetParams),
    /// Regenerate profile/profile.md. A page that you edited is not overwritten.
    Make,
}

impl ProfileCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::without_model(vault)?;
        match self.action {
            None => {
                let view = backend.ask(&endpoints::profile::SHOW, &())?;
                let said = if is_in_json() { Vec::new() } else { parts(&view) };
                answer(&view, is_in_json() || !said.is_empty(), |out| {
                    said.iter().try_for_each(|said| writeln!(out, "{said}"))?;
                    remark_none(
                        !said.is_empty(),
                        "the profile is empty; `vault profile set --name NAME` sets your name",
                    );
                    let state = &view.state;
                    if state.is_persons {
                        remark!("vault: you edited {}, so it is not overwritten", state.path);
                    } else if state.new > 0 {
                        remark!("vault: {} new since it was made; `vault profile make` adds them now", state.new);
                    }
                    Ok(())
                })
            }
            Some(ProfileAction::Set(user)) => {
                let set = backend.ask(&endpoints::profile::SET_USER, &user)?;
                answer(&set, true, |out| {
                    writeln!(out, "set in {}", set.path)?;
                    Ok(say_undo(set.checkpoint_id.as_slice())?)
                })
            }
            Some(ProfileAction::Make) => {
                let made = backend.ask(&endpoints::profile::REGENERATE, &())?;
                answer(&made, true, |out| {
                    writeln!(out, "{} has version {}", made.state.path, made.state.version)?;
                    Ok(say_undo(made.checkpoint_id.as_slice())?)
                })
            }
        }
    }
}

/// What there is of the profile, in its order.
fn parts(view: &ProfileView) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    if let Some(user) = &view.user {
        let named = [("name", &user.name), ("time zone", &user.timezone), ("place", &user.location_place)];
        said.extend(named.iter().filter_map(|(name, value)| Some(format!("{name}: {}", value.as_ref()?))));
        said.extend(Some(user.text.clone()).filter(|text| !text.is_empty()));
    }
    for (name, text) in [("profile/overrides.md", &view.overrides), ("profile/profile.md", &view.profile)] {
        let text = text.as_ref().filter(|text| !text.is_empty());
        said.extend(text.map(|text| format!("\n{name}\n\n{text}")));
    }
    said
}
