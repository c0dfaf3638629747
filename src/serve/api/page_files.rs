//! The files of the page: its modules are joined into one script, and its styles stand in the page itself, so that a browser paints after one
//! answer. Each module becomes a function that returns what it exports, without its comments.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io::Write as _;
use std::sync::LazyLock;

use axum::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::header::{ETAG, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use include_dir::{Dir, include_dir};
use sha2::{Digest, Sha256};

/// The files of "My memory", as they are written: plain HTML, CSS and ES modules. They hold nothing of the vault; the page asks the API for
/// that, with a token.
static SOURCES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/src/serve/page");

/// Scripts, styles, images and answers come from this server alone, nothing is inline but the one sheet, and nothing frames the page.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let sheet = STANDARD.encode(Sha256::digest(sheet()));
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-{sheet}'; connect-src 'self'; img-src 'self' data: blob:; \
         manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
});

/// What is loaded first.
const ENTRY: &str = "app.js";
/// The page, which has the styles in the place of the link to them.
const PAGE: &str = "index.html";
/// The styles: it only imports others.
const SHEET: &str = "app.css";
const LINK: &str = "<link rel=\"stylesheet\" href=\"/page/app.css\">";
/// What is loaded when it is needed says so: a script of the modules that it imports, but for those of the first; or a file of others.
const LATER: &str = "import(\"/page/";
/// The service worker, a script of its own.
const WORKER: &str = "sw.js";
/// Libraries, each in one file as `scripts/vendor` made it.
const VENDOR: &str = "vendor";

static FILES: LazyLock<BTreeMap<String, PageFile>> = LazyLock::new(files);

/// Joins and packs the files, which takes a tenth of a second, before a browser waits for them.
pub(crate) fn make_ready() {
    LazyLock::force(&FILES);
}

struct PageFile {
    text: Vec<u8>,
    zipped: Vec<u8>,
    etag: String,
}

/// A file of the page, for the headers of a request.
pub(super) fn file(name: &str, headers: &HeaderMap) -> Option<Response> {
    let file = FILES.get(name)?;
    let media_type = match name.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "webmanifest" => "application/manifest+json",
        _ => "text/javascript; charset=utf-8",
    };
    let common: [(HeaderName, &str); 7] = [
        (CONTENT_TYPE, media_type),
        (CONTENT_SECURITY_POLICY, &POLICY),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (CACHE_CONTROL, "no-cache"),
        (VARY, "accept-encoding"),
        (ETAG, &file.etag),
        // It answers for `/`, too.
        (HeaderName::from_static("service-worker-allowed"), "/"),
    ];
    let says = |header: HeaderName, what: &str| {
        headers.get(header).and_then(|value| value.to_str().ok()).is_some_and(|value| value.contains(what))
    };
    Some(if says(IF_NONE_MATCH, &file.etag) {
        (StatusCode::NOT_MODIFIED, common).into_response()
    } else if says(ACCEPT_ENCODING, "gzip") {
        (common, [(CONTENT_ENCODING, "gzip")], file.zipped.as_slice()).into_response()
    } else {
        (common, file.text.as_slice()).into_response()
    })
}

/// All files that are served, by their names behind `/page/`.
fn files() -> BTreeMap<String, PageFile> {
    let mut texts: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for asset in
        SOURCES.files().filter(|asset| asset.path().extension().is_none_or(|kind| kind != "css" && kind != "js"))
    {
        texts.insert(asset.path().to_string_lossy().into_owned(), asset.contents().to_vec());
    }
    let first = closure(ENTRY);
    texts.insert(ENTRY.into(), script(&first, &[]).into_bytes());
    for entry in
        first.iter().flat_map(|module| module.body.split(LATER).skip(1)).filter_map(|rest| rest.split('"').next())
    {
        if !entry.starts_with(VENDOR) {
            let own: Vec<Module> = closure(entry).into_iter().filter(|module| !first.contains(module)).collect();
            texts.insert(entry.into(), script(&own, &first).into_bytes());
        }
    }
    let vendored = SOURCES.get_dir(VENDOR).into_iter().flat_map(Dir::files);
    for asset in vendored.filter(|asset| asset.path().extension().is_some_and(|kind| kind == "js")) {
        texts.insert(asset.path().to_string_lossy().into_owned(), asset.contents().to_vec());
    }
    texts.insert(WORKER.into(), source(WORKER).into());
    let page = source(PAGE).replace(LINK, &format!("<style>{}</style>", sheet()));
    texts.insert(PAGE.into(), page.into_bytes());
    texts.into_iter().map(|(name, text)| (name, PageFile::new(text))).collect()
}

