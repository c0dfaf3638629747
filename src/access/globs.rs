//! Globs over paths in the vault, as people write them in the configuration and on agents' pages.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::path::composed;

/// No glob that a person writes is longer.
const MAX_BYTES: usize = 1024;
/// Nor has more braces within each other: reading them takes room on the stack.
const MAX_NESTING: usize = 8;

/// Globs, compiled; `*` stays within a folder, `**` does not, and what names a folder means all that is in it, as in a
/// .gitignore. Differences of Unicode normalisation do not count.
#[derive(Debug, Clone, Default)]
pub struct Globs(GlobSet);

/// A glob that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum GlobError {
    /// It is not as globs are.
    #[error(transparent)]
    Syntax(#[from] globset::Error),
    /// It is too long, or too deep.
    #[error("it takes up to {MAX_BYTES} bytes, and {MAX_NESTING} braces within each other")]
    TooMuch,
}

impl Globs {
    /// Compiles globs over paths in the vault.
    ///
    /// # Errors
    /// When one cannot be read: what was meant to be left out, or kept private, must not be passed over.
    pub fn new<T: AsRef<str>>(globs: &[T]) -> Result<Self, GlobError> {
        let mut set = GlobSetBuilder::new();
        for glob in globs {
            let glob = composed(glob.as_ref());
            let glob = glob.trim_start_matches("./").trim_end_matches('/');
            if glob.len() > MAX_BYTES || nesting(glob) > MAX_NESTING {
                return Err(GlobError::TooMuch);
            }
            for glob in [glob.to_owned(), format!("{glob}/**")] {
                set.add(GlobBuilder::new(&glob).literal_separator(true).build()?);
            }
        }
        Ok(Self(set.build()?))
    }

    /// Whether one of them matches a path.
    pub fn is_match(&self, path: &str) -> bool {
        !self.0.is_empty() && self.0.is_match(&*composed(path))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn nesting(glob: &str) -> usize {
    let mut open = 0usize;
    let depths = glob.chars().map(|c| {
        match c {
            '{' => open += 1,
            '}' => open = open.saturating_sub(1),
            _ => {}
        }
        open
    });
    depths.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_means_all_that_is_in_it_however_it_is_spelled() {
        let globs = Globs::new(&["./notes/priv\u{e9}/"]).unwrap();
        for path in ["notes/priv\u{e9}/a.md", "notes/prive\u{301}/a/b.md", "notes/prive\u{301}"] {
            assert!(globs.is_match(path), "{path}");
        }
        assert!(!globs.is_match("notes/prive/a.md") && !Globs::default().is_match("a.md"));
    }

    #[test]
    fn a_glob_that_would_take_all_room_is_refused() {
        for glob in [
            format!("{}a{}", "{".repeat(100_000), "}".repeat(100_000)),
            "{".repeat(9) + &"}".repeat(9),
            "a".repeat(2000),
        ] {
            assert!(matches!(Globs::new(&[glob]), Err(GlobError::TooMuch)));
        }
        assert!(Globs::new(&["["]).is_err() && Globs::new(&["{a,{b,c}}/*.md"]).is_ok());
    }
}
