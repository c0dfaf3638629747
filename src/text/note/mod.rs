//! Markdown with frontmatter → [`Note`]. Pure: no files, no clock, and no input makes it fail or panic.
//!
//! ```text
//! source ─▶ frontmatter (locate · read: YAML, TOML) ─▶ fields (title, tags, aliases, dates) ─┐
//!       └─▶ mask (comments, hostile nesting) ─▶ body (headings, links, tags) ─▶ blocks ──────┴─▶ privacy ─▶ Note
//! ```
//!
//! Every offset is a byte offset into the source as it was given, byte order mark included. What cannot be read becomes a
//! [`Problem`], and a note whose frontmatter leaves a doubt is private.

mod body;
mod compose;
mod conflicts;
mod frontmatter;
mod links;
mod mask;
mod model;
mod parse;
mod plain;
mod privacy;
mod revise;
mod tags;
mod tree;
mod yaml;

#[cfg(test)]
mod tests;

pub(crate) use body::untagged;
pub(crate) use compose::{
    INHERITED, PRIVATE, compose, cut_at_word, guarded, kept_private, title_of, turn_block, written,
};
pub(crate) use conflicts::{CONFLICT_MARKS, has_conflict, sides};
pub(crate) use frontmatter::aliases;
pub(crate) use links::{has_scheme, wikilinks_in};
pub(crate) use mask::code;
pub(crate) use model::{Block, Heading, Lines, Link, LinkKind, LinkProperty, Problem, merged, outside};
pub use model::{BlockKind, Note, Visibility};
pub(crate) use plain::{plain_heading, without_entities};
pub(crate) use privacy::{is_switch, sources, texts_in};
pub(crate) use revise::{revise, summary_of, with_property, without_summary};
pub use tree::{Element, Node};
pub(crate) use yaml::yaml_mapping;
