//! `qmd search`, `qmd vsearch` and `qmd query`, and what hits and documents look like when they are printed: for people, as JSON, CSV, Markdown,
//! XML, or a list of files.

use std::collections::HashSet;
use std::path::Path;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::documents::INDEX_MARK;
use super::index::{QmdIndex, ask_as_agent};
use crate::base::config::Mode;
use crate::cli::terminal::{DIM, Out, Outcome, TITLE, stdout};
use crate::serve::api::endpoints::routes;
use crate::serve::qmd::{DEFAULT_NAME, QmdCollection, QmdDocument};
use crate::serve::wire::{HitView, SearchQuery};

/// Hits when nobody says how many, for people and for programs.
const SHOWN_HITS: usize = 5;
const LISTED_HITS: usize = 20;
/// Hits when all are wanted.
pub(super) const ALL_HITS: usize = 1000;

/// Maximum length of what is asked of a query, in characters: 16,000 bytes at most. No more of its words count, nor does a model read
/// more.
const MAX_QUERY_CHARS: usize = 4_000;

/// Maximum length of a snippet, in characters.
const MAX_SNIPPET_CHARS: usize = 700;

/// What to look for, and how to print it.
#[derive(Debug, Args)]
pub(super) struct QmdFindArgs {
    /// What to look for.
    #[arg(required = true)]
    query: Vec<String>,
    /// Hits at most; 5, or 20 as JSON or as a list of files, unless told.
    #[arg(short = 'n', long = "limit", value_name = "N")]
    number: Option<usize>,
    /// Only this collection; may be given several times.
    #[arg(short, long, value_name = "NAME")]
    collection: Vec<String>,
    /// Only hits that are as likely to answer, 0 to 1.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, allow_negative_numbers = true, value_parser = share)]
    min_score: f64,
    /// All hits.
    #[arg(long)]
    all: bool,
    /// Whole documents instead of the lines that answer.
    #[arg(long)]
    full: bool,
    /// Say of each hit what its score is made of.
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    format: QmdFormatArgs,
    /// No model reads the hits unless the index's memory.toml says so.
    #[arg(long, help_heading = FOR_QMD)]
    no_rerank: bool,
    /// The same.
    #[arg(short = 'C', long, value_name = "N", help_heading = FOR_QMD)]
    candidate_limit: Option<String>,
    /// Notes are cut at their headings and paragraphs.
    #[arg(long, value_name = "NAME", help_heading = FOR_QMD)]
    chunk_strategy: Option<String>,
    /// What the query is about.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    intent: Option<String>,
}

impl QmdFindArgs {
    pub(super) fn run(self, index: &mut QmdIndex, mode: Mode) -> anyhow::Result<Outcome> {
        let format = self.format.format();
        let usual = if matches!(format, QmdFormat::Json | QmdFormat::Files) { LISTED_HITS } else { SHOWN_HITS };
        let query = self.query.join(" ");
        let search = QmdSearch {
            query: self.intent.map_or_else(|| query.clone(), |intent| format!("{query}\nintent: {intent}")),
            mode,
            collections: self.collection,
            limit: if self.all { ALL_HITS } else { self.number.filter(|number| *number > 0).unwrap_or(usual) },
            min_score: self.min_score,
            full: self.full,
            explain: self.explain,
        };
        let mut hits = search.run(index)?;
        for hit in &mut hits {
            match self.format.full_path {
                true => hit.address = on_disk(index, &hit.document),
                // An address of an index that has a name leads to it, whatever index is asked for that next.
                false if index.place.name != DEFAULT_NAME => {
                    hit.address += &format!("{INDEX_MARK}{}", index.place.name);
                }
                false => {}
            }
        }
        print_hits(&hits, &self.format);
        Ok(Outcome::Done)
    }
}

fn share(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| "it takes a number from 0 to 1".into())
}

/// A search of an index.
#[derive(Debug, Clone)]
pub(super) struct QmdSearch {
    pub(super) query: String,
    pub(super) mode: Mode,
    /// All that are not left out unless they are named, where none is.
    pub(super) collections: Vec<String>,
    /// Hits at most.
    pub(super) limit: usize,
    /// Only hits that are as likely to answer, 0 to 1.
    pub(super) min_score: f64,
    /// Whether hits have their whole documents.
    pub(super) full: bool,
    /// Whether hits say what their scores are made of.
    pub(super) explain: bool,
}

