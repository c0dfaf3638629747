//! How much of notes an answer may still give.

use serde_json::Value;

use super::AgentLimits;
use crate::serve::wire::ChunkView;

/// Characters of notes that an answer may still give; the person's has no bounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget(Option<usize>);

impl Budget {
    /// The room of an answer in which everything is given so many times.
    pub(crate) fn of(limits: Option<AgentLimits>, times: usize) -> Self {
        Self(limits.map(|limits| limits.max_injected_chars / times.max(1)))
    }

    /// Takes so many characters, if they fit.
    #[must_use]
    pub(crate) fn try_take(&mut self, chars: usize) -> bool {
        let Some(left) = self.0 else { return true };
        let rest = left.checked_sub(chars);
        self.0 = Some(rest.unwrap_or(left));
        rest.is_some()
    }

    /// Takes so many characters; where they do not fit, nothing more does.
    #[must_use]
    pub(crate) fn take(&mut self, chars: usize) -> bool {
        let fits = self.try_take(chars);
        if !fits {
            self.0 = Some(0);
        }
        fits
    }

    /// Takes a text, cut to what fits. Tells whether it was cut.
    pub(crate) fn cut(&mut self, text: &mut String) -> bool {
        let Some(left) = self.0 else { return false };
        let end = text.char_indices().nth(left).map(|(end, _)| end);
        if let Some(end) = end {
            text.truncate(end);
        }
        self.0 = Some(left - text.chars().count());
        end.is_some()
    }

    /// Whether a chunk would fit whole, with a snippet of so many characters.
    pub(crate) fn holds(&self, chunk: &ChunkView, snippet: usize) -> bool {
        self.0.is_none_or(|left| snippet + around(chunk) + chunk.content.chars().count() <= left)
    }

    /// Takes a chunk, and a snippet of so many characters: its frontmatter is left out where that does not fit, its text is cut.
    /// Tells whether it was cut; `None` where nothing of it fits.
    #[must_use]
    pub(crate) fn take_chunk(&mut self, chunk: &mut ChunkView, snippet: usize) -> Option<bool> {
        let Some(left) = self.0 else { return Some(false) };
        let mut names = around(chunk);
        if snippet + names > left {
            chunk.metadata = Value::Object(serde_json::Map::new());
            names = around(chunk);
        }
        if left == 0 || !self.take(snippet + names) {
            self.0 = Some(0);
            return None;
        }
        Some(self.cut(&mut chunk.content))
    }
}

/// Characters of what is given of a chunk besides its text.
fn around(chunk: &ChunkView) -> usize {
    let names = chunk.heading_path.iter().chain(&chunk.tags).chain([&chunk.title]);
    names.map(|name| name.chars().count()).sum::<usize>() + frontmatter_chars(&chunk.metadata)
}

/// Characters of a note's frontmatter as it is given.
pub(crate) fn frontmatter_chars(metadata: &Value) -> usize {
    match metadata {
        Value::Object(fields) if fields.is_empty() => 0,
        metadata => metadata.to_string().chars().count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_not_given() {
        let mut room = Budget(Some(5));
        assert!(!room.try_take(6) && room.try_take(2));
        let mut text = "äöü!".to_owned();
        assert!(room.cut(&mut text) && text == "äöü" && !room.try_take(1));
        let mut room = Budget(Some(5));
        assert!(!room.take(6) && !room.take(1) && room.take(0));
        let mut whole = Budget::of(None, 2);
        assert!(whole.take(usize::MAX) && !whole.cut(&mut "any".to_owned()));
    }
}
