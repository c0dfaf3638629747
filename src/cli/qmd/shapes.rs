//! What hits and documents look like when they are printed: for people, as JSON, CSV, Markdown, XML, or a list of files.

use std::io::Write;
use std::path::Path;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::index::QmdIndex;
use crate::cli::exit::Outcome;
use crate::cli::terminal::{DIM, TITLE, stdout};
use crate::serve::qmd::QmdDocument;

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
pub(super) fn print_hits(hits: &[QmdHit], args: &QmdFormatArgs) -> anyhow::Result<()> {
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
            out.json(&hits.iter().map(|hit| as_json(hit, shown(hit))).collect::<Vec<_>>())?;
            return Ok(());
        }
        QmdFormat::Csv => writeln!(out, "docid,score,file,title,context,line,snippet")?,
        QmdFormat::Xml if hits.is_empty() => writeln!(out, "<results></results>")?,
        QmdFormat::Text if hits.is_empty() => writeln!(out, "No results found.")?,
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
                writeln!(out, "{}", columns(&[&docid, &score, &quoted(address), &in_quotes(context)]))?;
            }
            QmdFormat::Csv => {
                let cells = [address, title, context].map(quoted).join(",");
                writeln!(out, "{docid},{score:.4},{cells},{line},{}", quoted(text))?;
            }
            QmdFormat::Markdown => {
                writeln!(out, "---\n# {title}\n**file:** `{address}`")?;
                line_of(&mut out, "**docid:** `", &docid, "`")?;
                line_of(&mut out, "**context:** ", context, "")?;
                writeln!(out, "\n{text}\n")?;
            }
            QmdFormat::Xml => {
                let attribute = |name: &str, value: &str| match value {
                    "" => String::new(),
                    value => format!(" {name}=\"{}\"", escaped(value)),
                };
                let named = [("docid", &*docid), ("name", address), ("title", title), ("context", context)];
                let named = named.map(|(name, value)| attribute(name, value)).concat();
                writeln!(out, "<file{named}>\n{}\n</file>\n", escaped(&text))?;
            }
            QmdFormat::Text | QmdFormat::Json => {
                if at > 0 {
                    writeln!(out, "\n")?;
                }
                out.paint(TITLE, &format!("{}:{line}", in_a_line(address)))?;
                out.paint(DIM, &format!(" {docid}"))?;
                writeln!(out, "\nTitle: {title}")?;
                line_of(&mut out, "Context: ", context, "")?;
                writeln!(out, "Score: {:>3.0}%", score * 100.0)?;
                if let Some(explained) = &hit.explained {
                    writeln!(out, "Explain: {explained}")?;
                }
                writeln!(out, "\n{text}")?;
            }
        }
    }
    Ok(())
}

/// A line with what there is, or none.
fn line_of(out: &mut impl Write, before: &str, what: &str, after: &str) -> std::io::Result<()> {
    if what.is_empty() { Ok(()) } else { writeln!(out, "{before}{what}{after}") }
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
pub(super) fn print_documents(given: &[GivenDocument], args: &QmdFormatArgs) -> anyhow::Result<Outcome> {
    let format = args.format();
    let mut out = stdout();
    match format {
        QmdFormat::Json => out.json(&given.iter().map(document_as_json).collect::<Vec<_>>())?,
        QmdFormat::Csv => writeln!(out, "docid,file,title,context,skipped,body")?,
        QmdFormat::Xml => writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<documents>")?,
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
                writeln!(out, "{docid},{cells},{skipped},{}", quoted(shown))?;
            }
            QmdFormat::Xml => {
                let element = |name: &str, text: &str| format!("    <{name}>{}</{name}>", escaped(text));
                let attribute = if docid.is_empty() { String::new() } else { format!(" docid=\"{docid}\"") };
                writeln!(out, "  <document{attribute}>\n{}\n{}", element("file", address), element("title", title))?;
                if !context.is_empty() {
                    writeln!(out, "{}", element("context", context))?;
                }
                match text {
                    Ok(text) => writeln!(out, "{}", element("body", text))?,
                    Err(why) => writeln!(out, "{}\n{}", element("skipped", "true"), element("reason", why))?,
                }
                writeln!(out, "  </document>")?;
            }
            QmdFormat::Files => {
                let skipped = if skipped { "[SKIPPED]" } else { "" };
                writeln!(out, "{}", columns(&[&docid, &quoted(address), &in_quotes(context), skipped]))?;
            }
            QmdFormat::Markdown => {
                writeln!(out, "## {address}\n")?;
                line_of(&mut out, "**docid:** `", &docid, "`\n")?;
                line_of(&mut out, "**Title:** ", title, "\n")?;
                line_of(&mut out, "**Context:** ", context, "\n")?;
                match skipped {
                    true => writeln!(out, "> {shown}\n")?,
                    false => writeln!(out, "```\n{shown}\n```\n")?,
                }
            }
            QmdFormat::Text => {
                let rule = "=".repeat(60);
                let name = format!("{}  {docid}", in_a_line(address));
                out.paint(TITLE, &format!("\n{rule}\nFile: {}\n{rule}\n\n", name.trim_end()))?;
                match skipped {
                    true => writeln!(out, "[SKIPPED: {shown}]")?,
                    false => {
                        line_of(&mut out, "Folder Context: ", context, "\n---\n")?;
                        writeln!(out, "{shown}")?;
                    }
                }
            }
        }
    }
    if format == QmdFormat::Xml {
        writeln!(out, "</documents>")?;
    }
    Ok(Outcome::Done)
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
