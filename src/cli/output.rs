//! What goes to a terminal, and what to a pipe.

use std::io::IsTerminal;
use std::ops::Range;
use std::path::Path;

use anstyle::{AnsiColor, Style};

use crate::service::ServiceError;

/// Whether standard output shows colours and links.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terminal {
    rich: bool,
}

pub(super) const TITLE: Style = AnsiColor::Cyan.on_default().bold();
pub(super) const MATCH: Style = AnsiColor::Yellow.on_default().bold();
pub(super) const DIM: Style = Style::new().dimmed();
pub(super) const BAD: Style = AnsiColor::Red.on_default();

impl Terminal {
    /// A terminal gets them, unless `NO_COLOR` is set.
    pub(super) fn stdout() -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self {
            rich: wanted
                && std::io::stdout().is_terminal()
                && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
        }
    }

    pub(super) fn paint(self, style: Style, text: &str) -> String {
        if self.rich { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// A clickable text (OSC 8).
    pub(super) fn link(self, url: &str, text: &str) -> String {
        if self.rich { format!("\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\") } else { text.to_owned() }
    }

    /// Paints parts of a text.
    pub(super) fn highlight(self, text: &str, parts: &[Range<usize>]) -> String {
        if !self.rich {
            return text.to_owned();
        }
        let mut painted = String::with_capacity(text.len() + parts.len() * 12);
        let mut at = 0;
        for part in parts {
            painted.push_str(&text[at..part.start]);
            painted.push_str(&self.paint(MATCH, &text[part.clone()]));
            at = part.end;
        }
        painted.push_str(&text[at..]);
        painted
    }
}

/// What a note or a name may hold must not steer the terminal.
pub(super) fn printable(text: &str) -> String {
    text.chars().filter(|character| !character.is_control() || matches!(character, '\n' | '\t')).collect()
}

/// A number of bytes for people.
pub(super) fn bytes(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.1} GB", count as f64 / 1e9),
    }
}

/// The end of `vault search … | head` is no failure.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    // Only writing to standard output fails with a bare error; what the daemon's socket says comes with its context.
    error.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}

/// What happened and why, each said once (some of our errors name their cause themselves), and what to do next.
pub(super) fn explain(error: &anyhow::Error) -> String {
    let said = error.chain().fold(String::new(), |said, cause| match cause.to_string() {
        cause if said.contains(&cause) => said,
        cause if said.is_empty() => cause,
        cause => format!("{said}: {cause}"),
    });
    match error.downcast_ref::<ServiceError>().and_then(|error| error.hint.as_ref()) {
        Some(hint) => format!("{said}. {hint}"),
        None => said,
    }
}

/// A path as a shell takes it.
pub(super) fn shell_quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let plain = |character: char| character.is_alphanumeric() || "/._-+,:@%=".contains(character);
    if !path.is_empty() && path.chars().all(plain) {
        return path.into_owned();
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

/// A number of things for people: `1 note`, `2 notes`.
pub(super) fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// Prints JSON for scripts.
pub(super) fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_can_be_pasted_into_a_shell() {
        for (path, quoted) in
            [("/home/me/vault", "/home/me/vault"), ("my vault", "'my vault'"), ("it's", r"'it'\''s'"), ("~x", "'~x'")]
        {
            assert_eq!(shell_quoted(Path::new(path)), quoted);
        }
    }

    #[test]
    fn a_pipe_gets_plain_text_and_no_note_steers_a_terminal() {
        let zebra = std::slice::from_ref(&(2..7));
        let (plain, rich) = (Terminal { rich: false }, Terminal { rich: true });
        assert_eq!(plain.highlight("a zebra", zebra), "a zebra");
        assert_eq!(plain.link("file:///x", "x"), "x");
        assert!(rich.highlight("a zebra", zebra).contains("\x1b["));
        assert_eq!(printable("a\x1b[31mb\nc\u{9b}"), "a[31mb\nc");
        assert_eq!((bytes(999), bytes(25_279_584)), ("999 B".into(), "25.3 MB".into()));
    }
}
