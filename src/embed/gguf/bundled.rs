//! The model that the program carries with it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::super::EmbedError;
use super::bfloat;

#[cfg(feature = "bundled-model")]
static MODEL: Option<&[u8]> = Some(include_bytes!("../../../models/all-minilm-l6-v2.q8_0.gguf"));
#[cfg(not(feature = "bundled-model"))]
static MODEL: Option<&[u8]> = None;

/// Sequences of the bundled model are at most this long: it was trained on 256 tokens, though it has 512 positions.
pub(super) const MAX_TOKENS: usize = 256;

/// Puts the bundled model into the cache folder, in the form that llama.cpp computes with fastest here, and returns its path
/// and hash.
pub(super) fn model(cache_dir: &Path) -> Result<(PathBuf, blake3::Hash), EmbedError> {
    let (path, hash) = unpack(cache_dir)?;
    if !bfloat::is_faster() {
        return Ok((path, hash));
    }
    bfloat::converted(&path, &hash).or_else(|error| {
        tracing::warn!("the model is used as it is, which is slower: {error}");
        Ok((path, hash))
    })
}

/// Puts the bundled model into the cache folder, where llama.cpp can map it into memory, and returns its path and hash.
///
/// The file is named by its hash, so versions of the program do not fight over it, and written beside and renamed, so
/// neither do two processes. One that is there already is compared byte by byte: that takes 10 ms, and a cache that
/// was cut or damaged would otherwise give wrong vectors in silence.
pub(super) fn unpack(cache_dir: &Path) -> Result<(PathBuf, blake3::Hash), EmbedError> {
    static HASH: OnceLock<blake3::Hash> = OnceLock::new();
    let model = MODEL.ok_or(EmbedError::NoBundledModel)?;
    let hash = *HASH.get_or_init(|| blake3::hash(model));
    let path = cache_dir.join(format!("all-minilm-l6-v2.q8_0.{}.gguf", &hash.to_hex()[..16]));
    if !holds(&path, model).unwrap_or(false) {
        write(cache_dir, &path, model)?;
    }
    Ok((path, hash))
}

fn holds(path: &Path, expected: &[u8]) -> io::Result<bool> {
    let mut file = File::open(path)?;
    if file.metadata()?.len() != expected.len() as u64 {
        return Ok(false);
    }
    let mut buffer = vec![0; 256 * 1024];
    for part in expected.chunks(buffer.len()) {
        let read = &mut buffer[..part.len()];
        file.read_exact(read)?;
        if read != part {
            return Ok(false);
        }
    }
    Ok(true)
}

fn write(cache_dir: &Path, path: &Path, model: &[u8]) -> Result<(), EmbedError> {
    const ACTION: &str = "write the bundled model into its cache folder";
    fs::create_dir_all(cache_dir).map_err(EmbedError::io(ACTION, cache_dir))?;
    let mut beside = tempfile::Builder::new()
        .prefix(".model-")
        .suffix(".tmp")
        .tempfile_in(cache_dir)
        .map_err(EmbedError::io(ACTION, cache_dir))?;
    beside.write_all(model).map_err(EmbedError::io(ACTION, path))?;
    beside.as_file().sync_all().map_err(EmbedError::io(ACTION, path))?;
    beside.persist(path).map_err(|failed| EmbedError::io(ACTION, path)(failed.error))?;
    Ok(())
}
