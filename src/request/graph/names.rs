//! Which notes a name means.

use std::sync::Arc;

use super::super::{LinkTargets, ReadScope};
use crate::derive::words::fold;
use crate::engine::FileEntry;
use crate::path::VaultPath;

/// Maximum number of notes that a name means, and of those whose names begin so.
pub(crate) const MAX_MEANT: usize = 20;

/// The notes that are meant.
#[derive(Debug, Default)]
pub(crate) struct MeantNotes<'a> {
    /// Those that are called so, by path, file name, title or alias: one, or several of one name.
    pub(crate) called: Vec<&'a Arc<FileEntry>>,
    /// Else those whose title or file name begins so.
    pub(crate) near: Vec<&'a Arc<FileEntry>>,
    /// Whether there are more.
    pub(crate) cut: bool,
}

/// The notes that a name means, of those that are seen. Case and accents do not count. Where one name alone begins so, it is that one.
pub(crate) fn meant<'a>(scope: &'a ReadScope, targets: &LinkTargets<'a>, name: &str) -> MeantNotes<'a> {
    let name = name.trim().trim_start_matches("[[").trim_end_matches("]]").trim();
    if name.is_empty() {
        return MeantNotes::default();
    }
    if name.contains('/') || name.ends_with(".md") {
        let root = VaultPath::new("_.md").ok();
        let at_path = root.and_then(|root| targets.resolve(name, &root));
        return MeantNotes { called: at_path.into_iter().collect(), ..MeantNotes::default() };
    }
    let wanted = fold(name);
    let is_it = |text: &str| fold(text.trim()) == wanted;
    let mut called = targets.seen(name);
    // Those of that very name before those that it is an alias of.
    called.sort_by_cached_key(|file| {
        let own = is_it(&file.title) || is_it(file.path.stem());
        (!own, file.path.as_str().matches('/').count(), file.path.clone())
    });
    if !called.is_empty() {
        let cut = called.len() > MAX_MEANT;
        called.truncate(MAX_MEANT);
        return MeantNotes { called, cut, ..MeantNotes::default() };
    }
    let begins = |text: &str| fold(text.trim()).starts_with(&wanted);
    let mut near: Vec<&Arc<FileEntry>> =
        scope.files().filter(|file| begins(&file.title) || begins(file.path.stem())).collect();
    near.retain(|file| targets.has(file));
    near.sort_by(|one, other| (&one.title, &one.path).cmp(&(&other.title, &other.path)));
    if let [only] = near[..] {
        return MeantNotes { called: vec![only], ..MeantNotes::default() };
    }
    let cut = near.len() > MAX_MEANT;
    near.truncate(MAX_MEANT);
    MeantNotes { called: Vec::new(), near, cut }
}
