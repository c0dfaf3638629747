//! What was typed: which words of a search are its query, also where one begins with a hyphen.

use std::ffi::OsString;

use clap::{Arg, Command, CommandFactory as _};

use super::QmdCli;

/// The searches, whose words are a query.
const SEARCHES: [&str; 3] = ["search", "vsearch", "query"];

/// What a word of a search is.
#[derive(Debug, PartialEq, Eq)]
enum Word {
    Option,
    /// An option whose value is the next word.
    OptionBefore,
    Query,
    /// A name of an option as there is none. Whoever searches for `--dry-run` means it so.
    Unknown,
}

/// Puts the query of a search behind `--` where a word of it begins with a hyphen: programs pass on what people ask. (QMD takes such a word
/// for options that it does not know, and is left with no query.) The first word is the program, `behind` the one before the command.
pub(in crate::cli) fn dashed_query_last(args: impl IntoIterator<Item = OsString>, behind: usize) -> Vec<OsString> {
    let args: Vec<OsString> = args.into_iter().collect();
    let mut command = QmdCli::command();
    command.build();
    let mut at = behind + 1;
    while let Some(word) = args.get(at).map(|word| word.to_string_lossy()) {
        match word_is(&command, &word) {
            Word::OptionBefore => at += 2,
            Word::Option if word != "--" => at += 1,
            _ => break,
        }
    }
    let named = |command: &&Command| {
        let name = args.get(at).and_then(|word| word.to_str()).unwrap_or_default();
        command.get_name() == name || command.get_all_aliases().any(|alias| alias == name)
    };
    match command.get_subcommands().find(named).filter(|found| SEARCHES.contains(&found.get_name())) {
        Some(search) => query_last(search, &args[..=at], &args[at + 1..]).unwrap_or(args),
        None => args,
    }
}

/// The words with the query behind all options; `None` where none of it begins with a hyphen.
fn query_last(search: &Command, before: &[OsString], words: &[OsString]) -> Option<Vec<OsString>> {
    let (mut options, mut query, mut unknown, mut dashed) = (before.to_vec(), Vec::new(), Vec::new(), false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if text == "--" {
            query.extend(words.cloned());
            break;
        }
        match word_is(search, &text) {
            Word::Option => options.push(word.clone()),
            Word::OptionBefore => options.extend([word].into_iter().chain(words.next()).cloned()),
            Word::Query => {
                dashed |= text.len() > 1 && text.starts_with('-');
                query.push(word.clone());
            }
            Word::Unknown => unknown.push(word.clone()),
        }
    }
    match query.is_empty() {
        true if unknown.is_empty() => return None,
        true => query = unknown,
        // It is said that there is no such option.
        false if !dashed || !unknown.is_empty() => return None,
        false => {}
    }
    options.push("--".into());
    options.extend(query);
    Some(options)
}

fn word_is(command: &Command, word: &str) -> Word {
    let takes = |arg: &Arg| arg.get_action().takes_values();
    let option = |is: &dyn Fn(&Arg) -> bool| command.get_arguments().find(|arg| is(arg)).map(takes);
    if let Some(long) = word.strip_prefix("--") {
        let name = long.split_once('=').map_or(long, |(name, _)| name);
        let known = option(&|arg: &Arg| {
            arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|all| all.contains(&name))
        });
        return match known {
            Some(true) if name == long => Word::OptionBefore,
            Some(_) => Word::Option,
            None if long.contains(char::is_whitespace) => Word::Query,
            None => Word::Unknown,
        };
    }
    let Some(shorts) = word.strip_prefix('-').filter(|shorts| !shorts.is_empty()) else { return Word::Query };
    let known = |short: char| {
        option(&|arg: &Arg| {
            arg.get_short() == Some(short) || arg.get_all_short_aliases().is_some_and(|all| all.contains(&short))
        })
    };
    let (first, value) = shorts.split_at(shorts.chars().next().map_or(0, char::len_utf8));
    let first = first.chars().next().unwrap_or_default();
    match known(first) {
        _ if shorts.contains(char::is_whitespace) => Word::Query,
        Some(true) if value.is_empty() => Word::OptionBefore,
        // Their values are numbers, but for the name of a collection.
        Some(true) if first == 'c' || value.trim_start_matches('=').parse::<u64>().is_ok() => Word::Option,
        Some(false) if shorts.chars().all(|short| known(short) == Some(false)) => Word::Option,
        _ => Word::Query,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Vec<OsString> {
        line.split('|').map(OsString::from).collect()
    }

    #[test]
    fn a_query_that_begins_with_a_hyphen_is_a_query() {
        for (typed, parsed) in [
            ("qmd|search|-5 degrees|--json", "qmd|search|--json|--|-5 degrees"),
            ("qmd|search|--json|-5 degrees", "qmd|search|--json|--|-5 degrees"),
            ("qmd|search|--json|-n|3|-5 degrees|-c|a", "qmd|search|--json|-n|3|-c|a|--|-5 degrees"),
            ("qmd|search|-5|degrees", "qmd|search|--|-5|degrees"),
            ("qmd|search|below|-5", "qmd|search|--|below|-5"),
            ("qmd|search|-dogs", "qmd|search|--|-dogs"),
            ("qmd|query|-x", "qmd|query|--|-x"),
            ("qmd|query|-nobody knows|--json", "qmd|query|--json|--|-nobody knows"),
            ("qmd|query|-c in gcc", "qmd|query|--|-c in gcc"),
            ("qmd|query|-vegan", "qmd|query|--|-vegan"),
            ("qmd|deep-search|--what is it", "qmd|deep-search|--|--what is it"),
            ("qmd|search|--dry-run|--json", "qmd|search|--json|--|--dry-run"),
            ("qmd|--index|search|vsearch|-x y", "qmd|--index|search|vsearch|--|-x y"),
            ("qmd|--no-gpu|search|-5", "qmd|--no-gpu|search|--|-5"),
            ("qmd|search|-5|--|-6", "qmd|search|--|-5|-6"),
        ] {
            assert_eq!(dashed_query_last(split(typed), 0), split(parsed), "{typed}");
        }
        let typed = split("vault|qmd|search|-5 degrees|--json");
        assert_eq!(dashed_query_last(typed, 1), split("vault|qmd|search|--json|--|-5 degrees"));
    }

    #[test]
    fn options_are_no_query() {
        for typed in [
            "qmd|query|--json|x",
            "qmd|query|-n|3|x",
            "qmd|query|-n3|-cnotes|-C=5|x",
            "qmd|search|--|-x y",
            "qmd|search|--format|json|--min-score=0.3|x",
            "qmd|search|--jsn|x",
            "qmd|search|-h",
            "qmd|search|--help",
            "qmd|search|-",
            "qmd|search",
            "qmd|collection|add|search|-x y",
            "qmd|get|-5 degrees",
            "qmd|-v",
            "qmd",
        ] {
            assert_eq!(dashed_query_last(split(typed), 0), split(typed), "{typed}");
        }
    }
}
