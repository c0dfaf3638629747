//! What there is by one way in is there by the others, described, and tried as agents: the tables that say so, against the routes.

use crate::agents::{every_request, hidden_world};
use crate::support::prelude::*;

/// A method and a path.
type Way = (String, String);

/// Routes that the API's description leaves out: the page itself, the protocol that describes itself, and the description.
const NOT_DESCRIBED: &[&str] = &["GET /", "GET /page/{name}", "POST /page/code", "POST /mcp", "GET /openapi.json"];

/// Routes of which no row of `agents/table.rs` is: they have no notes in them, or change what the next row would be told.
const NOT_IN_THE_TABLE: &[(&str, &str)] = &[
    ("POST /page/code", "is of the Unix socket alone"),
    ("GET /page/{name}", "a file of the page, for everybody"),
    ("POST /page/token", "takes a code, and no token"),
    ("DELETE /page/token", "ends a session of the page, and is nothing to others"),
    ("POST /embed", "embeds what it is given, and the table's vaults have no model; `agents/programs.rs`"),
    ("POST /v1/chat/completions", "leads to a model; `passing.rs`"),
    ("GET /v1/models", "leads to a model; `passing.rs`"),
    ("POST /api/memory/flush", "writes; `osaurus.rs`"),
    ("POST /ingest", "writes; `agents/programs.rs`"),
    ("POST /api/memory/save", "writes; `memory.rs`"),
    ("POST /api/trace", "writes; `traces.rs`"),
    ("POST /api/entries", "writes; `entries.rs`"),
    ("PUT /api/facts", "writes; `facts.rs`"),
    ("POST /api/facts/unset", "writes; `facts.rs`"),
    ("POST /api/facts/retract", "writes; `facts.rs`"),
];

/// Texts of requests that may be anything, by what takes them, and why. A text of a form has it in `api/openapi.rs`.
const ANYTHING: &[(&str, &[&str])] = &[
    (
        "what somebody types into a field for searches",
        &[
            "GET /api/user-memory/agent-search q", "GET /api/user-memory/search q", "GET /query q", "GET /search q",
            "GET /vsearch q", "ContextParams.query", "MemoryForgetParams.query", "MemorySearchParams.query",
            "SearchBody.query",
        ],
    ),
    (
        "names something that may not be there: then nothing is found",
        &[
            "GET /api/user-memory/browse collection", "GET /api/user-memory/checkpoints path", "GET /api/log path",
            "GET /api/user-memory/notes folder", "GET /api/user-memory/notes tag",
            "GET /api/user-memory/search collection", "GET /api/user-memory/search path",
            "GET /api/user-memory/search topic", "GET /api/user-memory/search tag", "GET /api/graph name",
            "GET /api/graph relation", "GET /api/graph type", "GET /api/entries tag", "GET /api/facts key",
            "GET /api/summaries of", "GET /api/facts namespace", "GET /api/facts prefix", "GET /api/facts tag",
            "FactSetParams.if_value", "ContextParams.agent", "IngestTurn.assistant", "IngestTurn.user",
            "TurnsParams.agent_id", "TurnsParams.conversation_id", "GET /browse collection", "GET /query collection",
            "GET /query tags", "GET /search collection", "GET /search tags", "GET /vsearch collection",
            "GET /vsearch tags", "SearchBody.collection", "SearchBody.tags[]", "GET /api/agents/{slug} slug",
            "PATCH /api/agents/{slug} slug", "DELETE /api/agents/{slug} slug", "POST /api/agents/{slug}/rotate slug",
            "GET /api/agents/{slug}/explain slug", "GET /api/agents/{slug}/explain what",
            "GET /api/agents/{slug}/log slug", "GET /api/agents/{slug}/librarian slug",
            "GET /api/agents/{slug}/trace slug", "GET /api/agents/{slug}/trace trace_id", "Code.code",
        ],
    ),
    (
        "names something that may not be there, too",
        &[
            "GET /api/user-memory/agent-search agent_name",
            "GET /api/user-memory/agent-search collection",
            "POST /v1/chat/completions X-Osaurus-Agent-Id",
            "PATCH /api/agents/{slug}/librarian slug",
            "GET /api/agents/{slug}/trace channel_id",
        ],
    ),
    ("asks whether an answer is still the same", &["POST /api/context If-None-Match"]),
    ("is a note of another program, copied as it is", &["ImportNote.text"]),
    ("is the model of memory.toml, and another is refused", &["LibrarianParams.model"]),
    ("is made to fit", &["Ingest.tags[]", "Ingest.title"]),
    (
        "is read as an agent's page is, where what makes no sense denies",
        &[
            "AgentParams.channel", "AgentParams.chat_type", "AgentRules.collections[]", "AgentRules.exclude_tags[]",
            "AgentRules.expires", "AgentRules.paths[]", "RotateParams.channel", "RotateParams.chat_type",
        ],
    ),
    (
        "is of a file of the agent's own memory, which says what it takes",
        &["MemoryDeleteParams.file", "MemoryDeleteParams.text", "MemoryGetParams.path", "MemorySaveParams.file"],
    ),
];

