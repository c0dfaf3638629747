//! The OpenAPI document, generated from the routes. What it says beyond the types, what a text may be, and with which status each request can fail, is a
//! table: a program that holds to it is never refused for its form.

use std::collections::BTreeMap;

use TextLimit::{Each, FactValue, FromOne, Like, Maybe, Names, Time, UpTo};
use utoipa::openapi::path::{Operation, Parameter, PathItem};
use utoipa::openapi::schema::{AnyOf, Array, KnownFormat, Object, SchemaFormat, SchemaType, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{OpenApi as Document, RefOr, Response, Schema, SecurityRequirement};
use utoipa::{Modify, OpenApi};

use super::{endpoints, events, page, passing, qmd};

#[derive(OpenApi)]
#[openapi(
    info(title = "vault", description = "A person's long-lived memory: plain Markdown, searchable the moment it is saved."),
    paths(
        super::router::health,
        events::context,
        passing::complete,
        passing::models,
        events::events,
        page::token,
        page::leave,
        events::capture,
        qmd::collections,
        qmd::embed
    ),
    components(schemas(crate::base::config::MemoryLayer, crate::serve::wire::ProgressView)),
    modifiers(&Declared, &Tokens, &Tagged, &Exact)
)]
struct Api;

/// What is declared in one place.
struct Declared;

impl Modify for Declared {
    fn modify(&self, document: &mut Document) {
        endpoints::all().describe(document);
    }
}

/// Every route but `/health` and those of the page takes a token.
struct Tokens;

