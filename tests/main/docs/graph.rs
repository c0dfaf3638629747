//! `docs/graph.md`: what it shows is what the program says of the notes that it shows, and its questions have one answer in three ways.

use super::recorded::{assert_recorded, words};
use crate::support::prelude::*;

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/graph.md")).unwrap()
}

/// A vault with the notes of the page, each after its path.
fn vault(page: &str) -> Daemon {
    let mut vault = Daemon::with_config("[embed]\nmodel = \"none\"\n[agents]\nmax_results = 100\n");
    let parts: Vec<&str> = page.split("```markdown\n").collect();
    for pair in parts.windows(2) {
        let path = pair[0].trim_end().trim_end_matches("`:").rsplit('`').next().unwrap();
        vault.write(path, pair[1].split("```").next().unwrap());
    }
    assert_eq!(parts.len(), 5, "four notes");
    vault.write("agents/ada/agent.md", "---\ncan_read_user_memory: true\n---\n").start().settle();
    vault
}

#[test]
fn the_page_of_the_graph_shows_what_the_program_says_in_three_ways() {
    let page = page();
    let vault = vault(&page);
    // Five questions about the graph have one answer in three ways.
    let mut mcp = Mcp::start(&mut vault.command(&["mcp", "--agent", "ada"]));
    let rows: Vec<&str> = page.lines().filter(|line| line.contains("| `vault graph ")).collect();
    assert_eq!(rows.len(), 5, "around, along, as of, of a relation, of a type");
    for row in rows {
        let cells: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        let [command, query, call] = cells[..] else { panic!("{row}") };
        let words: Vec<String> = words(command).split_off(1);
        let args: Vec<&str> = words.iter().map(String::as_str).chain(["--json"]).collect();
        let by_command = vault.run(&args).ok().json();
        let by_http = vault.get(&format!("/api/graph?{query}")).json();
        let (tool, arguments) = call.split_once(' ').unwrap();
        let by_mcp: Value = mcp.tool(tool, serde_json::from_str(arguments).unwrap());
        assert!(!by_command["entities"].as_array().unwrap().is_empty(), "{row}");
        assert_eq!((&by_http, &by_mcp), (&by_command, &by_command), "{row}");
    }
    mcp.finish();
    // The page of the graph shows what the program says.
    assert_eq!(assert_recorded(&vault, &page), 8);
}
