//! int8 codes: a quarter of the memory of f32, and the unit of the scan.

use super::kernel::{Kernel, sum};
use crate::index::engine::QueryVector;

/// A vector rounded to int8, with what is needed to get cosines out of integer dot products.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Code {
    /// The vector, stretched so that its largest component is ±127, and rounded.
    pub(super) values: Vec<i8>,
    /// The sum of `values`, which the VNNI kernel subtracts again (it multiplies unsigned by signed).
    pub(super) sum: i32,
    /// 1 / the length of `values`, or 0 for a vector of zeros. Dividing by the length of the code, not of the vector, takes
    /// the part of the rounding error that lies along the vector out of the cosine.
    pub(super) inverse_norm: f32,
}

impl Code {
    pub(super) fn new(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        // Too small to divide by counts as zero; the vectors of a model have length 1.
        let stretch = if largest > f32::MIN_POSITIVE * 127.0 { 127.0 / largest } else { 0.0 };
        let values: Vec<i8> = vector
            .iter()
            .map(|value| {
                let stretched = value * stretch;
                (stretched + 0.5_f32.copysign(stretched)) as i8
            })
            .collect();
        Self { sum: sum(&values), inverse_norm: inverse_norm(&values), values }
    }
}

pub(super) fn inverse_norm(values: &[i8]) -> f32 {
    let squares: i64 = values.iter().map(|&value| i64::from(value) * i64::from(value)).sum();
    if squares == 0 { 0.0 } else { (1.0 / (squares as f64).sqrt()) as f32 }
}

/// The query in both precisions.
pub(super) struct CodedQuery {
    /// The query at unit length.
    pub(super) exact: QueryVector,
    /// The same, rounded.
    pub(super) code: Code,
    /// The kernel to compare codes with.
    pub(super) kernel: Kernel,
}

impl CodedQuery {
    pub(super) fn new(exact: QueryVector) -> Self {
        Self { code: Code::new(exact.unit()), exact, kernel: Kernel::best() }
    }

    /// Estimates the cosine with a row from their codes, but for the constant factor of the query's own length.
    pub(super) fn estimate(&self, dot: i32, inverse_norm: f32) -> f32 {
        dot as f32 * inverse_norm
    }
}
