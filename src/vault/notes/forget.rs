//! Removes a chunk or a note, so that it can be undone, or with `purge` so that it cannot: what is meant, what was made of it, and what of
//! that goes with it.

use std::collections::{HashMap, HashSet};

use super::derived::{
    ForgetStep, copies_of, derived, entries_of, keep_of_other_lines, learned_from, learned_from_told, notes_of,
};
use super::purge::{NewTombstone, Purge, lift};
use super::removal::{Removal, is_generated, whole_texts};
use crate::access::request::{Owner, RequestError, note_path};
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
    let (mut steps, other_copies) = made.unwrap_or_default();
    let told =
        |steps: Vec<ForgetStep>| steps.into_iter().filter(|step| !step.is_page).map(|step| step.derived).collect();
    if params.dry_run {
        forgotten.derived = told(steps);
        return Ok(forgotten);
    }
    let summary = root.left.as_deref().and_then(summary_of).filter(|_| params.derived);
    let summary = summary.map(|summary| root.add_summary(summary));
    for derived in steps.iter_mut().map(|step| &mut step.derived).filter(|derived| derived.summary) {
        derived.gone = summary == Some(true);
        derived.kept_because = (summary == Some(false)).then(|| "its lines are too complex; edit it yourself".into());
    }
    if params.derived && root.lines.is_some() {
        keep_of_other_lines(owner, &root.removed, &mut steps);
    }
    for step in steps.iter_mut().filter(|step| !step.derived.summary) {
        let is_meant = params.derived && step.derived.kept_because.is_none();
        if step.is_copy || is_meant || is_only_generated(owner, &step.derived) {
            step.plan(owner, &root, params.purge);
        }
    }
    add_pages(owner, &root, &mut steps, params.purge)?;
    if !params.purge {
        let (checkpoint, _) = root.remove(owner, false, || ())?;
        forgotten.checkpoint_id = checkpoint.map(|id| id.to_string());
        for step in steps.iter_mut().filter(|step| step.goes()) {
            let removed = Removal::again(owner, step, false).and_then(|removal| {
                let (checkpoint, _) = removal.remove(owner, false, || ())?;
                workspace.settled_in_time(&removal.path);
                Ok(checkpoint.map(|id| id.to_string()))
            });
            step.tell(removed);
        }
        forgotten.searchable = workspace.settled_in_time(&root.path).is_some();
        forgotten.derived = told(steps);
        return Ok(forgotten);
    }
    root.retitle();
    let remembered = NewTombstone::of(owner, &root, None)?;
    // What is still said: of what was made of it no more is forgotten than nobody else says.
    let staying = staying(owner, &root, &steps, params.derived)?;
    steps.iter_mut().for_each(|step| leave_out(step, &staying));
    add_learned(owner, &root, &remembered, &mut steps, &staying)?;

    let mut purge = Purge::begin(owner, &root, &remembered, &mut steps)?;
    purge.take(&root, remembered)?;
    purge.count_commits(&root.path);
    if steps.is_empty() && root.hash.is_none() && root.left.is_none() && root.facts.is_none() {
        purge.clear();
        if purge.is_of_nothing() {
            return Err(WriteError::Gone(root.path.clone()).into());
        }
    }
    let mut changed = Vec::new();
    for step in steps.iter_mut().filter(|step| step.goes()) {
        let taken = Removal::again(owner, step, true).and_then(|removal| {
            let remembered = step.remembered.take();
            purge.take(&removal, remembered.map_or_else(|| NewTombstone::of(owner, &removal, None), Ok)?)?;
            changed.push(removal.path);
            Ok(None)
        });
        if taken.is_err() {
            lift(workspace, step.tombstone);
        }
        step.tell(taken);
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
    forgotten.derived = told(steps);
    Ok(forgotten)
}

