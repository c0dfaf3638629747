//! A look at a GGUF file before a model is made of it.
//!
//! llama.cpp answers a missing, cut or foreign file with the same "null result", and ends the process for a vocabulary that has a word
//! twice. Its reader of headers (`gguf.h`) takes all of these but says nothing of what is wrong, and does not look whether the tensors
//! that a header announces are all there.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{NonNull, null_mut};

use llama_cpp_sys_2 as llama;

use super::super::ModelError;
use super::model::backend;
use crate::base::fs::Context;

/// Maximum length of what follows all that the header announces, in bytes.
const MAX_TRAILING_BYTES: u64 = 1 << 20;

/// The metadata of a GGUF file whose announced contents are all there.
#[derive(Debug)]
pub(super) struct Header(NonNull<llama::gguf_context>);

impl Drop for Header {
    fn drop(&mut self) {
        // SAFETY: it is this one's alone.
        unsafe { llama::gguf_free(self.0.as_ptr()) };
    }
}

impl Header {
    /// Reads and checks the header of the file at `path`.
    pub(super) fn read(path: &Path) -> Result<Self, ModelError> {
        let bad = |reason: String| ModelError::UnsuitableModel { path: path.to_owned(), reason };
        let metadata = path.metadata().on("read the model", path)?;
        if !metadata.is_file() {
            return Err(bad("it is not a file".to_owned()));
        }
        let (size, mut magic) = (metadata.len(), Vec::new());
        let file = File::open(path).on("read the model", path)?;
        file.take(4).read_to_end(&mut magic).on("read the model", path)?;
        if magic != b"GGUF" {
            return Err(bad("it does not begin with GGUF".to_owned()));
        }
        // It writes to the terminal until it is told otherwise.
        let _ = backend();
        let cut = || bad(format!("it is incomplete ({size} bytes); copy or download it again"));
        let c_path = CString::new(path.as_os_str().as_bytes()).map_err(|error| bad(error.to_string()))?;
        let params = llama::gguf_init_params { no_alloc: true, ctx: null_mut() };
        // SAFETY: the path outlives the call; what it gives is null or a header that nobody else has.
        let header = NonNull::new(unsafe { llama::gguf_init_from_file(c_path.as_ptr(), params) });
        let unread = "llama.cpp cannot read its header: it is incomplete, damaged, or of a kind that this version does not know; VAULT_LOG=debug shows why";
        let header = header.map(Self).ok_or_else(|| bad(format!("{unread} ({size} bytes)")))?;
        if header.architecture().is_empty() {
            return Err(bad("it does not name its architecture".to_owned()));
        }
        let end = header.end().ok_or_else(|| bad("it has no tensors, only metadata".to_owned()))?;
        if end > size {
            return Err(cut());
        }
        // Files end with padding at most. Hashing gigabytes of nothing would take long, and nobody would know what for.
        if size - end > MAX_TRAILING_BYTES {
            return Err(bad(format!("it has {size} bytes, but its header announces {end}")));
        }
        header.check_vocabulary().map_err(bad)?;
        Ok(header)
    }

    /// Returns the model's architecture, such as `bert`.
    pub(super) fn architecture(&self) -> &str {
        self.text("general.architecture").unwrap_or_default()
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        let (at, llama::GGUF_TYPE_STRING) = self.find(key)? else { return None };
        // SAFETY: as in `find`; the header keeps the text.
        unsafe { CStr::from_ptr(llama::gguf_get_val_str(self.0.as_ptr(), at)) }.to_str().ok()
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        let (at, llama::GGUF_TYPE_BOOL) = self.find(key)? else { return None };
        // SAFETY: as in `find`.
        Some(unsafe { llama::gguf_get_val_bool(self.0.as_ptr(), at) })
    }

    /// Returns a number that is kept under the architecture's name: `pooling_type` is `bert.pooling_type`.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        let (at, kind) = self.find(&format!("{}.{key}", self.architecture()))?;
        let header = self.0.as_ptr();
        // SAFETY: as in `find`.
        unsafe {
            match kind {
                llama::GGUF_TYPE_UINT8 => Some(llama::gguf_get_val_u8(header, at).into()),
                llama::GGUF_TYPE_UINT16 => Some(llama::gguf_get_val_u16(header, at).into()),
                llama::GGUF_TYPE_UINT32 => Some(llama::gguf_get_val_u32(header, at).into()),
                llama::GGUF_TYPE_UINT64 => Some(llama::gguf_get_val_u64(header, at)),
                llama::GGUF_TYPE_INT32 => llama::gguf_get_val_i32(header, at).try_into().ok(),
                _ => None,
            }
        }
    }

    /// The place of a value, and its type.
    fn find(&self, key: &str) -> Option<(i64, llama::gguf_type)> {
        let key = CString::new(key).ok()?;
        // SAFETY: the header is there until it is dropped, and a value is asked for by a place that it gave, as the type that it has.
        unsafe {
            let at = llama::gguf_find_key(self.0.as_ptr(), key.as_ptr());
            (at >= 0).then(|| (at, llama::gguf_get_kv_type(self.0.as_ptr(), at)))
        }
    }

    /// Where the data of the last tensor ends; `None` where there is none.
    fn end(&self) -> Option<u64> {
        let header = self.0.as_ptr();
        // SAFETY: as in `find`; the number is below their count.
        unsafe {
            let last = llama::gguf_get_n_tensors(header).checked_sub(1).filter(|last| *last >= 0)?;
            let bytes = llama::gguf_get_tensor_offset(header, last) + llama::gguf_get_tensor_size(header, last);
            Some(llama::gguf_get_data_offset(header).saturating_add(bytes) as u64)
        }
    }

    /// Refuses a vocabulary for which llama.cpp ends the process.
    fn check_vocabulary(&self) -> Result<(), String> {
        let Some((at, kind)) = self.find("tokenizer.ggml.tokens") else { return Ok(()) };
        let (header, mut seen) = (self.0.as_ptr(), HashSet::new());
        // SAFETY: as in `find`; the numbers are below the count of the words, which the header keeps.
        unsafe {
            if kind != llama::GGUF_TYPE_ARRAY || llama::gguf_get_arr_type(header, at) != llama::GGUF_TYPE_STRING {
                return Err("its vocabulary is not a list of words".to_owned());
            }
            for number in 0..llama::gguf_get_arr_n(header, at) {
                let word = CStr::from_ptr(llama::gguf_get_arr_str(header, at, number));
                if !seen.insert(word) {
                    return Err(format!("its vocabulary has the word {word:?} twice; copy or download it again"));
                }
            }
        }
        Ok(())
    }
}
