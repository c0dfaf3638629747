//! `vault search`

use std::ffi::OsString;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::{Args, Command};

use super::backend::{Backend, home, shown_by};
use super::exit::Outcome;
use super::narrow::NarrowArgs;
use super::terminal::{DIM, MATCH, Out, TITLE, remark, stdout};
use crate::config::{Citations, MemoryLayer, Mode};
use crate::path::VaultPath;
use crate::request::{MAY_LACK_THE_NEWEST, RequestError};
use crate::search::{Highlighter, snippet};
use crate::vault::Outside;
use crate::wire::{HitView, SearchQuery, percent_encode_path, source_line};

/// Find passages by their words, their meaning, or both.
///
/// Words are matched in any form ("baking" finds "baked"); "a phrase" is looked for as it is, a single "word" has to be
/// there, as +word has; -word must not occur, and alone lists what is left. The last word may be half typed, begin* may be any; a
/// slip of the finger is made good, and said. A note that is called what is typed comes first, half typed or with a slip, too. A
/// question works as well: the meaning is searched too. The number of a hit is how likely it answers, 0 to 1. When nothing is found the exit code is 1.
///
/// Conditions, each with - before it for its opposite: tag:travel in:notes path:daily/* title:plan before:2026-01-05 after:7d
/// has:link|image|code|table|quote|task|tag; of conversations role:user (who speaks) and conversation:ID; layer:entries|conversations|summaries|graph|notes; and any property: type:book status:done author:"Ann Lee" [rating:>3] [status].
///
/// Lines that ask one side alone: "lex: words", "vec: a question", "hyde: what an answer might say"; "intent: what it is about" helps them.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault search sourdough fridge\n  vault search \"how do I know the dough has risen\" -n 3\n  vault search sourdough -temporary\n  vault search '\"exact phrase\" -draft' --collection notes --since 30d --json\n  vault search 'status:open [rating:>3] -tag:work'"
)]
pub(super) struct SearchCommand {
    /// What to look for.
    #[arg(required = true)]
    query: Vec<String>,
    /// By words, by meaning, or both.
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    #[command(flatten)]
    within: NarrowArgs,
    /// Only notes of these memory scopes, with a weight each if you like: project:mech,system=0.4.
    #[arg(long, value_name = "SCOPES")]
    scope: Option<String>,
    /// The same: memory scopes, the most specific first.
    #[arg(long, value_name = "SCOPES", conflicts_with = "scope")]
    resolve: Option<String>,
    /// Only one layer of the memory; summaries as long as `[memory] summary_retention_days` says.
    #[arg(long, value_enum)]
    layer: Option<MemoryLayer>,
    /// Only notes with this `topic`; where fewer than three hits have it, all are searched.
    #[arg(long)]
    topic: Option<String>,
    /// Only notes updated then or later: 2026-01-05, yesterday, or 7d for the last seven days.
    #[arg(long)]
    since: Option<String>,
    /// Only notes updated by then.
    #[arg(long)]
    until: Option<String>,
    /// Hits at most.
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
    /// Only hits that are as likely to answer, 0 to 1; less likely ones than `[search] min_score` are called "perhaps".
    #[arg(long, value_name = "SHARE")]
    min_score: Option<f64>,
    /// How long the models are waited for, 1 to 60000 ms: then the words answer, and it is said.
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<u64>,
    /// A key of `[search]` in memory.toml with another value, for this search: fusion=rrf. May be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Passages shown on either side of a hit; in conversations turns, 2 unless told.
    #[arg(long, value_name = "N")]
    context: Option<usize>,
    /// Where a passage is: at its head, below it too, or not said; `[search] citations` unless told. JSON always has it.
    #[arg(long, value_enum, value_name = "WHERE")]
    citations: Option<Citations>,
    /// Say of each hit what its place and its relevance are made of.
    #[arg(long)]
    explain: bool,
    /// Print whole passages instead of snippets.
    #[arg(long)]
    full: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Maximum length of a query, in bytes. One that is much longer does not fit into the head of a request, and the daemon
/// only hangs up.
const MAX_QUERY_BYTES: usize = 16 * 1024;

/// Characters of a snippet on a terminal: about four lines.
const SHOWN_CHARS: usize = 320;

/// Puts the `-word`s of a search behind `--`, where clap takes them for words and not for options.
///
/// clap can let a positional argument begin with a hyphen, but then every option after the first word is a word too.
pub(super) fn negated_words_last(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut rest = args.into_iter();
    let mut args: Vec<OsString> = rest.by_ref().take(1).collect();
    while let Some(arg) = rest.next() {
        let (named, command) = (arg == "--vault", !arg.as_encoded_bytes().starts_with(b"-"));
        let search = arg == "search";
        args.push(arg);
        if search {
            break;
        }
        if command {
            return args.into_iter().chain(rest).collect();
        }
        args.extend(rest.by_ref().take(named.into()));
    }
    let options = SearchCommand::augment_args(Command::new("search"));
    let takes_value = |arg: &OsString| {
        arg == "-n"
            || arg == "--vault"
            || options.get_arguments().any(|option| {
                option.get_action().takes_values()
                    && option.get_long().is_some_and(|long| arg.to_str() == Some(&format!("--{long}")))
            })
    };
    let mut words = vec![OsString::from("--")];
    while let Some(arg) = rest.next() {
        if arg == "--" {
            words.extend(rest);
            break;
        }
        if is_negated_word(&arg) {
            words.push(arg);
            continue;
        }
        let value = takes_value(&arg);
        args.push(arg);
        args.extend(rest.by_ref().take(value.into()));
    }
    if words.len() > 1 {
        args.extend(words);
    }
    args
}

/// Whether it is `-word`, and not `-n 3`, `-n3`, `-h` or a long option.
fn is_negated_word(arg: &OsString) -> bool {
    match arg.as_encoded_bytes() {
        [] | [b'-'] | [b'-', b'-', ..] | b"-h" | b"-n" => false,
        [b'-', b'n', next, ..] => !(next.is_ascii_digit() || *next == b'='),
        [first, ..] => *first == b'-',
    }
}

impl SearchCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let query = self.query.join(" ");
        if query.trim().is_empty() {
            let hint = Some("say what to look for: `vault search sourdough fridge`, or a question".to_owned());
            return Err(RequestError { hint, ..RequestError::invalid("the query is empty") }.into());
        }
        if query.len() > MAX_QUERY_BYTES {
            let message = format!("the query has {} bytes; it takes {MAX_QUERY_BYTES}", query.len());
            return Err(RequestError::invalid(message).into());
        }
        let by_words = self.mode == Some(Mode::Keyword);
        let mut backend = Backend::open(vault, |config| {
            if by_words {
                // Keyword search needs no model, and loading one takes longer than the search.
                config.embed.model = "none".into();
            }
        })?;
        backend.catch_up(!by_words)?;
        let response = backend.search(&SearchQuery {
            q: query,
            mode: self.mode,
            collection: self.within.collection,
            tag: self.within.tag,
            path: self.within.path,
            scope: self.scope,
            resolve: self.resolve,
            layer: self.layer,
            topic: self.topic,
            since: self.since,
            until: self.until,
            limit: self.limit,
            min_score: self.min_score,
            // The daemon knows that it is asked over the socket; alone, all notes are read first.
            fresh: None,
            context: self.context,
            timeout_ms: self.timeout_ms,
            set: joined(&self.set),
            highlight: false,
        })?;
        let outcome = if response.results.is_empty() { Outcome::NothingFound } else { Outcome::Done };
        if self.json {
            stdout().json(&response)?;
            return Ok(outcome);
        }
        if response.without_topic {
            remark!("vault: fewer than three hits have that topic; these are of any");
        }
        match &response.degraded {
            // It says as much itself.
            Some(degraded) => remark!("vault: {degraded}"),
            None => backend.warn_if_read_only(),
        }
        if response.fresh == Some(false) {
            remark!("vault: {MAY_LACK_THE_NEWEST}");
        }
        let home = home(vault)?;
        let config = shown_by(&home);
        let settings = config.search.with(&joined(&self.set).unwrap_or_default()).map_err(RequestError::invalid)?;
        let in_obsidian = home.root().join(".obsidian").is_dir();
        let mut printer = Printer {
            root: (!in_obsidian).then(|| home.root().to_owned()),
            outside: Outside::new(home.root(), &config.collections)?,
            highlighter: Highlighter::new(&response.query, config.search.stemmer),
            full: self.full,
            explain: self.explain,
            citations: self.citations.unwrap_or(settings.citations),
        };
        let mut out = stdout();
        for (at, hit) in response.results.iter().enumerate() {
            if at > 0 {
                writeln!(out)?;
            }
            printer.hit(hit, &mut out)?;
        }
        match (outcome, response.left_out) {
            (Outcome::NothingFound, 0) => remark!("vault: nothing found"),
            (Outcome::NothingFound, left) => remark!("vault: nothing found that is so likely; {left} less likely"),
            (_, 0) => {}
            (_, left) => remark!("vault: {left} less likely left out"),
        }
        Ok(outcome)
    }
}

