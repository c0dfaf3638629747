//! `USER.md`: who the person is, as other programs keep it too. Pure.

use serde_json::{Map, Value};

/// Its name, in the vault's own folder.
pub(crate) const USER_FILE: &str = "USER.md";

/// What its frontmatter says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct UserPage {
    /// What they are called.
    pub(crate) name: Option<String>,
    /// As IANA names it.
    pub(crate) timezone: Option<String>,
    /// Degrees north, to the level of a town unless they wrote more.
    pub(crate) latitude: Option<f64>,
    /// Degrees east.
    pub(crate) longitude: Option<f64>,
    /// The place in words.
    pub(crate) location_place: Option<String>,
    /// When the place was written.
    pub(crate) location_updated_at: Option<String>,
}

impl UserPage {
    /// Reads the frontmatter.
    pub(crate) fn read(frontmatter: &Map<String, Value>) -> Self {
        let text = |key: &str| {
            let text = frontmatter.get(key)?.as_str()?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let number = |key: &str| match frontmatter.get(key)? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        Self {
            name: text("name"),
            timezone: text("timezone"),
            latitude: number("latitude"),
            longitude: number("longitude"),
            location_place: text("location_place"),
            location_updated_at: text("location_updated_at"),
        }
    }

    /// What a model is told of it, each with the key that says so. Where exactly somebody is, no model needs to know.
    pub(crate) fn told(&self) -> Vec<(&'static str, String)> {
        let name = self.name.as_ref().map(|name| ("name", format!("The user's name is {name}.")));
        let zone = self.timezone.as_ref().map(|zone| ("timezone", format!("The user's time zone is {zone}.")));
        let place = self.location_place.as_ref().map(|place| ("location_place", format!("The user is in {place}.")));
        [name, zone, place].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_it_says_is_told_but_for_the_exact_place() {
        let page = json!({"name": " Maya ", "timezone": "Europe/Vienna", "latitude": "48.2", "longitude": 16, "location_place": "Wien"});
        let page = UserPage::read(page.as_object().unwrap());
        assert_eq!((page.latitude, page.longitude), (Some(48.2), Some(16.0)));
        let told: Vec<String> = page.told().into_iter().map(|(_, told)| told).collect();
        assert_eq!(
            told,
            ["The user's name is Maya.", "The user's time zone is Europe/Vienna.", "The user is in Wien."]
        );
        assert_eq!(UserPage::read(json!({"name": 3, "latitude": "x"}).as_object().unwrap()), UserPage::default());
    }
}
