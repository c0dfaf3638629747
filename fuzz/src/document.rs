use memory_vault::base::path::{AttachmentKind, VaultPath};
use memory_vault::text::derive::chunk;
use memory_vault::text::note::Note;
use memory_vault::vault::attachments::read_in_memory;

/// Any bytes are a document that is read or refused, without a panic and without end. What is read is a text that is as it is once more, of which
/// nothing but headings and paragraphs is made. The first byte says which reader is tried.
pub fn document(data: &[u8]) {
    let Some((first, bytes)) = data.split_first() else { return };
    let (kind, name) = match first % 3 {
        0 => (AttachmentKind::Pdf, "a.pdf"),
        1 => (AttachmentKind::Docx, "a.docx"),
        _ => (AttachmentKind::Html, "a.html"),
    };
    let Ok(text) = read_in_memory(kind, bytes) else { return };
    let path = VaultPath::new(name).expect("a path");
    let note = Note::of(&path, &text);
    assert!(note.tags.is_empty() && note.links.is_empty() && note.metadata.is_empty() && !note.is_private());
    assert!(!text.chars().any(|character| character.is_control() && character != '\n'), "{text:?}");
    let body: String = note.blocks.iter().map(|block| &text[block.span.clone()]).collect();
    let letters = |text: &str| text.chars().filter(|character| !character.is_whitespace()).count();
    assert_eq!(letters(&body), letters(&text), "all of it stands in blocks");
    for chunk in chunk(&path, &note, &text) {
        assert!(!chunk.text.trim().is_empty());
        if kind == AttachmentKind::Pdf && chunk.bytes.end > 0 {
            assert!(chunk.heading_path.first().is_some_and(|heading| heading.starts_with("Page ")), "{chunk:?}");
        }
    }
}
