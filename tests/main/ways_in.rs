//! What there is by one way in is there by the others, described, and tried as agents: the tables that say so, against the routes.

use crate::agents::{every_request, hidden_world};
use crate::support::prelude::*;

/// A method and a path.
type Way = (String, String);

/// Routes that the API's description leaves out: the page itself, the protocol that describes itself, and the description.
const NOT_DESCRIBED: &[&str] = &[
    "GET /",
    "GET /page/{*name}",
    "POST /page/code",
    "POST /mcp",
    "GET /openapi.json",
    "GET /.well-known/oauth-protected-resource/mcp",
    "POST /api/remote/request",
    "POST /api/remote/consent",
    "GET /share/{secret}",
];

/// Routes of which no row of `agents/table.rs` is: they have no notes in them, or change what the next row would be told.
const NOT_IN_THE_TABLE: &[(&str, &str)] = &[
    ("POST /page/code", "is of the Unix socket alone"),
    ("GET /page/{*name}", "a file of the page, for everybody"),
    ("POST /page/token", "takes a code, and no token"),
    ("DELETE /page/token", "ends a session of the page, and is nothing to others"),
    ("GET /.well-known/oauth-protected-resource/mcp", "says where one signs in; `remote.rs`"),
    ("POST /api/remote/request", "is of the page alone; `remote.rs`"),
    ("POST /api/remote/consent", "is of the page alone; `remote.rs`"),
    ("GET /share/{secret}", "shows a page to who has its link; `sharing.rs`"),
    ("POST /api/agent-preview", "shows the owner what a page would give; `remote.rs`"),
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

/// The routes, as the sources have them.
fn routes() -> BTreeSet<Way> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/serve");
    let mut files: Vec<_> = fs::read_dir(src.join("api")).unwrap().map(|file| file.unwrap().path()).collect();
    // A server of several people has these beside its vaults: `people.rs`, `openid.rs`; one of copies has those of `query.rs`.
    files.retain(|file| !["people.rs", "openid.rs", "query.rs"].iter().any(|other| file.ends_with(other)));
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
    assert_eq!(left_out, NOT_DESCRIBED.iter().map(|way| (*way).to_owned()).collect(), "not described");
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
            || ["GET /", "GET /page/{*name}", "POST /page/code", "GET /share/{secret}"].contains(&said(&way).as_str());
        let path = way.1.replace("{name}", "app.js").replace(['{', '}'], "");
        let reply = daemon.send(&Request::new(&way.0, &path).json("{}"));
        // The socket's own is over TCP a file of the page, which takes no method but GET.
        assert_eq!(reply.status == 401 && reply.error() == "a token is required", !open, "{way:?}: {}", reply.status);
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
    let page = include_str!("../../src/serve/page/lib/keys.js");
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
