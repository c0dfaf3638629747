//! `vault profile`

use std::path::Path;

use clap::{Args, Subcommand};

use super::backend::Backend;
use super::exit::Outcome;
use super::terminal::{remark, say, stdout};
use crate::serve::api::endpoints;
use crate::serve::wire::UserSetParams;

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
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ProfileAction {
    /// Write to USER.md. An empty text removes a field.
    Set {
        /// Your name.
        #[arg(long)]
        name: Option<String>,
        /// Your time zone: Europe/Vienna.
        #[arg(long)]
        timezone: Option<String>,
        /// Where you are, in words.
        #[arg(long)]
        place: Option<String>,
        /// Degrees north, rounded to about a town.
        #[arg(long, allow_negative_numbers = true)]
        latitude: Option<f64>,
        /// Degrees east, rounded to about a town.
        #[arg(long, allow_negative_numbers = true)]
        longitude: Option<f64>,
        /// Write the degrees without rounding.
        #[arg(long)]
        exact: bool,
    },
    /// Regenerate profile/profile.md. A page that you edited is not overwritten.
    Make,
}

impl ProfileCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        let undo = |checkpoint: Option<&String>| match checkpoint {
            Some(checkpoint) => say!("    undo: vault restore {checkpoint}"),
            None => Ok(()),
        };
        match self.action {
            None => {
                let view = backend.ask(&endpoints::profile::SHOW, &())?;
                if self.json {
                    stdout().json(&view)?;
                    return Ok(Outcome::Done);
                }
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
                said.iter().try_for_each(|said| say!("{said}"))?;
                if said.is_empty() {
                    remark!("vault: the profile is empty; `vault profile set --name NAME` sets your name");
                }
                let state = &view.state;
                if state.is_persons {
                    remark!("vault: you edited {}, so it is not overwritten", state.path);
                } else if state.new > 0 {
                    remark!("vault: {} new since it was made; `vault profile make` adds them now", state.new);
                }
                if said.is_empty() {
                    return Ok(Outcome::NothingFound);
                }
            }
            Some(ProfileAction::Set { name, timezone, place, latitude, longitude, exact }) => {
                let params = UserSetParams {
                    name,
                    timezone,
                    latitude,
                    longitude,
                    location_place: place,
                    exact: exact.then_some(true),
                };
                let set = backend.ask(&endpoints::profile::SET_USER, &params)?;
                if self.json {
                    stdout().json(&set)?;
                    return Ok(Outcome::Done);
                }
                say!("set in {}", set.path)?;
                undo(set.checkpoint_id.as_ref())?;
            }
            Some(ProfileAction::Make) => {
                let made = backend.ask(&endpoints::profile::REGENERATE, &())?;
                if self.json {
                    stdout().json(&made)?;
                    return Ok(Outcome::Done);
                }
                say!("{} has version {}", made.state.path, made.state.version)?;
                undo(made.checkpoint_id.as_ref())?;
            }
        }
        Ok(Outcome::Done)
    }
}
