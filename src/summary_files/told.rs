//! The short text that a model has made of a digest, written above the lines of rules.

use blake3::Hash;

use super::make::{MADE_BY, SummaryFiles, is_forgotten};
use super::place::{FileMade, SummaryError, SummaryPlace, put};
use crate::derive::generated::GeneratedNote;
use crate::derive::summary::{CitedLine, with_short_text, without_short_text};
use crate::path::VaultPath;

impl SummaryFiles<'_> {
    /// Writes a short text at the top of a digest that is as it was read, with the hash `read`; another is kept as it is. What was forgotten for
    /// good is left out; where nothing is left, nothing is written.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub(crate) fn tell(
        &self,
        path: &VaultPath,
        read: Hash,
        made_by: &str,
        mut text: Vec<CitedLine>,
    ) -> Result<FileMade, SummaryError> {
        let _one = self.files.one_generation();
        let there = self.files.read(path)?.filter(|(_, hash)| *hash == read);
        let before = there.and_then(|(bytes, _)| GeneratedNote::read(std::str::from_utf8(&bytes).ok()?));
        let Some(before) = before.filter(|before| !before.is_edited) else { return Ok(FileMade::Kept(path.clone())) };
        // Held until it is written.
        let asked = self.forgotten.ask()?;
        text.retain(|line| !is_forgotten(&asked, &line.text));
        if text.is_empty() {
            return Ok(FileMade::Nothing);
        }
        let body = with_short_text(&text, without_short_text(&before.body));
        let (mut own, sources) = (before.metadata.clone(), before.sources());
        own.insert(MADE_BY.into(), made_by.into());
        let place = SummaryPlace { path: path.clone(), before: Some((before, read)) };
        put(self.files, place, &own, &sources, &body)
    }
}