impl QmdSearch {
    /// One hit a document, the best first.
    ///
    /// # Errors
    /// When a collection is not there, or the index cannot be asked.
    pub(super) fn run(&self, index: &mut QmdIndex) -> anyhow::Result<Vec<QmdHit>> {
        let named = self.collections.iter().map(|name| index.collections.required(name));
        let named: Vec<&QmdCollection> = named.collect::<Result<_, _>>()?;
        let limit = self.limit.clamp(1, ALL_HITS);
        let mut hits = Vec::new();
        if !self.query.trim().is_empty() && !index.collections.collections.is_empty() {
            let mut client = index.client()?;
            let all = &index.collections.collections;
            let counts: Vec<&QmdCollection> = match named.is_empty() {
                true => all.iter().filter(|collection| !collection.is_left_out).collect(),
                false => named,
            };
            let asked: Vec<Option<String>> = match self.collections.is_empty() && counts.len() == all.len() {
                true => vec![None],
                false => counts.iter().map(|collection| Some(collection.name_in_vault())).collect(),
            };
            let query = SearchQuery {
                q: self.query.chars().take(MAX_QUERY_CHARS).collect(),
                mode: Some(self.mode),
                limit: Some(limit),
                min_score: Some(self.min_score.clamp(0.0, 1.0)),
                ..SearchQuery::default()
            };
            for collection in asked {
                let query = SearchQuery { collection, ..query.clone() };
                hits.extend(scored(ask_as_agent(&mut client, &routes::SEARCH, &query)?.results));
            }
        }
        let mut hits = self.merged(index, hits)?;
        hits.truncate(limit);
        Ok(hits)
    }

    /// One hit a file, the best, the best files first; with what is given of it.
    fn merged(&self, index: &mut QmdIndex, mut hits: Vec<(f64, HitView)>) -> anyhow::Result<Vec<QmdHit>> {
        hits.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let words: Vec<String> = self.query.split_whitespace().map(str::to_lowercase).collect();
        let mut given = HashSet::new();
        let mut merged = Vec::new();
        for (score, hit) in hits {
            let Some((collection, path)) = index.collections.place(&hit.chunk.path) else { continue };
            let (name, path) = (collection.name.clone(), path.to_owned());
            // What its file does not say any more, or not to programs, is no hit.
            let Some((document, text)) = index.documents.look(&name, &path)? else { continue };
            if !given.insert(index.documents.on_disk(&document)) {
                continue;
            }
            let lines: Vec<&str> = text.split('\n').collect();
            let first = (hit.chunk.line_start as usize).clamp(1, lines.len());
            let last = (hit.chunk.line_end as usize).clamp(first, lines.len());
            let words_in = |line: &str| {
                let line = line.to_lowercase();
                words.iter().filter(|word| line.contains(*word)).count()
            };
            // The first of those with the most.
            let line = (first..=last).rev().max_by_key(|at| words_in(lines[at - 1])).unwrap_or(first);
            let shown: String = lines[first - 1..last].join("\n").chars().take(MAX_SNIPPET_CHARS).collect();
            let snippet = format!(
                "@@ -{first},{} @@ ({} before, {} after)\n{shown}",
                last + 1 - first,
                first - 1,
                lines.len() - last
            );
            let body = self.full.then(|| text.clone());
            let explained =
                self.explain.then(|| json!({ "score": hit.score, "relevance": hit.relevance, "scores": hit.scores }));
            let (context, address) = (index.context_of(&document), document.address());
            merged.push(QmdHit { document, address, score, first, last, line, context, snippet, body, explained });
        }
        Ok(merged)
    }
}

/// The hits with scores from 0 to 1 that compare with those of other searches, and that order them as they are.
fn scored(hits: Vec<HitView>) -> Vec<(f64, HitView)> {
    let mut scored: Vec<(f64, HitView)> =
        hits.into_iter().map(|hit| (hit.relevance.unwrap_or(hit.score).clamp(0.0, 1.0), hit)).collect();
    // One that comes before another is as likely as that, whatever put it there.
    let mut least = 0.0_f64;
    for (score, _) in scored.iter_mut().rev() {
        least = least.max(*score);
        *score = least;
    }
    scored
}

