//! Removes a chunk or a note, so that it can be undone, or with `purge` so that it cannot.

use blake3::Hash;

use super::copies::copies_of;
use super::derived::{GoingPlace, derived, made_of};
use super::derived_entries::forget_entry;
use super::derived_facts::{forget_learned, hide_places, learned_from};
use super::forget_target::{ForgottenPart, Target, refused, remainder, target};
use super::generated::{add_unindexed, citing, is_only_generated};
use super::going::{GoingWith, keep_of_other_lines, note_staying};
use super::gone::GoneForGood;
use super::kept_elsewhere::drop_kept_elsewhere;
use super::purge::{Purge, close, sweep_traces, told_in_traces, whole_texts};
use super::purge_facts::{self, FactTarget, GoneFacts};
use super::remains::{clear_pending, in_copy, in_summary, in_title, in_trash, other_names, remains};
use super::retitle::retitled;
use super::told::learned_from_told;
use crate::derive::ChunkId;
use crate::engine::ContentHash;
use crate::fs::crash;
use crate::note::{summary_of, without_summary};
use crate::path::VaultPath;
use crate::request::{Owner, RequestError, Workspace};
use crate::summary_files::summary_path;
use crate::vault::{Action, Files, Purged, WriteError, commits_of};
use crate::wire::{DerivedNote, ForgetParams, Forgotten, PurgedView};

/// Maximum number of steps from what is forgotten to a page that was made of a page of it.
const MOST_STEPS: usize = 8;
/// How often what was learned from events is looked for: what went with them may be said in events, too.
const TOLD_ROUNDS: usize = 2;

/// Removes a chunk, lines or a whole note. Returns when none of it can be found.
///
/// # Errors
/// When a parameter makes no sense, there is no such chunk or note, it has changed since, or the disk refuses.
pub fn forget(owner: &Owner, params: &ForgetParams) -> Result<Forgotten, RequestError> {
    let one = (!params.dry_run).then(|| owner.workspace().files().map(Files::one_generation)).transpose()?;
    let mut gone = GoneForGood::default();
    let mut forgotten = forget_part(owner, params, None, &mut gone)?;
    let Some(purged) = forgotten.purged.as_mut().filter(|_| !gone.texts.is_empty()) else { return Ok(forgotten) };
    let mut left = clear_left(owner, &mut forgotten.derived, &mut gone)?;
    // Who makes something waits for that with the index as it was in hand.
    drop(one);
    erase(owner, &mut gone, &mut left);
    purged.checkpoints += left.checkpoints;
    purged.embeddings += left.embeddings;
    purged.traces += left.traces;
    purged.remains.extend(left.remains);
    if !forgotten.searchable && !purged.remains.iter().any(|told| told == IN_THE_INDEX) {
        purged.remains.push(IN_THE_INDEX.into());
    }
    Ok(forgotten)
}

/// Clears what is not in notes of all that went for good: histories, checkpoints, traces.
///
/// # Errors
/// When another process has the vault by now.
pub(super) fn clear_left(
    owner: &Owner,
    derived: &mut Vec<DerivedNote>,
    gone: &mut GoneForGood,
) -> Result<PurgedView, RequestError> {
    let workspace = owner.workspace();
    let (mut left, mut is_done) = (PurgedView::default(), true);
    let mut keeps = |left: &mut PurgedView, why: String| {
        is_done = false;
        left.remains.push(why);
    };
    if let Err(error) = forget_told(owner, derived, gone) {
        keeps(&mut left, format!("what was learned from traces may say it: {}", error.message));
    }
    left.remains.extend(hide_places(workspace, &gone.places));
    let texts: Vec<String> = gone.texts.iter().flat_map(|gone| gone.texts.iter().cloned()).collect();
    match drop_kept_elsewhere(workspace, workspace.files()?, &texts) {
        Ok(dropped) => left.checkpoints += dropped,
        Err(error) => left.remains.push(format!("checkpoints of other files may have the text: {error}")),
    }
    crash::point("purge-cleared");
    match sweep_traces(owner, &gone.texts) {
        Ok(swept) => left.traces += swept,
        Err(error) => keeps(&mut left, format!("the traces of agents may have the text: {}", error.message)),
    }
    if !is_done {
        // The next start goes on.
        gone.open.clear();
    }
    Ok(left)
}

