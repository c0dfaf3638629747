//! `qmd get`, `qmd multi-get`, `qmd ls`, `qmd status`, `qmd update` and `qmd embed`; and `qmd cleanup` and `qmd pull`, for which there is
//! nothing to do.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::find::{
    FOR_QMD, GivenDocument, QmdFormatArgs, QmdNumbersArgs, in_a_line, numbered, on_disk, print_documents,
};
use super::index::{QmdIndex, ask_as_agent, catch_up, touch};
use crate::base::path::composed;
use crate::cli::backend::Backend;
use crate::cli::terminal::{Outcome, bytes, remark, say, stdout};
use crate::serve::api::endpoints::routes;
use crate::serve::qmd::{QmdDocument, QmdError};
use crate::serve::wire::{AgentStatus, ReindexParams, split_lines};
use crate::vault::disk::Globs;

/// Between an address and the name of the index that it is of.
pub(super) const INDEX_MARK: &str = "?index=";

/// Maximum length of a document that is given among others, in bytes.
pub(super) const MAX_BYTES: u64 = 65_536;

/// Which document, and which lines of it.
#[derive(Debug, Args)]
pub(super) struct QmdGetArgs {
    /// #DOCID, COLLECTION/PATH, qmd://COLLECTION/PATH or a path on the disk, with :LINE behind it if you like.
    what: String,
    /// The first line.
    #[arg(long, value_name = "LINE")]
    from: Option<usize>,
    /// Lines at most.
    #[arg(short = 'l', long = "lines", value_name = "N")]
    lines: Option<usize>,
    #[command(flatten)]
    numbers: QmdNumbersArgs,
    /// A document is given whole unless lines are named.
    #[arg(long, help_heading = FOR_QMD)]
    full: bool,
    /// Say where it is on the disk instead of its qmd:// address and docid.
    #[arg(long)]
    full_path: bool,
}

impl QmdGetArgs {
    /// The index that an address names: `qmd://collection/path?index=NAME`, as a search of that index gives it.
    pub(super) fn index(&self) -> Option<&str> {
        self.what.strip_prefix("qmd://")?.split_once(INDEX_MARK).map(|(_, name)| name.split(':').next().unwrap_or(name))
    }

    pub(super) fn run(self, index: &mut QmdIndex) -> anyhow::Result<Outcome> {
        let lines = LineSelection { from: self.from, most: self.lines, numbered: self.numbers.are_wanted(true) };
        let Some(given) = document_text(index, &self.what, &lines)? else {
            return Err(QmdError::Refused(missing(index, &self.what)?).into());
        };
        match self.full_path {
            true => say!("{}", in_a_line(&on_disk(index, &given.document))),
            false => say!("{}  {}", in_a_line(&given.address), given.document.docid()),
        }
        if let Some(context) = given.context {
            say!("Folder Context: {context}");
        }
        say!("---\n\n{}", given.text.unwrap_or_default());
        Ok(Outcome::Done)
    }
}

/// Which lines of a document are wanted.
pub(super) struct LineSelection {
    /// The first; that which is named with the document, or the first of all.
    pub(super) from: Option<usize>,
    /// So many at most.
    pub(super) most: Option<usize>,
    /// Whether they have their numbers.
    pub(super) numbered: bool,
}

/// The text of the document that somebody means; `None` where there is none to be seen.
///
/// # Errors
/// When the database or the file cannot be read.
pub(super) fn document_text(
    index: &mut QmdIndex,
    what: &str,
    wanted: &LineSelection,
) -> anyhow::Result<Option<GivenDocument>> {
    let mut meant = found(index, what)?;
    if meant.is_none() {
        // A file that nobody has looked at since it was made.
        index.documents.refresh()?;
        meant = found(index, what)?;
    }
    let Some(((document, text), named)) = meant else { return Ok(None) };
    let (named_first, named_last) = named.map_or((None, None), |(first, last)| (Some(first), last));
    let first = wanted.from.or(named_first).unwrap_or(1).max(1);
    let up_to = named_last.filter(|_| wanted.from.is_none()).map(|last| (last + 1).saturating_sub(first));
    let most = wanted.most.or(up_to).unwrap_or(usize::MAX);
    let lines: Vec<&str> = text.split('\n').skip(first - 1).take(most).collect();
    let text = if wanted.numbered { numbered(&lines, first) } else { lines.join("\n") };
    let (context, address) = (index.context_of(&document), document.address());
    Ok(Some(GivenDocument { document, address, context, text: Ok(text) }))
}

