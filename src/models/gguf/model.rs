//! Which model, with which options; loading it and refusing what cannot embed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use llama_cpp_2::LogOptions;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;

use super::super::{Fingerprint, ModelError, ModelFile};
use super::file::Header;
use super::{bundled, cpu};
use crate::base::config::{EmbedConfig, PoolingChoice};
use crate::base::fs::Context;

/// Where a model comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelSource {
    /// all-MiniLM-L6-v2, which the program carries with it (feature `bundled-model`).
    Bundled,
    /// A GGUF file on disk.
    File(PathBuf),
}

impl ModelSource {
    /// Returns the file that llama.cpp reads; the bundled model is unpacked into `cache_dir` first.
    ///
    /// # Errors
    ///
    /// When the cache folder cannot be written, or the program was built without a model.
    pub fn file(&self, cache_dir: &Path) -> Result<PathBuf, ModelError> {
        // Whoever loads the file without what is here computes as the program does.
        cpu::choose();
        match self {
            Self::Bundled => bundled::model(cache_dir).map(|(path, _)| path),
            Self::File(path) => Ok(path.clone()),
        }
    }
}

/// Default maximum length of a text, in tokens. A chunk and its context have about 180 MiniLM tokens at most, and other
/// vocabularies need up to twice as many. Models with room for 32,768 would otherwise reserve memory for that.
const DEFAULT_MAX_TOKENS: usize = 512;

/// Below this a text would hold little but prefix and special tokens.
const LEAST_MAX_TOKENS: usize = 16;

/// Raised when the same text gives another token sequence than before, so that old vectors are not taken for new ones.
const PREPARATION_VERSION: &[u8] = b"2";

/// A loaded model and what is known of it.
pub(super) struct LoadedModel {
    pub(super) llama: LlamaModel,
    pub(super) path: PathBuf,
    pub(super) name: String,
    pub(super) fingerprint: Fingerprint,
    pub(super) pooling: PoolingChoice,
    pub(super) dimension: usize,
    pub(super) max_tokens: usize,
    /// The vocabulary is of word pieces without accents, and wants its text decomposed.
    pub(super) decompose: bool,
}

impl LoadedModel {
    /// Loads a model that embeds.
    pub(super) fn load(source: &ModelSource, config: &EmbedConfig, cache_dir: &Path) -> Result<Self, ModelError> {
        if (1..LEAST_MAX_TOKENS).contains(&config.max_tokens) {
            let reason = format!("{} is too few; it takes 0, or at least {LEAST_MAX_TOKENS}", config.max_tokens);
            return Err(ModelError::BadOption { section: "embed", option: "max_tokens", reason });
        }
        let (path, hash) = match source {
            ModelSource::Bundled => bundled::model(cache_dir).map(|(path, hash)| (path, Some(hash)))?,
            ModelSource::File(path) => (path.clone(), None),
        };
        let header = Header::read(&path)?;
        let pooling = pooling(&header, config, &path)?;
        let hash = match hash {
            Some(hash) => hash,
            None => hash_file(&path).on("read the model", &path)?,
        };
        let backend = backend()?;
        let params = LlamaModelParams::default();
        let llama = LlamaModel::load_from_file(backend, &path, &params).map_err(|error| {
            let reason = format!("llama.cpp does not accept it ({error}); VAULT_LOG=debug shows why");
            ModelError::UnsuitableModel { path: path.clone(), reason }
        })?;
        let unsuitable = |reason: &str| unsuitable(&path, reason);
        if llama.is_recurrent() || llama.is_hybrid() {
            return Err(unsuitable("it is a recurrent model; choose one that is made for embedding"));
        }
        // Read from the header: `LlamaVocab::vocab_type` of llama-cpp-2 0.1.160 panics for WordPiece.
        let vocabulary = header.text("tokenizer.ggml.model").unwrap_or("none");
        if matches!(vocabulary, "none" | "no_vocab") {
            return Err(unsuitable("it has no vocabulary; choose one that is made for embedding text"));
        }
        // Past the model's positions llama.cpp ends the process, so nothing may raise this limit.
        let positions = llama.n_ctx_train() as usize;
        let wanted = match (config.max_tokens, source) {
            (0, ModelSource::Bundled) => bundled::MAX_TOKENS,
            (0, ModelSource::File(_)) => DEFAULT_MAX_TOKENS,
            (wanted, _) => wanted,
        };
        let max_tokens = wanted.min(positions);
        if max_tokens < LEAST_MAX_TOKENS {
            return Err(unsuitable(&format!("it reads only {positions} tokens")));
        }
        let dimension = usize::try_from(llama.n_embd_out()).unwrap_or(0);
        let file_name = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self {
            name: header.text("general.name").map_or_else(file_name, str::to_owned),
            fingerprint: Fingerprint::of(&[
                PREPARATION_VERSION,
                hash.as_bytes(),
                format!("{pooling:?}").as_bytes(),
                config.query_prefix.as_bytes(),
                config.document_prefix.as_bytes(),
                max_tokens.to_string().as_bytes(),
            ]),
            pooling,
            dimension,
            max_tokens,
            decompose: vocabulary == "bert" && strips_accents(&header),
            llama,
            path,
        })
    }
}

