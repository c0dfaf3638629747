//! What is still said by what stays: of what was made of a forgotten text no more is remembered as forgotten than nobody else says.

use std::collections::HashSet;

use crate::derive::{Said, readings, said};

/// Paragraphs and sentences, as words alone.
#[derive(Default)]
pub(super) struct StayingTexts(HashSet<String>);

impl StayingTexts {
    /// Adds all that a text says.
    pub(super) fn add(&mut self, text: &str) {
        self.0.extend(readings(text).into_iter().flat_map(parts_of));
    }

    /// Adds parts of texts.
    pub(super) fn extend(&mut self, parts: impl Iterator<Item = String>) {
        self.0.extend(parts);
    }

    /// What of texts nobody else says: each whole, else its paragraphs, else its sentences.
    pub(super) fn leave_out_of(&self, texts: Vec<String>) -> Vec<String> {
        match self.0.is_empty() {
            true => texts,
            false => texts.into_iter().flat_map(|text| self.rest_of(text)).collect(),
        }
    }

    fn rest_of(&self, text: String) -> Vec<String> {
        let has_any = |of: Said| parts_of(of).iter().any(|part| self.0.contains(part));
        if !has_any(said(&text)) {
            return vec![text];
        }
        let mut rest = Vec::new();
        for block in said(&text).blocks.into_iter().filter(|block| !self.0.contains(&block.words)) {
            let span = block.span.clone();
            let cells = block.cells.iter().filter(|cell| !self.0.contains(&cell.words));
            let sentences = match block.cells.is_empty() {
                true => block.sentences.clone(),
                false => cells.flat_map(|cell| cell.sentences.clone()).collect(),
            };
            match has_any(Said { blocks: vec![block] }) {
                true => {
                    let left = sentences.into_iter().filter(|sentence| !self.0.contains(&sentence.words));
                    rest.extend(left.map(|sentence| text[sentence.span].to_owned()));
                }
                false => rest.push(text[span].to_owned()),
            }
        }
        rest
    }
}

/// All that a text says, whole and in parts.
pub(super) fn parts_of(said: Said) -> Vec<String> {
    let mut parts = vec![said.whole()];
    for block in said.blocks {
        parts.push(block.words);
        let cells = block.cells.into_iter().flat_map(|cell| {
            let sentences = cell.sentences.into_iter().map(|sentence| sentence.words);
            std::iter::once(cell.words).chain(sentences)
        });
        parts.extend(block.sentences.into_iter().map(|sentence| sentence.words).chain(cells));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_was_made_of_it_what_stays_is_left_out() {
        let mut staying = StayingTexts::default();
        let rest = |staying: &StayingTexts, text: &str| staying.leave_out_of(vec![text.to_owned()]);
        let quote = "On `a.md`:\n\n> - The key lies under the pot.\n> - Bread is baked on Sunday.\n\nMind that.\n";
        assert_eq!(rest(&staying, quote), [quote]);
        staying.add("- Bread is baked on Sunday.\n- Water is wet, and it is cold.\n");
        assert_eq!(rest(&staying, quote), ["On `a.md`:\n", "> - The key lies under the pot.\n", "Mind that.\n"]);
        // Where a part of a paragraph stays, its other sentences go.
        assert_eq!(rest(&staying, "The key is here. Water is wet, and it is cold. Go."), ["The key is here. ", "Go."]);
        assert_eq!(rest(&staying, "| Water is wet, and it is cold. | The key is here. |"), ["The key is here. "]);
        assert_eq!(rest(&staying, "Bread is baked\non SUNDAY!"), [""; 0]);
    }
}
