//! How often an agent may ask.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Counts requests, an agent at a time: a bucket that fills up again evenly over a minute.
#[derive(Debug, Default)]
pub struct RateLimiter {
    buckets: Mutex<HashMap<String, Bucket>>,
    answered: Arc<Gauge>,
    at_work: Arc<Gauge>,
}

/// Maximum number of requests of one agent that are answered at a time.
const AT_A_TIME: usize = 8;
/// Maximum number of requests of one agent that a thread works on: those too that were given up while they hang on a disk.
const AT_WORK: usize = 32;

/// How many there are of each agent's.
#[derive(Debug, Default)]
struct Gauge(Mutex<HashMap<String, usize>>);

/// One of an agent's, until this is dropped.
#[derive(Debug)]
pub struct RequestPermit {
    gauge: Arc<Gauge>,
    slug: String,
}

/// What a request takes of its agent's room.
#[derive(Debug)]
pub struct RequestPermits {
    /// Until it is answered, or given up.
    pub answered: RequestPermit,
    /// Until nothing works on it any more.
    pub at_work: RequestPermit,
}

impl Gauge {
    fn take(self: &Arc<Self>, slug: &str, most: usize) -> Option<RequestPermit> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(slug.to_owned()).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(RequestPermit { gauge: Arc::clone(self), slug: slug.to_owned() })
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        let mut counts = self.gauge.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.slug) {
            *count -= 1;
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl RateLimiter {
    /// Begins to answer a request; `None` while too many of the agent's are answered, or hang.
    pub fn enter(&self, slug: &str) -> Option<RequestPermits> {
        Some(RequestPermits {
            answered: self.answered.take(slug, AT_A_TIME)?,
            at_work: self.at_work.take(slug, AT_WORK)?,
        })
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
        let limiter = RateLimiter::default();
        let mut inside: Vec<_> = (0..AT_A_TIME).map(|_| limiter.enter("ada").unwrap()).collect();
        assert!(limiter.enter("ada").is_none() && limiter.enter("bob").is_some());
        inside.pop();
        assert!(limiter.enter("ada").is_some());
    }

    #[test]
    fn what_was_given_up_and_hangs_is_bounded_too() {
        let limiter = RateLimiter::default();
        let mut hanging: Vec<RequestPermit> = (0..AT_WORK).map(|_| limiter.enter("ada").unwrap().at_work).collect();
        assert!(limiter.enter("ada").is_none() && limiter.enter("bob").is_some());
        hanging.pop();
        assert!(limiter.enter("ada").is_some());
    }

    #[test]
    fn too_many_requests_wait_and_others_do_not() {
        let (limiter, start) = (RateLimiter::default(), Instant::now());
        for _ in 0..60 {
            limiter.take("ada", 60, start).unwrap();
        }
        let wait = limiter.take("ada", 60, start).unwrap_err();
        assert!(wait > Duration::from_millis(900) && wait <= Duration::from_secs(1), "{wait:?}");
        limiter.take("bob", 60, start).unwrap();
        limiter.take("ada", 60, start + Duration::from_millis(1001)).unwrap();
        assert!(limiter.take("ada", 60, start + Duration::from_millis(1002)).is_err());
    }
}
