//! Words that are like another.

/// What a word is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Like {
    /// It begins so, and goes on.
    Prefix(String),
    /// So many letters at most are changed, put in, left out or exchanged with their neighbour.
    Edits(String, u8),
}

impl Like {
    /// How far a word is from it, when it is like it: 0 of what begins so.
    pub fn distance(&self, word: &str) -> Option<usize> {
        match self {
            Self::Prefix(prefix) => (word.starts_with(prefix.as_str()) && word.len() > prefix.len()).then_some(0),
            Self::Edits(other, most) => {
                // Cheaper than the distance, which is never less than this.
                let apart = word.chars().count().abs_diff(other.chars().count());
                let near = || Some(strsim::osa_distance(word, other)).filter(|edits| *edits <= usize::from(*most));
                (apart <= usize::from(*most)).then(near).flatten()
            }
        }
    }
}

/// A word that is like another, and how many chunks have it in their text, their title or their headings.
pub type LikeWord = (String, u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_finger_are_near() {
        let edits = |typed: &str, most, word: &str| Like::Edits(typed.into(), most).distance(word);
        assert_eq!(edits("ownreship", 2, "ownership"), Some(1), "two letters that changed places are one slip");
        assert_eq!(edits("clousre", 1, "closure"), Some(1));
        assert_eq!([edits("gardne", 1, "gardens"), edits("gardne", 2, "gardens")], [None, Some(2)]);
        assert_eq!(edits("bok", 1, "books"), None);
        let prefix = |word: &str| Like::Prefix("necta".into()).distance(word);
        assert_eq!([prefix("nectar"), prefix("necta"), prefix("connectable")], [Some(0), None, None]);
    }
}
