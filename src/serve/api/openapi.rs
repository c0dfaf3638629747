//! The OpenAPI document, generated from the routes. What it says beyond the types, what a text may be, and with which status each request can fail, is a
//! table: a program that holds to it is never refused for its form.

use std::collections::BTreeMap;

use TextLimit::{Each, FactValue, FromOne, Like, Maybe, Names, Time, UpTo};
use serde_json::{Value, json};
use utoipa::OpenApi;

use super::{endpoints, events, page, passing, qmd};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "vault",
        description = "A person's long-lived memory: plain Markdown, searchable the moment it is saved."
    ),
    paths(
        super::router::health, events::context, passing::complete, passing::models, events::events, page::token,
        page::leave, events::capture, qmd::collections, qmd::embed
    ),
    components(schemas(crate::base::config::MemoryLayer, crate::serve::wire::ProgressView))
)]
struct Api;

/// The document as served at `/openapi.json`.
///
/// # Panics
/// Never: a description is JSON.
pub fn document() -> Value {
    let document = endpoints::all(Some(Api::openapi())).document;
    let mut document = serde_json::to_value(document).expect("a description is JSON");
    // Every route but `/health` and those of the page takes a token.
    let scheme = |scheme: &str| json!({ "type": "http", "scheme": scheme });
    document["components"]["securitySchemes"] = json!({ "basic": scheme("basic"), "bearer": scheme("bearer") });
    document["security"] = json!([{ "bearer": [] }, { "basic": [] }]);
    let schemas = &mut document["components"]["schemas"];
    for event in EVENTS {
        // An event has its type beside the fields of that type.
        schemas[event]["properties"]["type"] = json!({ "type": "string" });
    }
    let stamps = EVENTS.iter().flat_map(|event| [(*event, "id", &Like(LINE)), (*event, "time", &Time)]);
    for (name, field, kind) in limited_fields().chain(stamps) {
        if let Some(field) = schemas[name]["properties"].get_mut(field) {
            limit(field, kind);
        }
    }
    tell_apart(&mut document);
    each_operation(&mut document, |path, method, operation| {
        for parameter in operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap_or_default().to_owned();
            limit_parameter(path, &name, &mut parameter["schema"]);
        }
        spell_out(operation, method != "get", path == "/api/profile/regenerate");
    });
    document
}

/// The name of a passage or a note.
const HASH: &str = "^[0-9a-fA-F]{16}$";
/// The name of a checkpoint.
const CHECKPOINT: &str = "^[0-9]{8}T[0-9]{9}-[0-9a-f]{4}$";
/// The name of a checkpoint, or of an import.
const UNDO: &str = "^([0-9]{8}T[0-9]{9}-[0-9a-f]{4}|import-[1-9][0-9]{0,14})$";
/// The kind of what is imported.
const KIND: &str = "^[a-z][a-z-]{0,40}$";
/// A path in the vault: no part of it is empty, `.` or `..`.
const PATH: &str = r"^(\.?[^/.\x00]|\.\.[^/\x00])[^/\x00]*(/(\.?[^/.\x00]|\.\.[^/\x00])[^/\x00]*)*$";
/// Lines that are not all blank, without control characters.
const TEXT: &str =
    r"^([^\x00-\x08\x0b-\x1f\x7f-\x9f]|\r\n)*[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x08\x0b-\x1f\x7f-\x9f]|\r\n)*$";