/// Settings as a search takes them.
pub(super) fn joined(settings: &[String]) -> Option<String> {
    (!settings.is_empty()).then(|| settings.join(","))
}

struct Printer {
    /// Where the notes are, when their links open files and not Obsidian.
    root: Option<PathBuf>,
    outside: Outside,
    highlighter: Highlighter,
    full: bool,
    explain: bool,
    citations: Citations,
}

impl Printer {
    fn hit(&mut self, hit: &HitView, out: &mut Out) -> io::Result<()> {
        let chunk = &hit.chunk;
        let url = match &self.root {
            Some(root) => {
                let path = VaultPath::new(chunk.path.as_str()).map(|path| self.outside.on_disk(root, &path));
                format!("file://{}", percent_encode_path(&path.unwrap_or_default().to_string_lossy()))
            }
            None => chunk.obsidian_url.clone().unwrap_or_default(),
        };
        let mut place: Vec<&str> = vec![&chunk.title];
        place.extend(chunk.heading_path.iter().map(String::as_str).filter(|heading| *heading != chunk.title));
        if self.citations != Citations::Off {
            out.link(&url, TITLE, &chunk.citation)?;
            write!(out, "  ")?;
        }
        // What was only narrowed is listed, and no hit is better than another.
        if let Some(relevance) = hit.relevance {
            out.paint(DIM, &format!("{relevance:.2}{}", if hit.perhaps { " perhaps" } else { "" }))?;
            write!(out, "  ")?;
        }
        out.paint(DIM, &place.join(" > "))?;
        writeln!(out)?;
        if self.explain {
            out.paint(DIM, &format!("    {}\n", explained(hit)))?;
        }
        let text = &chunk.content;
        self.highlighter.turn_to_that_of(text);
        let shown = if self.full { text.clone() } else { snippet(text, &mut self.highlighter, SHOWN_CHARS) };
        indented(&shown, &self.highlighter.matches(&shown), out)?;
        if self.citations == Citations::On {
            writeln!(out, "    {}", source_line(&chunk.path, chunk.line_start))?;
        }
        Ok(())
    }
}

