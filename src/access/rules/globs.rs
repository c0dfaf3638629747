//! Globs over paths in the vault, as people write them in the configuration and on agents' pages.

use regex::bytes::{RegexSet, RegexSetBuilder};

use crate::base::path::composed;

/// Maximum length of a glob, in bytes. No glob that a person writes is longer.
const MAX_BYTES: usize = 1024;
/// Maximum depth of braces in a glob. One that is compared with every path must not take all the time of the machine.
const MAX_NESTING: usize = 8;
/// Maximum number of wildcards in a glob, for the same reason.
const MAX_WILDCARDS: usize = 64;
/// Maximum total length of the globs in a list, in bytes.
const MAX_BYTES_IN_ALL: usize = 32 * 1024;
/// Maximum memory of the compiled globs of a list, in bytes; they stay far below.
const MAX_COMPILED_BYTES: usize = 8 << 20;

/// Globs, compiled; `*` stays within a folder, `**` does not, and what names a folder means all that is in it, as in a
/// .gitignore. Differences of Unicode normalisation do not count.
///
/// They keep notes from agents, so one that might mean something else than it says is an error: it would match nothing, in
/// silence.
#[derive(Debug, Clone, Default)]
pub struct Globs(Option<RegexSet>);

/// A glob that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum GlobError {
    /// It is not as globs are.
    #[error("`{}` {why}", shown(glob))]
    Syntax {
        /// The glob.
        glob: String,
        /// What is wrong, and what to write.
        why: String,
    },
    /// It is too long, or too deep.
    #[error(
        "a glob takes up to {MAX_BYTES} bytes, {MAX_WILDCARDS} wildcards, and {MAX_NESTING} levels of nested braces"
    )]
    TooMuch,
    /// There are too many.
    #[error("globs take up to {MAX_BYTES_IN_ALL} bytes together; name folders that have several of them")]
    TooMany,
}

/// A glob in an error: as much of it as helps to find it.
fn shown(glob: &str) -> String {
    let short: String = glob.chars().take(60).collect();
    if short.len() < glob.len() { short + "…" } else { short }
}

/// A glob that means what has this path, and what is in it.
pub(crate) fn literal(path: &str) -> String {
    let escaped = |letter: char| {
        let is_special = matches!(letter, '\\' | '!' | '*' | '?' | '[' | ']' | '{' | '}' | ',');
        is_special.then_some('\\').into_iter().chain([letter])
    };
    path.chars().flat_map(escaped).collect()
}

impl Globs {
    /// Compiles globs over paths in the vault.
    ///
    /// # Errors
    /// When one cannot be read: what was meant to be left out, or kept private, must not be passed over.
    pub fn new<T: AsRef<str>>(globs: &[T]) -> Result<Self, GlobError> {
        let patterns = globs.iter().map(|glob| {
            let pattern = GlobReader::read(&composed(glob.as_ref()))?;
            Ok(format!(r"\A(?:{pattern})(?s-u:/.*)?\z"))
        });
        let patterns = patterns.collect::<Result<Vec<_>, _>>()?;
        if globs.iter().map(|glob| glob.as_ref().len()).sum::<usize>() > MAX_BYTES_IN_ALL {
            return Err(GlobError::TooMany);
        }
        compile(&patterns)
    }

    /// Compiles one glob over paths of files: of a folder it means nothing that is in it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of_files(glob: &str) -> Result<Self, GlobError> {
        compile(&[format!(r"\A(?:{})\z", GlobReader::read(&composed(glob))?)])
    }

    /// Whether one of them matches a path.
    pub fn is_match(&self, path: &str) -> bool {
        self.0.as_ref().is_some_and(|patterns| patterns.is_match(composed(path).as_bytes()))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

fn compile(patterns: &[String]) -> Result<Globs, GlobError> {
    if patterns.is_empty() {
        return Ok(Globs::default());
    }
    let set = RegexSetBuilder::new(patterns).size_limit(MAX_COMPILED_BYTES).build();
    set.map(|set| Globs(Some(set))).map_err(|_| GlobError::TooMany)
}

/// Reads a glob from its beginning to its end.
struct GlobReader<'a> {
    glob: &'a str,
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    before: Option<char>,
    pattern: String,
    nesting: usize,
    wildcards: usize,
}