/// The routes, as the sources have them.
fn routes() -> BTreeSet<Way> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/serve");
    let mut files: Vec<_> = fs::read_dir(src.join("api")).unwrap().map(|file| file.unwrap().path()).collect();
    files.push(src.join("mcp/server.rs"));
    let mut routes = BTreeSet::new();
    for file in files.into_iter().filter(|file| file.extension().is_some_and(|end| end == "rs")) {
        let text = fs::read_to_string(&file).unwrap();
        let program = text.split("#[cfg(test)]").next().unwrap();
        for other in ["route_service(", ".nest(", ".nest_service(", "fallback_service(", " any("] {
            assert!(!program.contains(other), "{} has `{other}`, which this test does not read", file.display());
        }
        // What is declared: `NAME = GET "/path", …`.
        let declared = program.lines().filter_map(|line| line.trim().split_once(" = ")?.1.split_once(" \"/"));
        let declared = declared.filter(|(method, _)| method.chars().all(|letter| letter.is_ascii_uppercase()));
        routes.extend(
            declared.map(|(method, path)| (method.to_owned(), format!("/{}", path.split('"').next().unwrap()))),
        );
        for route in program.split(".route(\"").skip(1) {
            let mut quoted = route.split('"');
            let path = quoted.next().unwrap().to_owned();
            let methods = methods(quoted.collect::<Vec<_>>().join("\"").as_str());
            assert!(!methods.is_empty(), "{path} in {}", file.display());
            routes.extend(methods.into_iter().map(|method| (method, path.clone())));
        }
    }
    assert!(routes.len() > 40, "{routes:?}");
    routes
}

/// The methods of `, get(one).post(two))…`: the calls that stand in no other.
fn methods(after: &str) -> Vec<String> {
    let (mut depth, mut word, mut methods) = (1, String::new(), Vec::new());
    for character in after.chars() {
        match character {
            '(' => {
                if depth == 1 {
                    methods.push(std::mem::take(&mut word).to_uppercase());
                }
                depth += 1;
            }
            ')' => depth -= 1,
            character if character.is_alphanumeric() || character == '_' => word.push(character),
            _ => word.clear(),
        }
        if depth == 0 {
            break;
        }
    }
    methods
}

fn described() -> Value {
    serde_json::to_value(memory_vault::serve::api::openapi()).unwrap()
}

/// The operations of the description, by their way.
fn operations(document: &Value) -> BTreeMap<Way, &Value> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths
        .flat_map(|(path, item)| {
            item.as_object().unwrap().iter().map(move |(method, operation)| (path, method, operation))
        })
        .map(|(path, method, operation)| ((method.to_uppercase(), path.clone()), operation))
        .collect()
}

fn said((method, path): &Way) -> String {
    format!("{method} {path}")
}

#[test]
fn every_route_is_described_and_every_description_has_a_route() {
    let document = described();
    let (routes, operations) = (routes(), operations(&document));
    let left_out: BTreeSet<String> = routes.iter().filter(|way| !operations.contains_key(way)).map(said).collect();
    assert_eq!(left_out, NOT_DESCRIBED.iter().map(|way| (*way).to_owned()).collect(), "not in api/openapi.rs");
    let gone: Vec<&Way> = operations.keys().filter(|way| !routes.contains(way)).collect();
    assert!(gone.is_empty(), "described, and not there: {gone:?}");
}