/// What a hit's place and relevance are made of.
fn explained(hit: &HitView) -> String {
    let scores = &hit.scores;
    let part = |name: &str, value: Option<f64>, digits: usize| value.map(|value| format!("{name} {value:.digits$}"));
    let of_words = scores.coverage.map(|coverage| format!(" ({:.0} % of the most there could be)", coverage * 100.0));
    let parts = [
        part("words", scores.keyword, 2).map(|words| words + &of_words.unwrap_or_default()),
        part("meaning", scores.semantic, 3),
        part("word by word", scores.late, 3),
        part("read and judged", scores.rerank, 2),
        part("score", Some(hit.score), 3),
        part("relevance", hit.relevance, 3),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Prints a text with its matches marked, each line set in.
fn indented(text: &str, matches: &[Range<usize>], out: &mut Out) -> io::Result<()> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let whole = start..start + line.trim_end_matches(['\r', '\n']).len();
        write!(out, "    ")?;
        let mut at = whole.start;
        for part in matches {
            let part = part.start.max(at)..part.end.min(whole.end);
            if !part.is_empty() {
                write!(out, "{}", &text[at..part.start])?;
                out.paint(MATCH, &text[part.clone()])?;
                at = part.end;
            }
        }
        writeln!(out, "{}", &text[at..whole.end])?;
        start += line.len();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negated_words_are_words_and_options_are_options_anywhere() {
        for (typed, parsed) in [
            ("vault search a -b c -n 3 --json", "vault search a c -n 3 --json -- -b"),
            ("vault search -dogs -n3 -nuts -n=4 --tag x", "vault search -n3 -n=4 --tag x -- -dogs -nuts"),
            ("vault --vault search search -hot -h", "vault --vault search search -h -- -hot"),
            ("vault search a -b -- -c --json", "vault search a -- -b -c --json"),
            // clap refuses a value that is missing.
            ("vault search a --tag -x -b", "vault search a --tag -x -- -b"),
            ("vault search a -n 3 - --vault=x", "vault search a -n 3 - --vault=x"),
            ("vault get -x", "vault get -x"),
            ("vault", "vault"),
        ] {
            let words = negated_words_last(typed.split(' ').map(OsString::from));
            assert_eq!(words.join(std::ffi::OsStr::new(" ")), parsed);
        }
    }
}
