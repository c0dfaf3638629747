//! One name, one meaning: no two files declare a type of the same name.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Source, sources};

/// Names that two files may declare, each with its reason.
const ALLOWED: &[(&str, &str)] = &[];

#[test]
fn no_type_name_has_two_meanings() {
    let mut files: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources().iter().map(Source::program) {
        for name in declared(&source) {
            files.entry(name).or_default().insert(source.file.clone());
        }
    }
    files.retain(|_, files| files.len() > 1);
    let allowed: BTreeSet<&str> = ALLOWED.iter().map(|(name, _)| *name).collect();
    let twice: BTreeSet<&str> = files.keys().map(String::as_str).collect();
    let wrong: Vec<_> = files.iter().filter(|(name, _)| !allowed.contains(name.as_str())).collect();
    assert!(
        wrong.is_empty(),
        "each of these is declared more than once; call them by what sets them apart: {wrong:#?}"
    );
    let gone: Vec<_> = allowed.difference(&twice).collect();
    assert!(gone.is_empty(), "declared once only: take them off the list: {gone:?}");
}

/// What may be misread.
#[test]
fn declarations_are_told_from_uses() {
    let source = |code| Source::new("a.rs".as_ref(), code);
    let code = "pub struct A<T>(T); enum B { C(A) } pub(crate) trait D { type E; } impl D for A { type E = B; } type F = A; \
                fn f() { struct G; union(1); let r#type = 1; } unsafe trait H {} #[cfg(test)] mod tests { struct I; }";
    assert_eq!(declared(&source(code).program()), ["A", "B", "D", "F", "G", "H"]);
}

/// The names of the types that a file declares. A type within a trait or its implementation is no name of its own.
fn declared(source: &Source) -> Vec<String> {
    let mut names = Vec::new();
    // For each open brace, whether it is that of a trait or an implementation.
    let mut open: Vec<bool> = Vec::new();
    let mut opens_members = false;
    for (at, token) in source.tokens.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |before| source.text(before));
        let starts = ["", ";", "{", "}", "]", ")", "pub", "unsafe"].contains(&before);
        match token.text.as_str() {
            "trait" | "impl" if starts => opens_members = true,
            "{" => open.push(std::mem::take(&mut opens_members)),
            "}" => drop(open.pop()),
            // A function's `impl Trait` opens no members, whatever its body holds.
            "fn" | ";" => opens_members = false,
            _ => {}
        }
        let is_type = match token.text.as_str() {
            "struct" | "enum" | "trait" | "union" => true,
            "type" => open.last() != Some(&true),
            _ => false,
        };
        let name = source.text(at + 1);
        if is_type && starts && name.starts_with(char::is_uppercase) {
            names.push(name.to_owned());
        }
    }
    names
}
