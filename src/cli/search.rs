//! `vault search`

use std::ffi::OsString;
use std::ops::Range;
use std::path::Path;

use clap::{Arg, Args, Command};

use super::backend::{Backend, home, shown_by};
use super::terminal::{DIM, MATCH, Out, Outcome, TITLE, answer, is_in_json, remark, stdout};
use crate::access::request::{MAY_LACK_THE_NEWEST, RequestError};
use crate::base::config::{Citations, Mode};
use crate::base::path::VaultPath;
use crate::index::search::{Highlighter, snippet};
use crate::serve::wire::{HitView, SearchQuery, percent_encode_path, source_line};
use crate::text::derive::TextLanguage;
use crate::vault::disk::Outside;

/// Find passages by their words, their meaning, or both.
///
/// Words match in any form ("baking" finds "baked"). "A phrase" matches exactly; a single "word" or +word must occur; -word must
/// not, and alone lists all other notes. The last word may be half typed, any word as begin*. Typos are corrected, and the answer
/// says so. A note with the typed name comes first, even half typed or misspelt. Questions work as well, as search also compares
/// meaning. Each hit's number is how likely it answers, 0 to 1. Exit code 1: nothing found.
///
/// Conditions, negated by a - before them: tag:travel in:notes path:daily/* title:plan before:2026-01-05 after:7d
/// has:link|image|code|table|quote|task|tag; in conversations role:user (who speaks) and conversation:ID;
/// layer:entries|conversations|summaries|graph|notes; and any property: type:book status:done author:"Ann Lee" [rating:>3] [status].
///
/// Lines that search one way only: "lex: words", "vec: a question", "hyde: what an answer might say"; "intent: the topic" helps them.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault search sourdough fridge\n  vault search \"how do I know the dough has risen\" -n 3\n  vault search sourdough -temporary\n  vault search '\"exact phrase\" -draft' --collection notes --since 30d --json\n  vault search 'status:open [rating:>3] -tag:work'"
)]
pub(super) struct SearchCommand {
    /// What to look for.
    #[arg(required = true)]
    query: Vec<String>,
    #[command(flatten)]
    how: SearchQuery,
    /// Override a key of `[search]` in memory.toml for this search: per_file=0. May be given more than once.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Where to show the citation: above the passage, below it too, or not at all; default `[search] citations`. JSON always has it.
    #[arg(long, value_enum, value_name = "WHERE")]
    citations: Option<Citations>,
    /// Show what each hit's rank and relevance are made of.
    #[arg(long)]
    explain: bool,
    /// Print whole passages instead of snippets.
    #[arg(long)]
    full: bool,
}

/// Maximum length of a query, in bytes. One that is much longer does not fit into the head of a request, and the daemon
/// only hangs up.
const MAX_QUERY_BYTES: usize = 16 * 1024;

/// Characters of a snippet on a terminal: about four lines.
const SHOWN_CHARS: usize = 320;

/// The searches, whose words are a query.
const SEARCHES: [&str; 3] = ["search", "vsearch", "query"];

/// Puts the query of a search behind `--` where a word of it begins with a hyphen, `-word` or what people ask: clap can let words begin so,
/// but then every option after the first of them is one, too. The first word is the program, `behind` the one before the command. A long
/// option that there is none of is the query where it is all there is, if that `takes_unknown`.
pub(super) fn dashed_query_last(
    mut command: Command,
    args: impl IntoIterator<Item = OsString>,
    behind: usize,
    takes_unknown: bool,
) -> Vec<OsString> {
    let args: Vec<OsString> = args.into_iter().collect();
    command.build();
    let mut at = behind + 1;
    while let Some(word) = args.get(at).map(|word| word.to_string_lossy()) {
        match option_words(&command, &word) {
            Some(words) => at += words,
            None => break,
        }
    }
    let named = |command: &&Command| {
        let name = args.get(at).and_then(|word| word.to_str()).unwrap_or_default();
        command.get_name() == name || command.get_all_aliases().any(|alias| alias == name)
    };
    match command.get_subcommands().find(named).filter(|found| SEARCHES.contains(&found.get_name())) {
        Some(search) => query_last(search, &args[..=at], &args[at + 1..], takes_unknown).unwrap_or(args),
        None => args,
    }
}

