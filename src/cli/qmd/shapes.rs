//! What hits and documents look like when they are printed: for people, as JSON, CSV, Markdown, XML, or a list of files.

use std::io::Write;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::index::QmdIndex;
use crate::cli::outcome::Outcome;
use crate::cli::terminal::{DIM, TITLE, stdout};
use crate::qmd::QmdDocument;

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
    numbers: QmdNumbersArgs,
}

/// Whether lines have their numbers.
#[derive(Debug, Args)]
pub(super) struct QmdNumbersArgs {
    /// Number the lines.
    #[arg(long, overrides_with = "no_line_numbers")]
    line_numbers: bool,
    /// Do not, as when neither is said.
    #[arg(long, overrides_with = "line_numbers")]
    no_line_numbers: bool,
}

impl QmdNumbersArgs {
    /// Whether they have; what is said last counts.
    pub(super) fn are_wanted(&self) -> bool {
        self.line_numbers && !self.no_line_numbers
    }
}

impl QmdFormatArgs {
    /// Whether lines have their numbers.
    pub(super) fn line_numbers(&self) -> bool {
        self.numbers.are_wanted()
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
    /// The first and the last line that answer.
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) context: Option<String>,
    pub(super) snippet: String,
    /// Its text, where that was asked for.
    pub(super) body: Option<String>,
    pub(super) explained: Option<Value>,
}

const CSV_HEAD: &str = "docid,score,file,title,context,line,snippet";

/// Prints hits.
pub(super) fn print_hits(hits: &[QmdHit], format: QmdFormat) -> anyhow::Result<()> {
    if format == QmdFormat::Json {
        stdout().json(&hits.iter().map(as_json).collect::<Vec<_>>())?;
        return Ok(());
    }
    let mut out = stdout();
    if hits.is_empty() {
        // What is read by a program has no line of its own for it.
        match format {
            QmdFormat::Csv => writeln!(out, "{CSV_HEAD}")?,
            QmdFormat::Xml => writeln!(out, "<results></results>")?,
            QmdFormat::Files | QmdFormat::Markdown => {}
            QmdFormat::Text | QmdFormat::Json => writeln!(out, "No results found.")?,
        }
        return Ok(());
    }
    if format == QmdFormat::Csv {
        writeln!(out, "{CSV_HEAD}")?;
    }
    for hit in hits {
        let QmdHit { document, address, score, first, snippet, body, .. } = hit;
        let (docid, title) = (document.docid(), &document.title);
        let context = hit.context.as_deref().unwrap_or_default();
        let text = body.as_deref().unwrap_or(snippet);
        match format {
            QmdFormat::Files => {
                let context = if context.is_empty() { String::new() } else { format!(",{}", quoted(context)) };
                writeln!(out, "#{docid},{score:.2},{}{context}", quoted(address))?;
            }
            QmdFormat::Csv => {
                let cells = [address, title, context].map(quoted).join(",");
                writeln!(out, "#{docid},{score:.4},{cells},{first},{}", quoted(text))?;
            }
            QmdFormat::Markdown => {
                writeln!(out, "---\n# {title}\n\n**docid:** `#{docid}`\n**file:** `{address}`")?;
                if !context.is_empty() {
                    writeln!(out, "**context:** {context}")?;
                }
                writeln!(out, "\n{text}\n")?;
            }
            QmdFormat::Xml => {
                let context =
                    if context.is_empty() { String::new() } else { format!(" context=\"{}\"", escaped(context)) };
                let (address, title) = (escaped(address), escaped(title));
                writeln!(
                    out,
                    "<file docid=\"#{docid}\" name=\"{address}\" title=\"{title}\"{context}>\n{}\n</file>\n",
                    escaped(text)
                )?;
            }
            QmdFormat::Text | QmdFormat::Json => {
                out.paint(TITLE, &format!("{}:{first}", in_a_line(address)))?;
                out.paint(DIM, &format!(" #{docid}"))?;
                writeln!(out, "\nTitle: {title}")?;
                if !context.is_empty() {
                    writeln!(out, "Context: {context}")?;
                }
                writeln!(out, "Score:  {:.0}%", score * 100.0)?;
                if let Some(explained) = &hit.explained {
                    writeln!(out, "Explain: {explained}")?;
                }
                writeln!(out, "\n{text}\n")?;
            }
        }
    }
    Ok(())
}

fn as_json(hit: &QmdHit) -> Value {
    let document = &hit.document;
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    put("docid", format!("#{}", document.docid()).into());
    put("score", ((hit.score * 100.0).round() / 100.0).into());
    put("file", hit.address.as_str().into());
    put("title", document.title.as_str().into());
    put("collection", document.collection.as_str().into());
    put("line", hit.first.into());
    put("start_line", hit.first.into());
    put("end_line", hit.last.into());
    if let Some(context) = &hit.context {
        put("context", context.as_str().into());
    }
    put("snippet", hit.snippet.as_str().into());
    if let Some(body) = &hit.body {
        put("body", body.as_str().into());
    }
    if let Some(explained) = &hit.explained {
        put("explain", explained.clone());
    }
    Value::Object(object)
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
pub(super) fn print_documents(given: &[GivenDocument], format: QmdFormat) -> anyhow::Result<Outcome> {
    let mut out = stdout();
    if format == QmdFormat::Json {
        let object = |GivenDocument { document, address, context, text }: &GivenDocument| {
            let mut object =
                json!({ "file": address, "docid": format!("#{}", document.docid()), "title": document.title });
            if let Some(context) = context {
                object["context"] = context.as_str().into();
            }
            match text {
                Ok(text) => object["body"] = text.as_str().into(),
                Err(why) => {
                    object["skipped"] = true.into();
                    object["reason"] = why.as_str().into();
                }
            }
            object
        };
        out.json(&given.iter().map(object).collect::<Vec<_>>())?;
        return Ok(Outcome::Done);
    }
    if format == QmdFormat::Csv {
        writeln!(out, "file,title,context,skipped,body")?;
    }
    for GivenDocument { document, address, context, text } in given {
        let title = &document.title;
        let context = context.as_deref().unwrap_or_default();
        let shown = text.as_ref().unwrap_or_else(|why| why);
        match format {
            QmdFormat::Csv => {
                let cells = [address, title, context].map(quoted).join(",");
                writeln!(out, "{cells},{},{}", text.is_err(), quoted(shown))?;
            }
            QmdFormat::Xml => {
                let (address, title) = (escaped(address), escaped(title));
                writeln!(out, "<file name=\"{address}\" title=\"{title}\">\n{}\n</file>\n", escaped(shown))?;
            }
            QmdFormat::Files => {
                writeln!(out, "{}{}", quoted(address), if text.is_err() { ",[SKIPPED]" } else { "" })?;
            }
            QmdFormat::Markdown => writeln!(out, "## {address}\n\n{shown}\n")?,
            QmdFormat::Text | QmdFormat::Json => {
                out.paint(TITLE, &format!("{}\nFile: {address}\n{}\n\n", "=".repeat(60), "=".repeat(60)))?;
                if !context.is_empty() {
                    writeln!(out, "Folder Context: {context}\n---\n")?;
                }
                writeln!(out, "{shown}\n")?;
            }
        }
    }
    Ok(Outcome::Done)
}

/// Where a document is on the disk; its address where that cannot be told.
pub(super) fn on_disk(index: &QmdIndex, document: &QmdDocument) -> String {
    let path = index.documents.on_disk(document);
    path.map_or_else(|| document.address(), |path| path.to_string_lossy().into_owned())
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
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
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
