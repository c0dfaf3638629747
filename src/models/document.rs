//! What a model is given to embed.

/// What one chunk gives to the model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Document {
    /// Where the text stands: `title > heading > heading`. May be empty; a model sees at most its first 48 tokens.
    pub context: String,
    /// The chunk's own text.
    pub text: String,
    /// Whether the vectors of its tokens are kept beside its own, by a model that has them.
    pub keeps_tokens: bool,
}

impl Document {
    /// Returns what a model reads: the context, a newline and the text, or the text alone where there is no context.
    pub fn input(&self) -> String {
        if self.context.is_empty() {
            return self.text.clone();
        }
        format!("{}\n{}", self.context, self.text)
    }
}
