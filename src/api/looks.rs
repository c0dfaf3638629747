//! Looking for who asks, where that is on a disk.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::ApiError;

/// Looks for who asks, on a disk that may not answer.
#[derive(Debug, Clone)]
pub(super) struct Looks {
    at_a_time: Arc<Semaphore>,
    by_asker: Arc<Mutex<PlacesByAsker>>,
    within: Duration,
}

type PlacesByAsker = HashMap<Box<[u8]>, Arc<Semaphore>>;

/// Maximum number of those who ask that are looked for on a disk at a time.
const MAX_LOOKS: usize = 32;
/// Maximum number of looks for one and the same at a time: an agent whose page hangs leaves room for the others.
const MAX_LOOKS_FOR_ONE: usize = 4;

impl Looks {
    /// Each is given up after that.
    pub(super) fn within(within: Duration) -> Self {
        Self { at_a_time: Arc::new(Semaphore::new(MAX_LOOKS)), by_asker: Arc::default(), within }
    }

    /// What a look for `asker`, by its name or the hash of its token, finds on a thread that may block.
    ///
    /// # Errors
    /// When the disk does not answer in time, or the look fails unexpectedly.
    pub(super) async fn find<T: Send + 'static>(
        &self,
        asker: &[u8],
        look: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let finding = async {
            // Bounded, so that those whom nobody knows take no thread from those who are known while the disk hangs.
            let own = self.place_of(asker).await?;
            let place = self.at_a_time.clone().acquire_owned().await.ok()?;
            let looking = move || {
                let found = look();
                drop((own, place));
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

    /// A place among those of `asker`.
    async fn place_of(&self, asker: &[u8]) -> Option<OwnedSemaphorePermit> {
        let places = {
            let mut by_asker = self.by_asker.lock().unwrap_or_else(PoisonError::into_inner);
            // Whoever is looked for, or waits to be, holds the places as well.
            by_asker.retain(|_, places| Arc::strong_count(places) > 1);
            Arc::clone(by_asker.entry(asker.into()).or_insert_with(|| Arc::new(Semaphore::new(MAX_LOOKS_FOR_ONE))))
        };
        places.acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[tokio::test]
    async fn one_who_hangs_takes_no_place_from_another() {
        let looks = Looks::within(Duration::from_millis(200));
        let (answers, hangs) = channel::<()>();
        let hangs = Arc::new(Mutex::new(hangs));
        for _ in 0..MAX_LOOKS + 1 {
            let (looks, hangs) = (looks.clone(), Arc::clone(&hangs));
            tokio::spawn(async move { looks.find(b"hangs", move || _ = hangs.lock().unwrap().recv()).await.is_ok() });
        }
        while looks.at_a_time.available_permits() > MAX_LOOKS - MAX_LOOKS_FOR_ONE {
            tokio::task::yield_now().await;
        }
        let patient = Looks { within: Duration::from_secs(60), ..looks.clone() };
        assert_eq!(patient.find(b"answers", || 7).await.ok(), Some(7));
        assert!(looks.find(b"hangs", || 7).await.is_err());
        drop(answers);
        assert_eq!(patient.find(b"hangs", || 7).await.ok(), Some(7));
        assert_eq!(looks.by_asker.lock().unwrap().len(), 1);
    }
}
