//! What a command is about: a note, a part of it or a passage, as searches, links and people name it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

use super::backend::{Backend, shown_by};
use super::terminal::remark;
use crate::access::request::RequestError;
use crate::base::config::Config;
use crate::base::path::{AttachmentKind, VaultPath, folded};
use crate::serve::api::endpoints;
use crate::serve::wire::{ChunkView, split_lines, split_page};
use crate::text::derive::nearest::{nearest, nearest_notes};
use crate::text::note::Note;
use crate::vault::attachments::{AttachmentReader, page_lines};
use crate::vault::disk::{Home, NoteRules, Outside, ReadError, Source, read, read_file, scan};

/// What a command is about.
#[derive(Debug)]
pub(super) enum CommandTarget {
    /// A passage or a note, by its hash.
    Hash(String),
    /// A note, or some lines of it, from the first to the last.
    Note(VaultPath, Option<(usize, usize)>),
}

/// How well a name has to fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameFit {
    /// A part of it does, or one with a slip of the finger, and the note is there: for commands that show.
    Near,
    /// The note is called so. One that is named by its path need not be there: for commands that change, and for what was changed.
    Exact,
}

/// Why the text of an attachment is not shown.
const ATTACHMENTS_OFF: &str = "attachments are not read: set `[index] attachments = true` in memory.toml to read them";

/// Maximum number of notes that are named where several are meant.
const MAX_SHOWN: usize = 10;

/// The notes of a vault, by what they are called on a command line.
pub(super) struct NoteNames<'h> {
    home: &'h Home,
    config: Config,
    outside: Outside,
    current: Option<PathBuf>,
    attachments: AttachmentReader,
}

impl<'h> NoteNames<'h> {
    /// Those of a vault.
    pub(super) fn of(home: &'h Home) -> anyhow::Result<Self> {
        let config = shown_by(home);
        let outside = Outside::new(home.root(), &config.collections)?;
        let current = std::env::current_dir().and_then(std::fs::canonicalize).ok();
        let attachments = AttachmentReader::default();
        Ok(Self { home, config, outside, current, attachments })
    }

