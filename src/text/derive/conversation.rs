//! The one reader of conversations: their turns, and what of them somebody said. What a program put among them, as what a model was told, tools
//! answered or was recalled, and what a model thought, is said by nobody: nothing is derived of that, or it would be learned anew each time it is
//! recalled. A thought may go on from one turn to the next: an answer is streamed and kept in parts, or is broken off by a tool, and some models begin
//! to think without a tag. Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::chunk::turn_start;
use super::code::code_at;
use super::words::{fold, is_the_person};
use crate::base::fence::RECALLED;
use crate::text::note::code;

/// By which names the person goes in conversations, beside those that models use. Folded.
const PERSON: &str = "human you me person owner ich yo moi 我 用户 ユーザー я";

/// Whether a speaker is the person, who goes by some `names` besides.
fn is_person(speaker: &str, names: &[String]) -> bool {
    let speaker = fold(speaker.trim());
    is_the_person(&speaker)
        || PERSON.split(' ').any(|name| name == speaker)
        || names.iter().any(|name| fold(name.trim()) == speaker)
}

/// A turn of a conversation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn<'t> {
    /// The speaker's name, or role.
    pub(crate) speaker: &'t str,
    /// Whether that is the person, who thinks between no tags.
    is_person: bool,
    /// The day, `2026-01-05`, where the turn says it.
    pub(crate) date: Option<&'t str>,
    /// The time of the day, `18:32`.
    pub(crate) time: &'t str,
    /// Its first line, and the last that is not blank, from 1.
    pub(crate) lines: (usize, usize),
    /// What it begins with: `**18:32 · Maya:**`.
    mark: &'t str,
    /// Its lines as they are written, without that and the marks of quotes.
    written: Vec<Cow<'t, str>>,
    /// What somebody said of them, each with the number of its line; nothing of a turn that a program made.
    pub(crate) said: Vec<(usize, String)>,
}

/// The turns of a text, in its order. `shown` gives what is seen of a part of it. The person goes by `names`, too.
pub(crate) fn turns<'t>(
    text: &'t str,
    names: &[String],
    shown: &dyn Fn(Range<usize>) -> Cow<'t, str>,
) -> Vec<Turn<'t>> {
    let (mut turns, mut at) = (Vec::<Turn<'t>>::new(), 0);
    for (number, whole) in (1..).zip(text.split_inclusive('\n')) {
        let line = whole.lines().next().unwrap_or_default();
        let span = at..at + line.len();
        at += whole.len();
        if let Some(begun) = turn_start(line) {
            let mark = &line[..line.len() - begun.rest.len()];
            turns.push(Turn {
                speaker: begun.speaker,
                is_person: is_person(begun.speaker, names),
                date: begun.date,
                time: begun.time,
                lines: (number, number),
                mark,
                written: vec![shown(span.start + mark.len()..span.end)],
                said: Vec::new(),
            });
        } else if let Some(turn) = turns.last_mut() {
            turn.written.push(match shown(span) {
                Cow::Borrowed(line) => unquoted(line).into(),
                Cow::Owned(line) => unquoted(&line).to_owned().into(),
            });
            if !line.trim().is_empty() {
                turn.lines.1 = number;
            }
        }
    }
    let tags = tags_at_begin(&turns);
    for (turn, tag) in turns.iter_mut().zip(tags).filter(|(turn, _)| !is_machine(turn.speaker)) {
        let said = said_lines(tag, turn.written.iter().map(AsRef::as_ref));
        turn.said = said.into_iter().map(|(at, left)| (turn.lines.0 + at, left)).collect();
    }
    turns
}

/// A line without the mark of a quote.
fn unquoted(line: &str) -> &str {
    line.strip_prefix('>').map_or(line, |rest| rest.strip_prefix(' ').unwrap_or(rest))
}

/// What is left of the lines out of which something is taken, by their numbers from 1; nothing where all of a line goes.
pub(crate) fn lines_with_machinery(source: &str, names: &[String]) -> BTreeMap<usize, String> {
    let mut changed = BTreeMap::new();
    for turn in turns(source, names, &|span| source[span].into()).into_iter().filter(|turn| !is_machine(turn.speaker)) {
        let (first, mut said) = (turn.lines.0, turn.said.into_iter().collect::<BTreeMap<_, _>>());
        for (number, line) in (first..).zip(&turn.written) {
            let left = said.remove(&number).unwrap_or_default();
            if left.trim() != line.trim() {
                let mark = if number == first && !left.trim().is_empty() { turn.mark } else { "" };
                changed.insert(number, format!("{mark}{left}"));
            }
        }
    }
    changed
}

