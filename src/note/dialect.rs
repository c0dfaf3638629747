//! The Markdown that notes are written in.

use pulldown_cmark::Options;

/// CommonMark as Obsidian extends it. Math is on so that `$#x$` holds no tag and `$a%%b$` no comment. GFM is off: it is
/// only about callouts, of which it knows five, none with a title; here every quote that starts `[!` is one.
pub(super) const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_WIKILINKS)
    .union(Options::ENABLE_MATH);