#[test]
fn every_route_is_tried_as_every_agent_and_every_row_is_of_a_route() {
    let routes = routes();
    let of = |method: &str, target: &str| -> Option<Way> {
        let path = target.split('?').next().unwrap();
        let fits = |route: &str| {
            let (route, path): (Vec<&str>, Vec<&str>) = (route.split('/').collect(), path.split('/').collect());
            route.len() == path.len() && route.iter().zip(&path).all(|(one, two)| one == two || one.starts_with('{'))
        };
        let mut fitting = routes.iter().filter(|(known, route)| known == method && fits(route));
        // The one with a name goes before the one with any.
        let exact = routes.iter().find(|(known, route)| known == method && route == path);
        exact.or_else(|| fitting.next()).cloned()
    };
    let asked = every_request(&hidden_world());
    let mut tried = BTreeSet::new();
    for (method, target, _) in &asked {
        tried.insert(of(method, target).unwrap_or_else(|| panic!("there is no route for {method} {target}")));
    }
    let left_out: BTreeSet<String> = routes.difference(&tried).map(said).collect();
    let named: BTreeSet<String> = NOT_IN_THE_TABLE.iter().map(|(way, _)| (*way).to_owned()).collect();
    assert_eq!(left_out, named, "not in tests/main/agents/table.rs");
}

#[test]
fn every_route_needs_a_token_but_those_that_say_not() {
    let daemon = Daemon::vault().started();
    let document = described();
    let operations = operations(&document);
    for way in routes() {
        let open = operations.get(&way).is_some_and(|operation| operation["security"] == json!([{}]))
            || ["GET /", "GET /page/{name}", "POST /page/code"].contains(&said(&way).as_str());
        let path = way.1.replace("{name}", "app.js").replace(['{', '}'], "");
        let reply = daemon.send(&Request::new(&way.0, &path).json("{}"));
        // The socket's own is over TCP a file of the page, which takes no method but GET.
        assert_eq!(reply.status == 401 && reply.error() == "a token is required", !open, "{way:?}: {}", reply.status);
    }
}

/// All texts that an operation takes, with the name of their type or address, and whether they have a form.
fn texts(document: &Value) -> BTreeMap<String, bool> {
    let has_form = |schema: &Value| {
        ["pattern", "format", "enum", "const"].iter().any(|key| !schema[*key].is_null())
            || schema["oneOf"].is_array()
            || schema["anyOf"].is_array()
    };
    let is_text = |schema: &Value| {
        schema["type"] == "string" || schema["type"].as_array().is_some_and(|kinds| kinds.contains(&"string".into()))
    };
    let mut found = BTreeMap::new();
    let mut types = Vec::new();
    for (way, operation) in operations(document) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            if is_text(&parameter["schema"]) {
                let name = format!("{} {}", said(&way), parameter["name"].as_str().unwrap());
                found.insert(name, has_form(&parameter["schema"]));
            }
        }
        types.push(&operation["requestBody"]["content"]["application/json"]["schema"]);
    }
    let mut seen = BTreeSet::new();
    while let Some(schema) = types.pop() {
        for part in ["oneOf", "anyOf", "allOf"].iter().flat_map(|key| schema[*key].as_array().into_iter().flatten()) {
            types.push(part);
        }
        if schema["items"].is_object() {
            types.push(&schema["items"]);
        }
        let Some(name) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) else { continue };
        if !seen.insert(name) {
            continue;
        }
        let schema = &document["components"]["schemas"][name];
        types.push(schema);
        for (field, kind) in schema["properties"].as_object().into_iter().flatten() {
            types.push(kind);
            for (kind, of) in [(kind, ""), (&kind["items"], "[]")] {
                if is_text(kind) {
                    found.insert(format!("{name}.{field}{of}"), has_form(kind));
                }
            }
        }
    }
    found
}

#[test]
fn every_text_that_is_taken_has_a_form_or_may_be_anything() {
    let document = described();
    let texts = texts(&document);
    // The type of an event is the word that tells it from the others.
    let is_free = |(name, has_form): &(&String, &bool)| !**has_form && !name.ends_with(".type");
    let free: BTreeSet<&str> = texts.iter().filter(is_free).map(|(name, _)| name.as_str()).collect();
    let known = ANYTHING.iter().flat_map(|(_, names)| names.iter().copied());
    assert_eq!(free, known.collect(), "without a form in api/openapi.rs");
}