/// Above the options that are taken so that calls of QMD work as they are.
pub(super) const FOR_QMD: &str = "Taken as QMD takes them, without effect here";

/// How it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum QmdFormat {
    #[value(name = "cli")]
    Text,
    Json,
    Csv,
    #[value(name = "md")]
    Markdown,
    Xml,
    Files,
}

/// How it is printed, as it is asked for.
#[derive(Debug, Args)]
pub(super) struct QmdFormatArgs {
    /// Print it so.
    #[arg(long, value_enum, ignore_case = true, value_name = "FORMAT")]
    format: Option<QmdFormat>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print CSV.
    #[arg(long)]
    csv: bool,
    /// Print Markdown.
    #[arg(long)]
    md: bool,
    /// Print XML.
    #[arg(long)]
    xml: bool,
    /// Print names alone: docid, score, file and context.
    #[arg(long)]
    files: bool,
    /// Print where files are on the disk instead of their qmd:// addresses.
    #[arg(long)]
    pub(super) full_path: bool,
    #[command(flatten)]
    pub(super) numbers: QmdNumbersArgs,
}

/// Whether lines have their numbers.
#[derive(Debug, Args)]
pub(super) struct QmdNumbersArgs {
    /// Number the lines, as `get` and `multi-get` do anyway.
    #[arg(long, overrides_with = "no_line_numbers")]
    line_numbers: bool,
    /// Do not.
    #[arg(long, overrides_with = "line_numbers")]
    no_line_numbers: bool,
}

impl QmdNumbersArgs {
    /// Whether they have, or `usual` where nothing is said; what is said last counts.
    pub(super) fn are_wanted(&self, usual: bool) -> bool {
        (usual || self.line_numbers) && !self.no_line_numbers
    }
}

impl QmdFormatArgs {
    /// `#` and the docid; nothing where files are named by where they are.
    fn docid(&self, document: &QmdDocument) -> String {
        if self.full_path { String::new() } else { document.docid() }
    }

    /// The format; of several the first of these.
    pub(super) fn format(&self) -> QmdFormat {
        match self {
            Self { format: Some(format), .. } => *format,
            Self { json: true, .. } => QmdFormat::Json,
            Self { csv: true, .. } => QmdFormat::Csv,
            Self { md: true, .. } => QmdFormat::Markdown,
            Self { xml: true, .. } => QmdFormat::Xml,
            Self { files: true, .. } => QmdFormat::Files,
            _ => QmdFormat::Text,
        }
    }
}

/// A document that was found.
pub(super) struct QmdHit {
    pub(super) document: QmdDocument,
    /// How it is named: by its address, or where it is on the disk.
    pub(super) address: String,
    /// How likely it answers, 0 to 1.
    pub(super) score: f64,
    /// The first and the last line that answer, and the one of them with the most words of the query.
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) line: usize,
    pub(super) context: Option<String>,
    pub(super) snippet: String,
    /// Its text, where that was asked for.
    pub(super) body: Option<String>,
    pub(super) explained: Option<Value>,
}

