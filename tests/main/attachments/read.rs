//! What is read of each kind.

use super::documents::{PdfStyle, archive, docx, encrypted, paragraph, pdf, pdf_of};
use super::{parts, refused, texts};

#[test]
fn a_pdf_is_read_page_by_page_compressed_or_not() {
    for flate in [false, true] {
        let style = PdfStyle { flate, unicode: false };
        let long = "Lorem ipsum dolor sit amet. ".repeat(20);
        let read = texts("pdf", &pdf(&["Tea and (bread)\nwith but-\nter", "", "Third page", &long], style));
        assert_eq!(read[..5], ["page 1", "Tea and (bread)\nwith butter", "page 2", "page 3", "Third page"]);
        assert_eq!(read[6], long.trim());
    }
}

#[test]
fn a_pdf_in_any_script_is_read_by_the_table_of_its_font() {
    for text in ["Grüße aus Köln", "Чай и хлеб", "茶和面包在桌上", "お茶とパン", "naïve café"]
    {
        for flate in [false, true] {
            let read = texts("pdf", &pdf(&[text], PdfStyle { flate, unicode: true }));
            assert_eq!(read, ["page 1", text]);
        }
    }
}

#[test]
fn words_that_are_placed_one_by_one_are_words() {
    let drawn = b"q 2 0 0 2 0 0 cm BT /F1 10 Tf 1 0 0 1 36 300 Tm [(W) 80 (ord) -400 (by)] TJ ET BT /F1 10 Tf 36 286 Td (word) Tj \
                  ET Q BT /F1 12 Tf 72 100 Td (Another) ' 8 0 (paragraph) \" ET BI /W 1 ID (((\x00 EI BT /F1 9 Tf 72 30 Td (end) Tj ET";
    let read = texts("pdf", &pdf_of(&[drawn.to_vec()], PdfStyle::default()));
    assert_eq!(read[0], "page 1");
    assert_eq!(read[1], "Word by\nword");
    assert!(read[2..].join(" ").contains("Another") && read.last().unwrap().ends_with("end"), "{read:?}");
}

#[test]
fn a_pdf_that_is_damaged_gives_what_can_be_read() {
    let whole = pdf(&["First page", "Second page"], PdfStyle::default());
    let text = String::from_utf8_lossy(&whole).into_owned();
    // A table that leads nowhere.
    let at = whole.windows(9).position(|window| window == b"startxref").unwrap();
    let broken = [&whole[..at], b"startxref\n999999\n%%EOF\n"].concat();
    assert_eq!(texts("pdf", &broken), ["page 1", "First page", "page 2", "Second page"]);
    // No table at all, as of a download that broke off.
    let at = text.find("xref\n0").unwrap();
    let read = parts("pdf", &whole[..whole.len().min(at)]);
    assert!(read.iter().any(|part| part["text"] == "First page" || part["refused"].is_string()), "{read:?}");
    // Before it, what mail has put there.
    let read = texts("pdf", &[b"\r\n\r\n".as_slice(), &whole].concat());
    assert_eq!(read[1], "First page");
    for cut in [10, 100, 300, whole.len() / 2] {
        parts("pdf", &whole[..cut]);
    }
}

#[test]
fn what_cannot_be_read_says_why() {
    assert_eq!(refused("pdf", b""), "it is empty");
    assert_eq!(refused("pdf", b"<html>"), "it is not a PDF");
    assert!(refused("pdf", b"%PDF-1.7\n").starts_with("it is damaged"));
    assert_eq!(refused("pdf", &encrypted("Secret", "open")), "it is encrypted, and takes a password");
    assert_eq!(
        texts("pdf", &encrypted("Not secret", "")),
        ["page 1", "Not secret"],
        "without a password anybody opens it"
    );
    let drawing = pdf_of(&[b"0 0 100 100 re f".to_vec()], PdfStyle::default());
    assert!(refused("pdf", &drawing).contains("there is no text in it"));
    assert!(refused("docx", b"%PDF-1.7").starts_with("it is not a Word document"));
    assert!(refused("docx", &archive(&[("a.txt", b"x")])).contains("it has no `word/document.xml`"));
    assert!(refused("docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1").contains("password"));
    assert!(refused("html", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").contains("not a web page"));
}

#[test]
fn a_word_document_is_read_with_its_headings_lists_and_tables() {
    let cell = |text: &str| format!("<w:tc>{}</w:tc>", paragraph("", text));
    let body = [
        paragraph("berschrift1", "Отчёт &amp; план"),
        paragraph("", "Tea &#38; bread &lt;hot&gt;"),
        "<w:p><w:r><w:t>one</w:t><w:tab/><w:t>two</w:t><w:br/><w:t>三</w:t></w:r></w:p>".into(),
        "<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>item</w:t></w:r></w:p>".into(),
        format!("<w:tbl><w:tr>{}{}</w:tr></w:tbl>", cell("left"), cell("right")),
        paragraph("berschrift2", "Second"),
        "<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>unseen</w:t></w:r><w:r><w:t>seen</w:t></w:r></w:p>".into(),
        "<w:p><w:del><w:r><w:delText>deleted</w:delText></w:r></w:del><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
            .into(),
        "<mc:Fallback><w:p><w:r><w:t>once more</w:t></w:r></w:p></mc:Fallback>".into(),
    ];
    assert_eq!(
        texts("docx", &docx(&body.concat())),
        ["1 Отчёт & план", "Tea & bread <hot>", "one two\n三", "- item", "left | right", "2 Second", "seen",]
    );
    // What breaks off in the middle is read as far as it goes, which is said.
    let read = parts("docx", &docx(&format!("{}<w:p><w:r></w:p>{}", paragraph("", "before"), paragraph("", "after"))));
    assert_eq!(read[0]["text"], "before");
    assert!(read[1]["problem"].as_str().unwrap().contains("damaged"), "{read:?}");
}

#[test]
fn a_web_page_is_what_its_reader_sees() {
    let page = "<!doctype html><html><head><title>Tea</title><style>p{}</style><script>let x = '<p>no</p>';</script></head>\
                <body><nav><a>Home</a><div>Menu</div></nav><h1>Tea</h1><p>Green\n  <b>tea</b> &amp; <i>bread</i>&nbsp;now<br>line</p>\
                <ul><li>one<li>two</ul><h2>Чай</h2><table><tr><td>a<td>茶</table><pre>x\n  y</pre><div hidden>gone</div>\
                <p style='display: none'>gone too</p><noscript>no</noscript><p>end";
    assert_eq!(
        texts("html", page.as_bytes()),
        ["1 Tea", "Green tea & bread\u{a0}now\nline", "- one", "- two", "2 Чай", "a | 茶", "x\n  y", "end"]
    );
    let russian = [b"<meta charset=windows-1251><p>".as_slice(), &[0xd7, 0xe0, 0xe9]].concat();
    assert_eq!(texts("html", &russian), ["Чай"]);
    assert_eq!(texts("html", b"<title>Only a title</title>"), ["1 Only a title"]);
    assert_eq!(texts("html", b"no tags at all"), ["no tags at all"]);
}
