//! The static files of "My memory", the page that is served at `/`: plain HTML, CSS and ES modules, as they are, inside the
//! binary. They hold nothing of the vault; the page asks the API for that, with a token.

/// A file of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asset {
    /// Its name: `app.js`.
    pub name: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// What is in it.
    pub text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

macro_rules! assets {
    ($($media_type:ident $name:literal)*) => {
        &[$(Asset { name: $name, media_type: $media_type, text: include_str!(concat!("page/assets/", $name)) }),*]
    };
}

/// Every file of the page; the first is the page itself.
const ASSETS: &[Asset] = assets! {
    HTML "index.html"
    CSS "style.css"
    CSS "views.css"
    CSS "agents.css"
    CSS "facts.css"
    CSS "graph.css"
    SVG "icon.svg"
    SCRIPT "app.js"
    SCRIPT "api.js"
    SCRIPT "dom.js"
    SCRIPT "route.js"
    SCRIPT "cited.js"
    SCRIPT "login.js"
    SCRIPT "list.js"
    SCRIPT "preview.js"
    SCRIPT "search.js"
    SCRIPT "browse.js"
    SCRIPT "note.js"
    SCRIPT "tree.js"
    SCRIPT "near.js"
    SCRIPT "change.js"
    SCRIPT "change-log.js"
    SCRIPT "conflicts.js"
    SCRIPT "stats.js"
    SCRIPT "charts.js"
    SCRIPT "settings.js"
    SCRIPT "agents.js"
    SCRIPT "agent.js"
    SCRIPT "agent-log.js"
    SCRIPT "agent-sees.js"
    SCRIPT "agent-forms.js"
    SCRIPT "answered.js"
    SCRIPT "facts.js"
    SCRIPT "entries.js"
    SCRIPT "review.js"
    SCRIPT "fact.js"
    SCRIPT "fact-timeline.js"
    SCRIPT "setting-names.js"
    SCRIPT "profile.js"
    SCRIPT "summaries.js"
    SCRIPT "summary-lines.js"
    SCRIPT "digest.js"
    SCRIPT "graph.js"
    SCRIPT "processing.js"
    SCRIPT "live.js"
    SCRIPT "keys.js"
};

/// The file with a name.
pub(crate) fn asset(name: &str) -> Option<Asset> {
    ASSETS.iter().find(|asset| asset.name == name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_served_and_none_holds_what_the_policy_forbids() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/serve/page/assets");
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        let mut served: Vec<&str> = ASSETS.iter().map(|asset| asset.name).collect();
        served.sort_unstable();
        assert_eq!(names, served);
        for asset in ASSETS {
            for forbidden in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "style=", "onclick="]
            {
                assert!(!asset.text.contains(forbidden), "{}: {forbidden}", asset.name);
            }
            // They show a condition that does not hold as the word `false`; `append` and `replace` of dom.js do not.
            let puts = asset.text.contains(".replaceChildren(") || asset.text.contains(".append(");
            assert!(!puts || asset.name == "dom.js", "{} puts children into elements by itself", asset.name);
            let away = asset.text.replace("http://www.w3.org/2000/svg", "");
            assert!(!away.contains("//cdn") && !away.contains("https://"), "{} loads from elsewhere", asset.name);
        }
        assert!(asset("../mod.rs").is_none() && asset("").is_none());
    }
}