    /// What somebody means: a path, one with lines or a heading, a link, a hash, or a name.
    pub(super) fn target(&self, what: &str, fit: NameFit) -> anyhow::Result<CommandTarget> {
        let what = without_brackets(what);
        let (name, lines) = split_lines(what);
        let lines = lines.map(|(first, last)| (first, last.unwrap_or(first)));
        let spelled = self.spelled(name);
        if let Some(path) = spelled.iter().find(|path| self.is_there(path)) {
            return Ok(CommandTarget::Note(path.clone(), lines));
        }
        if what.len() == 16 && what.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(CommandTarget::Hash(what.to_owned()));
        }
        if lines.is_none()
            && let Some((note, part)) = name_and_part(what)
        {
            let note = note.trim();
            let path = match self.spelled(note).into_iter().find(|path| self.is_there(path)) {
                Some(path) => path,
                None => self.called(note, fit)?,
            };
            let lines = self.lines_of(&path, part)?;
            return Ok(CommandTarget::Note(path, Some(lines)));
        }
        match spelled.into_iter().next() {
            Some(path) if fit == NameFit::Exact => Ok(CommandTarget::Note(path, lines)),
            // From where the command runs it may be a path, and then of a note that is not there.
            Some(_) if VaultPath::new(name).is_err() => Err(RequestError::no_note(name).into()),
            _ => Ok(CommandTarget::Note(self.called(name, fit)?, lines)),
        }
    }

    /// A note's text, or that of an attachment.
    pub(super) fn read(&self, path: &VaultPath) -> Result<Source, ReadError> {
        let (folder, within) = self.outside.place(self.home.root(), path);
        let within = within.ok_or(ReadError::Gone)?;
        let max_bytes = self.config.index.max_file_bytes;
        if !path.is_document() {
            return read(folder, &within, max_bytes.max(1 << 30));
        }
        let file = read_file(folder, &within, max_bytes)?;
        if !self.config.index.attachments {
            return Err(ReadError::Unfit(ATTACHMENTS_OFF.into()));
        }
        Ok(self.attachments.read(path, file)?.0)
    }

    /// The note that a name means, which is said; of several none.
    fn called(&self, name: &str, fit: NameFit) -> anyhow::Result<VaultPath> {
        let folder = self.folder(name).filter(|_| fit == NameFit::Near);
        let is_path = can_be_note(&VaultPath::new(folder.as_deref().unwrap_or(name))?);
        // What is the program's own means no note.
        if name.split('/').any(|part| part.starts_with('.')) {
            return Err(RequestError::no_note(name).into());
        }
        let index = &self.config.index;
        let rules = NoteRules::new(self.home.root(), &index.exclude)?.with(&self.outside, index.attachments);
        let there: Vec<VaultPath> =
            scan(self.home.root(), &rules, None).files.into_iter().map(|found| found.path).collect();
        let mut near = nearest_notes(name, &there);
        let maybe = near.first().copied();
        if fit == NameFit::Exact || folder.is_some() {
            near.retain(|path| is_called(path, name));
        }
        if let (true, Some(folder)) = (near.is_empty(), folder) {
            let hint = Some(format!("`vault ls {folder}` lists its notes"));
            return Err(RequestError { hint, ..RequestError::invalid(format!("`{folder}` is a folder")) }.into());
        }
        if near.is_empty() && !is_path {
            near = self.titled(name, &there);
        }
        let meant = |path: &VaultPath| {
            let message = format!("{}; did you mean {path}?", RequestError::no_note(name));
            RequestError::not_found(message).into()
        };
        match (&near[..], maybe) {
            ([], None) => Err(RequestError::no_note(name).into()),
            ([], Some(path)) => Err(meant(path)),
            // Who spells a whole path out means that one.
            ([path], _) if is_path => Err(meant(path)),
            ([path], _) => {
                remark!("vault: this is {path}");
                Ok((*path).clone())
            }
            (several, _) => {
                let shown: Vec<&str> = several.iter().take(MAX_SHOWN).map(|path| path.as_str()).collect();
                let more = several.len() - shown.len();
                let more = if more > 0 { format!(", and {more} more") } else { String::new() };
                let message = format!("{name} could mean any of {} notes: {}{more}", several.len(), shown.join(", "));
                Err(RequestError::not_found(message).into())
            }
        }
    }

    /// The folder of the vault that is called so.
    fn folder(&self, name: &str) -> Option<String> {
        let name = name.trim_end_matches('/');
        VaultPath::new(name).ok()?;
        let is_folder = |path: &VaultPath| self.outside.on_disk(self.home.root(), path).is_dir();
        self.places(name).into_iter().find(is_folder).map(|path| path.to_string())
    }

    /// The notes whose title or alias it is, as links name them where no file is called so. Reads all of them.
    fn titled<'n>(&self, name: &str, there: &'n [VaultPath]) -> Vec<&'n VaultPath> {
        let wanted = folded(name.trim());
        let is_it = |path: &&VaultPath| {
            let Ok(source) = self.read(path) else { return false };
            let note = Note::parse(&source.text, path.stem());
            note.aliases.iter().chain([&note.title]).any(|called| folded(called.trim()) == wanted)
        };
        // An attachment is meant by its file's name alone.
        there.iter().filter(|path| !path.is_document()).filter(is_it).collect()
    }

    /// The first and last line of what stands under a heading, or of a block (`^name`).
    fn lines_of(&self, path: &VaultPath, part: &str) -> anyhow::Result<(usize, usize)> {
        let source = self.read(path).map_err(|error| anyhow::anyhow!("{path}: {error}"))?;
        // `Plan#Week#Monday` leads to the last of them.
        let part = part.rsplit('#').next().unwrap_or(part).trim();
        let page = part.strip_prefix("page=").filter(|_| path.attachment() == Some(AttachmentKind::Pdf));
        if let Some(page) = page.and_then(|page| page.parse().ok()) {
            let missing = || RequestError::not_found(format!("{path} has no text on page {page}"));
            return Ok(page_lines(&source.text, page).ok_or_else(missing)?);
        }
        let lines: Vec<&str> = source.text.lines().collect();
        if part.starts_with('^') {
            let at = lines.iter().position(|line| line.split_whitespace().next_back() == Some(part));
            let missing = || RequestError::not_found(format!("{path} has no block `{part}`"));
            return Ok(at.map(|at| (at + 1, at + 1)).ok_or_else(missing)?);
        }
        let headings = Note::of(path, &source.text).headings;
        let Some(at) = headings.iter().position(|heading| folded(heading.text.trim()) == folded(part)) else {
            let there: Vec<&str> = headings.iter().map(|heading| heading.text.as_str()).take(MAX_SHOWN).collect();
            let has = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
            return Err(RequestError::not_found(format!("{path} has no heading `{part}`; its headings: {has}")).into());
        };
        let (level, first) = (headings[at].level, headings[at].line);
        let next = headings[at + 1..].iter().find(|heading| heading.level <= level).map(|heading| heading.line);
        let mut last = next.map_or(lines.len(), |next| next - 1);
        while last > first && lines[last - 1].trim().is_empty() {
            last -= 1;
        }
        Ok((first, last))
    }

    fn is_there(&self, path: &VaultPath) -> bool {
        self.outside.on_disk(self.home.root(), path).symlink_metadata().is_ok()
    }

    /// The notes that a typed path may mean, the likeliest first: as a search names it, from the vault's root; and as a shell
    /// completes it, from the current folder or from `/`.
    fn spelled(&self, name: &str) -> Vec<VaultPath> {
        self.places(name).into_iter().filter(can_be_note).map(|path| self.as_on_disk(path)).collect()
    }

    /// The same of files of any kind.
    fn places(&self, name: &str) -> Vec<VaultPath> {
        let root = self.home.root();
        let within = |path: &Path| {
            // A shell may name the vault by a symbolic link, and the root has none.
            let folder = std::fs::canonicalize(path.parent()?).ok()?;
            let path = folder.join(path.file_name()?);
            self.outside.vault_paths(root, &path).into_iter().next()
        };
        if Path::new(name).is_absolute() {
            return within(Path::new(name)).into_iter().collect();
        }
        let from_root = VaultPath::new(name.trim_start_matches("./")).ok();
        let from_here = self.current.as_ref().and_then(|current| within(&current.join(name)));
        from_root.into_iter().chain(from_here).collect()
    }

    /// Spells a path as the disk does: the same name may be there in another Unicode normalisation than it was typed in.
    fn as_on_disk(&self, path: VaultPath) -> VaultPath {
        if path.as_str().is_ascii() || self.outside.on_disk(self.home.root(), &path).exists() {
            return path;
        }
        let Ok(rules) = NoteRules::new(self.home.root(), &[]) else { return path };
        let rules = rules.with(&self.outside, true);
        let files = scan(self.home.root(), &rules, None).files;
        files.into_iter().find(|found| found.path.same_as(path.as_str())).map_or(path, |found| found.path)
    }
}

