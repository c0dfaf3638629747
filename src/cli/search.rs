//! `vault search`

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::Outcome;
use super::backend::{Backend, home};
use super::output::{self, DIM, TITLE, Terminal, printable};
use crate::config::{Mode, StemmerLanguage};
use crate::search::{Highlighter, snippet};
use crate::service::{HitView, SearchParams, percent_encode};

/// Find passages by their words, their meaning, or both.
///
/// Words are matched in any form ("baking" finds "baked"); "a phrase" is looked for as it is; -word must not occur. A question
/// works as well: the meaning is searched too. When nothing is found the exit code is 1.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault search sourdough fridge\n  vault search \"how do I know the dough has risen\" -n 3\n  vault search '\"exact phrase\" -draft' --collection notes --since 30d --json"
)]
pub(super) struct Search {
    /// What to look for.
    #[arg(required = true)]
    query: Vec<String>,
    /// By words, by meaning, or both.
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// Only this collection (a top-level folder).
    #[arg(long, short)]
    collection: Option<String>,
    /// Only notes with this tag, or one below it.
    #[arg(long, short)]
    tag: Option<String>,
    /// Only notes whose path in the vault starts so.
    #[arg(long, short)]
    path: Option<String>,
    /// Only notes updated then or later: 2026-01-05, or 7d ago.
    #[arg(long)]
    since: Option<String>,
    /// Only notes updated by then.
    #[arg(long)]
    until: Option<String>,
    /// Hits at most.
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
    /// Print whole passages instead of snippets.
    #[arg(long)]
    full: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Characters of a snippet on a terminal: about four lines.
const SHOWN_CHARS: usize = 320;

impl Search {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let by_words = self.mode == Some(Mode::Keyword);
        let mut backend = Backend::open(vault, |config| {
            if by_words {
                // Keyword search needs no model, and loading one takes longer than the search.
                config.embed.model = "none".into();
            }
        })?;
        backend.catch_up(!by_words)?;
        let response = backend.search(&SearchParams {
            q: self.query.join(" "),
            mode: self.mode,
            collection: self.collection,
            tag: self.tag,
            path: self.path,
            since: self.since,
            until: self.until,
            limit: self.limit,
        })?;
        let outcome = if response.results.is_empty() { Outcome::NothingFound } else { Outcome::Done };
        if self.json {
            output::json(&response)?;
            return Ok(outcome);
        }
        if let Some(degraded) = &response.degraded {
            eprintln!("vault: {degraded}");
        }
        let home = home(vault)?;
        let in_obsidian = home.root().join(".obsidian").is_dir();
        let mut printer = Printer {
            root: (!in_obsidian).then(|| home.root().to_owned()),
            terminal: Terminal::stdout(),
            highlighter: Highlighter::new(&response.query, StemmerLanguage::English),
            full: self.full,
        };
        let mut out = std::io::stdout().lock();
        for (at, hit) in response.results.iter().enumerate() {
            if at > 0 {
                writeln!(out)?;
            }
            write!(out, "{}", printer.hit(hit))?;
        }
        if outcome == Outcome::NothingFound {
            eprintln!("vault: nothing found");
        }
        Ok(outcome)
    }
}

struct Printer {
    /// Where the notes are, when their links open files and not Obsidian.
    root: Option<PathBuf>,
    terminal: Terminal,
    highlighter: Highlighter,
    full: bool,
}

impl Printer {
    fn hit(&mut self, hit: &HitView) -> String {
        let terminal = self.terminal;
        let chunk = &hit.chunk;
        let url = match &self.root {
            Some(root) => format!("file://{}", percent_encode(&root.join(&chunk.path).to_string_lossy(), "/")),
            None => chunk.obsidian_url.clone(),
        };
        let citation = terminal.link(&url, &terminal.paint(TITLE, &printable(&chunk.citation)));
        let mut place: Vec<&str> = vec![&chunk.title];
        place.extend(chunk.heading_path.iter().map(String::as_str).filter(|heading| *heading != chunk.title));
        let place = terminal.paint(DIM, &printable(&place.join(" > ")));
        let score = terminal.paint(DIM, &format!("{:.2}", hit.score));
        let text = printable(&chunk.content);
        let shown = if self.full { text } else { snippet(&text, &mut self.highlighter, SHOWN_CHARS) };
        let marked = terminal.highlight(&shown, &self.highlighter.matches(&shown));
        let body: String = marked.lines().map(|line| format!("    {line}\n")).collect();
        format!("{citation}  {score}  {place}\n{body}")
    }
}
