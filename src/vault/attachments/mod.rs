//! What documents beside the notes say: PDF, Word and web pages → a text with headings, read in a process of its own.
//!
//! ```text
//! file ─▶ bytes, hash ─▶ kept? ─▶ confined process (pdf · docx · html ─▶ parts, a line of JSON each) ─▶ text ─▶ kept
//! ```
//!
//! A document is of whoever sent it, and the code that takes it apart is large. So it runs in another process of this program, which is handed
//! its bytes, has limits of memory and time, and can neither open anything else nor write nor speak to anybody. What comes back is text.
//! Of a PDF each page is a section `## Page 3`; of others the headings are their own.

mod confined;
mod docx;
mod html;
mod pdf;
mod reader;

pub use confined::read_in_memory;
pub(crate) use confined::{ReaderJob, run};
pub use reader::{AttachmentReader, page_of};
pub(crate) use reader::{COMMAND, page_lines};
