//! How often an agent may ask.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Counts requests, an agent at a time: a bucket that fills up again evenly over a minute.
#[derive(Debug, Default)]
pub struct Pace {
    buckets: Mutex<HashMap<String, Bucket>>,
    inside: Mutex<HashMap<String, usize>>,
}

/// Maximum number of requests of one agent that are answered at a time.
const AT_A_TIME: usize = 8;

/// A request that is being answered, until this is dropped.
#[derive(Debug)]
pub struct Inside {
    pace: Arc<Pace>,
    slug: String,
}

impl Drop for Inside {
    fn drop(&mut self) {
        let mut inside = self.pace.inside.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = inside.get_mut(&self.slug) {
            *count -= 1;
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Pace {
    /// Begins to answer a request; `None` while too many of the agent's are answered.
    pub fn enter(self: &Arc<Self>, slug: &str) -> Option<Inside> {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let count = inside.entry(slug.to_owned()).or_default();
        if *count >= AT_A_TIME {
            return None;
        }
        *count += 1;
        Some(Inside { pace: Arc::clone(self), slug: slug.to_owned() })
    }

    /// Counts a request of an agent that may make `per_minute`.
    ///
    /// # Errors
    /// How long it has to wait, when it has made too many.
    pub fn take(&self, slug: &str, per_minute: u32, now: Instant) -> Result<(), Duration> {
        let most = f64::from(per_minute.max(1));
        let a_second = most / 60.0;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
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
    fn so_many_are_answered_at_a_time() {
        let pace = Arc::new(Pace::default());
        let mut inside: Vec<_> = (0..AT_A_TIME).map(|_| pace.enter("ada").unwrap()).collect();
        assert!(pace.enter("ada").is_none() && pace.enter("bob").is_some());
        inside.pop();
        assert!(pace.enter("ada").is_some());
    }

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