/// Which documents, and how to print them.
#[derive(Debug, Args)]
pub(super) struct QmdMultiGetArgs {
    /// A glob over COLLECTION/PATH (or PATH), or names with commas between them.
    pattern: String,
    /// Lines of each at most.
    #[arg(short = 'l', long = "lines", value_name = "N")]
    lines: Option<usize>,
    /// Documents of more bytes are left out.
    #[arg(long, value_name = "BYTES", default_value_t = MAX_BYTES)]
    max_bytes: u64,
    #[command(flatten)]
    format: QmdFormatArgs,
}

impl QmdMultiGetArgs {
    pub(super) fn run(self, index: &mut QmdIndex) -> anyhow::Result<Outcome> {
        let numbers = self.format.numbers.are_wanted(true);
        let (mut given, missing) = document_texts(index, &self.pattern, self.lines, self.max_bytes, numbers)?;
        if given.is_empty() && !self.pattern.contains(',') {
            return Err(QmdError::Refused(format!("No files matched pattern: {}", self.pattern)).into());
        }
        for name in missing {
            remark!("File not found: {name}");
        }
        if self.format.full_path {
            given.iter_mut().for_each(|given| given.address = on_disk(index, &given.document));
        }
        print_documents(&given, &self.format);
        Ok(Outcome::Done)
    }
}

/// The documents of a glob, or those that are named, and the names that mean none.
///
/// # Errors
/// When the pattern cannot be read, or the database or a file cannot.
pub(super) fn document_texts(
    index: &mut QmdIndex,
    pattern: &str,
    most_lines: Option<usize>,
    max_bytes: u64,
    line_numbers: bool,
) -> anyhow::Result<(Vec<GivenDocument>, Vec<String>)> {
    index.documents.refresh()?;
    // As QMD does: what a glob finds is called by its path, what is named by its address.
    let named = pattern.contains(',') && !pattern.contains(['*', '?', '{']) || docid_digits(pattern).is_some();
    // What is meant, by collection and path: one text at a time is held.
    let (mut meant, mut missing) = (Vec::new(), Vec::new());
    let place = |((document, _), _): ((QmdDocument, String), NamedLines)| (document.collection, document.path);
    if let Some(found) = found(index, pattern)? {
        // A name with commas or signs of a glob in it.
        meant.push(place(found));
    } else if pattern.contains(['*', '?', '[', '{']) {
        let globs = Globs::of_files(pattern.trim_start_matches("qmd://"))
            .map_err(|error| QmdError::Refused(error.to_string()))?;
        let all = index.documents.all(None)?.into_iter();
        let all = all.filter(|one| globs.is_match(&one.name()) || globs.is_match(&one.path));
        meant.extend(all.map(|one| (one.collection, one.path)));
    } else {
        for name in pattern.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match found(index, name)? {
                Some(found) => meant.push(place(found)),
                None => missing.push(name.to_owned()),
            }
        }
    }
    let mut given = Vec::new();
    for (collection, path) in meant {
        let Some((document, text)) = index.documents.look(&collection, &path)? else { continue };
        let mut lines: Vec<&str> = text.split('\n').collect();
        let more = most_lines.map_or(0, |most| lines.len().saturating_sub(most));
        let cut = format!("[... truncated {more} more lines]");
        if more > 0 {
            lines.truncate(lines.len() - more);
            lines.extend(["", &cut]);
        }
        let text = match text.len() as u64 > max_bytes {
            true => Err(format!(
                "File too large ({} bytes; --max-bytes is {max_bytes}). Use 'qmd get {}'",
                text.len(),
                document.address()
            )),
            false if line_numbers => Ok(numbered(&lines, 1)),
            false => Ok(lines.join("\n")),
        };
        let context = index.context_of(&document);
        let address = if named { document.address() } else { document.path.clone() };
        given.push(GivenDocument { document, address, context, text });
    }
    Ok((given, missing))
}