/// The words with the query behind all options; `None` where none of it begins with a hyphen.
fn query_last(search: &Command, before: &[OsString], words: &[OsString], takes_unknown: bool) -> Option<Vec<OsString>> {
    let (mut options, mut query, mut unknown, mut dashed) = (before.to_vec(), Vec::new(), Vec::new(), false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if text == "--" {
            query.extend(words.cloned());
            break;
        }
        match option_words(search, &text) {
            Some(of_option) => options.extend([word].into_iter().chain(words.by_ref().take(of_option - 1)).cloned()),
            // It is said that there is no such option. Whoever searches for `--dry-run` means it so.
            None if text.starts_with("--") && !takes_unknown => options.push(word.clone()),
            None if text.starts_with("--") && !text.contains(char::is_whitespace) => unknown.push(word.clone()),
            None => {
                dashed |= text.len() > 1 && text.starts_with('-');
                query.push(word.clone());
            }
        }
    }
    match query.is_empty() {
        true if unknown.is_empty() => return None,
        true => query = unknown,
        // It is said that there is no such option.
        false if !dashed || !unknown.is_empty() => return None,
        false => {}
    }
    options.push("--".into());
    options.extend(query);
    Some(options)
}

/// How many words an option takes, with its value where that is a word of its own; `None` of what is no option.
fn option_words(command: &Command, word: &str) -> Option<usize> {
    let takes_value = |is: &dyn Fn(&Arg) -> bool| {
        command.get_arguments().find(|arg| is(arg)).map(|arg| arg.get_action().takes_values())
    };
    if let Some(long) = word.strip_prefix("--") {
        let name = long.split_once('=').map_or(long, |(name, _)| name);
        let takes_value = takes_value(&|arg| {
            arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|all| all.contains(&name))
        })?;
        return Some(1 + usize::from(takes_value && name == long));
    }
    let shorts = word.strip_prefix('-').filter(|shorts| !shorts.contains(char::is_whitespace))?;
    let known = |short: char| {
        takes_value(&|arg| {
            arg.get_short() == Some(short) || arg.get_all_short_aliases().is_some_and(|all| all.contains(&short))
        })
    };
    let first = shorts.chars().next()?;
    let value = &shorts[first.len_utf8()..];
    match known(first)? {
        true if value.is_empty() => Some(2),
        // Their values are numbers, but for the name of a collection.
        true if first == 'c' || value.trim_start_matches('=').parse::<u64>().is_ok() => Some(1),
        false if shorts.chars().all(|short| known(short) == Some(false)) => Some(1),
        _ => None,
    }
}

impl SearchCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let query = self.query.join(" ");
        if query.trim().is_empty() {
            let hint = Some("type words or a question: `vault search sourdough fridge`".to_owned());
            return Err(RequestError { hint, ..RequestError::invalid("the query is empty") }.into());
        }
        if query.len() > MAX_QUERY_BYTES {
            let message = format!("the query has {} bytes; the limit is {MAX_QUERY_BYTES}", query.len());
            return Err(RequestError::invalid(message).into());
        }
        let by_words = self.how.mode == Some(Mode::Keyword);
        let mut backend = Backend::open(vault, |config| {
            if by_words {
                // Keyword search needs no model, and loading one takes longer than the search.
                config.embed.model = "none".into();
            }
        })?;
        backend.catch_up(!by_words)?;
        // The daemon knows that it is asked over the socket; alone, all notes are read first.
        let asked = SearchQuery { q: query, set: joined(&self.set), ..self.how };
        let response = backend.search(&asked)?;
        if is_in_json() {
            return answer(&response, !response.results.is_empty(), |_| ());
        }
        if response.without_topic {
            remark!("vault: fewer than three hits have that topic; these hits are from all topics");
        }
        if let Some(degraded) = &response.degraded {
            remark!("vault: {degraded}");
        }
        if response.fresh == Some(false) {
            remark!("vault: {MAY_LACK_THE_NEWEST}");
        }
        let home = home(vault)?;
        let config = shown_by(&home);
        let settings = config.search.with(&asked.set.unwrap_or_default()).map_err(RequestError::invalid)?;
        let citations = self.citations.unwrap_or(settings.citations);
        let in_obsidian = home.root().join(".obsidian").is_dir();
        let outside = Outside::new(home.root(), &config.collections)?;
        let mut highlighter = Highlighter::new(&response.query, config.search.stemmer);
        let mut out = stdout();
        for (at, hit) in response.results.iter().enumerate() {
            let chunk = &hit.chunk;
            if at > 0 {
                writeln!(out);
            }
            if citations != Citations::Off {
                // Links open files, or Obsidian.
                let path = VaultPath::new(chunk.path.as_str()).map(|path| outside.on_disk(home.root(), &path));
                let file = || format!("file://{}", percent_encode_path(&path.unwrap_or_default().to_string_lossy()));
                let url = if in_obsidian { chunk.obsidian_url.clone().unwrap_or_default() } else { file() };
                out.link(&url, TITLE, &chunk.citation);
                write!(out, "  ");
            }
            // What was only narrowed is listed, and no hit is better than another.
            let perhaps = if hit.perhaps { " perhaps" } else { "" };
            let relevance = hit.relevance.map(|relevance| format!("{relevance:.2}{perhaps}")).unwrap_or_default();
            out.row(&[(DIM, &relevance), (DIM, &place_names(&chunk.title, &chunk.heading_path))]);
            if self.explain {
                out.row(&[(DIM, &format!("    {}", explained(hit)))]);
            }
            let text = &chunk.content;
            highlighter.turn_to(TextLanguage::of_text(text));
            let shown = if self.full { text.clone() } else { snippet(text, &mut highlighter, SHOWN_CHARS) };
            indented(&shown, &highlighter.matches(&shown), &mut out);
            if citations == Citations::On {
                writeln!(out, "    {}", source_line(&chunk.path, chunk.line_start));
            }
        }
        match (response.results.is_empty(), response.left_out) {
            (true, 0) => remark!("vault: nothing found"),
            (true, left) => remark!("vault: no hit is likely enough; {left} less likely"),
            (_, 0) => {}
            (_, left) => remark!("vault: {left} less likely left out"),
        }
        Ok(Outcome::found(!response.results.is_empty()))
    }
}

