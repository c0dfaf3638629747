//! int8 codes: a quarter of the memory of f32, and the unit of the scan.

use super::kernel::Kernel;

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

pub(super) fn sum(values: &[i8]) -> i32 {
    values.iter().map(|&value| i32::from(value)).sum()
}

pub(super) fn inverse_norm(values: &[i8]) -> f32 {
    let squares: i64 = values.iter().map(|&value| i64::from(value) * i64::from(value)).sum();
    if squares == 0 { 0.0 } else { (1.0 / (squares as f64).sqrt()) as f32 }
}

/// The query in both precisions.
pub(super) struct Query {
    /// The query at unit length.
    pub(super) unit: Vec<f32>,
    /// The same, rounded.
    pub(super) code: Code,
    /// The kernel to compare codes with.
    pub(super) kernel: Kernel,
}

impl Query {
    /// Returns none for a query of zeros, which points nowhere.
    pub(super) fn new(vector: &[f32]) -> Option<Self> {
        let norm = vector.iter().map(|&value| f64::from(value) * f64::from(value)).sum::<f64>().sqrt();
        if norm == 0.0 {
            return None;
        }
        let unit: Vec<f32> = vector.iter().map(|&value| (f64::from(value) / norm) as f32).collect();
        Some(Self { code: Code::new(&unit), unit, kernel: Kernel::best() })
    }

    /// Estimates the cosine with a row from their codes, but for the constant factor of the query's own length.
    pub(super) fn estimate(&self, dot: i32, inverse_norm: f32) -> f32 {
        dot as f32 * inverse_norm
    }
}

/// The dot product in f32, the same to the last bit on every machine.
///
/// Eight sums run side by side, in an order that is written down here and not chosen by the compiler, so that equal vectors
/// get equal scores everywhere and the loop still becomes SIMD instructions.
pub(super) fn dot_f32(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 8];
    let (a_blocks, a_rest) = a.as_chunks::<8>();
    let (b_blocks, b_rest) = b.as_chunks::<8>();
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    for (lane, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[lane] += a * b;
    }
    sums.iter().sum()
}