/// For each of some turns that follow each other, a speaker and a text each, whether a model thought all of it, between tags that are in others.
pub(crate) fn turns_of_thought(turns: &[(&str, &str)]) -> Vec<bool> {
    let turns: Vec<Turn<'_>> = turns.iter().map(|(speaker, text)| Turn::of(speaker, text)).collect();
    let tags = tags_at_begin(&turns);
    turns.iter().zip(tags).map(|(turn, tag)| tag.is_some() && turn.tags().iter().all(|tag| !tag.is_close)).collect()
}

/// A tag of what is thought: which of [`THOUGHTS`], and whether it closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ThoughtTag {
    number: usize,
    is_close: bool,
}

impl<'t> Turn<'t> {
    /// Of what somebody said alone.
    fn of(speaker: &'t str, text: &'t str) -> Self {
        let written = text.lines().map(Cow::from).collect();
        Self { speaker, is_person: is_person(speaker, &[]), written, ..Self::default() }
    }

    /// Its tags of what is thought, in their order. What stands in code is somebody's words.
    fn tags(&self) -> Vec<ThoughtTag> {
        static TAG: LazyLock<Regex> = LazyLock::new(|| {
            let pattern = format!(r"<(/?)({})[a-z0-9_:-]*(?:[>/ \n]|\z)", THOUGHTS.join("|"));
            Regex::new(&pattern).expect("a test uses it")
        });
        if !self.written.iter().any(|line| line.contains('<')) {
            return Vec::new();
        }
        let text = self.written.join("\n").to_ascii_lowercase();
        let code = code(&text);
        let said = TAG.captures_iter(&text).filter(|tag| code_at(&code, tag.get_match().start()).is_none());
        let tag_of = |tag: Captures<'_>| {
            let number = THOUGHTS.iter().position(|name| *name == &tag[2])?;
            Some(ThoughtTag { number, is_close: !tag[1].is_empty() })
        };
        said.filter_map(tag_of).collect()
    }
}

