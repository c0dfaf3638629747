//! The static files of "My memory", the page that is served at `/`: plain HTML, CSS and ES modules, as they are, inside the
//! binary. They hold nothing of the vault; the page asks the API for that, with a token.

mod assets;

pub(crate) use assets::asset;
