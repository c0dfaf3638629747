//! Removes a chunk or a note, so that it can be undone, or with `purge` so that it cannot: what is meant, what was made of it, and what of
//! that goes with it.

use std::collections::{HashMap, HashSet};

use super::derived::{
    JournalItem, SourceLines, copies_of, derived, entries_of, keep_of_other_lines, learned_from, learned_from_told,
    notes_of,
};
use super::purge::{NewTombstone, Purge, lift};
use super::removal::{LineSpan, Removal, is_generated, whole_texts};
use crate::access::request::{ErrorKind, Owner, RequestError, note_path};
use crate::base::path::VaultPath;
use crate::serve::wire::{DerivedNote, ForgetParams, Forgotten};
use crate::text::derive::ChunkId;
use crate::text::derive::facts::FactsFile;
use crate::text::note::summary_of;
use crate::vault::disk::WriteError;
use crate::vault::forgotten::{TextPart, parts_of};

/// How often what was learned from events is looked for: what went with them may be said in events, too.
const TOLD_ROUNDS: usize = 2;

/// Removes a chunk, lines or a whole note. Returns when none of it can be found.
///
/// # Errors
/// When a parameter makes no sense, there is no such chunk or note, it has changed since, or the disk refuses.
pub fn forget(owner: &Owner, params: &ForgetParams) -> Result<Forgotten, RequestError> {
    let workspace = owner.workspace();
    let one = (!params.dry_run).then(|| workspace.files().map(|files| files.one_generation())).transpose()?;
    let mut root = Removal::asked(owner, params)?;
    let seen = root.hash.map(|hash| ChunkId::of_note(&root.path, hash.as_bytes()).to_string());
    let mut forgotten = Forgotten {
        ok: true,
        path: root.path.to_string(),
        whole: root.left.is_none(),
        content: if params.dry_run { root.removed.join("\n\n") } else { String::new() },
        seen: seen.unwrap_or_default(),
        searchable: true,
        ..Forgotten::default()
    };
    // Of a fact that has no value any more nothing was made.
    let is_there = root.hash.is_some() || root.left.is_none();
    let made = is_there.then(|| made_of(owner, &root, params.purge)).transpose()?;
    let (mut listed, others, other_copies) = made.unwrap_or_default();
    if params.dry_run {
        forgotten.derived = listed;
        return Ok(forgotten);
    }
    let summary = root.left.as_deref().and_then(summary_of).filter(|_| params.derived);
    let summary = summary.map(|summary| root.add_summary(summary));
    for derived in listed.iter_mut().filter(|derived| derived.summary) {
        derived.gone = summary == Some(true);
        derived.kept_because = (summary == Some(false)).then(|| "its lines are too complex; edit it yourself".into());
    }
    if params.derived && root.lines.is_some() {
        keep_of_other_lines(owner, &root.removed, &mut listed);
    }
    let mut items = Vec::new();
    for (at, derived) in listed.iter().enumerate() {
        let is_meant = params.derived && derived.kept_because.is_none();
        if !derived.summary && (at >= others || is_meant || is_only_generated(owner, derived)) {
            let item = PlannedItem::of(owner, derived, at >= others, &root, params.purge);
            items.push(PlannedItem { listed: Some(at), ..item });
        }
    }
    add_pages(owner, &root, &mut items, params.purge)?;
    if !params.purge {
        let (checkpoint, _) = root.remove(owner, false, || ())?;
        forgotten.checkpoint_id = checkpoint.map(|id| id.to_string());
        for item in &items {
            let removed = Removal::again(owner, &item.going, item.made_of(), false).and_then(|removal| {
                let (checkpoint, _) = removal.remove(owner, false, || ())?;
                workspace.settled_in_time(&removal.path);
                Ok(checkpoint.map(|id| id.to_string()))
            });
            item.tell(&mut listed, removed);
        }
        forgotten.searchable = workspace.settled_in_time(&root.path).is_some();
        forgotten.derived = listed;
        return Ok(forgotten);
    }
    root.retitle();
    let remembered = NewTombstone::of(owner, &root, None)?;
    // What is still said: of what was made of it no more is forgotten than nobody else says.
    let staying = staying(owner, &root, &items, params.derived)?;
    items.iter_mut().for_each(|item| item.leave_out(&staying));
    add_learned(owner, &root, &remembered, &mut items, &mut listed, &staying)?;

    let going: Vec<JournalItem> = items.iter().map(|item| item.going.clone()).collect();
    let mut purge = Purge::begin(owner, &root, &remembered, &going)?;
    for (at, item) in items.iter_mut().enumerate() {
        if let (Some(removal), Some(remembered)) = (&item.removal, &item.remembered) {
            let tombstone = purge.remember(removal, remembered, Some(at));
            item.going.tombstone = tombstone.inspect_err(|_| purge.take_back())?;
        }
    }
    purge.take(&root, remembered)?;
    purge.count_commits(&root.path);
    if listed.is_empty() && root.hash.is_none() && root.left.is_none() && root.facts.is_none() {
        purge.clear();
        if purge.is_of_nothing() {
            return Err(WriteError::Gone(root.path.clone()).into());
        }
    }
    let mut changed = Vec::new();
    for item in &mut items {
        let taken = Removal::again(owner, &item.going, item.made_of(), true).and_then(|removal| {
            let remembered = item.remembered.take();
            purge.take(&removal, remembered.map_or_else(|| NewTombstone::of(owner, &removal, None), Ok)?)?;
            changed.push(removal.path);
            Ok(None)
        });
        if taken.is_err() {
            lift(workspace, item.going.tombstone);
        }
        item.tell(&mut listed, taken);
    }
    purge.clear();
    for path in &changed {
        workspace.settled_in_time(path);
    }
    forgotten.searchable = workspace.settled_in_time(&root.path).is_some();
    purge.look_for_remains(&root, &other_copies);
    // Who makes something waits for that with the index as it was in hand.
    drop(one);
    purge.erase(forgotten.searchable);
    forgotten.purged = Some(std::mem::take(&mut purge.view));
    forgotten.derived = listed;
    Ok(forgotten)
}

