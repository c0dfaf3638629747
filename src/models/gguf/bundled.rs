//! The model that the program carries with it.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::super::ModelError;
use super::bfloat;
use super::model::{ACTION, beside, hash_file, keep};

#[cfg(feature = "bundled-model")]
static MODEL: Option<&[u8]> = Some(include_bytes!("../../../models/all-minilm-l6-v2.q8_0.gguf"));
#[cfg(not(feature = "bundled-model"))]
static MODEL: Option<&[u8]> = None;

/// The BLAKE3 of the bundled model, so that a start need not read those 25 MB of the program.
const HASH: blake3::Hash = blake3::Hash::from_bytes([
    0x03, 0x12, 0x38, 0xe3, 0xec, 0x9a, 0x41, 0xd7, 0x41, 0x0f, 0xa3, 0x99, 0x96, 0x09, 0x8a, 0x2f, 0x03, 0x59, 0x0d,
    0x53, 0xd1, 0x3c, 0x37, 0xc9, 0x41, 0x3a, 0x46, 0x0e, 0x72, 0x8a, 0x37, 0xb4,
]);

/// Maximum length of a sequence of the bundled model, in tokens: it was trained on 256 tokens, though it has 512 positions.
pub(super) const MAX_TOKENS: usize = 256;

/// Puts the bundled model into the cache folder, in the form that llama.cpp computes with fastest here, and returns its path
/// and hash.
///
/// # Errors
///
/// When the folder cannot be written, or the program was built without a model.
pub(super) fn model(cache_dir: &Path) -> Result<(PathBuf, blake3::Hash), ModelError> {
    if bfloat::is_faster() {
        match bfloat::converted(cache_dir, &HASH, || unpack(cache_dir)) {
            Ok(converted) => return Ok(converted),
            Err(error) => tracing::warn!("the model is used as it is, which is slower: {error}"),
        }
    }
    Ok((unpack(cache_dir)?, HASH))
}

/// Puts the bundled model into the cache folder, where llama.cpp can map it into memory, and returns its path.
///
/// The file is named by its hash, so versions of the program do not fight over it, and written beside and renamed, so
/// neither do two processes. One that is there already is hashed: that takes 10 ms, and a cache that was cut or damaged
/// would otherwise give wrong vectors in silence.
///
/// # Errors
///
/// As for [`model`].
pub(super) fn unpack(cache_dir: &Path) -> Result<PathBuf, ModelError> {
    let path = cache_dir.join(format!("all-minilm-l6-v2.q8_0.{}.gguf", &HASH.to_hex()[..16]));
    if !hash_file(&path).is_ok_and(|hash| hash == HASH) {
        write(cache_dir, &path, MODEL.ok_or(ModelError::NoBundledModel)?)?;
    }
    Ok(path)
}

fn write(cache_dir: &Path, path: &Path, model: &[u8]) -> Result<(), ModelError> {
    let mut beside = beside(cache_dir)?;
    beside.write_all(model).map_err(ModelError::io(ACTION, path))?;
    keep(beside, path)
}

#[cfg(all(test, feature = "bundled-model"))]
mod tests {
    #[test]
    fn the_hash_is_that_of_the_file() {
        assert_eq!(super::MODEL.map(blake3::hash), Some(super::HASH));
    }
}