/// One line that is not blank.
const LINE: &str = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$";
/// A tag: no white space, and no `#` before it.
const TAG: &str = r"^[^\s#\x00-\x1f\x7f-\x9f][^\s\x00-\x1f\x7f-\x9f]*$";
/// The name of a folder, on every file system. Those that a device or the vault itself has are refused besides.
const FOLDER: &str = concat!(
    r#"^[^\s.<>:"|?*/\\\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"#,
    r#"([^<>:"|?*/\\\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]*"#,
    r#"[^\s.<>:"|?*/\\\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb])?$"#
);
/// Keys of `[search]` with values; others are taken too.
const SETTINGS: &str = concat!(
    r"^((mode=(hybrid|keyword|semantic)|(limit|per_file)=[1-9][0-9]{0,2}|min_score=0\.[0-9]{1,6})",
    r"(,(mode=(hybrid|keyword|semantic)|(limit|per_file)=[1-9][0-9]{0,2}|min_score=0\.[0-9]{1,6}))*)?$"
);
/// A part of the vault that has facts of its own.
const MEMORY_SCOPE: &str = "^(user|system|orchestrator|(project|agent-type|agent):[a-z0-9-]{1,60})$";
/// The name of an entry: a block id.
const ENTRY: &str = "^[A-Za-z0-9-]{1,64}$";
/// Headings in lower case.
const NAMESPACE: &str = "^([a-z][a-z0-9 -]{0,30}[a-z0-9](/[a-z][a-z0-9 -]{0,30}[a-z0-9]){0,3})?$";
/// The key of a fact.
const KEY: &str = "^[A-Za-z_][A-Za-z0-9_.-]{0,60}$";
/// The kinds of events of an agent's work.
const TRACE_KIND: &str = "^(message_in|message_out|llm_call|tool_call|tool_result|reasoning|error|lifecycle)$";
/// A day, or always.
const MOMENT: &str = "^(0|20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8]))$";
/// A day.
const DAY: &str = "^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])$";
/// A week.
const WEEK: &str = "^20[0-9]{2}-W(0[1-9]|[1-4][0-9]|5[0-2])$";
/// How long ago: `12h`, `7d`, `2w`, `6mo`, `1y`.
const AGO: &str = "^([0-9]{1,5}(h|d|w|mo)|[0-9]{1,4}y)$";
/// Captured events are not of the time before computers.
const FROM_1970: &str = "^(19[789]|[2-9][0-9]{2})[0-9]-";
/// Some time zones; there are more.
const ZONE: &str = "^(UTC|Europe/(Vienna|London)|Asia/Tokyo)$";
/// What a browser opens without running it.
const ADDRESS: &str =
    r#"^([hH][tT][tT][pP][sS]?|[mM][aA][iI][lL][tT][oO]|[fF][iI][lL][eE]):[^\s<>"\x00-\x1f\x7f-\x9f]+$"#;