/// Prints hits.
fn print_hits(hits: &[QmdHit], args: &QmdFormatArgs) {
    let (format, numbers) = (args.format(), args.numbers.are_wanted(false));
    let mut out = stdout();
    // As QMD does, what is printed is counted from its own first line, and that of a snippet for people from the line that answers.
    let shown = |hit: &QmdHit| {
        let text = hit.body.as_ref().unwrap_or(&hit.snippet);
        let first = if hit.body.is_none() && matches!(format, QmdFormat::Text | QmdFormat::Csv) { hit.line } else { 1 };
        if numbers { numbered(&text.split('\n').collect::<Vec<_>>(), first) } else { text.clone() }
    };
    match format {
        QmdFormat::Json => {
            return out.json(&hits.iter().map(|hit| as_json(hit, shown(hit))).collect::<Vec<_>>());
        }
        QmdFormat::Csv => writeln!(out, "docid,score,file,title,context,line,snippet"),
        QmdFormat::Xml if hits.is_empty() => writeln!(out, "<results></results>"),
        QmdFormat::Text if hits.is_empty() => writeln!(out, "No results found."),
        _ => {}
    }
    for (at, hit) in hits.iter().enumerate() {
        let QmdHit { document, address, score, line, .. } = hit;
        let (docid, title) = (args.docid(document), &document.title);
        let context = hit.context.as_deref().unwrap_or_default();
        let text = shown(hit);
        match format {
            QmdFormat::Files => {
                let score = format!("{score:.2}");
                writeln!(out, "{}", columns(&[&docid, &score, &quoted(address), &in_quotes(context)]));
            }
            QmdFormat::Csv => {
                let cells = [address, title, context].map(quoted).join(",");
                writeln!(out, "{docid},{score:.4},{cells},{line},{}", quoted(text));
            }
            QmdFormat::Markdown => {
                writeln!(out, "---\n# {title}\n**file:** `{address}`");
                line_of(&mut out, "**docid:** `", &docid, "`");
                line_of(&mut out, "**context:** ", context, "");
                writeln!(out, "\n{text}\n");
            }
            QmdFormat::Xml => {
                let attribute = |name: &str, value: &str| match value {
                    "" => String::new(),
                    value => format!(" {name}=\"{}\"", escaped(value)),
                };
                let named = [("docid", &*docid), ("name", address), ("title", title), ("context", context)];
                let named = named.map(|(name, value)| attribute(name, value)).concat();
                writeln!(out, "<file{named}>\n{}\n</file>\n", escaped(&text));
            }
            QmdFormat::Text | QmdFormat::Json => {
                if at > 0 {
                    writeln!(out, "\n");
                }
                out.paint(TITLE, &format!("{}:{line}", in_a_line(address)));
                out.paint(DIM, &format!(" {docid}"));
                writeln!(out, "\nTitle: {title}");
                line_of(&mut out, "Context: ", context, "");
                writeln!(out, "Score: {:>3.0}%", score * 100.0);
                if let Some(explained) = &hit.explained {
                    writeln!(out, "Explain: {explained}");
                }
                writeln!(out, "\n{text}");
            }
        }
    }
}

/// A line with what there is, or none.
fn line_of(out: &mut Out, before: &str, what: &str, after: &str) {
    if !what.is_empty() {
        writeln!(out, "{before}{what}{after}");
    }
}

/// The cells of a line of `--files`, without those that are empty.
fn columns(cells: &[&str]) -> String {
    cells.iter().filter(|cell| !cell.is_empty()).copied().collect::<Vec<_>>().join(",")
}

fn as_json(hit: &QmdHit, text: String) -> Value {
    let document = &hit.document;
    without_nulls(json!({
        "docid": document.docid(), "score": (hit.score * 100.0).round() / 100.0, "file": hit.address,
        "title": document.title, "collection": document.collection, "line": hit.line, "start_line": hit.first,
        "end_line": hit.last, "context": hit.context, (if hit.body.is_some() { "body" } else { "snippet" }): text,
        "explain": hit.explained,
    }))
}

/// An object without the keys that say nothing.
fn without_nulls(mut object: Value) -> Value {
    if let Some(object) = object.as_object_mut() {
        object.retain(|_, value| !value.is_null());
    }
    object
}

/// A document that was asked for, or why it is not given.
pub(super) struct GivenDocument {
    pub(super) document: QmdDocument,
    /// How it is named: by its address, or where it is on the disk.
    pub(super) address: String,
    pub(super) context: Option<String>,
    pub(super) text: Result<String, String>,
}