/// Settings as a search takes them.
pub(super) fn joined(settings: &[String]) -> Option<String> {
    (!settings.is_empty()).then(|| settings.join(","))
}

/// The title of a note, and the headings in it that a passage stands under.
pub(super) fn place_names(title: &str, headings: &[String]) -> String {
    let headings = headings.iter().map(String::as_str).filter(|heading| *heading != title);
    std::iter::once(title).chain(headings).collect::<Vec<_>>().join(" > ")
}

/// What a hit's place and relevance are made of.
fn explained(hit: &HitView) -> String {
    let scores = &hit.scores;
    let part = |name: &str, value: Option<f64>, digits: usize| value.map(|value| format!("{name} {value:.digits$}"));
    let of_words = scores.coverage.map(|coverage| format!(" ({:.0} % of the maximum)", coverage * 100.0));
    let parts = [
        part("words", scores.keyword, 2).map(|words| words + &of_words.unwrap_or_default()),
        part("meaning", scores.semantic, 3),
        part("word by word", scores.late, 3),
        part("reranked", scores.rerank, 2),
        part("score", Some(hit.score), 3),
        part("relevance", hit.relevance, 3),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Prints a text with its matches marked, each line set in.
fn indented(text: &str, matches: &[Range<usize>], out: &mut Out) {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let whole = start..start + line.trim_end_matches(['\r', '\n']).len();
        write!(out, "    ");
        let mut at = whole.start;
        for part in matches {
            let part = part.start.max(at)..part.end.min(whole.end);
            if !part.is_empty() {
                write!(out, "{}", &text[at..part.start]);
                out.paint(MATCH, &text[part.clone()]);
                at = part.end;
            }
        }
        writeln!(out, "{}", &text[at..whole.end]);
        start += line.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negated_words_are_words_and_options_are_options_anywhere() {
        for (typed, parsed) in [
            ("vault search a -b c -n 3 --json", "vault search -n 3 --json -- a -b c"),
            ("vault search -dogs -n3 -nuts -n=4 --tag x", "vault search -n3 -n=4 --tag x -- -dogs -nuts"),
            ("vault --vault search search -hot -h", "vault --vault search search -h -- -hot"),
            ("vault search a -b -- -c --json", "vault search -- a -b -c --json"),
            // clap refuses a value that is missing.
            ("vault search a --tag -x -b", "vault search --tag -x -- a -b"),
            ("vault search a -n 3 - --vault=x", "vault search a -n 3 - --vault=x"),
            ("vault search --bogus", "vault search --bogus"),
            ("vault search a -b --bogus", "vault search --bogus -- a -b"),
            ("vault get -x", "vault get -x"),
            ("vault", "vault"),
        ] {
            let words = dashed_query_last(super::super::command(), typed.split(' ').map(OsString::from), 0, false);
            assert_eq!(words.join(std::ffi::OsStr::new(" ")), parsed);
        }
    }
}
