//! The tools that there are.

use std::sync::LazyLock;

use serde_json::Value;

use super::tool::ToolEntry;
use super::{get, memory, search};
use crate::access::rules::Principal;

/// All tools, in the order in which clients show them.
static TOOLS: LazyLock<[ToolEntry; 10]> = LazyLock::new(|| {
    [
        search::search_tool(),
        get::get_tool(),
        memory::context_tool(),
        search::related_tool(),
        memory::graph_tool(),
        memory::fact_tool(),
        memory::entry_tool(),
        memory::status_tool(),
        get::fetch_tool(),
        memory::memory_tool(),
    ]
});

/// The tools that are of use to a principal: a memory of its own is an agent's alone.
pub(super) fn of(principal: &Principal) -> impl Iterator<Item = &'static ToolEntry> {
    let is_agent = matches!(principal, Principal::Agent(_));
    TOOLS.iter().filter(move |entry| is_agent || entry.tool.name != "memory")
}

/// The tool with a name.
pub(super) fn named(name: &str) -> Option<&'static ToolEntry> {
    TOOLS.iter().find(|entry| entry.tool.name == name)
}

/// Whether a call of a tool may be made again when nobody knows what became of the first.
pub(crate) fn changes_nothing(tool: &str, arguments: &Value) -> bool {
    named(tool).is_some_and(|entry| entry.changes_nothing(arguments))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::base::config::StemmerLanguage;
    use crate::text::derive::stop_words;
    use crate::text::derive::words::{Stemming, plain_words};

    /// Maximum length of all tools in a conversation: 2,200 tokens, of 4.1 characters each by the tokenizer o200k, which `tests/mcp` asks.
    const CHARACTERS: usize = 9000;

    /// Whether every field of a schema says what it is, and nothing is left to be looked up.
    fn check(tool: &str, schema: &Value) {
        if let Some(fields) = schema["properties"].as_object() {
            for (name, field) in fields {
                let is_said = field["description"].is_string() || field["oneOf"].is_array() || field["enum"].is_array();
                assert!(is_said, "{tool}: {name}: {field}");
                check(tool, field);
                check(tool, &field["items"]);
            }
        }
    }

    fn listed() -> impl Iterator<Item = Value> {
        TOOLS.iter().map(|entry| serde_json::to_value(&entry.tool).unwrap())
    }

    #[test]
    fn every_tool_is_described_in_full() {
        for tool in listed() {
            let name = tool["name"].as_str().unwrap();
            assert!(tool["description"].as_str().is_some_and(|text| text.len() > 80), "{tool}");
            assert!(tool["inputSchema"]["additionalProperties"] == false, "{name}: {}", tool["inputSchema"]);
            assert!(!tool.to_string().contains("$ref") && !tool.to_string().contains("\"null\""), "{tool}");
            assert_eq!(tool["inputSchema"]["type"], "object", "{name}: {}", tool["inputSchema"]);
            check(name, &tool["inputSchema"]);
            // What is not said is what the protocol takes it for: no reading alone, nothing destroyed is said for the others.
            let hints = &tool["annotations"];
            assert_eq!(hints["readOnlyHint"] == true, hints["destructiveHint"].is_null(), "{name}: {hints}");
            assert_eq!(hints["openWorldHint"], false, "{name}: {hints}");
            // Who lets a tool go on unasked lets all of its actions.
            let writes = ["fact", "entry", "memory"].contains(&name);
            assert_eq!(hints["readOnlyHint"] == true, !writes, "{name}: {hints}");
        }
    }

    #[test]
    fn all_tools_together_take_little_of_a_conversation() {
        let all = serde_json::to_string(&listed().collect::<Vec<_>>()).unwrap();
        assert!(TOOLS.len() <= 10 && all.len() <= CHARACTERS, "{} characters: {all}", all.len());
    }

    /// The words of a text that say something, as stems.
    fn stems(text: &str, stemming: &mut Stemming) -> BTreeSet<String> {
        let words = plain_words(text, false);
        let telling = stop_words::without(&words.iter().collect::<Vec<_>>(), StemmerLanguage::English);
        telling.into_iter().map(|word| stemming.stem(word).to_owned()).collect()
    }

    /// The tasks in `docs/mcp.md`: by the words of its description, each is nearest to the tool that it takes.
    #[test]
    fn a_task_leads_to_its_tool() {
        let mut stemming = Stemming::new(StemmerLanguage::English);
        let said: Vec<(String, BTreeSet<String>)> = listed()
            .map(|tool| {
                let text = ["name", "title", "description"].map(|key| tool[key].as_str().unwrap()).join(" ");
                (tool["name"].as_str().unwrap().to_owned(), stems(&text, &mut stemming))
            })
            .collect();
        // A word counts the less the more tools say it, and a long description does not win by its length.
        let score = |task: &BTreeSet<String>, words: &BTreeSet<String>| -> f64 {
            let worth = |word: &String| {
                let tools = said.iter().filter(|(_, words)| words.contains(word)).count() as f64;
                (1.0 + (said.len() as f64 - tools + 0.5) / (tools + 0.5)).ln()
            };
            task.intersection(words).map(worth).sum::<f64>() / (1.0 + words.len() as f64 / 100.0)
        };
        let page = include_str!("../../../docs/mcp.md");
        let rows: Vec<(&str, &str)> = page
            .lines()
            .skip_while(|line| *line != "| asked | the tool |")
            .skip(2)
            .map_while(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "))
            .collect();
        assert_eq!(rows.len(), 20, "{rows:?}");
        let mut wrong = Vec::new();
        for (task, taken) in rows {
            let mut taken = taken.trim_matches('`').split("` `");
            let (right, action) = (taken.next().unwrap(), taken.next());
            if let Some(action) = action {
                assert!(named(right).unwrap().tool.input_schema["properties"]["action"].to_string().contains(action));
            }
            let words = stems(task, &mut stemming);
            let mut ranked: Vec<(f64, &str)> =
                said.iter().map(|(name, said)| (score(&words, said), name.as_str())).collect();
            ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
            if ranked[0].1 != right || ranked[0].0 == ranked[1].0 {
                wrong.push(format!("{task}: {right}, not {:?}", &ranked[..3]));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
