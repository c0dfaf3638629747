//! Documents that were made to harm, and the process that reads them.

use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;

use super::documents::{PdfStyle, archive, docx, paragraph, pdf, pdf_of, pdf_repeated};
use super::{parts, process, refused, texts};
use crate::support::prelude::*;

const SIGABRT: i32 = 6;
const SIGXCPU: i32 = 24;

#[test]
fn the_process_that_reads_can_neither_write_nor_open_nor_speak_to_anybody() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("there"), "x").unwrap();
    let _listener = UnixListener::bind(folder.path().join("socket")).unwrap();
    let output = vault_command().args(["read-attachment", "check"]).arg(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8(output.stdout).unwrap();
    let parts: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    if let Some(unconfined) = parts.iter().find_map(|part| part["unconfined"].as_str()) {
        skipped(unconfined);
        return;
    }
    assert!(parts.iter().all(|part| part["problem"].is_null()), "{parts:#?}");
    let refused: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    assert_eq!(refused.len(), 13, "{refused:?}");
    for what in ["make a file", "remove a file", "open a socket", "connect to an address", "start a program"] {
        assert!(
            refused.iter().any(|refused| refused.starts_with(what) && refused.contains("permission denied")),
            "{refused:?}"
        );
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the socket and what was there");
    assert_eq!(fs::read_to_string(folder.path().join("there")).unwrap(), "x");
}

#[test]
fn a_document_that_takes_too_much_memory_or_time_ends_its_process_and_nothing_else() {
    // One word of 150 MB, packed into 150 kB.
    let text = vec![b'a'; 150_000_000];
    let bomb = docx(&paragraph("", std::str::from_utf8(&text).unwrap()));
    assert!(bomb.len() < 1_000_000);
    // One that takes more than ten seconds of computing is ended as well.
    let long = pdf_repeated(&b"q Q ".repeat(10_000_000), 1_000);
    assert!(long.len() < 1_000_000);
    let blank = pdf_repeated(&vec![b' '; 300_000_000], 1);
    for (kind, document, signal) in [("docx", bomb, SIGABRT), ("pdf", blank, SIGABRT), ("pdf", long, SIGXCPU)] {
        let status = process(kind, &document).status;
        assert_eq!(status.signal(), Some(signal), "{status}");
    }
}

#[test]
fn ten_thousand_pages_are_read() {
    let pages: Vec<String> = (1..=10_000).map(|page| format!("This is page number {page}")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let read = texts("pdf", &pdf(&pages, PdfStyle::default()));
    assert_eq!((read.len(), read.last().map(String::as_str)), (20_000, Some("This is page number 10000")));
}

#[test]
fn what_nests_without_end_is_read_or_refused() {
    let depth = 200_000;
    let page = format!("{}deep{}", "<div><b>".repeat(depth), "</b></div>".repeat(depth));
    assert_eq!(texts("html", page.as_bytes()), ["deep"]);
    let unclosed = format!("before{}", "<table><tr><td>".repeat(depth));
    assert_eq!(texts("html", unclosed.as_bytes()), ["before"]);
    let body = format!("{}{}", "<w:p>".repeat(depth), paragraph("", "deep"));
    assert!(parts("docx", &docx(&body)).iter().any(|part| part["text"] == "deep"));
    let drawn = format!("{} BT /F1 12 Tf (deep) Tj ET", "[<<".repeat(depth));
    parts("pdf", &pdf_of(&[drawn.into_bytes()], PdfStyle::default()));
    // Pages that are their own children, and a thing on a page that draws itself.
    let own_child = b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [2 0 R] /Count 1 >>\n\
                      endobj\ntrailer\n<< /Size 3 /Root 1 0 R >>\nstartxref\n0\n%%EOF\n";
    refused("pdf", own_child);
}

#[test]
fn entities_that_grow_are_not_written_out() {
    let entities: String = (1..40).map(|at| format!("<!ENTITY e{at} \"&e{};&e{};\">", at - 1, at - 1)).collect();
    let document = format!(
        "<!DOCTYPE x [<!ENTITY e0 \"lol\">{entities}]><w:document xmlns:w=\"w\"><w:body>{}</w:body></w:document>",
        paragraph("", "a &e39; b")
    );
    let read = texts("docx", &archive(&[("word/document.xml", document.as_bytes())]));
    assert_eq!(read, ["a  b"]);
}

#[test]
fn bytes_of_any_kind_end_in_an_answer() {
    let seeds: [(&str, Vec<u8>); 3] = [
        ("pdf", pdf(&["Tea and bread", "Чай"], PdfStyle { flate: true, unicode: true })),
        ("docx", docx(&paragraph("", "Tea and bread"))),
        ("html", b"<h1>Tea</h1><p>and <b>bread</b><script>x</script>".to_vec()),
    ];
    let mut dice = Random::new(crate::support::seed());
    for (kind, seed) in &seeds {
        for _ in 0..8 {
            let mut bytes = seed.clone();
            for _ in 0..6 {
                let at = dice.below(bytes.len());
                bytes[at] = dice.below(256) as u8;
            }
            let cut = bytes.len() - dice.below(bytes.len() / 2);
            parts(kind, &bytes[..cut]);
        }
    }
}
