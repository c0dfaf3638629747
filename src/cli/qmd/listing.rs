//! `qmd ls`, `qmd status`, `qmd update` and `qmd embed`; and `qmd cleanup` and `qmd pull`, for which there is nothing to do.

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::index::{QmdIndex, catch_up, get_as_agent, touch};
use super::shapes::{FOR_QMD, in_a_line};
use crate::cli::client::Client;
use crate::cli::exit::Outcome;
use crate::cli::terminal::{bytes, remark, say, stdout};
use crate::serve::qmd::QmdDocument;

/// Between two looks at how far the model is.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What to list.
#[derive(Debug, Args)]
pub(super) struct QmdLsArgs {
    /// COLLECTION, COLLECTION/FOLDER or qmd://COLLECTION/FOLDER; the collections unless told.
    what: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl QmdLsArgs {
    pub(super) fn run(self, index: &mut QmdIndex) -> anyhow::Result<Outcome> {
        index.documents.refresh()?;
        let Some(what) = self.what.as_deref().map(|what| what.strip_prefix("qmd://").unwrap_or(what)) else {
            return collections(index, self.json);
        };
        let (name, folder) = what.trim_end_matches('/').split_once('/').unwrap_or((what.trim_end_matches('/'), ""));
        index.collections.required(name)?;
        let mut documents = index.documents.all(Some(name))?;
        documents.retain(|document| document.path.starts_with(folder));
        if self.json {
            let object = |document: &QmdDocument| {
                let (file, docid) = (document.address(), document.docid());
                json!({ "file": file, "docid": docid, "title": document.title, "modified_at": document.modified_at })
            };
            stdout().json(&documents.iter().map(object).collect::<Vec<_>>())?;
            return Ok(Outcome::Done);
        }
        if documents.is_empty() {
            match folder {
                "" => say!("No files found in collection: {name}")?,
                _ => say!("No files found under qmd://{name}/{folder}")?,
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
            say!("{size:>width$}  {day}  {}", in_a_line(&document.address()))?;
        }
        Ok(Outcome::Done)
    }
}

fn collections(index: &QmdIndex, as_json: bool) -> anyhow::Result<Outcome> {
    let mut listed = Vec::new();
    for collection in &index.collections.collections {
        listed.push((collection.name.as_str(), index.documents.all(Some(&collection.name))?.len()));
    }
    if as_json {
        let listed: Vec<Value> = listed.iter().map(|(name, files)| json!({ "name": name, "files": files })).collect();
        stdout().json(&listed)?;
        return Ok(Outcome::Done);
    }
    if listed.is_empty() {
        say!("No collections found. Run 'qmd collection add .' to index files.")?;
        return Ok(Outcome::Done);
    }
    say!("Collections:\n")?;
    for (name, files) in listed {
        say!("  qmd://{name}/  ({files} files)")?;
    }
    Ok(Outcome::Done)
}

/// How to print the status.
#[derive(Debug, Args)]
pub(super) struct QmdStatusArgs {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl QmdStatusArgs {
    pub(super) fn run(self, index: &mut QmdIndex) -> anyhow::Result<Outcome> {
        let status = index_status(index)?;
        if self.json {
            stdout().json(&status)?;
            return Ok(Outcome::Done);
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        say!("QMD Status\n\nIndex: {}\nFolder: {}\n", text(&status["database"]), text(&status["folder"]))?;
        say!("Documents\n  Total:    {} files indexed", status["totalDocuments"])?;
        say!("  Vectors:  {} embedded", status["embedded"])?;
        if status["needsEmbedding"] != 0 {
            say!("  Pending:  {} need embedding (run 'qmd embed')", status["needsEmbedding"])?;
        }
        say!("  Model:    {}", text(&status["model"]["state"]))?;
        say!("\nCollections")?;
        for collection in status["collections"].as_array().into_iter().flatten() {
            let [name, path, pattern] = ["name", "path", "pattern"].map(|key| text(&collection[key]));
            let files = &collection["documents"];
            say!("  {name} (qmd://{name}/)\n    Path:     {path}\n    Pattern:  {pattern}\n    Files:    {files}")?;
        }
        Ok(Outcome::Done)
    }
}

/// What is in the index and where it is, as far as programs see it.
///
/// # Errors
/// When the index cannot be asked.
pub(super) fn index_status(index: &mut QmdIndex) -> anyhow::Result<Value> {
    index.documents.refresh()?;
    let documents = index.documents.all(None)?;
    let mut client = index.client()?;
    let status: Value = client.get("/status", &())?;
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
        "hasVectorIndex": embedded != 0, "model": status["model"], "collections": collections.collect::<Vec<_>>(),
    }))
}

/// How many passages have their vectors, and how many need them, of those that a program may see.
fn vectors(client: &mut Client) -> anyhow::Result<(u64, u64)> {
    let seen: Value = get_as_agent(client, "/status", &())?;
    let chunks = seen["chunks"].as_u64().unwrap_or_default();
    let embedded = (chunks as f64 * seen["embedded_share"].as_f64().unwrap_or_default()).round() as u64;
    Ok((embedded, chunks.saturating_sub(embedded)))
}

/// Says how many passages need vectors, where any do.
pub(super) fn say_pending(index: &QmdIndex) -> anyhow::Result<()> {
    let (_, pending) = vectors(&mut index.client()?)?;
    if pending > 0 {
        say!("Run 'qmd embed' to update embeddings ({pending} unique hashes need vectors)")?;
    }
    Ok(())
}

/// What QMD is told of an update. Here all files are looked at in any case.
#[derive(Debug, Args)]
pub(super) struct QmdUpdateArgs {
    /// Not these alone.
    #[arg(help_heading = FOR_QMD)]
    paths: Vec<String>,
    /// The same.
    #[arg(long, value_name = "PATH", help_heading = FOR_QMD)]
    path: Vec<String>,
    /// Nothing is pulled.
    #[arg(long, help_heading = FOR_QMD)]
    pull: bool,
}

/// Has all files compared with the index, and waits until they can be found by their words.
pub(super) fn update(index: &mut QmdIndex) -> anyhow::Result<Outcome> {
    let total = index.collections.collections.len();
    if total == 0 {
        say!("No collections found. Run 'qmd collection add .' to index markdown files.")?;
        return Ok(Outcome::Done);
    }
    index.documents.check()?;
    let changes = index.documents.refresh()?;
    let mut client = index.client()?;
    let _: Value = client.post_repeatable("/reindex", &json!({ "full": false }))?;
    catch_up(&mut client)?;
    for collection in &index.collections.collections {
        if collection.update.is_some() {
            remark!("qmd: the command of {} that QMD would run before an update is not run", collection.name);
        }
    }
    say!("Updating {total} collection(s)...\n")?;
    for (at, collection) in index.collections.collections.iter().enumerate() {
        let found = changes.get(&collection.name).copied().unwrap_or_default();
        say!("[{}/{total}] {} ({})", at + 1, collection.name, collection.pattern)?;
        say!("Collection: {} ({})\n\nIndexed: {found}\n", collection.path.display(), collection.pattern)?;
    }
    say!("✓ All collections updated.\n")?;
    say_pending(index)?;
    Ok(Outcome::Done)
}

/// How QMD is told to embed. Here all that has changed is embedded, as it comes.
#[derive(Debug, Args)]
pub(super) struct QmdEmbedArgs {
    /// What has changed is embedded anew in any case.
    #[arg(short, long, help_heading = FOR_QMD)]
    force: bool,
    /// All collections are embedded.
    #[arg(short, long, value_name = "NAME", help_heading = FOR_QMD)]
    collection: Vec<String>,
    /// Batches are as long as the model takes them.
    #[arg(long, value_name = "N", help_heading = FOR_QMD)]
    max_docs_per_batch: Option<String>,
    /// The same.
    #[arg(long, value_name = "N", help_heading = FOR_QMD)]
    max_batch_mb: Option<String>,
    /// It ends when all is done.
    #[arg(long, value_name = "MINUTES", help_heading = FOR_QMD)]
    timeout: Option<String>,
    /// Notes are cut at their headings and paragraphs.
    #[arg(long, value_name = "NAME", help_heading = FOR_QMD)]
    chunk_strategy: Option<String>,
}

/// Waits until all can be found by its meaning, or no model is there for that.
pub(super) fn embed(index: &mut QmdIndex) -> anyhow::Result<Outcome> {
    let mut client = index.client()?;
    catch_up(&mut client)?;
    loop {
        let status: Value = client.get("/status", &())?;
        match status["model"]["state"].as_str() {
            Some("off") => say!("No model is configured; searches are by words.")?,
            Some("failed") => say!("The model cannot be used; searches are by words: {}", status["model"])?,
            Some("ready") if status["pending_embeddings"] == 0 => say!("✓ Done! All passages have their embeddings.")?,
            _ => {
                touch(&index.place.folder);
                std::thread::sleep(LOOK_AGAIN);
                continue;
            }
        }
        return Ok(Outcome::Done);
    }
}

/// What QMD is told of a clean-up.
#[derive(Debug, Args)]
pub(super) struct QmdCleanupArgs {
    /// Nothing is dropped.
    #[arg(short = 'n', long, help_heading = FOR_QMD)]
    dry_run: bool,
}

impl QmdCleanupArgs {
    /// Says that there is nothing to do.
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let dry = if self.dry_run {
            "Dry run — no changes made. Would remove 0 documents: "
        } else {
            "✓ Removed 0 documents: "
        };
        say!("{dry}what is gone is dropped as it goes.")?;
        Ok(Outcome::Done)
    }
}

/// What QMD is told of its downloads.
#[derive(Debug, Args)]
pub(super) struct QmdPullArgs {
    /// Print JSON: no model was fetched.
    #[arg(long)]
    json: bool,
    /// Nothing is fetched.
    #[arg(long, help_heading = FOR_QMD)]
    refresh: bool,
    /// The same.
    #[arg(long, help_heading = FOR_QMD)]
    progress: bool,
}

impl QmdPullArgs {
    /// Says that there is nothing to do.
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        if self.json {
            stdout().json(&[(); 0])?;
        } else {
            say!("Pulling models: none, as the model is in the program; `vault model pull` fetches another.")?;
        }
        Ok(Outcome::Done)
    }
}