/// Leaves nothing of what went in the files of the index; the purges are finished then.
pub(super) fn erase(owner: &Owner, gone: &mut GoneForGood, left: &mut PurgedView) {
    match owner.workspace().erase_from_index(std::mem::take(&mut gone.embedded)) {
        Ok((embeddings, is_erased)) => {
            left.embeddings = embeddings;
            left.remains.extend((!is_erased).then(|| IN_THE_INDEX.into()));
            close(owner.workspace(), &gone.open);
        }
        Err(error) => left.remains.push(format!("the files of the index may have the text: {}", error.message)),
    }
}

/// What a purge says where the index does not follow yet, or somebody reads it as it was before.
const IN_THE_INDEX: &str =
    "the files of the index have the text until it has caught up, and the searches that are under way have ended";

/// Removes the entries of memory that were learned from events of which something goes.
fn forget_told(owner: &Owner, found: &mut Vec<DerivedNote>, gone: &mut GoneForGood) -> Result<(), RequestError> {
    let mut looked = 0;
    for _ in 0..TOLD_ROUNDS {
        let told = learned_from_told(owner, &gone.texts[looked..])?;
        looked = gone.texts.len();
        for path in told {
            if found.iter().any(|known| known.path == path && (known.gone || known.kept_because.is_some())) {
                continue;
            }
            let mut entry = derived(path);
            let go =
                |params: &ForgetParams| forget_part(owner, params, None, gone).map(|forgotten| forgotten.checkpoint_id);
            match forget_entry(owner, &entry.path, true, go) {
                Ok(_) => entry.gone = true,
                Err(error) => entry.kept_because = Some(error.message),
            }
            found.retain(|known| known.path != entry.path);
            found.push(entry);
        }
        if gone.texts.len() == looked {
            break;
        }
    }
    Ok(())
}

