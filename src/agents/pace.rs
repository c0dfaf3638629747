//! How often an agent may ask.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Counts requests, an agent at a time: a bucket that fills up again evenly over a minute.
#[derive(Debug, Default)]
pub struct Pace(Mutex<HashMap<String, Bucket>>);

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Pace {
    /// Counts a request of an agent that may make `per_minute`.
    ///
    /// # Errors
    /// How long it has to wait, when it has made too many.
    pub fn take(&self, slug: &str, per_minute: u32, now: Instant) -> Result<(), Duration> {
        let most = f64::from(per_minute.max(1));
        let a_second = most / 60.0;
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.entry(slug.to_owned()).or_insert(Bucket { left: most, at: now });
        let filled = now.saturating_duration_since(bucket.at).as_secs_f64() * a_second;
        *bucket = Bucket { left: (bucket.left + filled).min(most), at: now };
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            Ok(())
        } else {
            Err(Duration::from_secs_f64((1.0 - bucket.left) / a_second))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_requests_wait_and_others_do_not() {
        let (pace, start) = (Pace::default(), Instant::now());
        for _ in 0..60 {
            pace.take("ada", 60, start).unwrap();
        }
        let wait = pace.take("ada", 60, start).unwrap_err();
        assert!(wait > Duration::from_millis(900) && wait <= Duration::from_secs(1), "{wait:?}");
        pace.take("bob", 60, start).unwrap();
        pace.take("ada", 60, start + Duration::from_millis(1001)).unwrap();
        assert!(pace.take("ada", 60, start + Duration::from_millis(1002)).is_err());
    }
}
