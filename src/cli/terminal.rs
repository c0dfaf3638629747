//! The way out: all that the program prints goes through here. A pipe gets the bytes as they are. A terminal gets nothing
//! that steers it, whoever wrote the note, the file's name or the argument that is shown: colours and links are the program's
//! own, and are handed over apart from the text.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::{Value, json};

use crate::access::request::{ErrorKind, RequestError};
use crate::index::sync::{Phase, Shared, SyncProgress};

pub(super) const TITLE: Style = AnsiColor::Cyan.on_default().bold();
pub(super) const MATCH: Style = AnsiColor::Yellow.on_default().bold();
pub(super) const DIM: Style = Style::new().dimmed();
pub(super) const PLAIN: Style = Style::new();
pub(super) const BAD: Style = AnsiColor::Red.on_default();

/// Prints a line on standard output.
macro_rules! say {
    ($($text:tt)*) => { $crate::cli::terminal::stdout().write_fmt(format_args!("{}\n", format_args!($($text)*))) };
}

/// Prints a line on standard error. Where nobody reads that, nothing can be done about it.
macro_rules! remark {
    ($($text:tt)*) => {{
        let line = format_args!("{}\n", format_args!($($text)*));
        let _ = std::io::Write::write_fmt(&mut $crate::cli::terminal::stderr(), line);
    }};
}

pub(super) use {remark, say};

pub(super) use crate::serve::mcp::count;

/// Whether the command is to answer in JSON.
static IN_JSON: AtomicBool = AtomicBool::new(false);

/// Has the command answer in JSON.
pub(super) fn answer_in_json() {
    IN_JSON.store(true, Ordering::Relaxed);
}

/// Whether the command answers in JSON.
pub(super) fn is_in_json() -> bool {
    IN_JSON.load(Ordering::Relaxed)
}

/// Whether JSON was printed.
static JSON_PRINTED: AtomicBool = AtomicBool::new(false);

/// Whether this process has printed JSON: there is one document for whoever reads it.
pub(super) fn has_printed_json() -> bool {
    JSON_PRINTED.load(Ordering::Relaxed)
}

/// The first failure to print, with which the command ends: it goes on until then, and prints nothing more.
static FAILURE: Mutex<Option<io::Error>> = Mutex::new(None);

/// What came of printing so far.
///
/// # Errors
/// When something could not be printed.
pub(super) fn printed() -> anyhow::Result<()> {
    Ok(FAILURE.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)?)
}

/// Standard output or standard error.
pub(super) struct Out {
    stream: Box<dyn Write + Send>,
    is_terminal: bool,
    /// Whether it shows colours and links.
    rich: bool,
    spelling: Spelling,
    /// The start of a character whose end has not come yet.
    rest: Vec<u8>,
}

/// How a terminal gets the characters that would steer it.
#[derive(Debug, Clone, Copy)]
enum Spelling {
    /// By their pictures.
    Text,
    /// As JSON escapes them, so that it stays the JSON it was.
    Json,
}

/// Standard output.
pub(super) fn stdout() -> Out {
    let stream = io::stdout();
    Out::new(stream.is_terminal(), Box::new(stream))
}

/// Writes out what standard output still holds. Where it cannot be written, nobody is left to be told.
pub(super) fn flush() {
    drop(io::stdout().flush());
}

/// Standard error.
pub(super) fn stderr() -> Out {
    let stream = io::stderr();
    Out::new(stream.is_terminal(), Box::new(stream))
}

/// Standard output for what is no text; none where that is a terminal.
pub(super) fn pipe() -> Option<impl Write> {
    let stream = io::stdout();
    (!stream.is_terminal()).then(|| stream.lock())
}

