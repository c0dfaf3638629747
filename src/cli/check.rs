//! `vault memory check`: the entries and facts that may no longer be true; say whether they are.

use std::io::IsTerminal;

use anyhow::bail;
use clap::{Args, Subcommand};

use super::backend::Backend;
use super::memory::asked;
use super::terminal::{
    DIM, Out, Outcome, PLAIN, TITLE, answer, is_in_json, list, remark, say, say_undo, stdout, typed,
};
use crate::serve::api::endpoints;
use crate::serve::wire::{CheckAnswer, CheckAnswerParams, CheckAnswered, CheckView, ReviewParams};

/// Say whether what is known is still true.
///
/// Asks about the entries and facts whose `check` day has come, or that were not confirmed for long: an entry after 3 months (a commitment),
/// a year (a fact, a decision) or two years, a fact of `facts.md` after a year. What has no date is not asked about: write `(check 2027-01)`
/// at its end. What was true stays as history. Without a subcommand, in a terminal, asks about one after the other.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  vault memory check\n  vault memory check --list --json\n  vault memory check yes e-7f3a2b9c tools/loan_record\n  \
    vault memory check changed tools/monthly_income \"60 €\"\n  vault memory check gone e-19c04d5e"
)]
pub(super) struct CheckCommand {
    #[command(subcommand)]
    action: Option<CheckAction>,
    /// List what is to be checked, and ask nothing.
    #[arg(long)]
    list: bool,
}

#[derive(Debug, Subcommand)]
enum CheckAction {
    /// They are still true.
    Yes(Checked),
    /// Something else is true now.
    Changed {
        /// The ID of an entry, or the name of a fact.
        id: String,
        /// What is true now.
        text: String,
        #[command(flatten)]
        scope: CheckScope,
    },
    /// They are true no more.
    Gone(Checked),
}

#[derive(Debug, Args)]
struct Checked {
    /// The IDs of entries, or the names of facts.
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    scope: CheckScope,
}

#[derive(Debug, Args)]
struct CheckScope {
    /// The memory scope; default `user`.
    #[arg(long)]
    scope: Option<String>,
}

impl CheckCommand {
    pub(super) fn run(self, backend: &mut Backend) -> anyhow::Result<Outcome> {
        let (given, of, text) = match self.action {
            Some(CheckAction::Yes(of)) => (CheckAnswer::Yes, of, None),
            Some(CheckAction::Gone(of)) => (CheckAnswer::Gone, of, None),
            Some(CheckAction::Changed { id, text, scope }) => {
                (CheckAnswer::Changed, Checked { ids: vec![id], scope }, Some(text))
            }
            None => return check(backend, self.list),
        };
        let mut all = CheckAnswered { ok: true, ..CheckAnswered::default() };
        for id in &of.ids {
            let (id, scope) = (id.clone(), of.scope.scope.clone());
            let params = CheckAnswerParams { id, scope, answer: given, text: text.clone() };
            let done = backend.ask(&endpoints::entries::ANSWER_CHECK, &params)?;
            all.checkpoint_ids.splice(0..0, done.checkpoint_ids);
        }
        answer(&all, true, |out| {
            of.ids.iter().for_each(|id| writeln!(out, "{} {id}", done_by(given)));
            say_undo(&all.checkpoint_ids);
        })
    }
}

/// The keys of a question.
const QUESTION: &str = "still true? [y]es, [c]hanged, [g]one, [s]kip, [q]uit: ";

/// Lists what is to be checked, or asks about one after the other. Each answer counts at once.
fn check(backend: &mut Backend, is_list: bool) -> anyhow::Result<Outcome> {
    let asked_for = ReviewParams { limit: Some(1), ..ReviewParams::default() };
    let checks = backend.ask(&endpoints::entries::LIST_PROPOSALS, &asked_for)?.checks;
    if is_list || is_in_json() || checks.is_empty() {
        let all = serde_json::json!({ "checks": checks });
        return list(&all, &checks, "there is nothing to check", show);
    }
    if !std::io::stdin().is_terminal() {
        bail!("this needs a terminal; `--list` lists what is to be checked, `vault memory check yes` answers");
    }
    for (at, one) in checks.iter().enumerate() {
        say!("{} of {}", at + 1, checks.len());
        show(one, &mut stdout());
        let (id, scope) = (one.id.clone(), Some(one.scope.clone()));
        let mut params = CheckAnswerParams { id, scope, ..CheckAnswerParams::default() };
        match asked(QUESTION, "ycgsq")? {
            Some('y') => {}
            Some('c') => {
                let Some(text) = typed(&mut stdout(), "true now: ")?.filter(|text| !text.is_empty()) else { continue };
                (params.answer, params.text) = (CheckAnswer::Changed, Some(text));
            }
            Some('g') => params.answer = CheckAnswer::Gone,
            Some('s') => continue,
            _ => break,
        }
        // One that cannot be answered does not hold up the others.
        match backend.ask(&endpoints::entries::ANSWER_CHECK, &params) {
            Ok(done) => {
                say!("{} {}", done_by(params.answer), params.id);
                say_undo(&done.checkpoint_ids);
            }
            Err(error) => remark!("vault: {error}"),
        }
    }
    Ok(Outcome::Done)
}

fn show(check: &CheckView, out: &mut Out) {
    let CheckView { id, scope, kind, text, citation, since, confirmed, .. } = check;
    let of = if scope == "user" { String::new() } else { format!("{scope}  ") };
    let known = match (confirmed, since) {
        (Some(confirmed), _) => format!("last confirmed {confirmed}  "),
        (None, Some(since)) => format!("known since {since}  "),
        (None, None) => String::new(),
    };
    let text = format!("[{}] {text}", kind.word());
    out.row(&[(TITLE, id), (PLAIN, &text), (DIM, &format!("{of}{known}{citation}"))]);
}

/// What an answer does.
fn done_by(answer: CheckAnswer) -> &'static str {
    match answer {
        CheckAnswer::Yes => "confirmed",
        CheckAnswer::Changed => "changed",
        CheckAnswer::Gone => "ended",
    }
}