/// For each turn of a conversation the tag between which it begins, where one before has left it open and a later one of the same speaker
/// closes it, or none has opened it. What tools say in between does not count.
fn tags_at_begin(turns: &[Turn<'_>]) -> Vec<Option<&'static str>> {
    let mut begins: Vec<Option<usize>> = vec![None; turns.len()];
    // The tag that is open, and the turns since: they are in it if one of them closes it.
    let (mut open, mut since, mut speaker) = (None, Vec::new(), "");
    for (at, turn) in turns.iter().enumerate().filter(|(_, turn)| !is_machine(turn.speaker)) {
        if turn.speaker != speaker {
            (speaker, open) = (turn.speaker, None);
            since.clear();
        }
        if turn.is_person {
            continue;
        }
        let tags = turn.tags();
        if let Some(number) = open {
            since.push(at);
            if tags.contains(&ThoughtTag { number, is_close: true }) {
                since.drain(..).for_each(|later| begins[later] = open);
                open = None;
            }
        }
        begins[at] = begins[at].or_else(|| tags.first().filter(|tag| tag.is_close).map(|tag| tag.number));
        let left = tags.iter().fold(begins[at], |open, tag| match open {
            None => Some(tag.number).filter(|_| !tag.is_close),
            Some(number) => Some(number).filter(|_| !(tag.is_close && tag.number == number)),
        });
        open = open.or(left);
    }
    begins.into_iter().map(|begin| begin.map(|number| THOUGHTS[number])).collect()
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Voice {
    /// An assistant, or somebody of whom nothing is known.
    Agent,
    /// The person whose memory it is.
    Person,
}

/// A turn, without what is no speech.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpokenTurn {
    /// Who speaks.
    pub(crate) voice: Voice,
    /// When, as the conversation says it.
    pub(crate) when: String,
    /// Its lines that have text.
    pub(crate) lines: Vec<SpokenLine>,
}

/// A line of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpokenLine {
    /// Its number in the file, from 1.
    pub(crate) number: usize,
    /// Its text, without the marks of turns and quotes.
    pub(crate) text: String,
}

/// The turns of a conversation that somebody spoke, without marks of capture. `names` are the person's.
pub(crate) fn read_turns(text: &str, names: &[String]) -> Vec<SpokenTurn> {
    let spoken = turns(text, names, &|span| text[span].into()).into_iter().map(|turn| {
        let lines = turn.said.into_iter().map(|(number, text)| SpokenLine { number, text: plain_line(&text) });
        SpokenTurn {
            voice: if turn.is_person { Voice::Person } else { Voice::Agent },
            when: turn.date.map_or_else(String::new, |date| format!("{date} ")) + turn.time,
            lines: lines.filter(|line| !line.text.is_empty()).collect(),
        }
    });
    spoken.filter(|turn| !turn.lines.is_empty()).collect()
}

/// A line without marks of capture, in which nothing ends a line that does not do so here.
fn plain_line(text: &str) -> String {
    let plain = |character: char| match character {
        '\u{2028}' | '\u{2029}' | '\u{85}' => ' ',
        other if other.is_control() => ' ',
        other => other,
    };
    let text: String = text.trim().chars().map(plain).collect();
    text.replace("\\#", "#").replace("%\\%", "%%").replace("<\\!--", "<!--")
}

/// Tells the same turns again, wherever in the file they stand.
pub(crate) fn turns_digest(turns: &[SpokenTurn]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    for turn in turns {
        hasher.update(&[turn.voice as u8]);
        for line in &turn.lines {
            hasher.update(&(line.text.len() as u64).to_le_bytes()).update(line.text.as_bytes());
        }
    }
    let mut digest = [0; 16];
    hasher.finalize_xof().fill(&mut digest);
    digest
}

/// Speakers that are no one: roles of the interfaces of chat models, and what programs call themselves. Folded.
const MACHINES: [&str; 9] =
    ["system", "developer", "tool", "tools", "function", "ipython", "environment", "hook", "cron"];

/// The beginnings of names of tags between which a model thinks.
const THOUGHTS: [&str; 4] = ["think", "reasoning", "analysis", "scratchpad"];
/// The beginnings of names of other tags between which stands what nobody said.
const TAGS: [&str; 14] = [
    "memory", "memories", "recalled", "relevant-memor", "relevant_memor", "retrieved", "vault", "context", "system",
    "tool_", "tool-", "function_", "injected", "antml",
];

/// A turn that begins so was made by a program. Folded.
const HOUSEKEEPING: [&str; 10] = [
    "pre-compaction memory flush",
    "session nearing compaction",
    "store durable memories",
    "write any lasting notes to memory",
    "read heartbeat.md",
    "heartbeat:",
    "heartbeat_ok",
    "[cron:",
    "this session is being continued from a previous conversation",
    "caveat: the messages below were generated by the user while running local commands",
];

/// A line that says nothing else than this says nothing. Folded.
const SILENCE: [&str; 4] = ["no_reply", "heartbeat_ok", "heartbeat", "[[reply_to_current]]"];
/// Longer than any of them, in bytes.
const MOST_SILENCE_BYTES: usize = 40;

/// Marks of programs within what is said.
const MARKS: [&str; 2] = ["[[reply_to_current]]", "NO_REPLY"];

/// Whether a speaker is a program: a system prompt, the output of a tool.
pub(crate) fn is_machine(speaker: &str) -> bool {
    let speaker = fold(speaker.trim());
    let goes_on = |rest: &str| rest.starts_with(char::is_alphanumeric);
    MACHINES.iter().any(|machine| speaker.strip_prefix(machine).is_some_and(|rest| !goes_on(rest)))
}

/// Stands where something was taken out.
const TAKEN: &str = "\0";

/// The lines of a turn that somebody said, each with its place among all, from 0, and what is left of it: without what stands between tags
/// or fences, and the like. What is opened and never closed goes on to the end; the turn itself may begin between tags of the name `tag`,
/// which were opened before. None of a turn that a program made.
fn said_lines<'t>(tag: Option<&str>, lines: impl IntoIterator<Item = &'t str>) -> Vec<(usize, String)> {
    let mut text = tag.map(|name| format!("<{name}>")).unwrap_or_default();
    let mut open_fence = None;
    for (at, line) in lines.into_iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        let fence = fence_of(line);
        text.push_str(if open_fence.or(fence).is_some() { TAKEN } else { line });
        open_fence = match open_fence {
            None => fence,
            open => open.filter(|_| fence != open),
        };
    }
    let taken = |found: &Captures<'_>| vec![TAKEN; found[0].split('\n').count()].join("\n");
    let left = |(at, line): (usize, &str)| {
        let said = clean(line.replace(TAKEN, ""));
        (line.trim().is_empty() || !said.trim().is_empty()).then_some((at, said))
    };
    for pattern in MACHINERY.iter() {
        text = pattern.replace_all(&text, taken).into_owned();
    }
    let left: Vec<_> = text.split('\n').enumerate().filter_map(left).collect();
    let first =
        left.iter().map(|(_, text)| text.trim_start_matches(['*', '_', '#', ' ', '\t'])).find(|text| !text.is_empty());
    let is_speech = first.is_some_and(|first| !is_housekeeping(first));
    if is_speech { left } else { Vec::new() }
}

