//! `vault review`: the edits that agents suggest for notes; accept or reject them, whole or one by one.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use clap::{Args, Subcommand};
use serde_json::json;

use super::backend::Backend;
use super::terminal::{BAD, DIM, MATCH, Out, Outcome, PLAIN, TITLE, answer, count, list, remark, say, say_undo};
use crate::base::clock::local;
use crate::serve::api::endpoints;
use crate::serve::wire::{
    HunkView, ReviewParams, ReviewView, SuggestionDecision, SuggestionDecisions, SuggestionView, SuggestionsDecided,
};

/// Review the edits that agents suggest for notes: accept or reject each.
///
/// A note stays as it is until you accept. Without a subcommand, lists what waits, each with its difference: `[-old-]{+new+}`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  vault review\n  vault review accept 1\n  vault review accept 1:2 ada/2026-03-09-plan\n  \
    vault review reject 3"
)]
pub(super) struct ReviewCommand {
    #[command(subcommand)]
    action: Option<ReviewAction>,
}

#[derive(Debug, Subcommand)]
enum ReviewAction {
    /// Accept suggestions, or single edits of them.
    Accept(Suggestions),
    /// Reject suggestions, or single edits of them.
    Reject(Suggestions),
}

#[derive(Debug, Args)]
struct Suggestions {
    /// Their numbers in the list, or their IDs; `1:2` is the second edit of the first.
    #[arg(required = true, value_name = "SUGGESTION")]
    which: Vec<String>,
}

impl ReviewCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let mut backend = Backend::caught_up(vault)?;
        let asked = ReviewParams { limit: Some(1), ..ReviewParams::default() };
        let ReviewView { suggestions, proposals, more, .. } =
            backend.ask(&endpoints::entries::LIST_PROPOSALS, &asked)?;
        let (accept, which) = match self.action {
            Some(ReviewAction::Accept(of)) => (true, of.which),
            Some(ReviewAction::Reject(of)) => (false, of.which),
            None => {
                let entries = proposals.len() + more;
                if entries > 0 {
                    remark!("vault: {} of entries wait too; see `vault memory review`", count(entries, "proposal"));
                }
                let all = json!({ "suggestions": suggestions });
                let numbered: Vec<(usize, SuggestionView)> = (1..).zip(suggestions).collect();
                return list(&all, &numbered, "no edits of notes are suggested", |(number, one), out| {
                    show(*number, one, out)
                });
            }
        };
        let decisions = decisions(&suggestions, &which, accept)?;
        let done = backend.ask(&endpoints::entries::DECIDE_SUGGESTIONS, &SuggestionDecisions { decisions })?;
        answer(&done, true, |_| tell(&done))
    }
}

/// What names of suggestions and edits mean; several edits of one suggestion are one decision.
fn decisions(found: &[SuggestionView], which: &[String], accept: bool) -> anyhow::Result<Vec<SuggestionDecision>> {
    let mut meant: BTreeMap<String, Option<Vec<usize>>> = BTreeMap::new();
    for name in which {
        let (named, hunk) = name.split_once(':').map_or((name.as_str(), None), |(named, hunk)| (named, Some(hunk)));
        let id = match named.parse::<usize>() {
            Ok(number) => {
                let at = number.checked_sub(1).and_then(|at| found.get(at));
                at.with_context(|| format!("there is no suggestion {number}; `vault review` lists them"))?.id.clone()
            }
            Err(_) => named.to_owned(),
        };
        let hunk = hunk.map(str::parse::<usize>).transpose();
        let hunk = hunk.with_context(|| format!("`{name}`: after the colon stands the number of an edit"))?;
        let hunks = meant.entry(id).or_insert_with(|| Some(Vec::new()));
        match (hunk, hunks.as_mut()) {
            (Some(hunk), Some(hunks)) => hunks.push(hunk),
            (Some(_), None) => {}
            (None, _) => *hunks = None,
        }
    }
    Ok(meant.into_iter().map(|(id, hunks)| SuggestionDecision { id, accept, hunks }).collect())
}

fn show(number: usize, suggestion: &SuggestionView, out: &mut Out) {
    let SuggestionView { id, agent, at, path, why, hunks, moved_on, problem, .. } = suggestion;
    out.row(&[(TITLE, &format!("{number}  {path}")), (DIM, &format!("{agent}, {}  {id}", local(at)))]);
    writeln!(out, "  {why}");
    for (at, hunk) in hunks.iter().enumerate() {
        let place = match hunk.line {
            Some(line) => format!("{path}#L{line}"),
            None if *moved_on => "the note has moved on: this text is not there once any more".to_owned(),
            None => "this text is not there once".to_owned(),
        };
        out.row(&[(PLAIN, &format!("  {number}:{}", at + 1)), (DIM, &place)]);
        show_difference(hunk, out);
    }
    if let Some(problem) = problem {
        out.row(&[(BAD, &format!("  {problem}"))]);
    }
}

/// The words that go as `[-words-]` and those that come as `{+words+}`, as git shows them, and in colours where there are some.
fn show_difference(hunk: &HunkView, out: &mut Out) {
    let mut is_new_line = true;
    for piece in &hunk.diff {
        let (style, open, close) = match piece.change {
            '-' => (BAD, "[-", "-]"),
            '+' => (MATCH, "{+", "+}"),
            _ => (PLAIN, "", ""),
        };
        for line in piece.text.split_inclusive('\n') {
            if std::mem::take(&mut is_new_line) {
                write!(out, "    ");
            }
            let words = line.trim_end_matches(['\r', '\n']);
            if !words.is_empty() {
                out.paint(style, &format!("{open}{words}{close}"));
            }
            if line.ends_with('\n') {
                writeln!(out);
                is_new_line = true;
            }
        }
    }
    if !is_new_line {
        writeln!(out);
    }
}

fn tell(done: &SuggestionsDecided) {
    for path in &done.changed {
        say!("changed {path}");
    }
    for (number, what) in [(done.accepted, "accepted"), (done.rejected, "rejected")] {
        if number > 0 {
            say!("{what} {}", count(number, "edit"));
        }
    }
    say_undo(&done.checkpoint_ids);
}