impl<'a> GlobReader<'a> {
    /// What a glob says, as a regular expression over bytes.
    fn read(glob: &'a str) -> Result<String, GlobError> {
        if glob.len() > MAX_BYTES {
            return Err(GlobError::TooMuch);
        }
        let place = glob.strip_prefix("./").unwrap_or(glob);
        let place = place.strip_suffix('/').unwrap_or(place);
        let mut reader = Self {
            glob,
            rest: place.chars().peekable(),
            before: None,
            pattern: String::new(),
            nesting: 0,
            wildcards: 0,
        };
        if place.starts_with('/') {
            return Err(reader.wrong("is absolute; globs are relative to the vault"));
        }
        if place.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(reader.wrong("names nothing in the vault"));
        }
        if place.starts_with('!') {
            return Err(
                reader.wrong("begins with `!`, which cannot negate here; write `\\!` for a name that begins with `!`")
            );
        }
        while let Some(next) = reader.rest.next() {
            reader.one(next)?;
            reader.before = Some(next);
            if reader.wildcards > MAX_WILDCARDS || reader.nesting > MAX_NESTING {
                return Err(GlobError::TooMuch);
            }
        }
        if reader.nesting > 0 {
            return Err(reader.wrong("has a `{` that is not closed"));
        }
        Ok(reader.pattern)
    }

    fn wrong(&self, why: impl Into<String>) -> GlobError {
        GlobError::Syntax { glob: self.glob.to_owned(), why: why.into() }
    }

    fn one(&mut self, next: char) -> Result<(), GlobError> {
        match next {
            '*' => self.stars(),
            // A character has one byte that begins it, and others that go on.
            '?' => self.wildcard(r"(?-u:[^/\x80-\xBF][\x80-\xBF]*)"),
            '[' => self.class(),
            '{' => {
                self.nesting += 1;
                if self.rest.peek() == Some(&'}') {
                    return Err(self.wrong("has nothing between `{` and `}`"));
                }
                self.wildcard("(?:")
            }
            '}' if self.nesting == 0 => Err(self.wrong("has a `}` without a `{`")),
            '}' => {
                self.nesting -= 1;
                self.pattern.push(')');
                Ok(())
            }
            ',' if self.nesting > 0 => {
                self.pattern.push('|');
                Ok(())
            }
            '\\' => match self.rest.next() {
                None => Err(self.wrong("ends with `\\`; a special character must follow it")),
                Some(letter) if letter.is_ascii_alphanumeric() => {
                    Err(self.wrong(format!("has `\\{letter}`; separate folders with `/`")))
                }
                Some(meant) => self.literal(meant),
            },
            literal => self.literal(literal),
        }
    }

    fn literal(&mut self, character: char) -> Result<(), GlobError> {
        self.pattern.push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
        Ok(())
    }

    fn wildcard(&mut self, pattern: &str) -> Result<(), GlobError> {
        self.wildcards += 1;
        self.pattern.push_str(pattern);
        Ok(())
    }

    /// `*`, or `**` where a whole name could stand.
    fn stars(&mut self) -> Result<(), GlobError> {
        if self.rest.next_if_eq(&'*').is_none() {
            // Byte by byte: what follows begins where a character does.
            return self.wildcard(r"(?-u:[^/])*");
        }
        let bounds = |next: Option<char>, inside: [char; 2]| match next {
            None | Some('/') => true,
            Some(other) => self.nesting > 0 && inside.contains(&other),
        };
        if !bounds(self.before, ['{', ',']) || !bounds(self.rest.peek().copied(), [',', '}']) {
            return Err(self.wrong("has `**` within a name; it stands for folders, as in `notes/**/*.md`"));
        }
        match self.rest.next_if_eq(&'/') {
            Some(_) => {
                self.wildcard(r"(?s-u:.*/)?")?;
                // It ended with a slash, for what comes next.
                self.before = Some('/');
                while self.rest.peek() == Some(&'*') {
                    let star = self.rest.next().unwrap_or('*');
                    self.one(star)?;
                }
                Ok(())
            }
            None => self.wildcard(r"(?s-u:.*)"),
        }
    }

    /// `[abc]`, `[a-z]`, `[!abc]`: one character, and never the slash.
    fn class(&mut self) -> Result<(), GlobError> {
        let negated = self.rest.next_if(|next| matches!(next, '!' | '^')).is_some();
        let mut listed: Vec<char> = Vec::new();
        loop {
            match self.rest.next() {
                None => return Err(self.wrong("has a `[` that is not closed; `\\[` is the character")),
                Some(']') if !listed.is_empty() => break,
                Some(strange @ ('[' | '\\' | '/')) => {
                    return Err(self.wrong(format!("has `{strange}` between `[` and `]`")));
                }
                Some(character) => listed.push(character),
            }
        }
        let mut class = String::new();
        let mut listed = &listed[..];
        while let [first, more @ ..] = listed {
            let (last, more) = match more {
                ['-', last, more @ ..] => (last, more),
                more => (first, more),
            };
            if last < first {
                return Err(self.wrong(format!("has `{first}-{last}`, which is not a range")));
            }
            class.push_str(&format!(r"\x{{{:x}}}-\x{{{:x}}}", u32::from(*first), u32::from(*last)));
            listed = more;
        }
        let class = if negated { format!("[^/{class}]") } else { format!("[[{class}]&&[^/]]") };
        self.wildcard(&class)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn matches(glob: &str, path: &str) -> bool {
        Globs::new(&[glob]).unwrap().is_match(path)
    }

    #[test]
    fn a_literal_means_its_path_and_what_is_in_it() {
        for path in ["notes/a.md", "!a*[b]{c,d}?\\e/f", "é, ü"] {
            let globs = Globs::new(&[literal(path)]).unwrap();
            assert!(globs.is_match(path) && globs.is_match(&format!("{path}/x")) && !globs.is_match("notes/b.md"));
            assert!(!globs.is_match(&format!("{path}x")) && !globs.is_match("!ax/f"), "{path}");
        }
    }

    #[test]
    fn a_folder_means_all_that_is_in_it_however_it_is_spelled() {
        let globs = Globs::new(&["./notes/priv\u{e9}/"]).unwrap();
        for path in ["notes/priv\u{e9}/a.md", "notes/prive\u{301}/a/b.md", "notes/prive\u{301}"] {
            assert!(globs.is_match(path), "{path}");
        }
        assert!(!globs.is_match("notes/prive/a.md") && !Globs::default().is_match("a.md"));
    }

    #[test]
    fn globs_mean_what_they_say() {
        for (glob, yes, no) in [
            ("*.md", &["a.md", "\u{e9}.md", ".md", "a.md/b"][..], &["a/b.md", "a.markdown"][..]),
            ("**", &["a", "a/b/c.md"], &[]),
            ("**/*.md", &["a.md", "a/b/c.md"], &["a.txt"]),
            ("notes/**", &["notes/a.md", "notes/a/b.md"], &["notes", "notesa", "a/notes/b"]),
            ("notes/**/a.md", &["notes/a.md", "notes/b/c/a.md"], &["a.md", "notes/ba.md", "notes/b/ca.md"]),
            ("**/**/a", &["a", "b/a", "b/c/a/d"], &["ba"]),
            ("**/diary", &["diary", "a/diary/b.md"], &["a/mydiary", "diary.md"]),
            ("a/*/c", &["a/b/c", "a/b/c/d"], &["a/c", "a/b/b/c"]),
            ("a?c", &["abc", "a\u{e4}c", "a\u{1f331}c"], &["ac", "abbc", "a/c"]),
            ("[a\u{e4}-\u{fc}]", &["a", "\u{e9}", "\u{fc}"], &["b", "\u{e0}", "\u{c3}"]),
            ("[!a]b", &["bb", "\u{e9}b", "\u{1f331}b"], &["ab", "/b", "b"]),
            ("a[+-9]b", &["a.b", "a5b"], &["a/b"]),
            ("[]a-]", &["]", "a", "-"], &["b"]),
            ("{a,b/c}/d", &["a/d", "b/c/d/e"], &["b/d", "ab/c/d"]),
            ("a{,b}.md", &["a.md", "ab.md"], &["abb.md"]),
            ("{**/a,b/**}", &["a", "x/a", "b/x/y"], &["b", "x/b"]),
            ("{a,{b,c}}/*.md", &["c/x.md"], &["c/x.txt"]),
            ("a,b", &["a,b"], &["a"]),
            ("\\[draft\\]\\ \\!.md", &["[draft] !.md"], &["d"]),
            ("a.b+(c)|$", &["a.b+(c)|$/d"], &["aab+(c)|$"]),
        ] {
            yes.iter().for_each(|path| assert!(matches(glob, path), "{glob} is to match {path}"));
            no.iter().for_each(|path| assert!(!matches(glob, path), "{glob} is not to match {path}"));
        }
        let files = |glob, path| Globs::of_files(glob).unwrap().is_match(path);
        assert!(files("*", "a.md") && files("**", "a/b.md") && files("a/b.md", "a/b.md"));
        assert!(!files("*", "a/b.md") && !files("a", "a/b.md"));
    }

    #[test]
    fn a_glob_that_would_match_nothing_in_silence_is_refused() {
        for (glob, words) in [
            ("", "names nothing"),
            (".", "names nothing"),
            ("/", "names nothing"),
            ("./", "names nothing"),
            ("../diary", "names nothing"),
            ("notes//diary", "names nothing"),
            ("/notes/diary", "is absolute"),
            ("/home/maya/vault/diary", "is absolute"),
            ("!diary", "begins with `!`"),
            ("notes\\diary", "separate folders with `/`"),
            ("notes\\", "ends with `\\`"),
            ("notes/**.md", "`**` within a name"),
            ("diary**", "`**` within a name"),
            ("***", "`**` within a name"),
            ("[", "not closed"),
            ("[]", "not closed"),
            ("[z-a]", "not a range"),
            ("[[:alpha:]]", "between `[` and `]`"),
            ("[\\w]", "between `[` and `]`"),
            ("{a", "not closed"),
            ("a}", "without a `{`"),
            ("{}", "nothing between"),
        ] {
            let error = Globs::new(&[glob]).unwrap_err().to_string();
            assert!(error.contains(words), "{glob}: {error}");
            assert!(Globs::of_files(glob).is_err(), "{glob}");
        }
    }

    #[test]
    fn a_glob_that_would_take_all_room_is_refused() {
        for glob in [
            format!("{}a{}", "{".repeat(100_000), "}".repeat(100_000)),
            "{a".repeat(9) + &"}".repeat(9),
            // Closed as it seems, and deep all the same.
            "{\\}".repeat(200) + &"}".repeat(200),
            "a".repeat(2000),
            "*a".repeat(65),
            "?".repeat(65),
        ] {
            assert!(matches!(Globs::new(&[&glob]), Err(GlobError::TooMuch)), "{glob:.20}");
            assert!(matches!(Globs::of_files(&glob), Err(GlobError::TooMuch)), "{glob:.20}");
        }
        let many: Vec<String> = (0..100_000).map(|at| format!("*{at}")).collect();
        assert!(matches!(Globs::new(&many), Err(GlobError::TooMany)));
    }

    /// What matches in steps that multiply, in a matcher that goes back, and what has states without number, in one that does not.
    #[test]
    fn no_glob_takes_all_the_time_there_is() {
        let started = Instant::now();
        let mut worst = vec![
            format!("{}b", "*a".repeat(63)),
            format!("**/*a{}", "?".repeat(60)),
            format!("{}b", "**/".repeat(63)),
            format!("*{}", "a".repeat(1000)),
            format!("{{{}}}", "a,".repeat(500)),
        ];
        worst.extend((0..25).map(|at| format!("*{at}{}", "a".repeat(1000))));
        let globs = Globs::new(&worst).unwrap();
        for length in [0, 10, 50, 100] {
            let path = format!("{}{}/{}", "a/".repeat(length), "a".repeat(100 + length), "a".repeat(200));
            globs.is_match(&path);
        }
        let names: Vec<String> = (0..1_000).map(|at| format!("notes/folder {at}/**")).collect();
        let globs = Globs::new(&names).unwrap();
        assert!(globs.is_match("notes/folder 999/a.md") && !globs.is_match("notes/folder 1000/a.md"));
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    }
}