impl Out {
    /// A terminal shows colours and links, unless `NO_COLOR` is set.
    fn new(is_terminal: bool, stream: Box<dyn Write + Send>) -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self { stream, is_terminal, rich: is_terminal && wanted, spelling: Spelling::Text, rest: Vec::new() }
    }

    /// For lines that are JSON.
    pub(super) fn for_json(self) -> Self {
        Self { spelling: Spelling::Json, ..self }
    }

    pub(super) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Prints by this, where all before could be printed.
    fn print(&mut self, print: impl FnOnce(&mut Self) -> io::Result<()>) {
        let mut failure = FAILURE.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.is_none() {
            *failure = print(self).err();
        }
    }

    /// Prints a text, as `write!` and `writeln!` have it.
    pub(super) fn write_fmt(&mut self, text: fmt::Arguments<'_>) {
        self.print(|out| Write::write_fmt(out, text));
    }

    /// Prints a text in a style of ours.
    pub(super) fn paint(&mut self, style: Style, text: &str) {
        let painted = self.painted(style, text);
        self.print(|out| out.stream.write_all(painted.as_bytes()));
    }

    /// Prints a line of cells, each in a style of ours, with two blanks between them. Those that say nothing are left out.
    pub(super) fn row(&mut self, cells: &[(Style, &str)]) {
        let cells: Vec<String> =
            cells.iter().filter(|(_, text)| !text.is_empty()).map(|(style, text)| self.painted(*style, text)).collect();
        self.print(|out| out.stream.write_all((cells.join("  ") + "\n").as_bytes()));
    }

    /// Prints a value behind its name.
    pub(super) fn field(&mut self, name: &str, value: &str) {
        self.paint(DIM, &format!("{name:11}"));
        writeln!(self, " {value}");
    }

    /// The same with more values below the first; nothing where there is none.
    pub(super) fn fields(&mut self, name: &str, values: impl IntoIterator<Item = String>) {
        for (at, value) in values.into_iter().enumerate() {
            self.field(if at == 0 { name } else { "" }, &value);
        }
    }

    /// Prints things under a heading; nothing where there are none.
    pub(super) fn section<T>(&mut self, heading: &str, things: &[T], print: impl Fn(&T, &mut Self)) {
        if !things.is_empty() {
            writeln!(self, "{heading}");
        }
        things.iter().for_each(|thing| print(thing, self));
    }

    /// Prints a clickable text (OSC 8).
    pub(super) fn link(&mut self, url: &str, style: Style, text: &str) {
        let mut linked = self.painted(style, text);
        if self.rich && url.bytes().all(|byte| byte.is_ascii_graphic()) {
            linked = format!("\x1b]8;;{url}\x1b\\{linked}\x1b]8;;\x1b\\");
        }
        self.print(|out| out.stream.write_all(linked.as_bytes()));
    }

    /// Prints JSON for scripts.
    pub(super) fn json(&mut self, value: &impl Serialize) {
        JSON_PRINTED.store(true, Ordering::Relaxed);
        self.print(|out| {
            let text = serde_json::to_string_pretty(value)? + "\n";
            let text = if out.is_terminal { Spelling::Json.of(&text) } else { text.into() };
            out.stream.write_all(text.as_bytes())
        });
    }

    fn painted(&self, style: Style, text: &str) -> String {
        let text = if self.is_terminal { self.spelling.of(text) } else { text.into() };
        if self.rich { format!("{style}{text}{style:#}") } else { text.into_owned() }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.stream.write(bytes);
        }
        self.rest.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.rest) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.rest.len(),
        };
        let text = String::from_utf8_lossy(&self.rest[..whole]);
        self.stream.write_all(self.spelling.of(&text).as_bytes())?;
        self.rest.drain(..whole);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }

    /// In one piece, so that lines of several threads do not mix.
    fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> io::Result<()> {
        self.write_all(fmt::format(text).as_bytes())
    }
}

/// Whether a character does anything to a terminal but stand in it: control characters, which begin its commands; the marks
/// that turn the direction of the text around them, which show another order than there is; and separators of lines that some
/// take for line breaks.
fn steers(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{2028}' | '\u{2029}' => true,
        _ => character.is_control() || turns(character),
    }
}

fn turns(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl Spelling {
    fn of(self, text: &str) -> Cow<'_, str> {
        if !text.contains(steers) {
            return text.into();
        }
        let mut spelled = String::with_capacity(text.len() + 16);
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            match self {
                _ if !steers(character) => spelled.push(character),
                Self::Json => spelled.push_str(&format!("\\u{:04x}", u32::from(character))),
                Self::Text if character == '\r' && characters.peek() == Some(&'\n') => {}
                Self::Text => spelled.extend(picture(character)),
            }
        }
        spelled.into()
    }
}

