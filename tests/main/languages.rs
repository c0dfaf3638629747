//! Notes in several languages in one vault.

use memory_vault::base::config::StemmerLanguage;

use crate::support::prelude::*;

const NOTES: [(&str, &str); 8] = [
    ("notes/cellar.md", "# Cellar\n\nThe bicycles are in the cellar, and the key is under the mat next to the door.\n"),
    (
        "notes/walking.md",
        "# Walking\n\nWe walked along the river for hours and talked about the boats that were there.\n",
    ),
    (
        "notes/keller.md",
        "# Keller\n\nDie Fahrräder stehen im Keller, und der Schlüssel liegt unter der Matte neben der Tür.\n",
    ),
    (
        "notes/haus.md",
        "# Unser Haus\n\nWir haben die Häuser in der Straße gezählt, und es sind mehr als wir gedacht haben.\n",
    ),
    (
        "notes/cave.md",
        "# La cave\n\nLes vélos sont dans la cave, et mon père cherchait la clé qui était sous le tapis.\n",
    ),
    (
        "notes/sotano.md",
        "# El sótano\n\nLas bicicletas están en el sótano, y mi padre buscaba la llave que estaba debajo de la alfombra.\n",
    ),
    (
        "notes/podval.md",
        "# Подвал\n\nВелосипеды стоят в подвале, а ключ лежит под ковриком рядом с дверью, как и всегда.\n",
    ),
    ("notes/kort.md", "---\nlang: sv\n---\n\n# Cyklar\n\nCyklarna.\n"),
];

fn vault() -> TestVault {
    let mut vault = TestVault::new();
    for (path, text) in NOTES {
        vault.write(path, text);
    }
    vault.sync();
    vault
}

/// Queries in forms that their notes have not, and what they find first.
const ASKED: [(&str, &str); 12] = [
    ("bicycle", "notes/cellar.md"),
    ("walks", "notes/walking.md"),
    ("Fahrrad", "notes/keller.md"),
    ("Fahrrädern", "notes/keller.md"),
    ("Hauses", "notes/haus.md"),
    ("Kellern Matten", "notes/keller.md"),
    ("chercher", "notes/cave.md"),
    ("caves", "notes/cave.md"),
    ("buscar", "notes/sotano.md"),
    ("bicicleta", "notes/sotano.md"),
    ("велосипедами", "notes/podval.md"),
    ("cyklarnas", "notes/kort.md"),
];

#[test]
fn word_forms_are_those_of_the_notes_own_language() {
    let vault = vault();
    for (query, path) in ASKED {
        let found = vault.words(query);
        assert_eq!(found.paths().first(), Some(&path), "{query}");
        assert_eq!(found.0.degraded, None, "{query}: no word was put in its place");
    }
    let found = vault.search_with(&SearchQuery {
        q: "Fahrrädern".into(),
        mode: Some(Mode::Keyword),
        highlight: true,
        ..SearchQuery::default()
    });
    let marked = found.0.results[0].highlights.clone().unwrap();
    let snippet: Vec<char> = found.0.results[0].snippet.chars().collect();
    let shown: Vec<String> = marked.iter().map(|[from, to]| snippet[*from..*to].iter().collect()).collect();
    assert_eq!(shown, ["Fahrräder"], "what is marked follows, in characters");
    assert!(vault.words("Fahrrädern").0.results[0].highlights.is_none(), "nobody asked");
}

#[test]
fn one_foreign_note_took_half_of_what_english_ones_cover() {
    let vault = |foreign: bool| {
        let mut vault = TestVault::new();
        for (path, text) in &NOTES[..if foreign { 3 } else { 2 }] {
            vault.write(path, text);
        }
        for at in 0..30 {
            vault.write(
                &format!("notes/n{at}.md"),
                format!("# Day {at}\n\nThe day was long and we were where the river is.\n"),
            );
        }
        vault.sync();
        vault
    };
    let (alone, beside) = (vault(false), vault(true));
    for query in [
        "where is the key to the bicycles",
        "what are the boats that we talked about",
        "cellar",
        "keys and the cellars",
    ] {
        let first = |vault: &TestVault| {
            let hit = vault.words(query).0.results.remove(0);
            (hit.chunk.path, hit.scores.coverage.unwrap(), hit.relevance.unwrap())
        };
        let ((path, coverage, relevance), other) = (first(&alone), first(&beside));
        assert_eq!(path, other.0, "{query}");
        assert!((coverage - other.1).abs() < 0.03, "{query}: a coverage of {coverage} became {}", other.1);
        assert!((relevance - other.2).abs() < 0.03, "{query}: a relevance of {relevance} became {}", other.2);
    }
}

#[test]
fn a_note_that_changed_its_language_kept_its_stems() {
    let queries = ["Fahrrad", "Hauses", "bicycle", "gift", "gifts", "house", "key"];
    let mut vault = vault();
    // In several chunks, of which the first is brought in anew whatever a note's names are.
    let said =
        "## One\n\nThis stays as it was.\n\n## Two\n\nThe gifts of the houses.\n\n## Three\n\nAnd all of the keys.\n";
    for lang in ["de", "fr", "xx"] {
        vault.write("notes/change.md", format!("---\nlang: {lang}\n---\n\n# Change\n\n{said}")).sync();
        let edited = vault.answers(&queries);
        assert_same(&edited, &vault.fresh_answers(&queries));
    }
    vault.write("notes/change.md", NOTES[2].1).sync();
    let edited: Answers = vault.answers(&queries);
    assert_same(&edited, &vault.fresh_answers(&queries));
}

#[test]
fn without_a_stemmer_no_language_has_one() {
    let mut vault = TestVault::new();
    vault.config.search.stemmer = StemmerLanguage::None;
    for (path, text) in NOTES {
        vault.write(path, text);
    }
    vault.sync();
    assert!(vault.words("велосипедами").paths().is_empty());
    assert_eq!(vault.words("велосипеды").paths(), ["notes/podval.md"]);
}

#[test]
fn hidden_notes_of_another_language_change_no_answer() {
    let dated = NOTES.iter().enumerate().map(|(at, (path, text))| {
        let private = at >= 2;
        (*path, format!("---\nprivate: {private}\ncreated: 2026-01-05\nupdated: 2026-01-06\n---\n{text}"))
    });
    let dated: Vec<(&str, String)> = dated.collect();
    let notes: Vec<(&str, &str)> = dated.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let queries =
        ["bicycle", "Fahrrad", "Fahrradkeller", "cave", "velo", "the key", "Schlüssel door", "cherc", "talking boats"];
    let targets = queries.map(|query| format!("/api/user-memory/search?q={}&limit=20", encode(query)));
    assert_hidden("[embed]\nmodel = \"none\"\n", &notes[..2], &notes[2..], &targets);
}
