//! Settings for one search.

use super::ranges::first_violation;
use super::sections::{Config, SearchConfig};

impl SearchConfig {
    /// The same with some of its keys set otherwise, as `key=value` with commas between them.
    ///
    /// # Errors
    /// When there is no such key, or it does not take the value.
    pub fn with(&self, settings: &str) -> Result<Self, String> {
        let table = toml::Table::try_from(self).map_err(|error| error.to_string())?;
        let mut config = toml::Table::from_iter([("search".to_owned(), toml::Value::Table(table))]);
        for setting in settings.split(',').map(str::trim).filter(|setting| !setting.is_empty()) {
            let (key, value) = setting.split_once('=').ok_or_else(|| format!("`{setting}` is not `key=value`"))?;
            // What is no number is a text, with quotes or without.
            let value: toml::Value = value.trim().parse().unwrap_or_else(|_| value.trim().into());
            if let Some(toml::Value::Table(search)) = config.get_mut("search") {
                search.insert(key.trim().to_owned(), value);
            }
        }
        let config: Config = config.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        match first_violation(&config) {
            Some(reason) => Err(reason),
            None => Ok(config.search),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::{Fusion, Rerank};

    #[test]
    fn a_setting_is_a_key_of_the_section_and_nothing_else() {
        let config = SearchConfig::default();
        let set = config.with("fusion=rrf, per_file = 60,,half_life_days=7.5").unwrap();
        assert_eq!(set, SearchConfig { fusion: Fusion::Rrf, per_file: 60, half_life_days: 7.5, ..config.clone() });
        assert_eq!(config.with("").unwrap(), config);
        for (settings, rerank) in
            [("rerank=true", Rerank::Chat), ("rerank=chat", Rerank::Chat), ("rerank=off", Rerank::Off)]
        {
            assert_eq!(config.with(settings).unwrap().rerank, rerank);
        }
        let on = SearchConfig { rerank: Rerank::Chat, ..config.clone() };
        assert_eq!(
            (on.with("limit=3").unwrap().rerank, on.with("rerank=false").unwrap()),
            (Rerank::Chat, config.clone())
        );
        for (settings, said) in [
            ("fusion", "`fusion` is not `key=value`"),
            ("fusio=rrf", "unknown field `fusio`"),
            ("fusion=\"best\"", "unknown variant `best`"),
            ("limit=0", "`search.limit` is 0; it takes 1 to 1000"),
            ("limit=-1", "invalid value"),
            ("mmr_lambda=nan", "`search.mmr_lambda` is NaN"),
            ("half_life_days=-1.0", "`search.half_life_days` is -1"),
        ] {
            let error = config.with(settings).unwrap_err();
            assert!(error.contains(said), "{settings}: {error}");
        }
    }
}