/// Prints documents.
pub(super) fn print_documents(given: &[GivenDocument], args: &QmdFormatArgs) {
    let format = args.format();
    let mut out = stdout();
    match format {
        QmdFormat::Json => out.json(&given.iter().map(document_as_json).collect::<Vec<_>>()),
        QmdFormat::Csv => writeln!(out, "docid,file,title,context,skipped,body"),
        QmdFormat::Xml => writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<documents>"),
        _ => {}
    }
    for GivenDocument { document, address, context, text } in given {
        let (docid, title, skipped) = (args.docid(document), &document.title, text.is_err());
        let context = context.as_deref().unwrap_or_default();
        let shown = text.as_ref().unwrap_or_else(|why| why);
        match format {
            QmdFormat::Json => {}
            QmdFormat::Csv => {
                let cells = [address, title, context].map(quoted).join(",");
                writeln!(out, "{docid},{cells},{skipped},{}", quoted(shown));
            }
            QmdFormat::Xml => {
                let element = |name: &str, text: &str| format!("    <{name}>{}</{name}>", escaped(text));
                let attribute = if docid.is_empty() { String::new() } else { format!(" docid=\"{docid}\"") };
                writeln!(out, "  <document{attribute}>\n{}\n{}", element("file", address), element("title", title));
                if !context.is_empty() {
                    writeln!(out, "{}", element("context", context));
                }
                match text {
                    Ok(text) => writeln!(out, "{}", element("body", text)),
                    Err(why) => writeln!(out, "{}\n{}", element("skipped", "true"), element("reason", why)),
                }
                writeln!(out, "  </document>");
            }
            QmdFormat::Files => {
                let skipped = if skipped { "[SKIPPED]" } else { "" };
                writeln!(out, "{}", columns(&[&docid, &quoted(address), &in_quotes(context), skipped]));
            }
            QmdFormat::Markdown => {
                writeln!(out, "## {address}\n");
                line_of(&mut out, "**docid:** `", &docid, "`\n");
                line_of(&mut out, "**Title:** ", title, "\n");
                line_of(&mut out, "**Context:** ", context, "\n");
                match skipped {
                    true => writeln!(out, "> {shown}\n"),
                    false => writeln!(out, "```\n{shown}\n```\n"),
                }
            }
            QmdFormat::Text => {
                let rule = "=".repeat(60);
                let name = format!("{}  {docid}", in_a_line(address));
                out.paint(TITLE, &format!("\n{rule}\nFile: {}\n{rule}\n\n", name.trim_end()));
                match skipped {
                    true => writeln!(out, "[SKIPPED: {shown}]"),
                    false => {
                        line_of(&mut out, "Folder Context: ", context, "\n---\n");
                        writeln!(out, "{shown}");
                    }
                }
            }
        }
    }
    if format == QmdFormat::Xml {
        writeln!(out, "</documents>");
    }
}

fn document_as_json(GivenDocument { document, address, context, text }: &GivenDocument) -> Value {
    without_nulls(json!({
        "file": address, "docid": document.docid(), "title": document.title, "context": context,
        "body": text.as_ref().ok(), "skipped": text.is_err().then_some(true), "reason": text.as_ref().err(),
    }))
}

/// Where a document is on the disk, from the current folder if it is below that; its address where that cannot be told.
pub(super) fn on_disk(index: &QmdIndex, document: &QmdDocument) -> String {
    let Some(path) = index.documents.on_disk(document) else { return document.address() };
    let here = std::env::current_dir().unwrap_or_default();
    let path = path.strip_prefix(here).map_or_else(|_| path.clone(), |below| Path::new(".").join(below));
    path.to_string_lossy().into_owned()
}

/// Lines with their numbers.
pub(super) fn numbered(lines: &[&str], first: usize) -> String {
    let lines: Vec<String> = lines.iter().enumerate().map(|(at, line)| format!("{}: {line}", first + at)).collect();
    lines.join("\n")
}

/// An address in one line, whatever is in the file's name.
pub(super) fn in_a_line(address: &str) -> String {
    address
        .chars()
        .map(|sign| if sign.is_control() { sign.escape_default().to_string() } else { sign.into() })
        .collect()
}

/// A cell of CSV.
fn quoted(text: impl AsRef<str>) -> String {
    let text = text.as_ref();
    if text.contains(['"', ',', '\n', '\r']) { in_quotes(text) } else { text.to_owned() }
}

/// A text in quotes; nothing of none.
fn in_quotes(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

/// A text in XML, without what none can hold.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\r' | '\t' => escaped.push(character),
            _ if character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}') => {}
            _ => escaped.push(character),
        }
    }
    escaped
}
