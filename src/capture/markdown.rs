//! Events as Markdown. What is sent is text, and stays text: whatever it holds, it is one turn, or one line, and tags nothing.

use jiff::Zoned;
use jiff::civil::Date;

use super::event::{AgentActivityEvent, FileEvent, MessageEvent, SearchEvent};
use crate::note::{guarded, turn_block, untagged};

/// A turn: `**18:32 · Maya:** text`.
pub(super) fn turn(message: &MessageEvent, at: &Zoned, file_date: Date) -> String {
    turn_block(message.agent.as_ref().unwrap_or(&message.role), &message.text, at, file_date)
}

/// A line of a list: `- 09:12 · edited · …`.
pub(super) fn file_line(file: &FileEvent, at: &Zoned) -> String {
    let name = file.name.as_deref().filter(|name| file.path.rsplit(['/', '\\']).next() != Some(name));
    let parts = [
        Some(one_line(&file.action)),
        Some(code(&file.path)),
        name.map(one_line),
        file.file_type.as_deref().map(one_line),
        file.app.as_deref().map(one_line),
    ];
    line(at, parts)
}

/// A line of a list: `- 08:41 · web · "dough rise time" · 12 found`.
pub(super) fn search_line(search: &SearchEvent, at: &Zoned) -> String {
    let found = search.results.map(|results| format!("{results} found"));
    let query = format!("\"{}\"", one_line(&search.query));
    line(at, [search.place.as_deref().map(one_line), Some(query), found])
}

/// A line of a list: `- 14:05 · assistant · Compared three layouts`.
pub(super) fn activity_line(activity: &AgentActivityEvent, at: &Zoned) -> String {
    line(at, [Some(one_line(&activity.agent)), Some(one_line(&activity.summary))])
}

fn line(at: &Zoned, parts: impl IntoIterator<Item = Option<String>>) -> String {
    let parts: Vec<String> =
        std::iter::once(at.strftime("%H:%M").to_string()).chain(parts.into_iter().flatten()).collect();
    untagged(&format!("- {}", parts.join(" · ")), 0)
}

/// All on one line, and no comment.
fn one_line(text: &str) -> String {
    guarded(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// As code, whatever backticks it holds.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{}{pad}{fence}", guarded(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> Zoned {
        "2026-01-05T18:32:00+01:00[Europe/Berlin]".parse().unwrap()
    }

    fn said(text: &str) -> String {
        let message = MessageEvent {
            session: "s".into(),
            role: "user".into(),
            agent: Some("Ma*ya".into()),
            title: None,
            text: text.into(),
            id: None,
            time: None,
            skip_extraction: None,
        };
        turn(&message, &at(), at().date())
    }

    #[test]
    fn turns_as_people_write_them() {
        assert_eq!(said("I counted."), "**18:32 · Ma ya:** I counted.");
        assert_eq!(said("# Plan\n\n```\nx"), "**18:32 · Ma ya:**\n> # Plan\n>\n> ```\n> x");
        assert_eq!(said("100 %% <!-- <\\!-- %\\% %"), "**18:32 · Ma ya:** 100 %\\% <\\!-- <\\\\!-- %\\\\% %");
        // A tag would hide the whole conversation. Code has none.
        assert_eq!(said("a #private b"), "**18:32 · Ma ya:** a \\#private b");
        assert_eq!(said("#private\n`#a`"), "**18:32 · Ma ya:**\n> \\#private\n> `#a`");
        let other_day = "2026-01-04".parse().unwrap();
        let message = MessageEvent {
            session: "s".into(),
            role: "user".into(),
            agent: None,
            title: None,
            text: "x".into(),
            id: None,
            time: None,
            skip_extraction: None,
        };
        assert_eq!(turn(&message, &at(), other_day), "**2026-01-05 18:32 · user:** x");
    }

    #[test]
    fn a_line_an_event() {
        let file = FileEvent {
            name: Some("loans.ods".into()),
            path: "Documents/`loans`.ods".into(),
            file_type: None,
            action: "edited".into(),
            app: Some("Calc".into()),
            id: None,
            time: None,
        };
        assert_eq!(file_line(&file, &at()), "- 18:32 · edited · ``Documents/`loans`.ods`` · loans.ods · Calc");
        let search = SearchEvent {
            query: "git\nbring %%back".into(),
            place: Some("web".into()),
            results: Some(3),
            id: None,
            time: None,
        };
        assert_eq!(search_line(&search, &at()), "- 18:32 · web · \"git bring %\\%back\" · 3 found");
    }
}
