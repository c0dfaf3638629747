//! What holds whatever the input. Each property takes any bytes and panics where it does not hold.
//!
//! Shared by the fuzz targets beside this folder and by `tests/main/fuzzing.rs`.

mod api;
mod config;
mod document;
mod frontmatter;
mod note;
mod query;
mod vault;

pub use api::api;
pub use config::config;
pub use document::document;
pub use frontmatter::frontmatter;
pub use note::note;
pub use query::query;
pub use vault::Vault;

/// The bytes as text. What is no UTF-8 is not handed on by the program either.
fn text(data: &[u8]) -> &str {
    match std::str::from_utf8(data) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&data[..error.valid_up_to()]).unwrap_or_default(),
    }
}