/// What a file says of its pooling, by the numbers of `llama_pooling_type` in llama.h.
fn pooling_of(header: &Header) -> Option<PoolingChoice> {
    Some(match header.number("pooling_type")? {
        1 => PoolingChoice::Mean,
        2 => PoolingChoice::Cls,
        3 => PoolingChoice::Last,
        _ => return None,
    })
}

/// The number of a model that says of a pair of texts how well one answers the other.
const RERANKER: u64 = 4;

fn unsuitable(path: &Path, reason: &str) -> ModelError {
    ModelError::UnsuitableModel { path: path.to_owned(), reason: reason.to_owned() }
}

fn pooling(header: &Header, config: &EmbedConfig, path: &Path) -> Result<PoolingChoice, ModelError> {
    let refused = |reason: &str| unsuitable(path, reason);
    match header.architecture() {
        "t5" => return Err(refused("it is an encoder-decoder; choose one that is made for embedding")),
        "clip" => return Err(refused("it reads pictures; choose one that is made for embedding text")),
        _ => {}
    }
    if header.number("pooling_type") == Some(RERANKER) {
        return Err(refused("it is a reranker; choose one that is made for embedding"));
    }
    let chosen = Some(config.pooling).filter(|pooling| *pooling != PoolingChoice::Auto);
    chosen.or_else(|| pooling_of(header)).ok_or_else(|| {
        refused("its file names no pooling, like a text-generating model; choose one for embedding, or set pooling")
    })
}

/// Tells whether the tokenizer strips accents, by the rule of llama.cpp: as it lower-cases unless it says otherwise.
fn strips_accents(header: &Header) -> bool {
    let lowercase = header.flag("tokenizer.ggml.normalizer.lowercase").unwrap_or(true);
    header.flag("tokenizer.ggml.normalizer.strip_accents").unwrap_or(lowercase)
}

/// Reads the header of a file, and checks that what it announces is there.
///
/// # Errors
/// When the file cannot be read, or is no whole GGUF file.
pub(crate) fn read_model_file(path: &Path) -> Result<ModelFile, ModelError> {
    let header = Header::read(path)?;
    let number = |key: &str| header.number(key).and_then(|number| usize::try_from(number).ok()).unwrap_or(0);
    let text = |key: &str| header.text(key).map(str::to_owned);
    Ok(ModelFile {
        name: text("general.name").unwrap_or_default(),
        stem: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        architecture: header.architecture().to_owned(),
        dimension: number("embedding_length"),
        context: number("context_length"),
        pooling: pooling_of(&header),
        licence: text("general.license"),
        bytes: path.metadata().on("read the model", path)?.len(),
    })
}

/// Starts llama.cpp, once a process.
pub(super) fn backend() -> Result<&'static LlamaBackend, ModelError> {
    static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
    let started = BACKEND.get_or_init(|| {
        cpu::choose();
        let mut backend = LlamaBackend::init().map_err(|error| error.to_string())?;
        // It writes a hundred lines a load to stderr if it is let.
        if tracing::enabled!(tracing::Level::DEBUG) {
            llama_cpp_2::send_logs_to_tracing(LogOptions::default());
        } else {
            backend.void_logs();
        }
        Ok(backend)
    });
    started.as_ref().map_err(|reason| ModelError::Llama { action: "start", reason: reason.clone(), may_pass: true })
}

/// Returns the BLAKE3 of a file.
pub(super) fn hash_file(path: &Path) -> io::Result<blake3::Hash> {
    Ok(blake3::Hasher::new().update_reader(File::open(path)?)?.finalize())
}
