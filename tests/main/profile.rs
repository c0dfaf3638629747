//! The profile of the person, from outside.

use crate::entries::read as text;
use crate::support::prelude::*;

/// Points between what is worked out and the file.
pub const POINTS: [&str; 2] = ["profile-made", "user-page-made"];

fn vault(config: &str) -> Daemon {
    Daemon::with_config(&format!("[embed]\nmodel = \"none\"\n[memory]\n{config}"))
}

fn put(vault: &Daemon, body: &Value) -> Reply {
    vault.ask(Request::send("PUT", "/api/profile/user", body))
}

fn entries(of: std::ops::Range<usize>) -> String {
    of.map(|at| format!("- [preference] Likes dish number {at} ^e-{at}\n")).collect()
}

#[test]
fn the_profile_is_made_of_the_persons_word_and_made_again_when_enough_is_new() {
    let mut vault = vault("")
        .with("memories/user.md", entries(0..1) + "- [fact] Won a lottery (trust web) ^e-w\n")
        .with("facts.md", "# Facts\n\n## Profile\n\n- city: Wien\n")
        .with("profile/overrides.md", "- Mine.\n")
        .settled();
    let has = |vault: &Daemon, word: &str| {
        until(word, || text(vault, "profile/profile.md").contains(word));
    };
    has(&vault, "Likes dish number 0. ^[memories/user.md#^e-0]");
    let first = text(&vault, "profile/profile.md");
    assert!(
        first.contains("city: Wien. ^[facts.md#L5]") && first.contains("version: 1") && !first.contains("lottery"),
        "{first}"
    );
    vault.write("memories/user.md", entries(0..10)).settle();
    let state = vault.get("/api/profile").json()["state"].clone();
    assert_eq!(
        (&state["new"], &state["version"], &state["outdated"]),
        (&json!(9), &json!(1), &json!(false)),
        "{state}"
    );
    vault.write("memories/user.md", entries(0..11)).settle();
    has(&vault, "Likes dish number 10");
    assert!(text(&vault, "profile/profile.md").contains("version: 2"));
    // What is gone is gone at once.
    vault.write("memories/user.md", entries(1..11)).settle();
    until("it to go", || !text(&vault, "profile/profile.md").contains("number 0"));
    assert_eq!(text(&vault, "profile/overrides.md"), "- Mine.\n");
    let checkpoints = vault.run(&["undo", "--list", "profile/profile.md", "--json"]).ok().json();
    assert!(checkpoints["checkpoints"].as_array().is_some_and(|all| all.len() >= 2), "{checkpoints}");
    // One that a person has edited is theirs.
    let edited = text(&vault, "profile/profile.md") + "\n- Loves rain.\n";
    vault.write("profile/profile.md", &edited).write("memories/user.md", entries(0..30)).settle();
    assert_eq!(vault.post("/api/profile/regenerate", &json!({})).status, 409);
    assert_eq!(text(&vault, "profile/profile.md"), edited);
    assert!(vault.run(&["memory", "profile"]).ok().stderr.contains("you edited"));
}

#[test]
fn who_the_person_is_is_written_only_as_they_let_it_be() {
    let mut vault =
        vault("").with("USER.md", "---\n# mine\nname: Old # as ever\nshoe_size: 39\n---\n\nI walk a lot.\n").settled();
    let set =
        put(&vault, &json!({ "name": "Maya", "timezone": "Europe/Vienna", "latitude": 48.20817, "longitude": -16.37 }));
    assert_eq!(set.status, 200, "{}", set.json());
    let written = text(&vault, "USER.md");
    for kept in [
        "# mine", "shoe_size: 39", "I walk a lot.", "name: Maya", "timezone: Europe/Vienna", "latitude: 48.2\n",
        "longitude: -16.4\n", "location_updated_at: ",
    ] {
        assert!(written.contains(kept), "{kept}: {written}");
    }
    let shown = vault.get("/api/profile").json();
    assert_eq!((&shown["user"]["name"], &shown["user"]["text"]), (&json!("Maya"), &json!("I walk a lot.")));
    vault.run(&["memory", "profile", "set", "--place", "Wien", "--timezone", ""]).ok();
    let written = text(&vault, "USER.md");
    assert!(
        written.contains("location_place: Wien") && !written.contains("timezone") && written.contains("I walk a lot."),
        "{written}"
    );
    vault.run(&["undo", set.json()["checkpoint_id"].as_str().unwrap(), "--force"]);
    for bad in [json!({}), json!({ "timezone": "Mars" }), json!({ "latitude": 91 }), json!({ "name": "a\nb" })] {
        assert_eq!(put(&vault, &bad).status, 400, "{bad}");
    }
    let before = text(&vault, "USER.md");
    vault.terminate();
    vault.write("memory.toml", "[embed]\nmodel = \"none\"\n[memory]\nuser_profile_write_mode = \"off\"\n");
    vault.start().settle();
    assert_eq!((put(&vault, &json!({ "name": "X" })).status, text(&vault, "USER.md")), (403, before));
}

#[test]
fn two_who_write_at_once_lose_nothing() {
    let vault = vault("").settled();
    std::thread::scope(|scope| {
        for (field, value) in [("name", "Maya"), ("timezone", "Asia/Tokyo"), ("location_place", "Wien")] {
            let vault = &vault;
            scope.spawn(move || assert_eq!(put(vault, &json!({ field: value })).status, 200));
        }
    });
    let written = text(&vault, "USER.md");
    assert!(
        ["name: Maya", "timezone: Asia/Tokyo", "location_place: Wien"].iter().all(|said| written.contains(said)),
        "{written}"
    );
}

#[test]
fn a_kill_before_the_profile_is_written_leaves_the_one_that_was() {
    let mut vault = vault("").with("memories/user.md", entries(0..1));
    vault.dies_at("profile-made:1");
    assert_eq!(text(&vault, "profile/profile.md"), "");
    vault.start().settle();
    until("the profile", || text(&vault, "profile/profile.md").contains("dish number 0"));
    assert!(text(&vault, "profile/profile.md").contains("version: 1"));
    vault.terminate();
    vault.launch(Some("user-page-made:1"));
    let request = Request::send("PUT", "/api/profile/user", &json!({ "name": "Maya" }));
    vault.dies_of(request);
    assert_eq!(text(&vault, "USER.md"), "");
}