/// Rows of `api/openapi.rs` for one address are of a parameter that is there, and count.
#[test]
fn every_limit_of_an_address_is_of_a_parameter_that_is_there() {
    let limits = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/serve/api/openapi.rs");
    let text = fs::read_to_string(limits).unwrap();
    let arms = text.split("fn limit_parameter(").nth(1).unwrap().split("\n}\n").next().unwrap();
    // An arm is `("/one" | "/two", "name" | "other") | ("/three", "name") =>`.
    let mut rows = Vec::new();
    for row in arms.split("=>").flat_map(|arm| arm.split("| (")) {
        let (paths, names): (Vec<&str>, Vec<&str>) =
            row.split('"').skip(1).step_by(2).partition(|text| text.starts_with('/'));
        rows.extend(paths.iter().flat_map(|path| names.iter().map(|name| (*path, *name))));
    }
    assert!(rows.len() >= 15, "{rows:?}");
    let document = described();
    let texts = texts(&document);
    for (path, name) in rows {
        let of_row = |text: &&String| text.split_once(' ').is_some_and(|(_, text)| text == format!("{path} {name}"));
        let found: Vec<&String> = texts.keys().filter(of_row).collect();
        assert!(!found.is_empty() && found.iter().all(|text| texts[*text]), "{path} {name}: {found:?}");
    }
}

/// What a search can be asked by each way in.
#[test]
fn a_search_can_be_asked_the_same_by_every_way_in() {
    let parameters = described()["paths"]["/api/user-memory/search"]["get"]["parameters"].clone();
    let http: BTreeSet<String> = column(&parameters, "name").into_iter().collect();
    let help = Ran::of(vault_command().args(["search", "--help"])).ok().stdout;
    let flags = help.lines().map(str::trim).filter(|line| line.starts_with('-'));
    let flags = flags.filter_map(|line| line.split_once("--")).map(|(_, rest)| rest);
    let command: BTreeSet<String> = flags.map(|rest| rest.split([' ', '=']).next().unwrap().to_owned()).collect();

    let daemon = Daemon::vault().started();
    let listed = daemon.rpc("tools/list", json!({})).json();
    let tools = listed["result"]["tools"].as_array().unwrap();

    // What one way has another name for, or has by itself.
    let same = |ways: &BTreeSet<String>, others: &[(&str, &str)], own: &[&str]| {
        let renamed = |name: &String| {
            others.iter().find(|(theirs, _)| theirs == name).map_or(name.clone(), |(_, here)| (*here).to_owned())
        };
        ways.iter().filter(|name| !own.contains(&name.as_str())).map(renamed).collect::<BTreeSet<_>>()
    };
    let less = |left_out: &[&str]| -> BTreeSet<String> {
        http.iter().filter(|name| !left_out.contains(&name.as_str())).cloned().collect()
    };
    assert!(help.contains("<QUERY>..."), "{help}");
    // The words of a command are the query. It marks them itself, and the daemon knows that it may have saved something.
    let of_command = same(
        &command,
        &[("min-score", "min_score"), ("timeout-ms", "timeout_ms")],
        &["full", "explain", "citations", "json", "vault", "help"],
    );
    assert_eq!(of_command, less(&["q", "highlight", "fresh"]), "vault search --help, and SearchQuery");
    let tool = tools.iter().find(|tool| tool["name"] == "search").unwrap();
    let arguments: BTreeSet<String> = tool["inputSchema"]["properties"].as_object().unwrap().keys().cloned().collect();
    // What it finds is shown to a model, always with what was saved before. A memory scope is named as a collection, and a topic and a
    // layer as the conditions that they are.
    let of_tool = same(&arguments, &[("query", "q")], &[]);
    assert_eq!(
        of_tool,
        less(&["highlight", "fresh", "min_score", "set", "scope", "resolve", "topic", "layer"]),
        "the tool search, and SearchQuery"
    );
}

/// What can be typed is told by every way in.
#[test]
fn every_operator_is_told_by_the_command_the_page_the_api_and_mcp() {
    let help = Ran::of(vault_command().args(["search", "--help"])).ok().stdout;
    let page = include_str!("../../src/serve/page/assets/keys.js");
    let document = described();
    let parameters = document["paths"]["/api/user-memory/search"]["get"]["parameters"].as_array().unwrap();
    let query = parameters.iter().find(|parameter| parameter["name"] == "q").unwrap();
    let vault = Daemon::vault().started();
    let client = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let said = vault.rpc("initialize", hello).json();
    let texts = [
        ("vault search --help", help.as_str()),
        ("the page's help", page),
        ("the API's description", query["description"].as_str().unwrap()),
        ("MCP's instructions", said["result"]["instructions"].as_str().unwrap()),
    ];
    for operator in memory_vault::index::search::OPERATORS {
        for (name, text) in texts {
            assert!(text.contains(operator), "{name} does not tell of `{operator}`: {text}");
        }
    }
}
