//! `vault get`

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use clap::Args;

use super::backend::{Backend, home};
use super::outcome::Outcome;
use super::output::count;
use super::terminal::{remark, say, stdout};
use crate::attachments::{AttachmentReader, page_lines};
use crate::config::Config;
use crate::note::Lines;
use crate::path::VaultPath;
use crate::request::RequestError;
use crate::search::nearest_notes;
use crate::vault::{Home, NoteRules, Outside, ReadError, open_file, read, scan};
use crate::wire::{passage_citation, split_lines, split_page};

/// Print a note, some lines of it, or the passage with a hash.
///
/// Takes what a search names: a path in the vault (or from the current folder), path:line, path:line-line, path#L12-L20, path#page=3 of a PDF, or a hash. A
/// name does as well: of the note that is called so, else of the one whose name begins so, has it, or is a slip of the finger away.
#[derive(Debug, Args)]
pub(super) struct GetCommand {
    /// PATH, PATH:LINE, PATH:LINE-LINE, PATH#page=PAGE, NAME or HASH.
    what: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Why an attachment is not shown.
const ATTACHMENTS_OFF: &str =
    "the text of attachments is not read: `[index] attachments = true` in memory.toml has it read";

impl GetCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let home = home(vault)?;
        let config = Config::load(home.root())?;
        let page = split_page(&self.what).map(|(_, page)| page);
        let (name, lines) = split_page(&self.what).map_or_else(|| named_lines(&self.what), |(name, _)| (name, None));
        let outside = Outside::new(home.root(), &config.collections)?;
        let current = std::env::current_dir().and_then(std::fs::canonicalize).ok();
        let attachments = AttachmentReader::looking_at(&home.index_dir(&config.index.dir));
        let read_it = |path: &VaultPath| {
            let (folder, within) = outside.place(home.root(), path);
            let max_bytes = config.index.max_file_bytes.max(1 << 30);
            let within = within.ok_or(ReadError::Gone)?;
            if !path.is_document() {
                return read(folder, &within, max_bytes);
            }
            let opened = open_file(folder, &within, config.index.max_file_bytes)?;
            if !config.index.attachments {
                return Err(ReadError::Unfit(ATTACHMENTS_OFF.into()));
            }
            Ok(attachments.read(path, opened)?.source)
        };
        let (mut found, mut tried) = (None, false);
        for spelled in readings(name, home.root(), &outside, current.as_deref()) {
            let spelled = as_on_disk(&home, &outside, spelled);
            tried = true;
            match read_it(&spelled) {
                Err(ReadError::Gone) => {}
                read => {
                    found = Some((spelled, read));
                    break;
                }
            }
        }
        let (path, read) = match found {
            Some(found) => found,
            None if is_hash(&self.what) => return self.passage(vault),
            None => {
                let path = nearest(name, &home, &outside, &config).map_err(|error| match tried {
                    // From where the command runs it may be a path, and then of a note that is not there.
                    true if VaultPath::new(name).is_err() => absent(name, &home),
                    _ => error,
                })?;
                let read = read_it(&path);
                (path, read)
            }
        };
        let source = read.map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        let name = path.as_str();
        let index = Lines::new(&source.text);
        let last = index.count().max(1);
        let lines = match page {
            Some(page) => {
                let of_page = page_lines(&source.text, page);
                Some(of_page.with_context(|| format!("{name} has no text on a page {page}"))?)
            }
            None => lines,
        };
        let (first, until) = lines.unwrap_or((1, last));
        if first == 0 || first > last || until < first {
            let asked =
                if first == until { format!("line {first} was") } else { format!("lines {first} to {until} were") };
            bail!("{name} has {}; {asked} asked for", count(last, "line"));
        }
        let until = until.min(last);
        let text = &source.text[index.span(first).start..index.span(until).end];
        if self.json {
            let value = serde_json::json!({
                "path": name, "line_start": first, "line_end": until, "content": text,
                "citation": passage_citation(name, page, first as u32, until as u32),
            });
            stdout().json(&value)?;
        } else {
            let mut out = stdout();
            out.write_all(text.as_bytes())?;
            if !text.ends_with('\n') {
                writeln!(out)?;
            }
        }
        Ok(Outcome::Done)
    }

    fn passage(&self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::open(vault, |config| config.embed.model = "none".into())?;
        backend.catch_up(false)?;
        backend.warn_if_read_only();
        let chunk = backend.chunk(&self.what).context("nothing to get")?;
        if self.json {
            stdout().json(&chunk)?;
        } else {
            say!("{}", chunk.content)?;
        }
        Ok(Outcome::Done)
    }
}

/// What a command is about.
pub(super) enum CommandTarget {
    /// A passage or a note, by its hash.
    Hash(String),
    /// A note, or some lines of it, from the first to the last.
    Note(VaultPath, Option<(usize, usize)>),
}

/// What somebody means who takes what a search names. A note need not be there.
pub(super) fn place(what: &str, home: &Home) -> anyhow::Result<CommandTarget> {
    let (name, lines) = named_lines(what);
    let outside = Outside::new(home.root(), &Config::load(home.root())?.collections)?;
    let current = std::env::current_dir().and_then(std::fs::canonicalize).ok();
    let spelled = readings(name, home.root(), &outside, current.as_deref());
    let spelled: Vec<VaultPath> = spelled.into_iter().map(|path| as_on_disk(home, &outside, path)).collect();
    let there = spelled.iter().find(|path| outside.on_disk(home.root(), path).symlink_metadata().is_ok());
    if there.is_none() && is_hash(what) {
        return Ok(CommandTarget::Hash(what.to_owned()));
    }
    match there.or(spelled.first()) {
        Some(path) => Ok(CommandTarget::Note(path.clone(), lines)),
        None => Err(no_note(name)),
    }
}

