//! Random bearer tokens, compared by their hashes in constant time.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A bearer token: 32 random bytes in hexadecimal. Not shown by `Debug`.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Makes a new one from the system's random numbers.
    ///
    /// # Errors
    /// When the system has none to give.
    pub fn random() -> std::io::Result<Self> {
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes).map_err(std::io::Error::from)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Takes a token as a person or a file gives it; white space around it does not count.
    pub fn from_text(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The token itself, to hand it to its holder.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is kept to recognise it.
    pub fn hash(&self) -> TokenHash {
        TokenHash(blake3::hash(self.0.as_bytes()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The BLAKE3 of a token. `==` takes the same time for every pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TokenHash(blake3::Hash);

impl From<blake3::Hash> for TokenHash {
    fn from(hash: blake3::Hash) -> Self {
        Self(hash)
    }
}

impl From<&TokenHash> for blake3::Hash {
    fn from(hash: &TokenHash) -> Self {
        hash.0
    }
}

impl TryFrom<String> for TokenHash {
    type Error = blake3::HexError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        blake3::Hash::from_hex(text).map(Self)
    }
}

impl From<TokenHash> for String {
    fn from(hash: TokenHash) -> Self {
        hash.0.to_hex().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_do_not_show() {
        let (one, two) = (Token::random().unwrap(), Token::random().unwrap());
        assert_ne!(one.hash(), two.hash());
        assert_eq!(one.reveal().len(), 64);
        assert_eq!(Token::from_text(&format!(" {}\n", one.reveal())).hash(), one.hash());
        assert!(!format!("{one:?}").contains(one.reveal()));
    }
}
