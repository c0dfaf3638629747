//! What clients are told of the tools.

use serde_json::{Value, json};

use super::tools::MAX_PARTS;

/// The tools as clients are told of them.
pub(super) fn list() -> Value {
    let tool = |name: &str, title: &str, description: &str, properties: Value, required: &[&str]| {
        json!({
            "name": name, "title": title, "description": description,
            "inputSchema": { "type": "object", "properties": properties, "required": required },
            "annotations": { "readOnlyHint": true, "openWorldHint": false },
        })
    };
    let text = |what: &str| json!({ "type": "string", "description": what });
    let number = |what: &str| json!({ "type": "number", "description": what });
    let numbers = || json!({ "type": "boolean", "description": "Whether lines have their numbers." });
    let search = |name: &str, title: &str, description: &str| {
        let properties = json!({
            "query": text("What to look for."),
            "limit": number("Documents at most, else 10."),
            "minScore": number("Only documents as likely to answer, 0 to 1."),
            "collection": text("Only this collection."),
        });
        tool(name, title, description, properties, &["query"])
    };
    let parts = json!({
        "type": "array", "minItems": 1, "maxItems": MAX_PARTS,
        "description": "Parts of the question, the one that says most first.",
        "items": {
            "type": "object", "required": ["type", "query"],
            "properties": {
                "type": {
                    "type": "string", "enum": ["lex", "vec", "hyde"],
                    "description": "lex: words, \"phrases\", -excluded; vec: a question; hyde: what an answer might say."
                },
                "query": text("Its text."),
            },
        },
    });
    json!([
        tool(
            "query",
            "Search",
            "Finds documents by words and by meaning at once, each part of the question by the side that it names.",
            json!({
                "searches": parts,
                "limit": number("Documents at most, else 10."),
                "minScore": number("Only documents as likely to answer, 0 to 1."),
                "collections": {
                    "type": "array", "items": { "type": "string" }, "description": "Only these collections."
                },
                "intent": text("What it is about; nothing is looked for by it alone."),
            }),
            &["searches"],
        ),
        search("search", "Search by words", "Finds documents by their words: names, identifiers, \"phrases\"."),
        search("vector_search", "Search by meaning", "Finds documents by their meaning, in whatever words."),
        search("deep_search", "Search by both", "Finds documents by their words and their meaning."),
        tool(
            "get",
            "Read a document",
            "Gives a document: by #docid, by collection/path, or by a qmd:// address; with :LINE behind it from there.",
            json!({
                "file": text("Which document."),
                "fromLine": number("The first line, from 1."),
                "maxLines": number("Lines at most."),
                "lineNumbers": numbers(),
            }),
            &["file"],
        ),
        tool(
            "multi_get",
            "Read several documents",
            "Gives several documents: those that a glob matches, or names with commas between them.",
            json!({
                "pattern": text("A glob over collection/path, or names with commas between them."),
                "maxLines": number("Lines of each at most."),
                "maxBytes": number("Longer documents are left out; else 65536."),
                "lineNumbers": numbers(),
            }),
            &["pattern"],
        ),
        tool("status", "What there is", "Says which collections there are, and how many documents.", json!({}), &[]),
    ])
}
