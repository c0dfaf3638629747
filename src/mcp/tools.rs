//! The tools that there are.

use std::sync::LazyLock;

use super::tool::ToolEntry;
use super::{context, entries, facts, get, graph, memory, multi_get, related, search, status};
use crate::access::Principal;

static TOOLS: LazyLock<Vec<ToolEntry>> = LazyLock::new(|| {
    let mut tools = search::tools();
    tools.extend([get::tool(), multi_get::tool(), related::tool(), status::tool()]);
    tools.push(context::tool());
    tools.push(graph::tool());
    tools.extend(facts::tools());
    tools.extend(entries::tools());
    tools
});

static MEMORY_TOOLS: LazyLock<Vec<ToolEntry>> = LazyLock::new(memory::tools);

/// All tools, in the order in which clients show them.
fn all() -> impl Iterator<Item = &'static ToolEntry> {
    TOOLS.iter().chain(MEMORY_TOOLS.iter())
}

/// The tools that are of use to a principal: a memory of its own is an agent's alone.
pub(super) fn of(principal: &Principal) -> impl Iterator<Item = &'static ToolEntry> {
    let own = matches!(principal, Principal::Agent(_)).then(|| MEMORY_TOOLS.iter());
    TOOLS.iter().chain(own.into_iter().flatten())
}

/// The tool with a name.
pub(super) fn named(name: &str) -> Option<&'static ToolEntry> {
    all().find(|entry| entry.tool.name == name)
}

/// Whether a call of a tool may be made again when nobody knows what became of the first.
pub(crate) fn changes_nothing(tool: &str) -> bool {
    let annotations = named(tool).and_then(|entry| entry.tool.annotations.as_ref());
    annotations.is_some_and(|annotations| annotations.read_only_hint == Some(true))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::answers::Answers;
    use super::*;

    /// Whether every field of a schema says what it is, and nothing is left to be looked up.
    fn check(tool: &str, schema: &Value) {
        if let Some(fields) = schema["properties"].as_object() {
            for (name, field) in fields {
                assert!(field["description"].is_string() || field["oneOf"].is_array(), "{tool}: {name}: {field}");
                check(tool, field);
                check(tool, &field["items"]);
            }
        }
    }

    #[test]
    fn every_tool_is_described_in_full() {
        for entry in all() {
            let (name, tool) = (&entry.tool.name, serde_json::to_value(&entry.tool).unwrap());
            assert!(tool["description"].as_str().is_some_and(|text| text.len() > 80), "{tool}");
            assert!(tool["inputSchema"]["additionalProperties"] == false, "{name}: {}", tool["inputSchema"]);
            assert!(!tool.to_string().contains("$ref") && !tool.to_string().contains("\"null\""), "{tool}");
            assert_eq!(tool["inputSchema"]["type"], "object", "{name}: {}", tool["inputSchema"]);
            check(name, &tool["inputSchema"]);
            let given = &tool["outputSchema"];
            assert!(given["type"] == "object" && given["required"].as_array().is_some_and(|names| !names.is_empty()));
            // What is not said is what the protocol takes it for: no reading alone, nothing destroyed is said for the others.
            let hints = &tool["annotations"];
            assert_eq!(hints["readOnlyHint"] == true, hints["destructiveHint"].is_null(), "{name}: {hints}");
            assert_eq!(hints["openWorldHint"], false, "{name}: {hints}");
        }
        assert!(changes_nothing("search") && changes_nothing("memory_get"));
        assert!(!changes_nothing("memory_save") && !changes_nothing("no such tool"));
    }

    /// What a text costs a model, about: each word of up to ten letters, each three digits and each three signs are a token.
    /// This counts more than the tokenizers of well-known models do (`tests/mcp` asks a real one).
    fn tokens(text: &str) -> usize {
        let kind = |character: char| match character {
            character if character.is_alphabetic() => 0,
            character if character.is_numeric() => 1,
            character if character.is_whitespace() => 2,
            _ => 3,
        };
        let characters: Vec<char> = text.chars().collect();
        let runs = characters.chunk_by(|one, other| kind(*one) == kind(*other));
        runs.map(|run| match kind(run[0]) {
            0 => run.len().div_ceil(10),
            2 => 0,
            _ => run.len().div_ceil(3),
        })
        .sum()
    }

    #[test]
    fn no_tool_costs_more_than_250_tokens() {
        for entry in all() {
            for answers in [Answers::Structured, Answers::Text] {
                let told = serde_json::to_string(&entry.shown(answers)).unwrap();
                assert!(tokens(&told) <= 250, "{} tokens: {told}", tokens(&told));
            }
        }
    }
}