/// The note's path, as it was named from the folder one is in, by its name, or by a link.
pub(super) fn path_named(what: &str, home: &Home) -> anyhow::Result<String> {
    Ok(match NoteNames::of(home)?.target(what, NameFit::Exact)? {
        CommandTarget::Hash(text) => text,
        CommandTarget::Note(path, _) => path.into(),
    })
}

/// The file of whatever kind that is there under a path; else as a note is named.
pub(super) fn file_named(what: &str, home: &Home) -> anyhow::Result<String> {
    let names = NoteNames::of(home)?;
    match names.places(what).into_iter().find(|path| names.is_there(path)) {
        Some(path) => Ok(path.into()),
        None => path_named(what, home),
    }
}

/// The note that is meant, and the line in it.
pub(super) fn meant(what: &str, home: &Home, backend: &mut Backend) -> anyhow::Result<(String, Option<usize>)> {
    match NoteNames::of(home)?.target(what, NameFit::Near)? {
        CommandTarget::Hash(hash) => {
            let chunk = backend.ask_of(&endpoints::routes::CHUNK.answering::<ChunkView>(), &hash, &())?;
            Ok((chunk.path, Some(chunk.line_start as usize)))
        }
        CommandTarget::Note(path, lines) => Ok((path.into(), lines.map(|(first, _)| first))),
    }
}

/// What a link names: `[[Kyoto#Temples|there]]` is `Kyoto#Temples`. What is no link stays as it is.
pub(super) fn without_brackets(what: &str) -> &str {
    let link = what.trim().strip_prefix('!').unwrap_or(what.trim());
    let Some(link) = link.strip_prefix("[[").and_then(|link| link.strip_suffix("]]")) else { return what };
    let link = link.split('|').next().unwrap_or(link).trim_end_matches('\\').trim();
    // A file's name in a link is one wherever the note is.
    link.strip_suffix(".md").unwrap_or(link)
}

