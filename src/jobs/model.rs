//! The model of a vault that is served: another one, and what is kept of those before.

use crate::config::Config;
use crate::models::{ModelChoice, ModelConfig};
use crate::request::{Owner, RequestError};
use crate::wire::{KeptVectors, ModelReloaded};

/// Loads the model that `memory.toml` names now, or does without one. The one there was serves until the vectors of that one are there.
///
/// # Errors
/// When another process writes the index, or `memory.toml` is not right.
pub fn reload_model(owner: &Owner) -> Result<ModelReloaded, RequestError> {
    let workspace = owner.workspace();
    workspace.syncer()?;
    let config = Config::load(workspace.home().root()).map_err(|error| RequestError::invalid(error.to_string()))?;
    let choice = ModelChoice::of(&ModelConfig::of(&config), workspace.home().root(), workspace.index_dir());
    match choice {
        None => workspace.drop_model()?,
        Some(choice) if workspace.shared().embedder().is_some() => {
            workspace.replace_model(ModelChoice { former: None, ..choice });
        }
        Some(choice) => workspace.replace_model(choice),
    }
    workspace.switches().took_model(&config.embed);
    Ok(ModelReloaded { model: config.embed.model })
}

/// Drops the vectors of models that are not in use.
///
/// # Errors
/// When another process writes the index, while a model is being loaded, or when the index cannot be written.
pub fn drop_kept_vectors(owner: &Owner) -> Result<KeptVectors, RequestError> {
    Ok(KeptVectors { dropped: owner.workspace().syncer()?.drop_kept_vectors()? })
}
