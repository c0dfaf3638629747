//! llama.cpp, started.

use std::sync::OnceLock;

use llama_cpp_2::LogOptions;
use llama_cpp_2::llama_backend::LlamaBackend;

use super::super::ModelError;
use super::cpu;

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