/// What stands for a character in a text. Notes in Hebrew and Arabic are full of marks of direction, which nobody sees.
fn picture(character: char) -> Option<char> {
    match character {
        _ if turns(character) => None,
        '\u{2028}' | '\u{2029}' => Some(' '),
        '\u{7f}' => Some('␡'),
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(character)),
        _ => Some(char::REPLACEMENT_CHARACTER),
    }
}

/// Prints what clap has to say, and gives the exit code.
pub(super) fn parsing_ended(ended: &clap::Error) -> u8 {
    let mut out = if ended.use_stderr() { stderr() } else { stdout() };
    let said = ended.render();
    // It is made of clap's words, styles and all, and of what was given.
    let given = std::env::args_os().chain(std::env::var_os("VAULT_DIR"));
    let is_harmless = |given: OsString| given.to_str().is_some_and(|given| !given.contains(steers));
    let printed = if out.rich && given.into_iter().all(is_harmless) {
        out.stream.write_all(said.ansi().to_string().as_bytes())
    } else {
        out.write_all(said.to_string().as_bytes())
    };
    // As with a remark: where nobody reads it, the exit code says enough.
    drop(printed);
    u8::try_from(ended.exit_code()).unwrap_or(2)
}

/// Has panics told through here: their messages may quote a note.
pub(super) fn tell_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        remark!("thread '{}' {panic}", thread.name().unwrap_or("unnamed"));
        let trace = std::backtrace::Backtrace::capture();
        if trace.status() == std::backtrace::BacktraceStatus::Captured {
            remark!("{trace}");
        }
    }));
}

/// Maximum number of entries that went to the archive and are named; more are counted.
const FEW_ARCHIVED: usize = 3;

/// A number of bytes for people.
pub(super) fn bytes(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.1} GB", count as f64 / 1e9),
    }
}

/// The end of `vault search … | head` is no failure.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    // Only writing to standard output fails with a bare error; what the daemon's socket says comes with its context.
    error.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}

/// What happened and why, and what to do next.
pub(super) fn explain(error: &anyhow::Error) -> String {
    let said = chain(error);
    match error.downcast_ref::<RequestError>().and_then(|error| error.hint.as_ref()) {
        Some(hint) => format!("{said}. {hint}"),
        None => said,
    }
}

/// The same for programs, in the shape that HTTP has.
pub(super) fn error_as_json(error: &anyhow::Error) -> Value {
    let request = error.downcast_ref::<RequestError>();
    let code = request.map_or(ErrorKind::Internal, |error| error.kind).code();
    let mut detail = json!({ "code": code, "message": chain(error) });
    if let Some(hint) = request.and_then(|error| error.hint.as_ref()) {
        detail["hint"] = hint.as_str().into();
    }
    json!({ "error": detail })
}

/// What happened and why, each said once: some of our errors name their cause themselves.
fn chain(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |said, cause| match cause.to_string() {
        cause if said.contains(&cause) => said,
        cause if said.is_empty() => cause,
        cause => format!("{said}: {cause}"),
    })
}

/// What a command came to when nothing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    NothingFound,
    Damaged,
}

impl Outcome {
    /// What a command came to that looked for something.
    pub(super) fn found(any: bool) -> Self {
        if any { Self::Done } else { Self::NothingFound }
    }
}

/// Prints an answer: as JSON, or in words. Where there is nothing in it, nothing was found.
pub(super) fn answer(found: &impl Serialize, any: bool, in_words: impl FnOnce(&mut Out)) -> anyhow::Result<Outcome> {
    let mut out = stdout();
    if is_in_json() {
        out.json(found);
    } else {
        in_words(&mut out);
    }
    Ok(Outcome::found(any))
}

/// Says below a list that there is nothing in it, or more than was asked for.
pub(super) fn remark_end(any: bool, cut: bool, none: &str) {
    match (any, cut) {
        (false, _) => remark!("vault: {none}"),
        (true, true) => remark!("vault: there are more; --limit shows them"),
        (true, false) => {}
    }
}

/// Prints a list: as JSON, or thing by thing. Where there is nothing in it, nothing was found.
pub(super) fn list<T>(
    found: &impl Serialize,
    things: &[T],
    none: &str,
    print: impl Fn(&T, &mut Out),
) -> anyhow::Result<Outcome> {
    answer(found, !things.is_empty(), |out| {
        things.iter().for_each(|thing| print(thing, out));
        remark_none(!things.is_empty(), none);
    })
}