/// The same, but that histories name still where something was learned: what went for good is put into `gone`. `because` is what it was
/// made of, where it is a generated page that goes with that.
fn forget_part(
    owner: &Owner,
    params: &ForgetParams,
    because: Option<GoingPlace<'_>>,
    gone: &mut GoneForGood,
) -> Result<Forgotten, RequestError> {
    let workspace = owner.workspace();
    let files = workspace.files()?;
    let (Target { path, part, seen }, fact) = match params.fact.as_deref() {
        None => (target(owner, params)?, None),
        Some(_) if params.hash.is_some() || params.path.is_some() => {
            return Err(RequestError::invalid("give `fact`, `hash` or `path`"));
        }
        Some(name) => {
            let fact = FactTarget::of(owner, params, name)?;
            let Some((first, last)) = fact.lines else { return fact.purge_history(owner, params, gone) };
            (Target { path: fact.path, part: ForgottenPart::Lines(first, last), seen: None }, Some(fact.gone))
        }
    };
    gone.begun.push(path.clone());
    let Some((bytes, hash)) = files.read(&path)? else {
        return purge_gone(owner, files, &path, params, gone);
    };
    let name = ChunkId::of_note(&path, hash.as_bytes()).to_string();
    let changed = || RequestError::from(WriteError::Changed(path.clone()));
    if seen.is_some_and(|seen| seen != *hash.as_bytes()) || params.seen.as_ref().is_some_and(|seen| *seen != name) {
        return Err(changed());
    }
    if path.is_document() && !matches!(part, ForgottenPart::Whole) {
        let message = format!("`{path}` is an attachment, which is never written; only all of it can go");
        return Err(RequestError::invalid(message));
    }
    let had = match part {
        ForgottenPart::Whole => workspace.text_of(&path, bytes),
        _ => String::from_utf8(bytes)
            .map_err(|_| RequestError::invalid(format!("`{path}` is not text; only all of it can go")))?,
    };
    let (mut left, lines) = remainder(&path, &had, part).map_err(|error| match error {
        Some(error) => refused(&path, error),
        None => changed(),
    })?;
    if params.purge && lines.is_some() {
        purge_facts::check_history(owner, &path, &left.removed)?;
    }
    let mut forgotten = Forgotten {
        ok: true,
        path: path.to_string(),
        checkpoint_id: None,
        whole: left.text.is_none(),
        content: if params.dry_run { left.removed.join("\n\n") } else { String::new() },
        seen: name,
        searchable: true,
        purged: None,
        derived: Vec::new(),
    };
    let place = (&path, lines.filter(|_| left.text.is_some()));
    forgotten.derived = made_of(&owner.now()?, place.0, place.1, &left.removed)?;
    add_unindexed(owner, &path, &mut forgotten.derived)?;
    forgotten.derived.extend(learned_from(owner, place, params.purge));
    let summary = left.text.as_deref().and_then(summary_of);
    forgotten.derived.extend(summary.iter().map(|_| DerivedNote { summary: true, ..derived(path.to_string()) }));
    let (same_copies, other_copies) = match params.purge {
        true => copies_of(owner, &path, hash.as_bytes())?,
        false => Default::default(),
    };
    forgotten.derived.extend(same_copies.iter().cloned());
    if params.dry_run {
        return Ok(forgotten);
    }
    if let (true, Some(summary)) = (params.derived, summary) {
        let without = left.text.as_deref().and_then(without_summary);
        for derived in forgotten.derived.iter_mut().filter(|derived| derived.summary) {
            derived.gone = without.is_some();
            derived.kept_because =
                without.is_none().then(|| "its lines are not plain enough; change it yourself".into());
        }
        if let Some(without) = without {
            left.text = Some(without);
            left.removed.push(summary);
        }
    }
    if params.purge {
        left.text = left.text.map(|text| retitled(&path, &text, &left.removed).unwrap_or(text));
    }
    let facts = fact.or_else(|| GoneFacts::of(owner, &path, &had, left.text.as_deref())).filter(|_| params.purge);
    let values = facts.as_ref().map(GoneFacts::values).unwrap_or_default();
    if params.derived && place.1.is_some() {
        keep_of_other_lines(owner, &left.removed, &mut forgotten.derived);
    }
    let is_copy = |derived: &DerivedNote| same_copies.iter().any(|copy| copy.path == derived.path);
    let goes = |derived: &&DerivedNote| is_copy(derived) || goes_with(params, derived);
    let with = forgotten.derived.iter().filter(goes);
    let with: Vec<GoingWith> = with.map(|derived| GoingWith::of(derived, is_copy(derived).then_some(hash))).collect();
    let mut said = match because {
        Some(because) => citing(&path, &had, because),
        None if forgotten.whole => whole_texts(&path, &had),
        None => left.removed.clone(),
    };
    said.extend(values);
    let purge = match params.purge {
        true => {
            let (said, facts) = (gone.staying.leave_out_of(said), facts.as_ref().map(GoneFacts::named));
            gone.embedded.extend(contents_of(workspace, &path, hash));
            Some(Purge::begin(owner, place, &had, said, facts, forgotten.whole, &GoingWith::written(&with)?)?)
        }
        false => None,
    };
    let other_names = other_names(&path.on_disk(workspace.home().root()));
    let remove = || match &left.text {
        None => files.trash(&path, hash).map_err(RequestError::from),
        Some(text) => files.replace(&path, hash, text, Action::Forget).map_err(RequestError::from),
    };
    let removed = match &facts {
        // Meanwhile nobody notes them anew.
        Some(facts) => workspace.ledger().purge(files, &path, |change, text| facts.means(change, text), remove),
        None => remove().map(|id| (id, None)),
    };
    let (id, in_history) = removed.inspect_err(|_| purge.iter().for_each(Purge::take_back))?;
    crash::point("purge-removed");
    workspace.forget_given(&path, &had, left.text.as_deref());
    let elsewhere = purge.as_ref().map_or(0, |purge| purge.drop_elsewhere(files));
    let purged = match params.purge {
        true => Some(files.purge(&path)?),
        false => None,
    };
    let kept_text = workspace.forget_attachment(&path);
    crash::point("purge-emptied");
    if let (1, Some(text)) = (gone.begun.len(), left.text.as_ref()) {
        whole_texts(&path, text).iter().for_each(|text| gone.staying.add(text));
    }
    forget_generated(owner, place, &mut forgotten, params.purge, gone);
    for GoingWith { derived: copy, copy: seen } in &with {
        let listed = forgotten.derived.iter_mut().filter(|derived| !derived.gone && derived.path == copy.path);
        for (listed, seen) in listed.zip(seen.clone()) {
            forget_copy(owner, place, listed, seen, gone);
        }
    }
    if params.purge {
        purge_summary(files, &path)?;
    }
    forgotten.searchable = workspace.settled_in_time(&path).is_some();
    forget_going(owner, place, params, &mut forgotten.derived, gone);
    let Some((purged, purge)) = purged.zip(purge) else {
        forgotten.checkpoint_id = Some(id.to_string());
        return Ok(forgotten);
    };
    gone.add(Some((path.clone(), place.1)), &purge);
    let commits = commits_of(workspace.home().root(), &path).filter(|commits| *commits > 0);
    forgotten.purged = Some(PurgedView {
        checkpoints: purged.checkpoints + elsewhere,
        trashed: purged.trashed,
        embeddings: 0,
        traces: 0,
        commits,
        tombstone: purge.tombstone,
        remains: in_trash(&purged)
            .chain(kept_text)
            .chain(in_history.as_ref().map(purge_facts::in_history))
            .chain(workspace.sweep_given())
            .chain(purge.clear_logs(files))
            .chain(clear_pending(workspace, purge.tombstone))
            .chain(in_title(&path, left.text.as_deref(), &left.removed))
            .chain(in_summary(&path, left.text.as_deref()))
            .chain(other_copies.iter().map(in_copy))
            .chain(remains(owner, &path, forgotten.whole, commits, other_names))
            .collect(),
    });
    Ok(forgotten)
}