/// Whether a note is called so: by its file's name, or by that with folders before it. Case does not count.
fn is_called(path: &VaultPath, name: &str) -> bool {
    let bare = |text: &str| {
        let text = folded(text.trim().trim_start_matches('/'));
        [".md", ".markdown"].iter().find_map(|end| text.strip_suffix(end).map(str::to_owned)).unwrap_or(text)
    };
    let (path, name) = (bare(path.as_str()), bare(name));
    path.strip_suffix(&name).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// Whether a path, as it is without links and `..`, can be that of a note: what is hidden is the program's or another's.
fn can_be_note(path: &VaultPath) -> bool {
    let extension = path.as_str().rsplit_once('.').map(|(_, extension)| extension.to_lowercase());
    (matches!(extension.as_deref(), Some("md" | "markdown")) || path.is_document())
        && !path.as_str().split('/').any(|part| part.starts_with('.'))
}

/// `Kyoto#Temples` is a note and a heading of it, `a#b.pdf#page=3` an attachment and a page of it.
fn name_and_part(what: &str) -> Option<(&str, &str)> {
    let parts = match split_page(what) {
        Some((name, _)) => Some((name, &what[name.len() + 1..])),
        None => what.split_once('#'),
    };
    parts.filter(|(name, _)| !name.trim().is_empty())
}

/// Names of one act, in this program and in others. Of each the one that is a command is meant.
const SYNONYMS: [&[&str]; 16] = [
    &["search", "find", "query", "grep", "ask", "recall"],
    &["forget", "remove", "delete", "rm", "del", "unset"],
    &["ls", "list", "dir"],
    &["save", "add", "new", "create", "write", "set", "remember", "note"],
    &["get", "show", "cat", "read", "view", "print"],
    &["related", "similar", "near"],
    &["undo", "restore", "revert", "rollback", "checkpoints"],
    &["open", "page", "ui", "web"],
    &["memory", "memories", "entries", "profile", "summaries", "proposals"],
    &["review", "suggestions", "approve"],
    &["model", "models", "embed", "embedding"],
    &["connect", "setup", "install"],
    &["config", "configure", "settings", "options"],
    &["serve", "start", "run", "daemon"],
    &["status", "info", "stats", "doctor"],
    &["log", "history", "changes"],
];

/// The command line with the listing that a group of commands by itself means, where parsing it failed for want of one.
pub(super) fn listing(error: &Error, args: &[OsString], root: &Command) -> Option<Vec<OsString>> {
    let wants = [
        ErrorKind::MissingSubcommand,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
        // `vault agent --json`
        ErrorKind::UnknownArgument,
    ];
    let (group, end) = group(args, root);
    let is_group = end > 1 && group.is_subcommand_required_set() && wants.contains(&error.kind());
    let lists = if group.find_subcommand("list").is_some() { "list" } else { "status" };
    is_group.then(|| [&args[..end], &[lists.into()], &args[end..]].concat())
}

/// The error with the command that is meant in place of one that does not exist.
pub(super) fn suggested(mut error: Error, args: &[OsString], root: &Command) -> Error {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let (group, _) = group(args, root);
    let there: Vec<&str> =
        group.get_subcommands().filter(|known| !known.is_hide_set()).map(Command::get_name).collect();
    let meant = SYNONYMS.iter().find(|names| names.contains(&typed.as_str())).copied().unwrap_or_default();
    let meant: Vec<String> = meant.iter().filter(|name| there.contains(name)).map(|name| (*name).to_owned()).collect();
    let meant = if meant.is_empty() { nearest(typed, &there).into_iter().collect() } else { meant };
    if ["edit", "rename", "move", "mv"].contains(&typed.as_str()) {
        let tip = "notes are files: change them in any editor, and vault follows";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return error;
    }
    error.remove(ContextKind::SuggestedSubcommand);
    if !meant.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(meant));
    }
    error
}

/// The command that a command line names as far as there is one, and where its name ends.
fn group<'c>(args: &[OsString], root: &'c Command) -> (&'c Command, usize) {
    let (mut group, mut end, mut at) = (root, 1, 1);
    while let Some(arg) = args.get(at).and_then(|arg| arg.to_str()) {
        match group.find_subcommand(arg) {
            Some(found) => (group, end) = (found, at + 1),
            None if arg == "--vault" => at += 1,
            None if arg.starts_with('-') => {}
            None => break,
        }
        at += 1;
    }
    (group, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_names_what_stands_before_its_bar() {
        for (what, name) in [
            ("[[Kyoto]]", "Kyoto"),
            (" ![[Kyoto#Temples|there]] ", "Kyoto#Temples"),
            ("[[a/b\\|c]]", "a/b"),
            ("[[Kyoto.md]]", "Kyoto"),
            ("notes/a.md:3", "notes/a.md:3"),
            ("[[open", "[[open"),
        ] {
            assert_eq!(without_brackets(what), name);
        }
    }

    #[test]
    fn a_part_is_a_heading_or_a_page() {
        for (what, parts) in [
            ("Kyoto#Temples#Gold", Some(("Kyoto", "Temples#Gold"))),
            ("a#b.pdf#page=3", Some(("a#b.pdf", "page=3"))),
            ("#Temples", None),
            ("Kyoto", None),
        ] {
            assert_eq!(name_and_part(what), parts);
        }
    }

    #[test]
    fn a_note_is_called_by_the_end_of_its_path_alone() {
        let path = VaultPath::new("notes/Sourdough.md").unwrap();
        for (name, is) in [("sourdough", true), ("notes/sourdough.md", true), ("dough", false), ("sour", false)] {
            assert_eq!(is_called(&path, name), is, "{name}");
        }
    }
}