/// All styles as one text.
fn sheet() -> String {
    let imports = source(SHEET).lines().filter_map(|line| line.strip_prefix("@import \"")?.strip_suffix("\";"));
    imports.map(source).collect()
}

impl PageFile {
    fn new(text: Vec<u8>) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        // A vector takes all that is written.
        let zipped = encoder.write_all(&text).and_then(|()| encoder.finish()).unwrap_or_default();
        Self { etag: format!("\"{}\"", &blake3::hash(&text).to_hex()[..16]), text, zipped }
    }
}

/// The text of a file.
///
/// # Panics
/// Where there is none of this name: a test serves them all.
fn source(name: &str) -> &'static str {
    let text = SOURCES.get_file(name).and_then(|file| file.contents_utf8());
    text.unwrap_or_else(|| panic!("the page has no text {name}"))
}

/// A module, read as far as joining it takes: `import` stands at the begin of a line and ends with `;`, `export` stands before a function, a
/// class or a constant.
#[derive(PartialEq, Eq)]
struct Module {
    name: String,
    /// What stands between `import` and `from`, and the module that it is from.
    imports: Vec<(String, String)>,
    exports: Vec<String>,
    body: String,
}

impl Module {
    fn read(name: &str) -> Self {
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut module = Self { name: name.into(), imports: Vec::new(), exports: Vec::new(), body: String::new() };
        let mut lines = source(name).split_inclusive('\n');
        while let Some(line) = lines.next() {
            let bare = line.trim_start();
            if bare.starts_with("//") || bare.starts_with("/**") {
                // What explains the sources is a sixth of what a browser would load.
                let mut last = line;
                while bare.starts_with("/**") && !last.contains("*/") {
                    last = lines.next().unwrap_or("*/");
                }
            } else if line.starts_with("import ") {
                let mut all = line.to_owned();
                while !all.trim_end().ends_with(';') {
                    all.push_str(lines.next().unwrap_or(";"));
                }
                let (what, from) = all["import ".len()..].rsplit_once(" from ").expect("an import says from where");
                let from = from.trim().trim_matches(['"', ';']);
                module.imports.push((what.to_owned(), joined(folder, from)));
            } else if let Some(export) = line.strip_prefix("export ") {
                let words = export.trim_start_matches("async ").split_once(' ').map_or("", |(_, rest)| rest);
                let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
                module.exports.push(words.split(|letter| !is_name(letter)).next().unwrap_or_default().to_owned());
                module.body.push_str(export);
            } else {
                module.body.push_str(line);
            }
        }
        module
    }
}

