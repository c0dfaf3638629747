//! `vault import`

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;

use super::backend::home;
use super::exit::Outcome;
use super::progress::Bar;
use super::terminal::{bytes, count, remark, say, shell_quoted, stdout};
use super::{import_from, init};
use crate::backup;
use crate::imports::SourceKind;

/// Bring in what other programs keep, or make a vault of a file that `vault export` wrote.
///
/// With --from, PATH is what another program has: conversations, bookmarks or notes become files of your vault as if they had been captured
/// at their time. Who spoke, and when, is kept; secrets are taken out, what you forgot for good stays out, and what programs put into
/// conversations (system prompts, answers of tools, thoughts, recalled memory) is left out and counted. Importing again adds what is new
/// alone, and `vault restore import-N` undoes all of it. Nothing is written but notes, bookmarks and conversations. docs/import.md says how to
/// get at each program's files.
///
/// Without --from, FILE is unpacked beside DIR, checked whole, and then put there in one step: an archive that was cut short or changed
/// leaves nothing. Paths and links that lead out of the folder are refused. Of a git repository its hooks stay behind, and so do the
/// settings by which git might run a program: each is named, and `tar --zstd -xf FILE` has them. --no-git leaves all of it out. What was
/// forgotten for good (`vault forget --purge`) is left out: by what the archive brings of that (`vault export --with-state`), and by the
/// vault that --vault names or you are in. How much is said, and `vault forgotten list` shows it; what you `lift` there first comes along.
#[derive(Debug, Args)]
#[command(
    override_usage = "vault import --from <KIND> [--dry-run | --watch] [--json] <PATH>\n       vault import [--no-git] [--json] <FILE> <DIR>",
    after_help = "Examples:\n  vault import --from chatgpt ~/Downloads/chatgpt-export.zip --dry-run\n  vault import --from claude-code ~/.claude/projects --watch\n  vault import --from obsidian ~/Obsidian/Main"
)]
pub(super) struct ImportCommand {
    /// What another program has, with --from; else what `vault export` wrote, `-` for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The new vault's folder: empty, or not there yet.
    #[arg(required_unless_present = "from", conflicts_with = "from")]
    dir: Option<PathBuf>,
    /// What kind of source it is.
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    from: Option<String>,
    /// Only say what would come, and what would be left out.
    #[arg(long, requires = "from")]
    dry_run: bool,
    /// Go on and take what comes anew, until Ctrl-C; `vault restore` undoes all of it as one.
    #[arg(long, requires = "from", conflicts_with = "dry_run")]
    watch: bool,
    /// Make a vault of the folder itself, where it is, instead of copying its notes: with `obsidian`, `logseq` and `folder`.
    #[arg(long, requires = "from", conflicts_with_all = ["dry_run", "json", "watch"])]
    adopt: bool,
    /// Leave the git repository out.
    #[arg(long, conflicts_with = "from")]
    no_git: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What `--from` takes.
fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(SourceKind::ALL.map(SourceKind::name))
}

impl ImportCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        match self.from.as_deref().and_then(SourceKind::of) {
            Some(kind) if self.adopt => self.adopt(kind),
            Some(kind) => import_from::run(vault, kind, &self.file, self.dry_run, self.watch, self.json),
            None => self.unpack(vault),
        }
    }

    /// Makes a vault of the folder itself.
    fn adopt(&self, kind: SourceKind) -> anyhow::Result<Outcome> {
        if !matches!(kind, SourceKind::Obsidian | SourceKind::Folder | SourceKind::Logseq) {
            bail!("--adopt is for folders of notes: `obsidian`, `logseq` and `folder`");
        }
        init::adopt(&self.file)
    }

    /// Makes a vault of an archive.
    fn unpack(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let Some(dir) = &self.dir else { bail!("name the new vault's folder") };
        // It may be that very vault which is lost.
        let known = home(vault).ok();
        if let (Some(vault), None) = (vault, &known) {
            remark!("vault: {} is no vault, so what was forgotten there is not known", vault.display());
        }
        let options = backup::Import { git: !self.no_git, state: known.map(|home| home.state()) };
        let bar = Bar::bytes("importing");
        let imported = if self.file == Path::new("-") {
            let mut show = |done: u64| bar.show(done as usize, 0);
            backup::import(std::io::stdin().lock(), dir, options, &mut show)
        } else {
            let name = self.file.display();
            let file = File::open(&self.file).with_context(|| format!("cannot open {name}"))?;
            let all = file.metadata().with_context(|| format!("cannot look at {name}"))?.len();
            let mut show = |done: u64| bar.show(done as usize, all.saturating_sub(done) as usize);
            backup::import(file, dir, options, &mut show)
        };
        bar.finish();
        let imported = imported?;
        if self.json {
            stdout().json(&imported)?;
        } else {
            let (files, root) = (count(imported.files as usize, "file"), imported.vault.display());
            say!("{root} is a vault now: {files}, {}. Keep it searchable with\n", bytes(imported.bytes))?;
            say!("    vault serve --vault {}", shell_quoted(&imported.vault))?;
        }
        if imported.forgotten > 0 {
            let vault = shell_quoted(&imported.vault);
            let (of, list) = (count(imported.forgotten, "file"), format!("vault forgotten list --vault {vault}"));
            remark!("vault: left out of {of}: what was forgotten for good; `{list}` shows when and where");
            for file in &imported.forgotten_of {
                let how = if file.whole { "all of it" } else { "a part of it" };
                remark!("vault:     {}: {how}", file.path);
            }
            if imported.vault.join(".git").exists() {
                remark!("vault: the repository that came along may have it still; --no-git leaves that out");
            }
        }
        for left_out in &imported.left_out {
            remark!("vault: left out: {left_out}");
        }
        Ok(Outcome::Done)
    }
}
