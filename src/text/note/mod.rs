//! Markdown with frontmatter → [`Note`]. Pure: no files, no clock, and no input makes it fail or panic.
//!
//! ```text
//! source ─▶ frontmatter (locate · read: YAML, TOML) ─▶ fields (title, tags, aliases, dates) ─┐
//!       └─▶ mask (comments, hostile nesting) ─▶ body (headings, links, tags) ─▶ blocks ──────┴─▶ visibility ─▶ Note
//! ```
//!
//! Every offset is a byte offset into the source as it was given, byte order mark included. What cannot be read becomes a
//! [`Problem`], and a note whose frontmatter leaves a doubt is [`Visibility::Private`].

mod blocks;
mod body;
mod compose;
mod conflicts;
mod dates;
mod doubts;
mod fields;
mod frontmatter;
mod html;
mod lines;
mod links;
mod mask;
mod metadata;
mod model;
mod parse;
mod plain;
mod revise;
mod summary;
mod tags;
mod tree;
mod turn;
mod visibility;
mod yaml;

#[cfg(test)]
mod tests;

pub(crate) use body::untagged;
pub(crate) use compose::{INHERITED, PRIVATE, compose, kept_private, title_of, written};
pub(crate) use conflicts::{CONFLICT_MARKS, has_conflict, sides};
pub(crate) use fields::aliases;
pub(crate) use lines::Lines;
pub(crate) use links::{has_scheme, wikilinks_in};
pub(crate) use metadata::sources;
pub(crate) use model::{Block, Heading, Link, LinkKind, Problem, outside};
pub use model::{BlockKind, Note, PrivateReason, Visibility};
pub(crate) use parse::yaml_mapping;
pub(crate) use plain::{plain_heading, without_entities};
pub(crate) use revise::{revise, with_property};
pub(crate) use summary::{summary_of, without_summary};
pub use tree::Node;
pub(crate) use turn::{guarded, turn_block};