/// Whether something that was made of what goes is to go with it, and in one step of its own.
fn goes_with(params: &ForgetParams, derived: &DerivedNote) -> bool {
    params.derived && !derived.gone && !derived.summary && derived.kept_because.is_none()
}

/// Removes what was made of what is forgotten and is to go with it.
fn forget_going(
    owner: &Owner,
    place: GoingPlace<'_>,
    params: &ForgetParams,
    all: &mut [DerivedNote],
    gone: &mut GoneForGood,
) {
    let is_known = match params.purge {
        true => note_staying(owner, all.iter().filter(|derived| goes_with(params, derived)), &mut gone.staying),
        false => Ok(()),
    };
    for derived in all.iter_mut().filter(|derived| goes_with(params, derived)) {
        match &is_known {
            Ok(()) => forget_derived(owner, place, derived, params.purge, gone),
            Err(error) => derived.kept_because = Some(error.message.clone()),
        }
    }
}

/// Removes the same of a copy that has the very bytes of the note, and the name `seen` by those.
pub(super) fn forget_copy(
    owner: &Owner,
    place: GoingPlace<'_>,
    copy: &mut DerivedNote,
    seen: String,
    gone: &mut GoneForGood,
) {
    let (line_start, line_end) = place.1.unzip();
    let (path, seen) = (Some(copy.path.clone()), Some(seen));
    let params = ForgetParams { path, line_start, line_end, seen, purge: true, ..ForgetParams::default() };
    match forget_part(owner, &params, None, gone) {
        Ok(_) => copy.gone = true,
        Err(error) => copy.kept_because = Some(error.message),
    }
}

/// Removes what the program has generated of what is forgotten and nobody has edited: it is nobody's, and is made anew of what is left.
fn forget_generated(
    owner: &Owner,
    place: GoingPlace<'_>,
    forgotten: &mut Forgotten,
    purge: bool,
    gone: &mut GoneForGood,
) {
    gone.steps += 1;
    let is_in_reach = gone.steps <= MOST_STEPS;
    for derived in forgotten.derived.iter_mut().filter(|_| is_in_reach) {
        let is_note = derived.fact.is_none() && !derived.summary;
        let is_begun = gone.begun.iter().any(|path| path.same_as(&derived.path));
        if is_note && !is_begun && is_only_generated(owner, &derived.path) {
            forget_derived(owner, place, derived, purge, gone);
        }
    }
    gone.steps -= 1;
}

/// Drops what is kept of the summary of a conversation, which may have gone before it.
fn purge_summary(files: &Files, path: &VaultPath) -> Result<(), RequestError> {
    if let Some(summary) = summary_path(path)
        && files.read(&summary)?.is_none()
    {
        files.purge(&summary)?;
    }
    Ok(())
}

/// Removes what was made of what is forgotten, in the same way.
pub(super) fn forget_derived(
    owner: &Owner,
    place: GoingPlace<'_>,
    derived: &mut DerivedNote,
    purge: bool,
    gone: &mut GoneForGood,
) {
    let because = Some(place).filter(|_| is_only_generated(owner, &derived.path));
    let go = |params: &ForgetParams, gone: &mut GoneForGood| {
        forget_part(owner, params, because, gone).map(|forgotten| forgotten.checkpoint_id)
    };
    let result = match derived {
        // With the text that it stood above.
        DerivedNote { summary: true, .. } => return,
        DerivedNote { path, .. } if path.contains("#^") => forget_entry(owner, path, purge, |params| go(params, gone)),
        DerivedNote { fact: Some(_), .. } => forget_learned(owner, place, derived, purge, gone, go),
        _ => go(&ForgetParams { path: Some(derived.path.clone()), purge, ..ForgetParams::default() }, gone),
    };
    match result {
        Ok(checkpoint) => (derived.gone, derived.checkpoint_id) = (true, checkpoint),
        Err(error) => derived.kept_because = Some(error.message),
    }
}

