//! Documents as tests write them, byte by byte.

use std::io::{Cursor, Write};

use lopdf::{Dictionary, Document, EncryptionState, EncryptionVersion, Permissions, Stream};
use zip::write::{SimpleFileOptions, ZipWriter};

/// How a PDF is written.
#[derive(Debug, Clone, Copy, Default)]
pub struct PdfStyle {
    /// Its streams are compressed.
    pub flate: bool,
    /// Its letters are numbers of drawings, and a table says which characters they are.
    pub unicode: bool,
}

/// A PDF whose pages have these lines.
pub fn pdf(pages: &[&str], style: PdfStyle) -> Vec<u8> {
    let drawn: Vec<Vec<u8>> = pages.iter().map(|page| drawn(page, style)).collect();
    pdf_of(&drawn, style)
}

/// What a page draws to show lines.
fn drawn(lines: &str, style: PdfStyle) -> Vec<u8> {
    let mut content = b"BT /F1 12 Tf 14 TL 72 720 Td\n".to_vec();
    for line in lines.lines() {
        if style.unicode {
            let codes: String = line.encode_utf16().map(|unit| format!("{unit:04X}")).collect();
            content.extend(format!("<{codes}> Tj T*\n").bytes());
        } else {
            content.push(b'(');
            for byte in line.bytes() {
                content.extend(matches!(byte, b'(' | b')' | b'\\').then_some(b'\\'));
                content.push(byte);
            }
            content.extend(b") Tj T*\n");
        }
    }
    content.extend(b"ET\n");
    content
}

/// A PDF whose pages draw this.
pub fn pdf_of(pages: &[Vec<u8>], style: PdfStyle) -> Vec<u8> {
    const FIRST: usize = 7;
    let kids: String = (0..pages.len()).map(|at| format!("{} 0 R ", FIRST + 2 * at)).collect();
    let font = match style.unicode {
        true => {
            "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /DescendantFonts [4 0 R] /ToUnicode 5 0 R >>"
        }
        false => "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    };
    let table =
        b"1 begincodespacerange <0000> <FFFF> endcodespacerange\n1 beginbfrange <0000> <FFFF> <0000> endbfrange\n";
    let mut objects: Vec<Vec<u8>> = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", pages.len()).into_bytes(),
        font.into(),
        b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /DW 500 >>".to_vec(),
        stream(table, style),
        b"<< /Font << /F1 3 0 R >> >>".to_vec(),
    ];
    for (at, content) in pages.iter().enumerate() {
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources 6 0 R /Contents {} 0 R >>",
            FIRST + 2 * at + 1
        );
        objects.push(page.into_bytes());
        objects.push(stream(content, style));
    }
    written(&objects)
}

/// A PDF of so many pages that all draw the same, compressed.
pub fn pdf_repeated(content: &[u8], pages: usize) -> Vec<u8> {
    let kids: String = (0..pages).map(|at| format!("{} 0 R ", 5 + at)).collect();
    let mut objects: Vec<Vec<u8>> = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {pages} >>").into_bytes(),
        stream(content, PdfStyle { flate: true, unicode: false }),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
    ];
    let page = b"<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 4 0 R >> >> /Contents 3 0 R >>";
    objects.extend(std::iter::repeat_n(page.to_vec(), pages));
    written(&objects)
}

fn stream(content: &[u8], style: PdfStyle) -> Vec<u8> {
    let mut stream = Stream::new(Dictionary::new(), content.to_vec());
    if style.flate {
        stream.compress().unwrap();
    }
    let filter = if stream.content.len() < content.len() { "/Filter /FlateDecode " } else { "" };
    [format!("<< {filter}/Length {} >>\nstream\n", stream.content.len()).as_bytes(), &stream.content, b"\nendstream"]
        .concat()
}

/// The file of such objects, with the table of where they are.
fn written(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n".to_vec();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (at, object) in objects.iter().enumerate() {
        table += &format!("{:010} 00000 n \n", bytes.len());
        bytes.extend(format!("{} 0 obj\n", at + 1).bytes());
        bytes.extend(object);
        bytes.extend(b"\nendobj\n");
    }
    let start = bytes.len();
    bytes.extend(table.bytes());
    let trailer = format!("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n", objects.len() + 1);
    bytes.extend(trailer.bytes());
    bytes
}

/// A PDF that takes a password to be read, or none if that is empty.
pub fn encrypted(text: &str, password: &str) -> Vec<u8> {
    let mut document = Document::load_mem(&pdf(&[text], PdfStyle::default())).unwrap();
    document.trailer.set("ID", vec![lopdf::Object::string_literal("one"), lopdf::Object::string_literal("one")]);
    let version = EncryptionVersion::V2 {
        document: &document,
        owner_password: "owner",
        user_password: password,
        key_length: 128,
        permissions: Permissions::all(),
    };
    document.encrypt(&EncryptionState::try_from(version).unwrap()).unwrap();
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

/// An archive of such files.
pub fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A Word document with this between `<w:body>` and its end.
pub fn docx(body: &str) -> Vec<u8> {
    let document = format!("<?xml version=\"1.0\"?><w:document xmlns:w=\"w\"><w:body>{body}</w:body></w:document>");
    let styles = "<w:styles xmlns:w=\"w\"><w:style w:styleId=\"berschrift1\"><w:name w:val=\"heading 1\"/></w:style>\
                  <w:style w:styleId=\"berschrift2\"><w:name w:val=\"heading 2\"/></w:style></w:styles>";
    let relations =
        "<Relationships><Relationship Type=\"http://x/officeDocument\" Target=\"word/document.xml\"/></Relationships>";
    archive(&[
        ("_rels/.rels", relations.as_bytes()),
        ("word/document.xml", document.as_bytes()),
        ("word/styles.xml", styles.as_bytes()),
    ])
}

/// A paragraph, with the style of that name if one is named.
pub fn paragraph(style: &str, text: &str) -> String {
    let style = if style.is_empty() { String::new() } else { format!("<w:pPr><w:pStyle w:val=\"{style}\"/></w:pPr>") };
    format!("<w:p>{style}<w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r></w:p>")
}