/// What programs put between what is said: a line that tells of recalled memory; one that says something of a message, with the lines or the block of
/// code below it; then what stands between tags. The first are looked for by themselves, from where a line begins: beside them each tag would cost the
/// rest of its line.
static MACHINERY: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    let code = r"```(?s:.*?)(?:\n[^\S\n]*```[^\n]*|\z)";
    let block = format!(r"(?:\n[^\S\n]*[^\s`][^\n]*)*(?:\n[^\S\n]*(?:{code}|$))?");
    let recalled = regex::escape(RECALLED);
    let lines = format!(r"(?m)^[^\n]*(?:{recalled}[^\n]*|\(untrusted metadata\)[^\n]*{block})");
    let mut parts = Vec::new();
    for name in THOUGHTS.iter().chain(&TAGS) {
        let begin = format!("(?i-u:<{name}[a-z0-9_:-]*)");
        parts.push(format!(r"{begin}(?:[/\s][^>\n]*)?/>"));
        parts.push(format!(r"{begin}(?:[>/\s]|\z)(?s:.*?)(?:(?i-u:</{name})[^>\n]*>?|\z)"));
    }
    [lines, parts.join("|")].map(|pattern| Regex::new(&pattern).expect("a test uses it"))
});

/// What is left of a text when what programs put into it is taken out; empty where that was all.
pub(crate) fn said_text(text: &str) -> String {
    said_lines(None, text.lines()).into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n")
}

/// The same, as it was written where programs put nothing into it.
pub(crate) fn without_machinery(text: &str) -> Cow<'_, str> {
    let said = said_text(text);
    match said.split_whitespace().eq(text.split_whitespace()) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(said.trim().to_owned()),
    }
}

/// Whether a turn of this text was made by a program: it begins as those do.
pub(crate) fn is_housekeeping(text: &str) -> bool {
    let first = text.trim_start_matches(['*', '_', '#', ' ', '\t', '\n', '\r']);
    let beginning = fold(&first[..first.floor_char_boundary(first.len().min(200))]);
    HOUSEKEEPING.iter().any(|begin| beginning.starts_with(begin))
}

/// Whether a line says nothing but that nothing is said.
pub(crate) fn is_silence(line: &str) -> bool {
    let line = line.trim_start();
    line.len() < MOST_SILENCE_BYTES && SILENCE.contains(&fold(line).trim_matches(['.', '*', '`', ' ']))
}

fn clean(mut said: String) -> String {
    for mark in MARKS.into_iter().filter(|mark| said.contains(mark)).collect::<Vec<_>>() {
        said = said.replace(mark, "");
    }
    said.truncate(said.trim_end().len());
    let line = said.trim_start();
    let is_record = line.starts_with('{') && line.ends_with('}') && line.contains("\"type\"");
    if is_record || is_silence(line) { String::new() } else { said }
}