/// A note that is gone already may have left traces.
fn purge_gone(
    owner: &Owner,
    files: &Files,
    path: &VaultPath,
    params: &ForgetParams,
    gone: &mut GoneForGood,
) -> Result<Forgotten, RequestError> {
    let gone_already = || RequestError::from(WriteError::Gone(path.clone()));
    if !params.purge || params.path.is_none() || params.line_start.is_some() {
        return Err(gone_already());
    }
    let mut forgotten = Forgotten {
        ok: true,
        path: path.to_string(),
        checkpoint_id: None,
        whole: true,
        content: String::new(),
        seen: String::new(),
        searchable: true,
        purged: None,
        derived: made_of(&owner.now()?, path, None, &[])?,
    };
    let place = (path, None);
    add_unindexed(owner, path, &mut forgotten.derived)?;
    forgotten.derived.extend(learned_from(owner, place, true));
    if params.dry_run {
        return Ok(forgotten);
    }
    // What it said last is what goes.
    let had = files.last_content(path)?.map(|bytes| owner.workspace().text_of(path, bytes));
    let had = had.as_deref().unwrap_or_default();
    let facts = GoneFacts::of(owner, path, had, None);
    let said = whole_texts(path, had).into_iter().chain(facts.iter().flat_map(GoneFacts::values));
    let with = forgotten.derived.iter().filter(|derived| goes_with(params, derived));
    let with: Vec<GoingWith> = with.map(|derived| GoingWith::of(derived, None)).collect();
    let said = gone.staying.leave_out_of(said.collect());
    let purge =
        Purge::begin(owner, place, had, said, facts.as_ref().map(GoneFacts::named), true, &GoingWith::written(&with)?)?;
    let elsewhere = purge.drop_elsewhere(files);
    let remove = || files.purge(path);
    let purged = match &facts {
        Some(facts) => owner.workspace().ledger().purge(files, path, |change, text| facts.means(change, text), remove),
        None => remove().map(|purged| (purged, None)),
    };
    let (purged, in_history) = purged.inspect_err(|_| purge.take_back())?;
    let kept_text = owner.workspace().forget_attachment(path);
    let commits = commits_of(owner.workspace().home().root(), path).filter(|commits| *commits > 0);
    // One that was killed may have left what names it, or what says it.
    let is_told = told_in_traces(owner, &[purge.gone_texts()])?.events > 0;
    let is_known = purged != Purged::default() || commits.is_some() || facts.is_some() || is_told;
    if !is_known && forgotten.derived.is_empty() {
        close(owner.workspace(), &[purge.open()]);
        return Err(gone_already());
    }
    forget_generated(owner, place, &mut forgotten, true, gone);
    purge_summary(files, path)?;
    forget_going(owner, place, params, &mut forgotten.derived, gone);
    gone.add(Some((path.clone(), None)), &purge);
    forgotten.purged = Some(PurgedView {
        checkpoints: purged.checkpoints + elsewhere,
        trashed: purged.trashed,
        embeddings: 0,
        traces: 0,
        commits,
        tombstone: purge.tombstone,
        remains: in_trash(&purged)
            .chain(kept_text)
            .chain(in_history.as_ref().map(purge_facts::in_history))
            .chain(owner.workspace().sweep_given())
            .chain(purge.clear_logs(files))
            .chain(clear_pending(owner.workspace(), purge.tombstone))
            .chain(remains(owner, path, true, commits, 0))
            .collect(),
    });
    Ok(forgotten)
}

/// The names of the embeddings of a note's chunks, as indexed.
fn contents_of(workspace: &Workspace, path: &VaultPath, hash: Hash) -> Vec<ContentHash> {
    let snapshot = workspace.shared().snapshot();
    let file = snapshot
        .as_ref()
        .and_then(|snapshot| snapshot.files().iter().find(|file| file.path == *path && file.hash == *hash.as_bytes()));
    file.map(|file| file.chunks.iter().filter_map(|chunk| chunk.content).collect()).unwrap_or_default()
}