impl Modify for Tokens {
    fn modify(&self, document: &mut Document) {
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("bearer", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
        components.add_security_scheme("basic", SecurityScheme::Http(Http::new(HttpAuthScheme::Basic)));
        let either = ["bearer", "basic"].map(|scheme| SecurityRequirement::new(scheme, Vec::<String>::new()));
        document.security = Some(either.to_vec());
    }
}

/// An event has its type beside the fields of that type.
struct Tagged;

impl Modify for Tagged {
    fn modify(&self, document: &mut Document) {
        let schemas = &mut document.components.get_or_insert_default().schemas;
        for name in ["Message", "FileAction", "Search", "AgentActivity", "Note", "Bookmark", "Clipboard"] {
            if let Some(RefOr::T(Schema::Object(event))) = schemas.get_mut(name) {
                event.properties.insert("type".into(), Object::with_type(Type::String).into());
            }
        }
    }
}

/// The document as served at `/openapi.json`.
pub fn document() -> Document {
    Api::openapi()
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
    r"^((fusion=(adaptive|min-max|rrf)|(limit|per_file)=[1-9][0-9]{0,2}|(semantic_weight|min_score|mmr_lambda)=0\.[0-9]{1,6})",
    r"(,(fusion=(adaptive|min-max|rrf)|(limit|per_file)=[1-9][0-9]{0,2}|(semantic_weight|min_score|mmr_lambda)=0\.[0-9]{1,6}))*)?$"
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

/// Says what texts may be.
pub(super) struct Exact;

impl Modify for Exact {
    fn modify(&self, document: &mut Document) {
        let schemas = &mut document.components.get_or_insert_default().schemas;
        let stamps = EVENTS.iter().flat_map(|event| [(*event, "id", &Like(LINE)), (*event, "time", &Time)]);
        for (name, field, kind) in limited_fields().chain(stamps) {
            if let Some(RefOr::T(Schema::Object(object))) = schemas.get_mut(name)
                && let Some(RefOr::T(field)) = object.properties.get_mut(field)
            {
                limit(field, kind);
            }
        }
        tell_apart(document);
        for (path, item) in &mut document.paths.paths {
            for (method, operation) in operations(item) {
                for parameter in operation.parameters.iter_mut().flatten() {
                    if let RefOr::T(parameter) = parameter {
                        limit_parameter(path, parameter);
                    }
                }
                spell_out(operation, method != "get", path == "/api/profile/regenerate");
            }
        }
    }
}

/// Names operations that have one name, as what serves them may have, by their address.
fn tell_apart(document: &mut Document) {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for item in document.paths.paths.values_mut() {
        for (_, operation) in operations(item) {
            *times.entry(operation.operation_id.clone().unwrap_or_default()).or_default() += 1;
        }
    }
    for (path, item) in &mut document.paths.paths {
        let words: Vec<&str> =
            path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
        for (method, operation) in operations(item) {
            let id = operation.operation_id.get_or_insert_default();
            if times.get(id).is_none_or(|times| *times > 1) {
                *id = format!("{method}_{}", words.join("_"));
            }
        }
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let PathItem { get, put, post, patch, delete, .. } = item;
    let all = [("get", get), ("put", put), ("post", post), ("patch", patch), ("delete", delete)];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

fn limit(schema: &mut Schema, kind: &TextLimit) {
    match (kind, schema) {
        (Like(pattern), Schema::Object(text)) => text.pattern = Some((*pattern).into()),
        (Maybe(pattern), Schema::Object(text)) => text.pattern = Some(format!(r"^\s*$|{pattern}")),
        (Names(pattern), Schema::Object(map)) => {
            let mut name = Object::with_type(Type::String);
            name.pattern = Some((*pattern).into());
            map.property_names = Some(Box::new(Schema::Object(name)));
        }
        (UpTo(most, pattern), Schema::Object(text)) => {
            text.pattern = Some((*pattern).into());
            text.max_length = Some(*most);
        }
        (FromOne, Schema::Object(number)) => number.minimum = Some(1.into()),
        (Time, Schema::Object(text)) => {
            text.format = Some(SchemaFormat::KnownFormat(KnownFormat::DateTime));
            text.pattern = Some(FROM_1970.into());
        }
        (Each(pattern), Schema::Array(list)) => {
            if let utoipa::openapi::schema::ArrayItems::RefOrSchema(item) = &mut list.items
                && let RefOr::T(Schema::Object(text)) = item.as_mut()
            {
                text.pattern = Some((*pattern).into());
            }
        }
        (FactValue, schema) => *schema = fact_value(),
        _ => {}
    }
}

fn limit_parameter(path: &str, parameter: &mut Parameter) {
    let Some(RefOr::T(schema)) = &mut parameter.schema else { return };
    match (path, parameter.name.as_str()) {
        (_, "hash") => limit(schema, &Like(HASH)),
        (_, "since" | "until" | "as_of" | "known_at" | "changed_since") => *schema = point_in_time(),
        ("/api/user-memory/browse", "day") => {
            if let Schema::Object(day) = schema {
                day.format = Some(SchemaFormat::KnownFormat(KnownFormat::Date));
            }
        }
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

/// What a fact may be, which is never nothing.
fn fact_value() -> Schema {
    let mut text = Object::with_type(Type::String);
    text.min_length = Some(1);
    let others = [Type::Number, Type::Boolean, Type::Object].map(Object::with_type).map(Schema::Object);
    let list = Schema::Array(Array::new(Object::with_type(SchemaType::AnyValue)));
    let mut any = AnyOf::new();
    any.items = [Schema::Object(text), list].into_iter().chain(others).map(RefOr::T).collect();
    Schema::AnyOf(any)
}

/// A date, a time, or how long ago.
fn point_in_time() -> Schema {
    let text = || Object::with_type(Type::String);
    let mut kinds = [text(), text(), text()];
    kinds[0].format = Some(SchemaFormat::KnownFormat(KnownFormat::Date));
    kinds[1].format = Some(SchemaFormat::KnownFormat(KnownFormat::DateTime));
    kinds[2].pattern = Some(AGO.into());
    let mut any = AnyOf::new();
    any.items = kinds.into_iter().map(|kind| RefOr::T(Schema::Object(kind))).collect();
    Schema::AnyOf(any)
}

/// Puts the statuses with which a request, that may change something or not, can fail in the place of `4XX`.
fn spell_out(operation: &mut Operation, may_change: bool, may_be_edited: bool) {
    let Some(error) = operation.responses.responses.remove("4XX") else { return };
    let has_body = operation.request_body.is_some();
    let parameters = operation.parameters.as_deref().unwrap_or_default();
    let names_something = has_body || !parameters.is_empty();
    let needs_token = operation.security.is_none();
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
    for (status, description, _) in statuses.iter().filter(|(_, _, can)| *can) {
        let mut response = error.clone();
        if let RefOr::T(Response { description: said, .. }) = &mut response {
            *said = (*description).into();
        }
        operation.responses.responses.entry((*status).into()).or_insert(response);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_the_table_is_there() {
        let document = serde_json::to_value(super::document()).unwrap();
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
        let document = serde_json::to_value(super::document()).unwrap();
        let mut ids = std::collections::BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                assert!(ids.insert(operation["operationId"].as_str().unwrap().to_owned()), "{method} {path}");
                assert!(operation["responses"]["4XX"].is_null(), "{method} {path}");
            }
        }
    }
}