/// The fence that a line is, of a block that was given to a model as data.
fn fence_of(line: &str) -> Option<&str> {
    let line = line.trim();
    let inner = line.strip_prefix("=== ")?.strip_suffix(" ===")?;
    ((16..=64).contains(&inner.len()) && inner.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begins(turns: &[(&str, &str)]) -> Vec<bool> {
        let turns = turns.iter().map(|(speaker, text)| Turn::of(speaker, text));
        tags_at_begin(&turns.collect::<Vec<_>>()).iter().map(Option::is_some).collect()
    }

    #[test]
    fn a_thought_goes_on_until_its_speaker_closes_it() {
        for (turns, within) in [
            (
                &[("bot", "<think>a"), ("bot", "b"), ("bot", "c</think> d"), ("bot", "e")][..],
                &[false, true, true, false][..],
            ),
            (&[("bot", "<think>a"), ("tool", "b"), ("bot", "c</think> d")], &[false, false, true]),
            (&[("bot", "<think>a"), ("user", "b"), ("bot", "c")], &[false, false, false]),
            (&[("bot", "<think>a"), ("bot", "b"), ("bot", "c")], &[false, false, false]),
            (&[("bot", "<thinking>a"), ("bot", "b</thinking>")], &[false, true]),
            (&[("bot", "a\n</think>\nb")], &[true]),
            (&[("user", "a\n</think>\nb")], &[false]),
            (&[("bot", "Close it with `</think>`, as models do.")], &[false]),
            (&[("bot", "```\n</think>\n```\nb")], &[false]),
            (&[("bot", "~~~xml\n</think>\n~~~\nb")], &[false]),
            (
                &[
                    ("bot", "They open with ``<think>`` first."),
                    ("bot", "b"),
                    ("bot", "and end with ``</think>`` last."),
                ],
                &[false, false, false],
            ),
            (&[("bot", "<think>a</think> b </think>")], &[false]),
            (
                &[("bot", "Models write `<think>` first."), ("bot", "b"), ("bot", "and </think> last")],
                &[false, false, true],
            ),
            (
                &[("bot", "x <think>a"), ("bot", "b</think>"), ("bot", "<think>c"), ("bot", "d")],
                &[false, true, false, false],
            ),
        ] {
            assert_eq!(begins(turns), within, "{turns:?}");
        }
    }

    #[test]
    fn very_many_thoughts_that_are_never_closed_cost_no_more_than_other_turns() {
        let turns: Vec<(&str, &str)> = (0..50_000).map(|_| ("bot", "<think>a")).collect();
        let since = std::time::Instant::now();
        assert!(begins(&turns).iter().all(|within| !within));
        assert!(since.elapsed().as_secs() < 5);
    }

    #[test]
    fn what_is_left_of_a_line_is_told_whatever_opened_it() {
        let talk = "---\ntitle: x\n---\n\n**18:32 · bot:**\n> <think>a\n>\n> b\n> c</think>Yes\n\n**18:33 · user:** Is it?\n\
            **18:34 · bot:** <think>d</think> It is.\n**18:35 · bot:** and\n**18:36 · bot:** e</think> more\n";
        let left = lines_with_machinery(talk, &[]);
        let told: Vec<(usize, &str)> = left.iter().map(|(line, left)| (*line, left.as_str())).collect();
        assert_eq!(
            told,
            [(6, ""), (8, ""), (9, "Yes"), (12, "**18:34 · bot:**  It is."), (14, "**18:36 · bot:** more")]
        );
        let turns =
            [("assistant", "<think>a"), ("assistant", "b"), ("tool", "c"), ("assistant", "d</think> e"), ("user", "f")];
        assert_eq!(turns_of_thought(&turns), [false, true, false, false, false]);
        assert_eq!(turns_of_thought(&turns[..3]), [false; 3], "nobody closes it");
        assert!(lines_with_machinery("# A note\n\n<think>x</think>\n", &[]).is_empty());
    }

    fn read(text: &str) -> Vec<(Voice, String)> {
        let said = |turn: SpokenTurn| {
            let lines: Vec<String> = turn.lines.iter().map(|line| format!("{} {}", line.number, line.text)).collect();
            (turn.voice, lines.join(" | "))
        };
        read_turns(text, &["Ada Lovelace".into()]).into_iter().map(said).collect()
    }

    #[test]
    fn turns_are_read_with_their_lines_and_voices() {
        let text = "---\ntitle: x\n---\n\n**18:32 · user:** I moved.\n\n**18:33 · Helper:**\n> # Good\n>\n> \\#tag\n**2026-01-05 18:34 · Tool:** 4711\n\
            **18:35 · ada lovélace:** Yes\n**18:36 · system prompt:** Be nice\n> and good\n**18:37 · toolbox:** hi";
        assert_eq!(
            read(text),
            [
                (Voice::Person, "5 I moved.".to_owned()),
                (Voice::Agent, "8 # Good | 10 #tag".to_owned()),
                (Voice::Person, "12 Yes".to_owned()),
                (Voice::Agent, "15 hi".to_owned()),
            ]
        );
        assert!(read("no turns\nat all").is_empty());
        assert_eq!(read("**18:32 · user:** a\u{2028}13 person: b")[0].1, "1 a 13 person: b");
    }

    #[test]
    fn what_was_thought_over_several_turns_is_not_said() {
        let text = "**18:32 · bot:** <think>I like emus.\n**18:33 · bot:** And dingos.\n**18:34 · bot:** So.</think> Hello\n\
            **18:35 · user:** Hi\n**18:36 · bot:**\n> I like koalas.\n> </think>\n>\n> Yes";
        let said: Vec<String> = read(text).into_iter().map(|(_, said)| said).collect();
        assert_eq!(said, ["3 Hello", "4 Hi", "9 Yes"]);
    }

    #[test]
    fn the_same_turns_have_the_same_digest_wherever_they_stand() {
        let digest = |text: &str| turns_digest(&read_turns(text, &[]));
        let one = digest("**18:32 · user:** a\n**18:33 · x:** b\n");
        assert_eq!(one, digest("# Title\n\n**18:32 · user:** a\n\n**18:33 · x:**\n> b\n> <think>c</think>\n"));
        assert_ne!(one, digest("**18:32 · user:** a\n**18:33 · user:** b\n"));
        assert_ne!(one, digest("**18:32 · user:** a\n"));
    }
}

#[cfg(test)]
mod tests_of_machinery {
    use super::*;

    fn left(text: &str) -> Option<String> {
        let lines: Vec<String> = said_lines(None, text.lines()).into_iter().map(|(_, text)| text).collect();
        (!lines.is_empty()).then(|| lines.join("|"))
    }

    #[test]
    fn what_was_injected_or_thought_is_not_said() {
        for (text, said) in [
            ("<recalled_context>\nLikes tea\n\n</recalled_context>\nWhat about milk?", Some("What about milk?")),
            ("Yes <think>he lies</think>of course", Some("Yes of course")),
            ("<think>\nLikes rum", None),
            ("<THINK>a</think><system-reminder>b</system-reminder>c", Some("c")),
            ("a <memory id=\"3\">I like soup</memory> b", Some("a  b")),
            ("a <recalled_context>never closed", Some("a")),
            (
                "=== 0123456789abcdef0123456789abcdef ===\nsecret\n=== 0123456789abcdef0123456789abcdef ===\nafter",
                Some("after"),
            ),
            ("=== 0123456789abcdef0123456789abcdef ===\nnever closed", None),
            ("Conversation info (untrusted metadata):\n```json\n{\"a\": 1}\n```\nHello", Some("Hello")),
            ("Sender (untrusted metadata): x\n\nHello", Some("Hello")),
            ("{\"type\":\"tool_use\",\"id\":1}\nHello", Some("Hello")),
            ("NO_REPLY", None),
            ("heartbeat_ok", None),
            ("[[reply_to_current]] Sure", Some(" Sure")),
            ("**Pre-compaction memory flush.** Store durable memories only in memory/x.md", None),
            ("\nRead HEARTBEAT.md if it is there", None),
            ("a <context/> b", Some("a  b")),
            ("I love <memorable> things and 3 < 4", Some("I love <memorable> things and 3 < 4")),
            ("x < y and <b>bold</b>", Some("x < y and <b>bold</b>")),
            ("<https://example.org/context>", Some("<https://example.org/context>")),
            ("=== title ===\n\n  Text", Some("=== title ===||  Text")),
            ("<memory", None),
            ("", None),
        ] {
            assert_eq!(left(text).as_deref(), said, "{text}");
        }
    }

    #[test]
    fn what_this_program_recalled_is_not_learned_from() {
        let recalled = crate::base::fence::recalled("Likes rum (notes/a.md#L3)\n");
        assert_eq!(left(&format!("{recalled}Really?")).as_deref(), Some("Really?"));
    }

    #[test]
    fn any_line_is_read() {
        for text in
            ["<", "</", "<think", "<é", "é<think>é</think>é", "<think></think", "``` (untrusted metadata)", "İ<think>"]
        {
            let _ = left(text);
        }
        assert_eq!(left("é<think>é</think>é").as_deref(), Some("éé"));
        assert_eq!(left(&format!("{}x", "<think></think>".repeat(100_000))).as_deref(), Some("x"));
    }

    #[test]
    fn programs_are_no_speakers() {
        for name in ["system", " Tool ", "tool: bash", "Tool_result", "tools", "hook", "cron", "system prompt"] {
            assert!(is_machine(name), "{name}");
        }
        for name in ["user", "Maya", "code agent", "toolbox"] {
            assert!(!is_machine(name), "{name}");
        }
    }
}