/// The note that a name most likely means, which is said; of several none.
fn nearest(name: &str, home: &Home, outside: &Outside, config: &Config) -> anyhow::Result<VaultPath> {
    let is_path = can_be_note(&VaultPath::new(name)?);
    // What is the program's own means no note.
    if name.split('/').any(|part| part.starts_with('.')) {
        return Err(absent(name, home));
    }
    let rules = NoteRules::new(home.root(), &config.index.exclude)?
        .with_outside(outside.clone())
        .with_attachments(config.index.attachments);
    let there: Vec<VaultPath> = scan(home.root(), &rules, None).files.into_iter().map(|found| found.path).collect();
    match &nearest_notes(name, &there)[..] {
        [] => Err(absent(name, home)),
        // Who spells a whole path out means that one.
        [path] if is_path => {
            let message = format!("there is no {name} in {}; did you mean {path}?", home.root().display());
            Err(RequestError::not_found(message).into())
        }
        [path] => {
            remark!("vault: this is {path}");
            Ok((*path).clone())
        }
        several => {
            let shown: Vec<&str> = several.iter().take(MAX_SHOWN).map(|path| path.as_str()).collect();
            let more = several.len() - shown.len();
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            let message = format!("{name} may be any of {}: {}{more}", several.len(), shown.join(", "));
            Err(RequestError::not_found(message).into())
        }
    }
}

fn absent(name: &str, home: &Home) -> anyhow::Error {
    RequestError::not_found(format!("there is no {name} in {}", home.root().display())).into()
}

/// Maximum number of notes that are named where several are meant.
const MAX_SHOWN: usize = 10;

/// The note that is meant, and the line in it: by what a search names, or by its name.
pub(super) fn meant(what: &str, home: &Home, backend: &mut Backend) -> anyhow::Result<(String, Option<usize>)> {
    let config = Config::load(home.root())?;
    let outside = Outside::new(home.root(), &config.collections)?;
    let is_there = |path: &VaultPath| outside.on_disk(home.root(), path).symlink_metadata().is_ok();
    match place(what, home) {
        Ok(CommandTarget::Hash(hash)) => {
            let chunk = backend.chunk(&hash)?;
            Ok((chunk.path, Some(chunk.line_start as usize)))
        }
        Ok(CommandTarget::Note(path, lines)) if is_there(&path) => {
            Ok((path.to_string(), lines.map(|(first, _)| first)))
        }
        _ => {
            let (name, lines) = named_lines(what);
            Ok((nearest(name, home, &outside, &config)?.to_string(), lines.map(|(first, _)| first)))
        }
    }
}

fn no_note(name: &str) -> anyhow::Error {
    match VaultPath::new(name) {
        Err(error) => error.into(),
        Ok(_) => RequestError::not_found(format!("{name} is neither a hash nor a note of this vault")).into(),
    }
}

/// Whether a path, as it is without links and `..`, can be that of a note: what is hidden is the program's or another's.
fn can_be_note(path: &VaultPath) -> bool {
    let extension = path.as_str().rsplit_once('.').map(|(_, extension)| extension.to_lowercase());
    (matches!(extension.as_deref(), Some("md" | "markdown")) || path.is_document())
        && !path.as_str().split('/').any(|part| part.starts_with('.'))
}

/// The notes that a typed path may mean, the likeliest first: as a search names it, from the vault's root; and as a shell
/// completes it, from the current folder or from `/`.
fn readings(name: &str, root: &Path, outside: &Outside, current: Option<&Path>) -> Vec<VaultPath> {
    let within = |path: &Path| {
        // A shell may name the vault by a symbolic link, and the root has none.
        let folder = std::fs::canonicalize(path.parent()?).ok()?;
        let path = folder.join(path.file_name()?);
        outside.vault_path(root, &path)
    };
    if Path::new(name).is_absolute() {
        return within(Path::new(name)).into_iter().filter(can_be_note).collect();
    }
    let from_root = VaultPath::new(name.trim_start_matches("./")).ok();
    let from_here = current.and_then(|current| within(&current.join(name)));
    from_root.into_iter().chain(from_here).filter(can_be_note).collect()
}

/// Spells a path as the disk does: the same name may be there in another Unicode normalisation than it was typed in.
fn as_on_disk(home: &Home, outside: &Outside, path: VaultPath) -> VaultPath {
    if path.as_str().is_ascii() || outside.on_disk(home.root(), &path).exists() {
        return path;
    }
    let Ok(rules) = NoteRules::new(home.root(), &[]) else { return path };
    let rules = rules.with_outside(outside.clone()).with_attachments(true);
    let found = scan(home.root(), &rules, None).files.into_iter().find(|found| found.path.same_as(path.as_str()));
    found.map_or(path, |found| found.path)
}

fn is_hash(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The path and the lines that a text names; one line is from itself to itself.
fn named_lines(text: &str) -> (&str, Option<(usize, usize)>) {
    let (path, lines) = split_lines(text);
    (path, lines.map(|(first, last)| (first, last.unwrap_or(first))))
}