type NamedLines = Option<(usize, Option<usize>)>;

/// The document that somebody means with its text, and the lines that are named with it. Only what programs may see is ever given.
fn found(index: &QmdIndex, what: &str) -> anyhow::Result<Option<((QmdDocument, String), NamedLines)>> {
    for (name, lines) in [Some((what, None)), Some(split_lines(what)), counted_lines(what)].into_iter().flatten() {
        if let Some(document) = document(index, name)? {
            return Ok(Some((document, lines)));
        }
    }
    Ok(None)
}

/// Splits `a.md:120:40` into the path, and the first and the last of those forty lines.
fn counted_lines(what: &str) -> Option<(&str, NamedLines)> {
    let (rest, count) = what.rsplit_once(':')?;
    let (path, first) = rest.rsplit_once(':')?;
    let (first, count): (usize, usize) = (first.parse().ok()?, count.parse().ok()?);
    Some((path, Some((first, Some(first.saturating_add(count).saturating_sub(1))))))
}

/// The digits of a docid, with or without its `#`.
fn docid_digits(name: &str) -> Option<&str> {
    let digits = name.strip_prefix('#').unwrap_or(name);
    (digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(digits)
}

fn document(index: &QmdIndex, name: &str) -> anyhow::Result<Option<(QmdDocument, String)>> {
    if let Some(hash) = docid_digits(name) {
        // Of several that say the same, the first that does so still.
        for found in index.documents.by_hash(hash)? {
            let document = index.documents.look(&found.collection, &found.path)?;
            if let Some(document) = document.filter(|(document, _)| document.hash == found.hash) {
                return Ok(Some(document));
            }
        }
    }
    let address = name.strip_prefix("qmd://").map_or(name, |address| match address.split_once(INDEX_MARK) {
        // With no lines behind it.
        Some((address, index)) if !index.contains(':') => address,
        _ => address,
    });
    if let Some((collection, path)) = address.split_once('/') {
        if let Some(document) = index.documents.look(collection, path)? {
            return Ok(Some(document));
        }
        // A file's name may be written in another form of Unicode than people type it.
        let all = if path.is_ascii() { Vec::new() } else { index.documents.all(Some(collection))? };
        if let Some(found) = all.iter().find(|document| composed(&document.path) == composed(path)) {
            return Ok(index.documents.look(collection, &found.path)?);
        }
    }
    if name.starts_with("qmd://") || name.is_empty() {
        return Ok(None);
    }
    let on_disk = Path::new(name).canonicalize().ok();
    let all = index.documents.all(None)?;
    let here = all.iter().find(|document| on_disk.is_some() && index.documents.on_disk(document) == on_disk);
    let name = composed(name);
    let ending = |document: &&QmdDocument| {
        let path = composed(&document.path);
        path.strip_suffix(&*name).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    let Some(document) = here.or_else(|| all.iter().find(ending)) else { return Ok(None) };
    Ok(index.documents.look(&document.collection, &document.path)?)
}

/// What is said of a document that there is none of, with those that may be meant.
///
/// # Errors
/// When the database cannot be read.
pub(super) fn missing(index: &QmdIndex, what: &str) -> anyhow::Result<String> {
    let mut said = format!("Document not found: {what}");
    let name = split_lines(what).0.rsplit('/').next().unwrap_or(what).to_lowercase();
    let name = name.trim_end_matches(".md");
    let near: BTreeSet<String> = index
        .documents
        .all(None)?
        .iter()
        .filter(|document| name.len() > 2 && document.path.to_lowercase().contains(name))
        .map(|document| format!("  {}", document.address()))
        .take(5)
        .collect();
    if !near.is_empty() {
        said += &format!("\nSimilar files:\n{}", near.into_iter().collect::<Vec<_>>().join("\n"));
    }
    Ok(said)
}

/// Between two looks at how far the model is.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Lists the collections, or the documents of one or of a folder in it.
pub(super) fn ls(index: &mut QmdIndex, what: Option<&str>, as_json: bool) -> anyhow::Result<Outcome> {
    index.documents.refresh()?;
    let Some(what) = what.map(|what| what.strip_prefix("qmd://").unwrap_or(what)) else {
        return collections(index, as_json);
    };
    let (name, folder) = what.trim_end_matches('/').split_once('/').unwrap_or((what.trim_end_matches('/'), ""));
    index.collections.required(name)?;
    let mut documents = index.documents.all(Some(name))?;
    documents.retain(|document| document.path.starts_with(folder));
    if as_json {
        let object = |document: &QmdDocument| {
            let (file, docid) = (document.address(), document.docid());
            json!({ "file": file, "docid": docid, "title": document.title, "modified_at": document.modified_at })
        };
        stdout().json(&documents.iter().map(object).collect::<Vec<_>>());
        return Ok(Outcome::Done);
    }
    if documents.is_empty() {
        match folder {
            "" => say!("No files found in collection: {name}"),
            _ => say!("No files found under qmd://{name}/{folder}"),
        }
    }
    let size_of = |document| {
        let meta = index.documents.on_disk(document).and_then(|path| path.metadata().ok());
        bytes(meta.map_or(0, |meta| meta.len()))
    };
    let sizes: Vec<String> = documents.iter().map(size_of).collect();
    let width = sizes.iter().map(String::len).max().unwrap_or_default();
    for (document, size) in documents.iter().zip(sizes) {
        let day = document.modified_at.get(..10).unwrap_or_default();
        say!("{size:>width$}  {day}  {}", in_a_line(&document.address()));
    }
    Ok(Outcome::Done)
}

fn collections(index: &QmdIndex, as_json: bool) -> anyhow::Result<Outcome> {
    let mut listed = Vec::new();
    for collection in &index.collections.collections {
        listed.push((collection.name.as_str(), index.documents.all(Some(&collection.name))?.len()));
    }
    if as_json {
        let listed: Vec<Value> = listed.iter().map(|(name, files)| json!({ "name": name, "files": files })).collect();
        stdout().json(&listed);
        return Ok(Outcome::Done);
    }
    if listed.is_empty() {
        say!("No collections found. Run 'qmd collection add .' to index files.");
        return Ok(Outcome::Done);
    }
    say!("Collections:\n");
    for (name, files) in listed {
        say!("  qmd://{name}/  ({files} files)");
    }
    Ok(Outcome::Done)
}

/// Prints what is in the index.
pub(super) fn status(index: &mut QmdIndex, as_json: bool) -> anyhow::Result<Outcome> {
    let status = index_status(index)?;
    if as_json {
        stdout().json(&status);
        return Ok(Outcome::Done);
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    say!("QMD Status\n\nIndex: {}\nFolder: {}\n", text(&status["database"]), text(&status["folder"]));
    say!("Documents\n  Total:    {} files indexed", status["totalDocuments"]);
    say!("  Vectors:  {} embedded", status["embedded"]);
    if status["needsEmbedding"] != 0 {
        say!("  Pending:  {} need embedding (run 'qmd embed')", status["needsEmbedding"]);
    }
    say!("  Model:    {}", text(&status["model"]["state"]));
    say!("\nCollections");
    for collection in status["collections"].as_array().into_iter().flatten() {
        let [name, path, pattern] = ["name", "path", "pattern"].map(|key| text(&collection[key]));
        let files = &collection["documents"];
        say!("  {name} (qmd://{name}/)\n    Path:     {path}\n    Pattern:  {pattern}\n    Files:    {files}");
    }
    Ok(Outcome::Done)
}

/// What is in the index and where it is, as far as programs see it.
///
/// # Errors
/// When the index cannot be asked.
pub(super) fn index_status(index: &mut QmdIndex) -> anyhow::Result<Value> {
    index.documents.refresh()?;
    let documents = index.documents.all(None)?;
    let mut client = index.client()?;
    let model = client.status()?.model;
    let (embedded, pending) = vectors(&mut client)?;
    let collections = index.collections.collections.iter().map(|collection| {
        let of = documents.iter().filter(|document| document.collection == collection.name);
        let last = of.clone().map(|document| document.modified_at.as_str()).max();
        json!({
            "name": collection.name, "path": collection.path, "pattern": collection.pattern,
            "documents": of.count(), "lastUpdated": last,
        })
    });
    Ok(json!({
        "index": index.place.name, "database": index.place.database, "folder": index.place.folder,
        "totalDocuments": documents.len(), "embedded": embedded, "needsEmbedding": pending,
        "hasVectorIndex": embedded != 0, "model": model, "collections": collections.collect::<Vec<_>>(),
    }))
}

/// How many passages have their vectors, and how many need them, of those that a program may see.
fn vectors(client: &mut Backend) -> anyhow::Result<(usize, usize)> {
    let seen = ask_as_agent(client, &routes::STATUS.answering::<AgentStatus>(), &())?;
    let embedded = (seen.chunks as f64 * seen.embedded_share).round() as usize;
    Ok((embedded, seen.chunks.saturating_sub(embedded)))
}

/// Says how many passages need vectors, where any do.
pub(super) fn say_pending(index: &QmdIndex) -> anyhow::Result<()> {
    let (_, pending) = vectors(&mut index.client()?)?;
    if pending > 0 {
        say!("Run 'qmd embed' to update embeddings ({pending} unique hashes need vectors)");
    }
    Ok(())
}

/// Has all files compared with the index, and waits until they can be found by their words.
pub(super) fn update(index: &mut QmdIndex) -> anyhow::Result<Outcome> {
    let total = index.collections.collections.len();
    if total == 0 {
        say!("No collections found. Run 'qmd collection add .' to index markdown files.");
        return Ok(Outcome::Done);
    }
    index.documents.check()?;
    let changes = index.documents.refresh()?;
    let mut client = index.client()?;
    client.ask(&routes::REINDEX, &ReindexParams { full: false })?;
    catch_up(&mut client)?;
    for collection in &index.collections.collections {
        if collection.update.is_some() {
            remark!("qmd: the command of {} that QMD would run before an update is not run", collection.name);
        }
    }
    say!("Updating {total} collection(s)...\n");
    for (at, collection) in index.collections.collections.iter().enumerate() {
        let found = changes.get(&collection.name).copied().unwrap_or_default();
        say!("[{}/{total}] {} ({})", at + 1, collection.name, collection.pattern);
        say!("Collection: {} ({})\n\nIndexed: {found}\n", collection.path.display(), collection.pattern);
    }
    say!("✓ All collections updated.\n");
    say_pending(index)?;
    Ok(Outcome::Done)
}

/// Waits until all can be found by its meaning, or no model is there for that.
pub(super) fn embed(index: &mut QmdIndex) -> anyhow::Result<Outcome> {
    let mut client = index.client()?;
    catch_up(&mut client)?;
    let status = client.wait_until(LOOK_AGAIN, |status| {
        touch(&index.place.folder);
        let state = status.model.state.as_str();
        Ok(matches!(state, "off" | "failed") || state == "ready" && status.pending_embeddings == 0)
    })?;
    match status.model.state.as_str() {
        "off" => say!("No model is configured; searches are by words."),
        "failed" => say!("The model cannot be used; searches are by words: {}", json!(status.model)),
        _ => say!("✓ Done! All passages have their embeddings."),
    }
    Ok(Outcome::Done)
}
