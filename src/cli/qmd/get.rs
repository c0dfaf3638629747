//! `qmd get` and `qmd multi-get`

use std::collections::BTreeSet;
use std::path::Path;

use clap::Args;

use super::index::QmdIndex;
use super::shapes::{
    FOR_QMD, GivenDocument, QmdFormatArgs, QmdNumbersArgs, in_a_line, numbered, on_disk, print_documents,
};
use crate::base::path::composed;
use crate::cli::exit::Outcome;
use crate::cli::terminal::{remark, say};
use crate::serve::qmd::{QmdDocument, QmdError};
use crate::serve::wire::split_lines;
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
            return Err(QmdError::Collection(missing(index, &self.what)?).into());
        };
        match self.full_path {
            true => say!("{}", in_a_line(&on_disk(index, &given.document)))?,
            false => say!("{}  {}", in_a_line(&given.address), given.document.docid())?,
        }
        if let Some(context) = given.context {
            say!("Folder Context: {context}")?;
        }
        say!("---\n\n{}", given.text.unwrap_or_default())?;
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
    let Some((document, named)) = meant else { return Ok(None) };
    let Some(text) = index.documents.text(&document)? else { return Ok(None) };
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
            return Err(QmdError::Collection(format!("No files matched pattern: {}", self.pattern)).into());
        }
        for name in missing {
            remark!("File not found: {name}");
        }
        if self.format.full_path {
            given.iter_mut().for_each(|given| given.address = on_disk(index, &given.document));
        }
        print_documents(&given, &self.format)
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
    let (mut documents, mut missing) = (Vec::new(), Vec::new());
    if let Some((document, _)) = found(index, pattern)? {
        // A name with commas or signs of a glob in it.
        documents.push(document);
    } else if pattern.contains(['*', '?', '[', '{']) {
        let globs = Globs::of_files(pattern.trim_start_matches("qmd://"))
            .map_err(|error| QmdError::Collection(error.to_string()))?;
        let all = index.documents.all(None)?.into_iter();
        documents.extend(all.filter(|one| globs.is_match(&one.name()) || globs.is_match(&one.path)));
    } else {
        for name in pattern.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match found(index, name)? {
                Some((document, _)) => documents.push(document),
                None => missing.push(name.to_owned()),
            }
        }
    }
    let mut given = Vec::new();
    for document in documents {
        let Some(text) = index.documents.text(&document)? else { continue };
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

/// The document that somebody means, and the lines that are named with it. Only what is in the table is ever given.
fn found(index: &mut QmdIndex, what: &str) -> anyhow::Result<Option<(QmdDocument, NamedLines)>> {
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

fn document(index: &mut QmdIndex, name: &str) -> anyhow::Result<Option<QmdDocument>> {
    if let Some(hash) = docid_digits(name) {
        // Of several that say the same, the first that does so still.
        for found in index.documents.by_hash(hash)? {
            let document = index.documents.look(&found.collection, &found.path)?;
            if let Some(document) = document.filter(|document| document.hash == found.hash) {
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