/// Where a name leads from a folder; one that begins with `/` is that of another script.
fn joined(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty() && !name.starts_with('/')).collect();
    for part in name.split('/') {
        match part {
            "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// A module and all that it imports, those first that others import.
fn closure(entry: &str) -> Vec<Module> {
    fn add(name: &str, modules: &mut Vec<Module>) {
        if name.starts_with('/') || modules.iter().any(|module| module.name == name) {
            return;
        }
        let module = Module::read(name);
        for (_, from) in &module.imports {
            add(from, modules);
        }
        modules.push(module);
    }
    let mut modules = Vec::new();
    add(entry, &mut modules);
    modules
}

/// The name of what a module exports.
fn variable(module: &str) -> String {
    format!("of_{}", module.trim_end_matches(".js").replace(['/', '-'], "_"))
}

/// One script of modules, which may use those of the first script.
fn script(modules: &[Module], first: &[Module]) -> String {
    let names = |modules: &[Module]| modules.iter().map(|it| variable(&it.name)).collect::<Vec<_>>().join(", ");
    let mut text = String::new();
    if !first.is_empty() {
        _ = writeln!(text, "import {{ {} }} from \"/page/{ENTRY}\";", names(first));
    }
    let others = modules.iter().flat_map(|module| &module.imports).map(|(_, from)| from);
    for from in others.filter(|from| from.starts_with('/')).collect::<BTreeSet<_>>() {
        _ = writeln!(text, "import * as {} from \"{from}\";", variable(from));
    }
    for Module { name, imports, exports, body } in modules {
        _ = writeln!(text, "const {} = (() => {{", variable(name));
        for (what, from) in imports {
            let what = what.trim_start_matches("* as ").replace(" as ", ": ");
            _ = writeln!(text, "const {what} = {};", variable(from));
        }
        _ = writeln!(text, "{body}return {{ {} }};\n}})();", exports.join(", "));
    }
    _ = writeln!(text, "export {{ {} }};", names(modules));
    // Who loads it later wants what its last module exports.
    if let Some(entry) = modules.last().filter(|_| !first.is_empty()) {
        _ = writeln!(text, "export const {{ {} }} = {};", entry.exports.join(", "), variable(&entry.name));
    }
    text
}

#[cfg(test)]
mod tests {
    use include_dir::DirEntry;

    use super::*;

    fn all(folder: &'static Dir<'static>) -> Vec<(String, &'static str)> {
        let one = |entry: &'static DirEntry<'static>| match entry {
            DirEntry::Dir(folder) => all(folder),
            DirEntry::File(file) => vec![(file.path().to_string_lossy().into_owned(), file.contents_utf8().unwrap())],
        };
        folder.entries().iter().flat_map(one).collect()
    }

    #[test]
    fn every_module_is_served_and_none_holds_what_the_policy_forbids() {
        let joined: String = FILES.values().map(|file| String::from_utf8(file.text.clone()).unwrap()).collect();
        for (name, text) in all(&SOURCES).into_iter().filter(|(name, _)| !name.starts_with(VENDOR)) {
            assert!(
                [".html", ".css", ".svg", ".js", ".webmanifest"].iter().any(|ending| name.ends_with(ending)),
                "{name}"
            );
            let is_there = match name.ends_with(".js") && name != WORKER {
                true => joined.contains(&format!("const {} = ", variable(&name))),
                false => [SHEET, PAGE].contains(&name.as_str()) || joined.contains(text),
            };
            assert!(is_there, "{name} is imported by none");
            for forbidden in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "style=", "onclick="]
            {
                assert!(!text.contains(forbidden), "{name}: {forbidden}");
            }
            // They show a condition that does not hold as the word `false`; `append` and `replace` of dom.js do not.
            let puts = text.contains(".replaceChildren(") || text.contains(".append(");
            assert!(!puts || name == "lib/dom.js", "{name} puts children into elements by itself");
            let away = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!away.contains("//cdn") && !away.contains("https://"), "{name} loads from elsewhere");
        }
        assert!(FILES.keys().all(|name| !name.contains("..")));
    }

    #[test]
    fn libraries_are_those_that_the_script_made() {
        let sums = source("vendor/SHA256SUMS");
        let listed = sums.lines().map(|line| line.split_once("  ").expect("a checksum and a name"));
        let there = FILES.keys().filter_map(|name| name.strip_prefix("vendor/"));
        assert_eq!(there.collect::<Vec<_>>(), listed.clone().map(|(_, name)| name).collect::<Vec<_>>());
        for (sum, name) in listed {
            let made = Sha256::digest(source(&format!("{VENDOR}/{name}")));
            let made: String = made.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(made, sum, "{name} is not what scripts/vendor made");
        }
    }

    #[test]
    fn who_reads_loads_little_and_who_writes_not_much_more() {
        let size = |names: &[&str]| names.iter().map(|&name| FILES[name].zipped.len()).sum::<usize>();
        let reader = size(&[PAGE, ENTRY, "icon.svg"]);
        let writer = reader + size(&["edit/editor.js", "vendor/codemirror.js"]);
        assert!(reader <= 70_000 && writer <= 180_000, "{reader}, {writer}");
    }

    #[test]
    fn a_module_is_a_function_that_returns_its_exports() {
        let module = |name: &str, imports: &[(&str, &str)], body: &str| Module {
            name: name.into(),
            imports: imports.iter().map(|(what, from)| ((*what).into(), (*from).into())).collect(),
            exports: vec!["show".into()],
            body: body.into(),
        };
        let a = module("lib/a-b.js", &[], "function show() {}\n");
        let b =
            module("views/c.js", &[("{ show as see }", "lib/a-b.js"), ("* as x", "/page/x.js")], "const show = see;\n");
        let text = "const of_lib_a_b = (() => {\nfunction show() {}\nreturn { show };\n})();\n";
        assert_eq!(script(std::slice::from_ref(&a), &[]), format!("{text}export {{ of_lib_a_b }};\n"));
        let behind = "import { of_lib_a_b } from \"/page/app.js\";\nimport * as of__page_x from \"/page/x.js\";\nconst of_views_c = (() => {\n\
                      const { show: see } = of_lib_a_b;\nconst x = of__page_x;\nconst show = see;\nreturn { show };\n})();\nexport { of_views_c };\nexport const { show } = of_views_c;\n";
        assert_eq!(script(&[b], &[a]), behind);
        assert_eq!(joined("views", "../lib/a.js"), "lib/a.js");
        assert_eq!(joined("", "./lib/a.js"), "lib/a.js");
    }
}
