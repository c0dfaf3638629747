//! Vectors of length 1.

/// Scales a vector to length 1. Returns `None` for one that has no direction: all zero, or not finite.
pub(super) fn unit(vector: &[f32]) -> Option<Vec<f32>> {
    let squares: f64 = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    let length = squares.sqrt();
    (length.is_finite() && length > 0.0).then(|| vector.iter().map(|&x| (f64::from(x) / length) as f32).collect())
}
