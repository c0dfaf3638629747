//! Looking for who asks, where that is on a disk.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::Semaphore;

use super::error::ApiError;

/// Looks for who asks, on a disk that may not answer.
#[derive(Debug, Clone)]
pub(super) struct Looks {
    at_a_time: Arc<Semaphore>,
    within: Duration,
}

/// Maximum number of those who ask that are looked for on a disk at a time.
const MAX_LOOKS: usize = 32;

impl Looks {
    /// Each is given up after that.
    pub(super) fn within(within: Duration) -> Self {
        Self { at_a_time: Arc::new(Semaphore::new(MAX_LOOKS)), within }
    }

    /// What a look finds, on a thread that may block.
    ///
    /// # Errors
    /// When the disk does not answer in time, or the look fails unexpectedly.
    pub(super) async fn find<T: Send + 'static>(
        &self,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let finding = async {
            // Bounded, so that those whom nobody knows take no thread from those who are known while the disk hangs.
            let place = self.at_a_time.clone().acquire_owned().await.ok()?;
            let looking = move || {
                let found = look();
                drop(place);
                found
            };
            tokio::task::spawn_blocking(looking).await.ok()
        };
        let found = tokio::time::timeout(self.within, finding).await.ok().flatten();
        found.ok_or_else(|| {
            let error = ApiError::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "unavailable",
                "the disk did not say in time who this is",
            );
            error.hint("try again in a moment")
        })
    }
}
