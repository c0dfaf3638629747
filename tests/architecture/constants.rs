//! What is said of constants, in the standard terms: what is measured, and its unit.

use crate::{read, sources};

/// How the name of a constant begins, and how what is said of it has to.
const BEGINNINGS: &[(&str, &str)] = &[("MAX_", "Maximum"), ("MIN_", "Minimum"), ("DEFAULT_", "Default")];

/// The words after `so` with which a number is pointed at and not named.
const POINTING: &[&str] = &["many", "long", "often", "much", "far"];

#[test]
fn constants_are_documented_in_standard_terms() {
    let mut wrong = Vec::new();
    for source in sources() {
        let file = format!("src/{}", source.file);
        for constant in constants(&read(&file)) {
            let Constant { line, name, doc } = &constant;
            wrong.extend(constant.problem().map(|problem| format!("{file}:{line}: {problem}: {name}: {doc:?}")));
        }
    }
    assert_eq!(
        wrong,
        Vec::<String>::new(),
        "say what is measured and its unit: `Maximum length of a title, in bytes.`"
    );
}

/// What may be misread.
#[test]
fn constants_are_told_with_their_documentation() {
    let code = "/// Maximum length,\n/// in bytes.\n#[cfg(unix)]\npub(super) const MAX_A: usize = 1;\nconst MAX_B: usize = 2;\n\n    \
                /// It waits so\n    /// long.\n    pub const WAIT: u64 = 3;\n/// So be it: many.\nconst C: u8 = 4;\n\
                pub const fn d() {}\nconst _: () = ();\n/// The least.\nconst MIN_E: u8 = 5;\n/// Default number.\nconst DEFAULT_F: u8 = 6;";
    let found: Vec<_> = constants(code).into_iter().map(|constant| (constant.line, constant.problem())).collect();
    let begins = |word: &str| Some(format!("begins with `{word}`"));
    let points = Some("names the number instead of pointing at it".to_owned());
    assert_eq!(
        found,
        [(4, None), (5, begins("Maximum")), (9, points), (11, None), (13, None), (15, begins("Minimum")), (17, None)]
    );
}

/// A constant that a file declares.
struct Constant {
    line: usize,
    name: String,
    /// The text of its documentation, on one line.
    doc: String,
}

impl Constant {
    /// What its documentation ought to do and does not.
    fn problem(&self) -> Option<String> {
        let prefixed = BEGINNINGS.iter().find(|(prefix, _)| self.name.starts_with(prefix));
        if let Some((_, word)) = prefixed.filter(|(_, word)| !self.doc.starts_with(word)) {
            return Some(format!("begins with `{word}`"));
        }
        let doc = self.doc.to_lowercase();
        let words: Vec<&str> = doc.split(|character: char| !character.is_alphanumeric()).collect();
        let points = words.windows(2).any(|pair| pair[0] == "so" && POINTING.contains(&pair[1]));
        points.then(|| "names the number instead of pointing at it".to_owned())
    }
}

/// The constants of a file, each with the comment above it.
fn constants(text: &str) -> Vec<Constant> {
    let mut found = Vec::new();
    let mut doc: Vec<&str> = Vec::new();
    for (at, line) in text.lines().map(str::trim).enumerate() {
        if let Some(said) = line.strip_prefix("///") {
            doc.push(said.trim());
        } else if !line.starts_with("#[") {
            let doc = std::mem::take(&mut doc).join(" ");
            found.extend(declared(line).map(|name| Constant { line: at + 1, name: name.to_owned(), doc }));
        }
    }
    found
}

/// The name of the constant that a line declares.
fn declared(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1.trim_start(),
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let (name, _) = line.strip_prefix("const ")?.split_once(':')?;
    name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_').then_some(name)
}
