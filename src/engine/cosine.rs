//! How a query is compared with the vectors of chunks.

/// A query's vector at unit length.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryVector {
    unit: Vec<f32>,
}

/// A vector that cannot be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueryVectorError {
    /// It holds an infinity or a NaN.
    #[error("the query has a vector with a component that is not a finite number; embed it again")]
    NotFinite,
    /// Of zeros, to which everything would be equally near.
    #[error("the query has a vector of length zero, so nothing is nearer to it than anything else")]
    NoDirection,
}

impl QueryVector {
    /// Takes a vector of any length.
    ///
    /// # Errors
    /// When a component is not finite, or all are zero.
    pub fn new(vector: &[f32]) -> Result<Self, QueryVectorError> {
        if vector.iter().any(|value| !value.is_finite()) {
            return Err(QueryVectorError::NotFinite);
        }
        let norm = vector.iter().map(|&value| f64::from(value) * f64::from(value)).sum::<f64>().sqrt();
        if norm == 0.0 {
            return Err(QueryVectorError::NoDirection);
        }
        Ok(Self { unit: vector.iter().map(|&value| (f64::from(value) / norm) as f32).collect() })
    }

    /// The components.
    pub fn unit(&self) -> &[f32] {
        &self.unit
    }

    /// The cosine with a chunk's vector (of unit length, as many components).
    pub fn cosine(&self, vector: &[f32]) -> f32 {
        // Adding zero turns -0 into 0, so that the two tie.
        dot(&self.unit, vector) + 0.0
    }
}

/// The dot product in f32, the same to the last bit on every machine.
///
/// Eight sums run side by side, in an order that is written down here and not chosen by the compiler, so that equal vectors
/// get equal scores everywhere and the loop still becomes SIMD instructions.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
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