/// What was made of something that goes, how many of those are no copies that have its very bytes, and its other copies.
fn made_of(
    owner: &Owner,
    root: &Removal,
    purge: bool,
) -> Result<(Vec<DerivedNote>, usize, Vec<VaultPath>), RequestError> {
    let mut listed = notes_of(&owner.now()?, root.place())?;
    listed.extend(entries_of(owner, root.place(), &root.removed));
    listed.extend(learned_from(owner, root.place(), purge));
    let summary = root.left.as_deref().and_then(summary_of);
    listed.extend(summary.iter().map(|_| DerivedNote { summary: true, ..derived(root.path.to_string()) }));
    let others = listed.len();
    let Some(hash) = root.hash.filter(|_| purge) else { return Ok((listed, others, Vec::new())) };
    let (copies, other_copies) = copies_of(owner, &root.path, &hash)?;
    listed.extend(copies);
    Ok((listed, others, other_copies))
}

/// Something that is about to go with the note.
struct PlannedItem {
    going: JournalItem,
    /// Where it is in the list of what was made of the note.
    listed: Option<usize>,
    /// What it was made of.
    made_of: (VaultPath, Option<LineSpan>),
    /// As it is now; `None` where it cannot go.
    removal: Option<Removal>,
    /// What is remembered of it, if it goes for good.
    remembered: Option<NewTombstone>,
}

impl PlannedItem {
    /// What was made of a removal; a copy has the very bytes of its file.
    fn of(owner: &Owner, derived: &DerivedNote, is_copy: bool, made_of: &Removal, purge: bool) -> Self {
        let mut going = JournalItem { derived: derived.clone(), is_copy, seen: None, tombstone: None };
        let removal = Removal::of(owner, &going, made_of.place(), purge).ok();
        let removal = removal.filter(|removal| !is_copy || removal.hash == made_of.hash);
        going.seen = removal.as_ref().and_then(Removal::digest);
        let remembered = removal.as_ref().filter(|_| purge);
        let remembered = remembered.and_then(|removal| NewTombstone::of(owner, removal, Some(made_of.place())).ok());
        Self { going, listed: None, made_of: (made_of.path.clone(), made_of.lines), removal, remembered }
    }

    /// Remembers nothing of it that stays elsewhere.
    fn leave_out(&mut self, staying: &HashSet<TextPart>) {
        if let Some(remembered) = &mut self.remembered {
            remembered.parts.retain(|part| !staying.contains(part));
        }
    }

    fn made_of(&self) -> SourceLines<'_> {
        (&self.made_of.0, self.made_of.1)
    }

    /// Says in the list what became of it.
    fn tell(&self, listed: &mut [DerivedNote], result: Result<Option<String>, RequestError>) {
        let Some(derived) = self.listed.and_then(|at| listed.get_mut(at)) else { return };
        match result {
            Ok(checkpoint) => (derived.gone, derived.checkpoint_id) = (true, checkpoint),
            // Who keeps summaries may have taken it away just before.
            Err(error) if error.kind == ErrorKind::NotFound => derived.gone = true,
            Err(error) => derived.kept_because = Some(error.message),
        }
    }
}

