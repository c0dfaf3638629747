//! The model that the program carries with it, and the same with matrices of bfloat16, for CPUs that multiply those faster than 8-bit integers.
//!
//! Tokens a second on two cores of an AMD Zen 5, built for it (`cargo bench --bench embedding -- --tokens N`), beside ONNX
//! Runtime 1.31 in f32 in the same run, `benches/onnx`:
//!
//! | tokens a text | Q8_0 | F32 | F16 | BF16 | ONNX Runtime |
//! |---|---|---|---|---|---|
//! | 64 | 10,079 | 8,368 | 11,499 | 15,758 | 16,089 |
//! | 256 | 8,975 | 8,458 | 10,429 | 14,045 | 13,944 |
//!
//! llama.cpp has no use of AVX-512's integer instructions for Q8_0 matrices, but has for bfloat16. Where the CPU has AMX,
//! Q8_0 takes that and is faster still; without AVX-512 BF16 the matrices would be widened again for every product.

use std::ffi::CString;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use llama_cpp_sys_2 as llama;
use tempfile::NamedTempFile;

use super::super::ModelError;
use super::cpu;
use super::model::{backend, hash_file};
use crate::base::fs::Context;

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
    if bfloat_is_faster() {
        match converted(cache_dir, &HASH, || unpack(cache_dir)) {
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
        let model = MODEL.ok_or(ModelError::NoBundledModel)?;
        let mut beside = beside(cache_dir)?;
        beside.write_all(model).on(ACTION, &path)?;
        keep(beside, &path)?;
    }
    Ok(path)
}

/// Whether llama.cpp computes faster so, with the instructions that it has here.
fn bfloat_is_faster() -> bool {
    cpu::computes_with("AVX512_BF16") && !cpu::computes_with("AMX_INT8")
}

/// Returns the converted model that a cache folder holds, and its hash. It is made from `source` when there is none, a matter
/// of a third of a second.
///
/// Its name holds the hash of what it was made from and of what it should hold, so that a cut or damaged one is not used.
///
/// # Errors
///
/// When there is no source, llama.cpp does not convert it, or the folder cannot be written.
pub(super) fn converted(
    folder: &Path,
    source_hash: &blake3::Hash,
    source: impl FnOnce() -> Result<PathBuf, ModelError>,
) -> Result<(PathBuf, blake3::Hash), ModelError> {
    let prefix = format!("all-minilm-l6-v2.bf16.{}.", short(source_hash));
    if let Some(found) = find(folder, &prefix) {
        return Ok(found);
    }
    let source = source()?;
    let beside = beside(folder)?;
    convert(&source, beside.path())?;
    let hash = hash_file(beside.path()).on("read the converted model", beside.path())?;
    let path = folder.join(format!("{prefix}{}.gguf", short(&hash)));
    keep(beside, &path)?;
    // Of another version of llama.cpp, or damaged.
    let others = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for other in others.filter(|other| *other != path && begins(other, &prefix)) {
        let _ = fs::remove_file(other);
    }
    Ok((path, hash))
}

fn find(folder: &Path, prefix: &str) -> Option<(PathBuf, blake3::Hash)> {
    let mut known = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).filter(|path| begins(path, prefix));
    known.find_map(|path| {
        let hash = hash_file(&path).ok()?;
        (path.file_name()?.to_str()? == format!("{prefix}{}.gguf", short(&hash))).then_some((path, hash))
    })
}

fn begins(path: &Path, prefix: &str) -> bool {
    path.file_name().is_some_and(|name| name.as_bytes().starts_with(prefix.as_bytes()))
}

fn short(hash: &blake3::Hash) -> String {
    hash.to_hex()[..16].to_owned()
}

fn convert(from: &Path, to: &Path) -> Result<(), ModelError> {
    let failed = |reason: String| ModelError::Llama { action: "convert the bundled model", reason, may_pass: true };
    let c_path = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(|error| failed(error.to_string()));
    let (from, to) = (c_path(from)?, c_path(to)?);
    // An error says that another user of llama.cpp in this process, such as a benchmark, has started it.
    let _ = backend();
    // SAFETY: the parameters are llama.cpp's own defaults with plain values changed; both paths outlive the call.
    let code = unsafe {
        let mut params = llama::llama_model_quantize_default_params();
        params.ftype = llama::LLAMA_FTYPE_MOSTLY_BF16;
        params.allow_requantize = true;
        // Rows are looked up in it, not multiplied: widening it would only take memory.
        params.token_embedding_type = llama::GGML_TYPE_Q8_0;
        llama::llama_model_quantize(from.as_ptr(), to.as_ptr(), &params)
    };
    if code == 0 { Ok(()) } else { Err(failed(format!("it answers {code}; VAULT_LOG=debug shows why"))) }
}

const ACTION: &str = "write the bundled model into its cache folder";

/// Makes a file in the cache folder that is gone again unless it is kept.
fn beside(cache_dir: &Path) -> Result<NamedTempFile, ModelError> {
    fs::create_dir_all(cache_dir).on(ACTION, cache_dir)?;
    let mut file = tempfile::Builder::new();
    Ok(file.prefix(".model-").suffix(".tmp").tempfile_in(cache_dir).on(ACTION, cache_dir)?)
}

/// Gives such a file its name, once it is whole and on the disk.
fn keep(beside: NamedTempFile, path: &Path) -> Result<(), ModelError> {
    beside.as_file().sync_all().on(ACTION, path)?;
    beside.persist(path).map_err(|failed| failed.error).on(ACTION, path)?;
    Ok(())
}

#[cfg(all(test, feature = "bundled-model"))]
mod tests {
    #[test]
    fn the_hash_is_that_of_the_file() {
        assert_eq!(super::MODEL.map(blake3::hash), Some(super::HASH));
    }
}
