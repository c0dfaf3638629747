//! The tools, under the names and with the arguments that QMD's have; those of its first version, too.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cli::qmd::find::{ALL_HITS, QmdSearch};
use crate::cli::qmd::get::{MAX_BYTES, WantedLines, document_text, document_texts, missing};
use crate::cli::qmd::index::QmdIndex;
use crate::cli::qmd::listing::index_status;
use crate::cli::qmd::shapes::{GivenDocument, QmdHit};
use crate::config::Mode;
use crate::wire::percent_encode_path;

/// Documents when nobody says how many.
const USUAL_HITS: f64 = 10.0;

/// Maximum number of parts of a query.
pub(super) const MAX_PARTS: usize = 10;

/// What to look for, as any of the tools takes it. What is not known is passed over, as QMD does.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SearchArguments {
    query: Option<String>,
    searches: Option<Vec<SearchPart>>,
    limit: Option<f64>,
    min_score: Option<f64>,
    collection: Option<CollectionNames>,
    collections: Option<CollectionNames>,
    intent: Option<String>,
}

#[derive(Debug, Deserialize)]
struct SearchPart {
    #[serde(rename = "type")]
    kind: PartKind,
    query: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PartKind {
    Lex,
    Vec,
    Hyde,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum CollectionNames {
    One(String),
    Several(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GetArguments {
    #[serde(alias = "path", alias = "docid")]
    file: String,
    from_line: Option<f64>,
    max_lines: Option<f64>,
    #[serde(default)]
    line_numbers: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MultiGetArguments {
    pattern: String,
    max_lines: Option<f64>,
    max_bytes: Option<f64>,
    #[serde(default)]
    line_numbers: bool,
}

/// Calls a tool; `None` where there is none of that name. What goes wrong is an answer, too, so that the model sees why.
pub(super) fn call(index: &mut QmdIndex, name: &str, arguments: &Value) -> Option<Value> {
    let name = name.strip_prefix("qmd_").unwrap_or(name);
    let answer = match name {
        "query" | "structured_search" => read(arguments).and_then(|asked| search(index, asked, Mode::Hybrid)),
        "search" => read(arguments).and_then(|asked| search(index, asked, Mode::Keyword)),
        "vector_search" | "vsearch" => read(arguments).and_then(|asked| search(index, asked, Mode::Semantic)),
        "deep_search" => read(arguments).and_then(|asked| search(index, asked, Mode::Hybrid)),
        "get" => read(arguments).and_then(|asked| get(index, &asked)),
        "multi_get" => read(arguments).and_then(|asked| multi_get(index, &asked)),
        "status" => index_status(index).map(|status| told(&status)),
        _ => return None,
    };
    Some(answer.unwrap_or_else(|error| failed(&format!("{error:#}"))))
}

/// What a search finds, as the body of an answer.
///
/// # Errors
/// When the arguments make no search, or the index cannot be asked.
pub(super) fn found(index: &mut QmdIndex, arguments: &Value) -> anyhow::Result<Value> {
    let (_, hits) = search_hits(index, read(arguments)?, Mode::Hybrid)?;
    Ok(json!({ "results": hits }))
}

fn read<T: DeserializeOwned>(arguments: &Value) -> anyhow::Result<T> {
    let arguments = if arguments.is_null() { &json!({}) } else { arguments };
    T::deserialize(arguments).map_err(|error| anyhow::anyhow!("the arguments are not right: {error}"))
}

fn failed(why: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": why }], "isError": true })
}

fn search(index: &mut QmdIndex, asked: SearchArguments, mode: Mode) -> anyhow::Result<Value> {
    let (query, hits) = search_hits(index, asked, mode)?;
    let mut text = match hits.len() {
        0 => format!("No results found for {query}"),
        1 => format!("1 document for {query}:\n"),
        several => format!("{several} documents for {query}, the best first:\n"),
    };
    for hit in &hits {
        let [docid, file, title] = ["docid", "file", "title"].map(|key| hit[key].as_str().unwrap_or_default());
        let share = (hit["score"].as_f64().unwrap_or_default() * 100.0).round();
        text += &format!("\n{docid} {share}% {file} - {title}");
    }
    Ok(json!({ "content": [{ "type": "text", "text": text }], "structuredContent": { "results": hits } }))
}

fn search_hits(index: &mut QmdIndex, asked: SearchArguments, mode: Mode) -> anyhow::Result<(String, Vec<Value>)> {
    let SearchArguments { query, searches, limit, min_score, collection, collections, intent } = asked;
    let in_a_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut lines, mode) = match (searches, query) {
        (Some(parts), _) if parts.is_empty() || parts.len() > MAX_PARTS => {
            anyhow::bail!("`searches` has 1 to {MAX_PARTS} parts")
        }
        (Some(parts), _) => {
            let all = |kinds: &[PartKind]| parts.iter().all(|part| kinds.contains(&part.kind));
            let mode = match () {
                () if all(&[PartKind::Lex]) => Mode::Keyword,
                () if all(&[PartKind::Vec, PartKind::Hyde]) => Mode::Semantic,
                () => mode,
            };
            let line = |part: &SearchPart| {
                let kind = match part.kind {
                    PartKind::Lex => "lex",
                    PartKind::Vec => "vec",
                    PartKind::Hyde => "hyde",
                };
                format!("{kind}: {}", in_a_line(&part.query))
            };
            match &parts[..] {
                // One part needs no name.
                [one] => (vec![in_a_line(&one.query)], mode),
                several => (several.iter().map(line).collect(), mode),
            }
        }
        (None, Some(query)) => (vec![query], mode),
        (None, None) => anyhow::bail!("`query` or `searches` says what to look for"),
    };
    let asked = lines.join("; ");
    lines.extend(intent.map(|intent| format!("intent: {}", in_a_line(&intent))));
    let collections = match collections.or(collection) {
        Some(CollectionNames::Several(names)) => names,
        Some(CollectionNames::One(name)) if !name.is_empty() => vec![name],
        _ => Vec::new(),
    };
    let search = QmdSearch {
        query: lines.join("\n"),
        mode,
        collections,
        limit: (limit.unwrap_or(USUAL_HITS) as usize).clamp(1, ALL_HITS),
        min_score: min_score.unwrap_or_default(),
        full: false,
        explain: false,
    };
    Ok((asked, search.run(index)?.iter().map(as_result).collect()))
}

fn as_result(hit: &QmdHit) -> Value {
    let QmdHit { document, score, first, last, context, snippet, .. } = hit;
    json!({
        "docid": format!("#{}", document.docid()),
        "file": format!("{}/{}", document.collection, document.path),
        "title": document.title, "score": (score * 100.0).round() / 100.0, "context": context, "snippet": snippet,
        "collection": document.collection, "line": first, "startLine": first, "endLine": last,
    })
}

fn whole(number: Option<f64>) -> Option<usize> {
    number.map(|number| number.max(1.0) as usize)
}

fn get(index: &mut QmdIndex, asked: &GetArguments) -> anyhow::Result<Value> {
    let wanted =
        WantedLines { from: whole(asked.from_line), most: whole(asked.max_lines), numbered: asked.line_numbers };
    match document_text(index, &asked.file, &wanted)? {
        Some(given) => Ok(json!({ "content": [resource(&given)] })),
        None => Ok(failed(&missing(index, &asked.file)?)),
    }
}

fn multi_get(index: &mut QmdIndex, asked: &MultiGetArguments) -> anyhow::Result<Value> {
    let max_bytes = asked.max_bytes.map_or(MAX_BYTES, |bytes| bytes.max(1.0) as u64);
    let (given, missing) =
        document_texts(index, &asked.pattern, whole(asked.max_lines), max_bytes, asked.line_numbers)?;
    if given.is_empty() && missing.is_empty() {
        return Ok(failed(&format!("No files matched pattern: {}", asked.pattern)));
    }
    let text = |text: String| json!({ "type": "text", "text": text });
    let mut content: Vec<Value> = missing.iter().map(|name| text(format!("File not found: {name}"))).collect();
    content.extend(given.iter().map(|given| match &given.text {
        Ok(_) => resource(given),
        Err(why) => text(format!("{}: {why}", given.document.address())),
    }));
    let nothing = given.is_empty();
    Ok(json!({ "content": content, "isError": nothing }))
}

/// A document as MCP has it.
fn resource(given: &GivenDocument) -> Value {
    let document = &given.document;
    let name = format!("{}/{}", document.collection, document.path);
    let context = given.context.as_ref().map(|context| format!("<!-- Context: {context} -->\n\n"));
    let text = context.unwrap_or_default() + given.text.as_deref().unwrap_or_default();
    json!({ "type": "resource", "resource": {
        "uri": format!("qmd://{}", percent_encode_path(&name)), "name": name, "title": document.title,
        "mimeType": "text/markdown", "text": text,
    }})
}

/// The document at an address, as a resource that is read; `None` where there is none.
///
/// # Errors
/// When it cannot be read.
pub(super) fn at_address(index: &mut QmdIndex, address: &str) -> anyhow::Result<Option<Value>> {
    let wanted = WantedLines { from: None, most: None, numbered: false };
    let given = document_text(index, &crate::wire::percent_decode(address), &wanted)?;
    Ok(given.map(|given| json!({ "contents": [resource(&given)["resource"]] })))
}

fn told(status: &Value) -> Value {
    let mut text =
        format!("{} documents, {} passages to be embedded.", status["totalDocuments"], status["needsEmbedding"]);
    for collection in status["collections"].as_array().into_iter().flatten() {
        let name = collection["name"].as_str().unwrap_or_default();
        text += &format!("\n- {name}: {} documents", collection["documents"]);
    }
    let mut told = status.clone();
    if let Some(object) = told.as_object_mut() {
        // Where it is kept is no matter of a model's.
        object.retain(|key, _| {
            ["totalDocuments", "needsEmbedding", "hasVectorIndex", "collections"].contains(&key.as_str())
        });
    }
    json!({ "content": [{ "type": "text", "text": text }], "structuredContent": told })
}