/// Says that there is nothing.
pub(super) fn remark_none(any: bool, none: &str) {
    remark_end(any, false, none);
}

/// A path as a shell takes it.
pub(super) fn shell_quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let plain = |character: char| character.is_alphanumeric() || "/._-+,:@%=".contains(character);
    if !path.is_empty() && path.chars().all(plain) {
        return path.into_owned();
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

/// What is typed in answer to a question; `None` at the end of the input.
pub(super) fn typed(out: &mut Out, question: &str) -> anyhow::Result<Option<String>> {
    write!(out, "{question}");
    out.flush()?;
    // What nobody could read is not answered.
    printed()?;
    let mut answer = String::new();
    Ok((io::stdin().read_line(&mut answer)? > 0).then(|| answer.trim().to_owned()))
}

/// Says which entries went to the archive because there were too many: of many only how many.
pub(super) fn say_archived(ids: &[String]) {
    let which = match ids {
        [] => return,
        few if few.len() <= FEW_ARCHIVED => few.join(", "),
        many => format!("{} entries", many.len()),
    };
    say!("    archived {which}: there are more than 500");
}

/// Says what undoes an act, as one command: half of it undone would be a state that nobody asked for. The last change is undone first, and
/// is named first.
pub(super) fn say_undo(checkpoints: &[String]) {
    if !checkpoints.is_empty() {
        say!("    undo: vault undo {}", checkpoints.join(" "));
    }
}

/// Says what undoes an act of which scripts read the answer.
pub(super) fn remark_undo(checkpoint: Option<&str>) {
    if let Some(checkpoint) = checkpoint {
        remark!("to undo: vault undo {checkpoint}");
    }
}

/// Says so when what was written cannot be found yet.
pub(super) fn remark_behind(searchable: bool) {
    if !searchable {
        remark!("vault: it is written, and the index does not have it yet; `vault status` says why");
    }
}

/// A bar on standard error; nothing when that is not a terminal. Its words are ours alone, so it needs not go the way of what may hold a
/// note's.
pub(super) struct Bar(ProgressBar);

/// What bars show.
pub(super) const READING: &str = "reading notes";
pub(super) const EMBEDDING: &str = "embedding passages";

impl Bar {
    /// Counts notes, passages or questions.
    pub(super) fn of(what: &'static str) -> Self {
        Self::with_template(what, "{msg:20} {bar:30} {human_pos}/{human_len}")
    }

    /// Counts bytes.
    pub(super) fn bytes(what: &'static str) -> Self {
        Self::with_template(what, "{msg:20} {bar:30} {bytes}/{total_bytes}")
    }

    fn with_template(what: &'static str, template: &str) -> Self {
        let style = ProgressStyle::with_template(template).expect("the template is well formed");
        Self(ProgressBar::no_length().with_style(style).with_message(what))
    }

    /// Shows so many done and so many left.
    pub(super) fn show(&self, done: usize, left: usize) {
        self.0.set_length((done + left) as u64);
        self.0.set_position(done as u64);
    }

    /// Takes the bar off the screen.
    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

/// Waits until every note has been read, or none can be, and shows how far that is.
pub(super) fn follow_files(shared: &Shared) -> SyncProgress {
    let show = |bar: &Bar, progress: &SyncProgress| bar.show(progress.files_done, progress.pending_files);
    follow(&Bar::of(READING), shared, Duration::MAX, |progress| progress.caught_up, show)
}

/// The same until every passage is embedded, for so long at most.
pub(super) fn follow_embeddings(shared: &Shared, patience: Duration) -> SyncProgress {
    let show = |bar: &Bar, _: &SyncProgress| {
        if let Some(snapshot) = shared.snapshot() {
            let (embedded, of) = snapshot.embedded(None);
            bar.show(embedded, of.saturating_sub(embedded));
        }
    };
    follow(&Bar::of(EMBEDDING), shared, patience, SyncProgress::is_complete, show)
}

fn follow(
    bar: &Bar,
    shared: &Shared,
    patience: Duration,
    until: fn(&SyncProgress) -> bool,
    show: impl Fn(&Bar, &SyncProgress),
) -> SyncProgress {
    let begun = Instant::now();
    loop {
        let is_over = |progress: &SyncProgress| until(progress) || progress.failure.is_some();
        let progress = shared.wait(Duration::from_millis(100), is_over);
        show(bar, &progress);
        if is_over(&progress) || progress.phase == Phase::Stopped || begun.elapsed() >= patience {
            bar.finish();
            return progress;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Keeps what is printed.
    #[derive(Clone, Default)]
    struct StoredOutput(Arc<Mutex<Vec<u8>>>);

    impl Write for StoredOutput {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn printed(is_terminal: bool, rich: bool, print: impl FnOnce(&mut Out)) -> String {
        let kept = StoredOutput::default();
        let stream = Box::new(kept.clone());
        print(&mut Out { stream, is_terminal, rich, spelling: Spelling::Text, rest: Vec::new() });
        String::from_utf8(kept.0.lock().unwrap().clone()).unwrap()
    }

    const HOSTILE: &str =
        "a\x1b[31mb\u{9b}c\u{7}d\u{8}\u{7f}\r\ne\u{202e}f\u{2066}g\u{61c}\u{200f}h\u{2028}i\t\u{200d}👩‍👩‍👧";

    #[test]
    fn no_character_of_a_text_steers_a_terminal_and_a_pipe_gets_each() {
        assert_eq!(printed(false, false, |out| write!(out, "{HOSTILE}")), HOSTILE);
        let shown = printed(true, false, |out| write!(out, "{HOSTILE}"));
        assert_eq!(shown, "a␛[31mb\u{fffd}c␇d␈␡\nefgh i\t\u{200d}👩‍👩‍👧");
        for character in (0..=0x10ffff).filter_map(char::from_u32).filter(|character| steers(*character)) {
            for spelling in [Spelling::Text, Spelling::Json] {
                assert!(!spelling.of(&character.to_string()).contains(steers), "{character:?} {spelling:?}");
            }
        }
    }

    #[test]
    fn a_character_that_comes_in_pieces_is_looked_at_whole() {
        for size in 1..5 {
            let shown = printed(true, false, |out| {
                HOSTILE.as_bytes().chunks(size).for_each(|piece| out.write_all(piece).unwrap());
            });
            // Whether a line ends with CR LF is seen where both come at once.
            assert_eq!(shown.replace('␍', ""), "a␛[31mb\u{fffd}c␇d␈␡\nefgh i\t\u{200d}👩‍👩‍👧", "{size}");
        }
        assert_eq!(printed(true, false, |out| out.write_all(b"a\xffb").unwrap()), "a\u{fffd}b");
    }

    #[test]
    fn colours_and_links_are_the_program_s_own() {
        let both = |out: &mut Out| {
            out.paint(TITLE, "\x1b[0mx");
            out.link("file:///x", DIM, "y");
            out.link("file:///\x1b\\x", DIM, "z");
        };
        assert_eq!(printed(false, false, both), "\x1b[0mxyz");
        assert_eq!(printed(true, false, both), "␛[0mxyz");
        let rich = printed(true, true, both);
        let title = format!("{TITLE}␛[0mx{TITLE:#}");
        assert_eq!(rich, format!("{title}\x1b]8;;file:///x\x1b\\{DIM}y{DIM:#}\x1b]8;;\x1b\\{DIM}z{DIM:#}"));
    }

    #[test]
    fn json_on_a_terminal_is_the_same_json() {
        let value = serde_json::json!({ HOSTILE: [HOSTILE, 1] });
        let piped = printed(false, false, |out| out.json(&value));
        let shown = printed(true, true, |out| out.json(&value));
        assert!(piped.contains('\u{202e}') && !shown.contains(steers), "{shown}");
        for text in [piped, shown] {
            assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        }
    }
}

#[cfg(test)]
mod tests_of_output {
    use super::*;

    #[test]
    fn a_hint_can_be_pasted_into_a_shell() {
        for (path, quoted) in
            [("/home/me/vault", "/home/me/vault"), ("my vault", "'my vault'"), ("it's", r"'it'\''s'"), ("~x", "'~x'")]
        {
            assert_eq!(shell_quoted(Path::new(path)), quoted);
        }
    }

    #[test]
    fn bytes_are_told_in_a_unit_that_fits() {
        assert_eq!((bytes(999), bytes(25_279_584)), ("999 B".into(), "25.3 MB".into()));
    }
}
