//! The store as the contract has it.

use std::sync::Arc;

use half::f16;

use super::store::Store;
use crate::engine::{ContentHash, EngineError, FileUpdate, PendingText, Reader, Writer};
use crate::models::Embedder;
use crate::path::VaultPath;

impl Writer for Store {
    fn apply(&mut self, updates: Vec<FileUpdate>, removed: &[VaultPath]) -> Result<(), EngineError> {
        Ok(Store::apply(self, updates, removed)?)
    }

    fn use_model(&mut self, embedder: &dyn Embedder) -> Result<(), EngineError> {
        Ok(Store::use_model(self, embedder)?)
    }

    fn take_pending(&mut self, limit: usize) -> Result<Vec<PendingText>, EngineError> {
        Ok(Store::take_pending(self, limit)?)
    }

    fn embedded(&mut self, vectors: Vec<(ContentHash, Vec<f16>)>) -> Result<(), EngineError> {
        Ok(Store::embedded(self, vectors)?)
    }

    fn requeue(&mut self, contents: &[ContentHash]) {
        Store::requeue(self, contents);
    }

    fn publish(&mut self) -> Result<Arc<dyn Reader>, EngineError> {
        Ok(self.snapshot()?)
    }
}
