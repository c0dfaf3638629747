//! The bundled model with matrices of bfloat16, for CPUs that multiply those faster than 8-bit integers.
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
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use llama_cpp_sys_2 as llama;

use super::super::ModelError;
use super::cpu;
use super::model::{backend, beside, hash_file, keep};

/// Whether llama.cpp computes faster so, with the instructions that it has here.
pub(super) fn is_faster() -> bool {
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
    let hash = hash_file(beside.path()).map_err(ModelError::io("read the converted model", beside.path()))?;
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
