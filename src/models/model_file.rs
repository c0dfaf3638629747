//! What a model's file says of itself.

/// What the header of a GGUF file says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ModelFile {
    /// The model's name within the file; empty where it has none.
    pub name: String,
    /// The file's own name, without its ending.
    pub stem: String,
    /// `bert`, `nomic-bert` and others.
    pub architecture: String,
    /// The length of its vectors; 0 where it does not say.
    pub dimension: usize,
    /// Tokens that it reads; 0 where it does not say.
    pub context: usize,
    /// How its tokens become one vector, where it says.
    pub pooling: Option<&'static str>,
    /// Its licence, where it says.
    pub licence: Option<String>,
    /// Its size.
    pub bytes: u64,
}
