//! The time, as it is handed to those who compare it with the times of files, so that tests need not wait for it to pass.

use std::sync::Arc;

use jiff::Timestamp;

/// Tells the time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// Tells the time so.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// What time it is.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

/// The system's.
impl Default for Clock {
    fn default() -> Self {
        Self::new(Timestamp::now)
    }
}