/// What a text may be.
enum TextLimit {
    /// Such a text.
    Like(&'static str),
    /// Such a text of at most so many characters.
    UpTo(usize, &'static str),
    /// Such a text, or a blank one.
    Maybe(&'static str),
    /// An object with such names.
    Names(&'static str),
    /// A list of such texts.
    Each(&'static str),
    /// A line's number.
    FromOne,
    /// A time since 1970.
    Time,
    /// A text, a number, yes or no, a list or a map.
    FactValue,
}

/// The fields of what requests take, with the types that have them.
const FIELDS: &[(&str, &str, TextLimit)] = &[
    ("AgentParams", "name", UpTo(60, LINE)),
    ("DigestParams", "day", Like(DAY)),
    ("DigestParams", "week", Like(WEEK)),
    ("SummaryMakeParams", "of", Like(PATH)),
    ("ForgetParams AnnotateParams KeepParams", "path", Like(PATH)),
    ("ReviewDecision", "all_of", Like(PATH)),
    ("FactSetParams", "source", Like(PATH)),
    ("MemoryGetParams AnnotateParams Named", "hash", Like(HASH)),
    ("ForgetParams", "hash seen", Like(HASH)),
    ("MemorySaveParams SaveParams Note Clipboard Ingest EntriesRewriteParams MemoryFlushParams", "content", Like(TEXT)),
    ("AnnotateParams Bookmark", "note", Like(TEXT)),
    ("Message EmbedText", "text", Like(TEXT)),
    ("Search", "query", Like(TEXT)),
    ("AgentActivity", "summary", Like(TEXT)),
    ("TraceParams", "error", Like(TEXT)),
    ("MemoryRestoreParams", "checkpoint_id", Like(CHECKPOINT)),
    ("SaveParams", "title", UpTo(200, LINE)),
    ("UserSetParams", "name location_place", UpTo(200, LINE)),
    ("TraceParams", "id trace_id parent_id channel_id thread_id backend_name model", UpTo(200, LINE)),
    ("SaveParams", "collection", UpTo(200, FOLDER)),
    ("SaveParams EntryAddParams EntryEditParams FactSetParams", "tags", Each(TAG)),
    ("SaveParams Ingest", "metadata", Names(LINE)),
    ("ForgetParams", "line_start line_end", FromOne),
    ("AnnotateParams", "line", FromOne),
    ("Message", "session role agent title", Like(LINE)),
    ("FileAction", "name path file_type action app", Like(LINE)),
    ("Search", "where", Like(LINE)),
    ("AgentActivity", "agent", Like(LINE)),
    ("Note Bookmark", "title", Like(LINE)),
    ("Clipboard", "app", Like(LINE)),
    ("ImportParams", "kind", Like(KIND)),
    ("ImportParams", "source", UpTo(2000, LINE)),
    ("ImportNote", "id title", UpTo(400, LINE)),
    ("Note", "tags", Each(LINE)),
    ("Bookmark", "url", Like(ADDRESS)),
    ("Ingest", "collection", Maybe(FOLDER)),
    ("ForgetParams", "fact", Like(KEY)),
    ("FactSetParams FactNameParams FactRetractParams", "key", Like(KEY)),
    ("ForgetParams FactSetParams FactNameParams FactRetractParams", "scope", Like(MEMORY_SCOPE)),
    ("EntryAddParams EntryEditParams EntriesRewriteParams EntryRemoveParams ReviewDecision", "agent", UpTo(60, FOLDER)),
    ("TraceParams", "agent_name", UpTo(60, FOLDER)),
    ("EntryAddParams EntryEditParams ReviewDecision", "text", UpTo(1000, LINE)),
    ("EntryAddParams EntryEditParams FactSetParams FactRetractParams", "from until", Like(MOMENT)),
    ("EntryAddParams", "sources", Each(PATH)),
    ("EntryEditParams EntryRemoveParams", "id", Like(ENTRY)),
    ("ReviewDecision", "id supersedes", Like(ENTRY)),
    ("ReviewDecision", "reason", UpTo(300, LINE)),
    ("FactSetParams FactNameParams FactRetractParams", "namespace", Like(NAMESPACE)),
    ("FactSetParams", "value", FactValue),
    ("UserSetParams", "timezone", Like(ZONE)),
    ("TurnsParams", "session_date", Like(AGO)),
    ("IngestTurn", "date", Like(AGO)),
    ("ContextParams", "session_start", Like(AGO)),
    ("TraceParams", "kind", Like(TRACE_KIND)),
];
/// The types of events, which have two fields more.
const EVENTS: [&str; 7] = ["Message", "FileAction", "Search", "AgentActivity", "Note", "Bookmark", "Clipboard"];

/// Each field of each type that the table has.
fn limited_fields() -> impl Iterator<Item = (&'static str, &'static str, &'static TextLimit)> {
    FIELDS.iter().flat_map(|(names, fields, kind)| {
        names.split(' ').flat_map(move |name| fields.split(' ').map(move |field| (name, field, kind)))
    })
}

/// Looks at each operation with its address and its method.
fn each_operation(document: &mut Value, mut look: impl FnMut(&str, &str, &mut Value)) {
    for (path, item) in document["paths"].as_object_mut().into_iter().flatten() {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            look(path, method, operation);
        }
    }
}

/// Names operations that have one name, as what serves them may have, by their address.
fn tell_apart(document: &mut Value) {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let id = |operation: &Value| operation["operationId"].as_str().unwrap_or_default().to_owned();
    each_operation(document, |_, _, operation| *times.entry(id(operation)).or_default() += 1);
    each_operation(document, |path, method, operation| {
        if times[&id(operation)] > 1 {
            let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
            operation["operationId"] = format!("{method}_{}", words.collect::<Vec<_>>().join("_")).into();
        }
    });
}

fn limit(schema: &mut Value, kind: &TextLimit) {
    match kind {
        Like(pattern) => schema["pattern"] = json!(pattern),
        Maybe(pattern) => schema["pattern"] = format!(r"^\s*$|{pattern}").into(),
        Names(pattern) => schema["propertyNames"] = json!({ "type": "string", "pattern": pattern }),
        UpTo(most, pattern) => {
            schema["pattern"] = json!(pattern);
            schema["maxLength"] = json!(most);
        }
        FromOne => schema["minimum"] = json!(1),
        Time => {
            schema["format"] = json!("date-time");
            schema["pattern"] = json!(FROM_1970);
        }
        Each(pattern) => schema["items"]["pattern"] = json!(pattern),
        // It is never nothing.
        FactValue => {
            let text = json!({ "type": "string", "minLength": 1 });
            let others = ["number", "boolean", "object"].map(|kind| json!({ "type": kind }));
            let kinds = [text, json!({ "type": "array", "items": {} })].into_iter().chain(others);
            *schema = json!({ "anyOf": kinds.collect::<Vec<_>>() });
        }
    }
}

/// A date, a time, or how long ago.
fn point_in_time() -> Value {
    let formats = ["date", "date-time"].map(|format| json!({ "type": "string", "format": format }));
    let ago = json!({ "type": "string", "pattern": AGO });
    json!({ "anyOf": formats.into_iter().chain([ago]).collect::<Vec<_>>() })
}

fn limit_parameter(path: &str, name: &str, schema: &mut Value) {
    match (path, name) {
        (_, "hash") => limit(schema, &Like(HASH)),
        (_, "since" | "until" | "as_of" | "known_at" | "changed_since") => *schema = point_in_time(),
        ("/api/user-memory/browse", "day") => day(schema),
        ("/api/user-memory/search" | "/api/facts", "scope" | "resolve") => limit(schema, &Like(MEMORY_SCOPE)),
        ("/api/user-memory/search", "set") => limit(schema, &Like(SETTINGS)),
        (
            "/api/user-memory/note"
            | "/api/user-memory/links"
            | "/api/user-memory/related"
            | "/api/conflicts/difference",
            "path",
        )
        | ("/api/review", "source") => limit(schema, &Like(PATH)),
        ("/api/digest", "day") => limit(schema, &Like(DAY)),
        ("/api/digest", "week") => limit(schema, &Like(WEEK)),
        ("/api/entries" | "/api/review", "agent") => limit(schema, &Like(FOLDER)),
        ("/api/agents/{slug}/trace", "kind") => limit(schema, &Like(TRACE_KIND)),
        ("/api/user-memory/checkpoints/{id}/restore", "id") => limit(schema, &Like(UNDO)),
        _ => {}
    }
}

/// A day of the calendar.
fn day(schema: &mut Value) {
    schema["format"] = json!("date");
}

/// Puts the statuses with which a request, that may change something or not, can fail in the place of `4XX`.
fn spell_out(operation: &mut Value, may_change: bool, may_be_edited: bool) {
    let has_body = operation.get("requestBody").is_some();
    let names_something = has_body || operation["parameters"].as_array().is_some_and(|all| !all.is_empty());
    let needs_token = operation.get("security").is_none();
    let statuses = [
        ("400", "The request is invalid", names_something),
        ("401", "A valid token, or a valid code, is required", needs_token || has_body),
        ("403", "This token may not do this, or the request is from another page or host", true),
        ("404", "Not found", names_something),
        ("408", "Timed out while receiving the body", has_body),
        (
            "409",
            "It changed meanwhile, already exists, or cannot be separated from the text around it",
            may_be_edited || may_change && names_something,
        ),
        ("413", "The body is too large", has_body),
        ("415", "The body is not JSON", has_body),
        ("422", "A field of the body is missing, or of another type", has_body),
        ("429", "This agent has reached its limit of requests, or of bytes written per day", needs_token),
    ];
    let Some(responses) = operation["responses"].as_object_mut() else { return };
    let Some(error) = responses.remove("4XX") else { return };
    for (status, description, _) in statuses.iter().filter(|(_, _, can)| *can) {
        responses.entry(*status).or_insert_with(|| {
            let mut response = error.clone();
            response["description"] = json!(description);
            response
        });
    }
    responses.sort_keys();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_the_table_is_there() {
        let document = super::document();
        let schemas = &document["components"]["schemas"];
        for (name, field, _) in limited_fields() {
            assert!(schemas[name]["properties"][field].is_object(), "{name} has no `{field}`");
        }
        assert_eq!(schemas["FactSetParams"]["properties"]["value"]["anyOf"].as_array().map(Vec::len), Some(5));
        let limited = &schemas["SaveParams"]["properties"];
        assert!(limited["content"]["pattern"].is_string() && limited["tags"]["items"]["pattern"].is_string());
        assert_eq!(schemas["AnnotateParams"]["properties"]["line"]["minimum"], 1);
    }

    #[test]
    fn no_answer_hides_behind_a_range_and_no_operation_behind_another() {
        let document = super::document();
        let mut ids = std::collections::BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                assert!(ids.insert(operation["operationId"].as_str().unwrap().to_owned()), "{method} {path}");
                assert!(operation["responses"]["4XX"].is_null(), "{method} {path}");
            }
        }
    }
}