/// Whether something is a note that the program has generated and nobody has edited: it is nobody's, and is made anew of what is left.
fn is_only_generated(owner: &Owner, derived: &DerivedNote) -> bool {
    let path = note_path(&derived.path).ok().filter(|path| !path.is_document() && derived.fact.is_none());
    let source = path.and_then(|path| owner.workspace().source(&path).ok());
    source.is_some_and(|source| is_generated(&source.text))
}

/// Adds the generated pages that were made of what goes, and of those in turn.
fn add_pages(owner: &Owner, root: &Removal, items: &mut Vec<PlannedItem>, purge: bool) -> Result<(), RequestError> {
    let (scope, mut at) = (owner.now()?, 0);
    while let Some(item) = items.get(at) {
        at += 1;
        let Some(removal) = &item.removal else { continue };
        let mut pages = notes_of(&scope, removal.place())?;
        pages.retain(|page| {
            let is_known =
                root.path.same_as(&page.path) || items.iter().any(|item| item.going.derived.path == page.path);
            !is_known && is_only_generated(owner, page)
        });
        let pages: Vec<_> = pages.iter().map(|page| PlannedItem::of(owner, page, false, removal, purge)).collect();
        items.extend(pages);
    }
    Ok(())
}

/// Adds the entries that were learned from events of which something goes.
fn add_learned(
    owner: &Owner,
    root: &Removal,
    remembered: &NewTombstone,
    items: &mut Vec<PlannedItem>,
    listed: &mut Vec<DerivedNote>,
    staying: &HashSet<TextPart>,
) -> Result<(), RequestError> {
    for _ in 0..TOLD_ROUNDS {
        let looked = items.len();
        let of_items = items.iter().filter_map(|item| item.remembered.as_ref());
        let gone: Vec<&NewTombstone> = std::iter::once(remembered).chain(of_items).collect();
        for path in learned_from_told(owner, &gone)? {
            let is_kept = listed.iter().any(|known| known.path == path && known.kept_because.is_some());
            if is_kept || items.iter().any(|item| item.going.derived.path == path) {
                continue;
            }
            let at = listed.iter().position(|known| known.path == path).unwrap_or(listed.len());
            if at == listed.len() {
                listed.push(derived(path));
            }
            let mut item = PlannedItem::of(owner, &listed[at], false, root, true);
            item.leave_out(staying);
            items.push(PlannedItem { listed: Some(at), ..item });
        }
        if items.len() == looked {
            break;
        }
        add_pages(owner, root, items, true)?;
    }
    Ok(())
}

/// What of that which goes with a note is said by what stays: by the rest of the note, and with `all` by any other note.
///
/// # Errors
/// When the index is not open yet.
fn staying(owner: &Owner, root: &Removal, items: &[PlannedItem], all: bool) -> Result<HashSet<TextPart>, RequestError> {
    let wanted = items.iter().filter_map(|item| item.remembered.as_ref());
    let wanted: HashSet<&TextPart> = wanted.flat_map(|remembered| &remembered.parts).collect();
    let mut staying: HashSet<TextPart> = HashSet::new();
    let mut stays = |path: &VaultPath, left: &str| {
        let mut texts = whole_texts(path, left);
        if owner.workspace().fact_store().scope_of(path).is_some() {
            texts.extend(FactsFile::read(left).facts().map(|fact| fact.text.clone()));
        }
        staying.extend(parts_of(&texts).into_iter().filter(|part| wanted.contains(part)));
    };
    stays(&root.path, root.left.as_deref().unwrap_or_default());
    if !all || wanted.is_empty() {
        return Ok(staying);
    }
    let mut of_files: HashMap<&VaultPath, Vec<&Removal>> = HashMap::new();
    for removal in items.iter().filter_map(|item| item.removal.as_ref()) {
        of_files.entry(&removal.path).or_default().push(removal);
    }
    for file in owner.now()?.files().filter(|file| file.path != root.path) {
        // One that is not there stays with nobody.
        let Ok(source) = owner.workspace().source(&file.path) else { continue };
        let goes = |line: usize| of_files.get(&file.path).is_some_and(|all| all.iter().any(|one| one.has(line)));
        let lines = source.text.split_inclusive('\n').enumerate().filter(|(at, _)| !goes(at + 1));
        stays(&file.path, &lines.map(|(_, line)| line).collect::<String>());
    }
    Ok(staying)
}