/// What was made of something that goes, the copies with its very bytes among it, and its other copies.
fn made_of(owner: &Owner, root: &Removal, purge: bool) -> Result<(Vec<ForgetStep>, Vec<VaultPath>), RequestError> {
    let mut listed = notes_of(&owner.now()?, root.place())?;
    listed.extend(entries_of(owner, root.place(), &root.removed));
    listed.extend(learned_from(owner, root.place(), purge));
    let summary = root.left.as_deref().and_then(summary_of);
    listed.extend(summary.iter().map(|_| DerivedNote { summary: true, ..derived(root.path.to_string()) }));
    let mut steps: Vec<ForgetStep> = listed.into_iter().map(ForgetStep::of).collect();
    let Some(hash) = root.hash.filter(|_| purge) else { return Ok((steps, Vec::new())) };
    let (copies, other_copies) = copies_of(owner, &root.path, &hash)?;
    steps.extend(copies.into_iter().map(|copy| ForgetStep { is_copy: true, ..ForgetStep::of(copy) }));
    Ok((steps, other_copies))
}

/// Remembers nothing of it that stays elsewhere.
fn leave_out(step: &mut ForgetStep, staying: &HashSet<TextPart>) {
    if let Some(remembered) = &mut step.remembered {
        remembered.parts.retain(|part| !staying.contains(part));
    }
}

/// Whether something is a note that the program has generated and nobody has edited: it is nobody's, and is made anew of what is left.
fn is_only_generated(owner: &Owner, derived: &DerivedNote) -> bool {
    let path = note_path(&derived.path).ok().filter(|path| !path.is_document() && derived.fact.is_none());
    let source = path.and_then(|path| owner.workspace().source(&path).ok());
    source.is_some_and(|source| is_generated(&source.text))
}

/// Adds the generated pages that were made of what goes, and of those in turn.
fn add_pages(owner: &Owner, root: &Removal, steps: &mut Vec<ForgetStep>, purge: bool) -> Result<(), RequestError> {
    let (scope, mut at) = (owner.now()?, 0);
    while let Some(step) = steps.get(at) {
        at += 1;
        let Some(removal) = &step.removal else { continue };
        let mut pages = notes_of(&scope, removal.place())?;
        pages.retain(|page| {
            let is_step = |step: &ForgetStep| step.goes() && step.derived.path == page.path;
            !root.path.same_as(&page.path) && !steps.iter().any(is_step) && is_only_generated(owner, page)
        });
        let planned = |page| {
            let mut step = ForgetStep { is_page: true, ..ForgetStep::of(page) };
            step.plan(owner, removal, purge);
            step
        };
        let pages: Vec<ForgetStep> = pages.into_iter().map(planned).collect();
        steps.extend(pages);
    }
    Ok(())
}

/// Adds the entries that were learned from events of which something goes.
fn add_learned(
    owner: &Owner,
    root: &Removal,
    remembered: &NewTombstone,
    steps: &mut Vec<ForgetStep>,
    staying: &HashSet<TextPart>,
) -> Result<(), RequestError> {
    for _ in 0..TOLD_ROUNDS {
        let of_steps = steps.iter().filter_map(|step| step.remembered.as_ref());
        let gone: Vec<&NewTombstone> = std::iter::once(remembered).chain(of_steps).collect();
        let mut is_over = true;
        for path in learned_from_told(owner, &gone)? {
            let at = steps.iter().position(|step| step.derived.path == path).unwrap_or_else(|| {
                steps.push(ForgetStep::of(derived(path)));
                steps.len() - 1
            });
            let step = &mut steps[at];
            if !step.goes() && step.derived.kept_because.is_none() {
                step.plan(owner, root, true);
                leave_out(step, staying);
                is_over = false;
            }
        }
        if is_over {
            break;
        }
        add_pages(owner, root, steps, true)?;
    }
    Ok(())
}

/// What of that which goes with a note is said by what stays: by the rest of the note, and with `all` by any other note.
///
/// # Errors
/// When the index is not open yet.
fn staying(owner: &Owner, root: &Removal, steps: &[ForgetStep], all: bool) -> Result<HashSet<TextPart>, RequestError> {
    let wanted = steps.iter().filter_map(|step| step.remembered.as_ref());
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
    for removal in steps.iter().filter_map(|step| step.removal.as_ref()) {
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
