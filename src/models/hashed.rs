//! An embedder without a model, for tests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use unicode_segmentation::UnicodeSegmentation;

use super::token_vectors::unit;
use super::{
    Document, EmbeddedText, Embedder, Fingerprint, ModelAsker, ModelError, PackedTokens, TokenQuery, TokenVectors,
};

/// A deterministic embedder for tests and benches: texts that share words, or parts of words, are near each other.
///
/// It knows nothing of meaning. It counts what it embeds, so that a test can say that nothing was embedded twice.
#[derive(Debug)]
pub struct HashEmbedder {
    fingerprint: Fingerprint,
    dimension: usize,
    name: &'static str,
    documents: AtomicUsize,
}

impl HashEmbedder {
    /// Makes an embedder of vectors of `dimension` numbers; embedders of one dimension are interchangeable.
    ///
    /// # Panics
    ///
    /// When `dimension` is 0.
    pub fn new(dimension: usize) -> Self {
        assert!(dimension > 0, "a vector has at least one number");
        Self {
            fingerprint: Fingerprint::of(&[b"hashed words", &dimension.to_le_bytes()]),
            dimension,
            name: "hashed words (for tests)",
            documents: AtomicUsize::new(0),
        }
    }

    /// The same under the name of a model of which something is known.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// Returns how many documents were embedded so far.
    pub fn documents_embedded(&self) -> usize {
        self.documents.load(Ordering::Relaxed)
    }

    fn embed_text(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.0; self.dimension];
        // Every text leans a little the same way, so that one without words has a direction too.
        vector[0] = 0.01;
        let mut add = |feature: &str, weight: f32| {
            let hash = blake3::hash(feature.as_bytes());
            let (at, sign) = hash.as_bytes().split_at(8);
            let at = u64::from_le_bytes(at.try_into().expect("eight bytes")) % self.dimension as u64;
            vector[at as usize] += if sign[0] & 1 == 0 { weight } else { -weight };
        };
        for word in text.unicode_words() {
            let word = word.to_lowercase();
            add(&word, 1.0);
            let letters: Vec<char> = word.chars().collect();
            for part in letters.windows(4) {
                add(&part.iter().collect::<String>(), 0.3);
            }
        }
        unit(&vector).unwrap_or_else(|| {
            // Features can cancel out exactly.
            let mut fallback = vec![0.0; self.dimension];
            fallback[0] = 1.0;
            fallback
        })
    }
}

impl Default for HashEmbedder {
    fn default() -> Self {
        Self::new(128)
    }
}

impl Embedder for HashEmbedder {
    fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    fn name(&self) -> &str {
        self.name
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn embed_query(&self, text: &str, _: Option<Instant>) -> Result<Vec<f32>, ModelError> {
        Ok(self.embed_text(text))
    }

    fn embed_documents(&self, documents: &[Document], _: Option<Instant>) -> Result<Vec<Vec<f32>>, ModelError> {
        self.documents.fetch_add(documents.len(), Ordering::Relaxed);
        Ok(documents.iter().map(|document| self.embed_text(&document.input())).collect())
    }

    fn embed(&self, documents: &[Document], deadline: Option<Instant>) -> Result<Vec<EmbeddedText>, ModelError> {
        let vectors = self.embed_documents(documents, deadline)?;
        let embedding = |(document, vector): (&Document, Vec<f32>)| {
            let mut embedding = EmbeddedText::of(&vector);
            if document.keeps_tokens {
                embedding.tokens = PackedTokens::of(&self.tokens_of(&document.input()), &vec![0.0; self.dimension]);
            }
            embedding
        };
        Ok(documents.iter().zip(vectors).map(embedding).collect())
    }

    fn token_query(
        &self,
        _: Option<&ModelAsker>,
        text: &str,
        _: Option<Instant>,
    ) -> Result<Option<TokenQuery>, ModelError> {
        Ok(Some(TokenQuery::new(&self.tokens_of(text))))
    }
}

impl HashEmbedder {
    /// A word is a token.
    fn tokens_of(&self, text: &str) -> TokenVectors {
        let vectors: Vec<f32> = text.unicode_words().flat_map(|word| self.embed_text(word)).collect();
        TokenVectors::new(self.dimension, &vectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_words_are_near_and_vectors_are_unit_length() {
        let embedder = HashEmbedder::default();
        let dot = |a: &str, b: &str| -> f32 {
            let (a, b) = (embedder.embed_text(a), embedder.embed_text(b));
            a.iter().zip(&b).map(|(x, y)| x * y).sum()
        };
        let bread = "how to bake sourdough bread";
        assert!(dot(bread, "Sourdough bread: how I bake it") > 0.6);
        assert!(dot(bread, "quarterly tax filing deadline").abs() < 0.3);
        for text in ["", "!?", "a", bread] {
            assert!((dot(text, text) - 1.0).abs() < 1e-5, "{text:?}");
        }
    }
}
