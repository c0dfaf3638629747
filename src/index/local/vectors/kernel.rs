//! int8 codes, a quarter of the memory of f32 and the unit of the scan, and their integer dot products.
//!
//! For the baseline that a distributed binary is built for, the compiler makes little of an int8 dot product on x86-64, so that the
//! instructions of AVX2 are chosen at run time where the processor has them. Both ways compute the same integers.

use crate::index::engine::QueryVector;

/// Writes the dot product of each row with `query` to `out`; `rows` holds `out.len()` rows of `query.len()` values.
///
/// # Panics
/// When it holds another number.
#[inline]
pub(super) fn dots(rows: &[i8], query: &[i8], out: &mut [i32]) {
    assert_eq!(rows.len(), query.len() * out.len(), "as many rows as places for results");
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        return unsafe { dots_by_avx2(rows, query, out) };
    }
    dots_by_any(rows, query, out);
}

/// A third faster than what the compiler makes of the same loop.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dots_by_avx2(rows: &[i8], query: &[i8], out: &mut [i32]) {
    use std::arch::x86_64::*;
    let (query_blocks, query_rest) = query.as_chunks::<16>();
    for (at, out) in out.iter_mut().enumerate() {
        let (row_blocks, row_rest) = rows[at * query.len()..][..query.len()].as_chunks::<16>();
        let mut sums = _mm256_setzero_si256();
        for (row, query) in row_blocks.iter().zip(query_blocks) {
            // SAFETY: both point at 16 readable bytes, and the load needs no alignment.
            let (row, query) =
                unsafe { (_mm_loadu_si128(row.as_ptr().cast()), _mm_loadu_si128(query.as_ptr().cast())) };
            let products = _mm256_madd_epi16(_mm256_cvtepi8_epi16(row), _mm256_cvtepi8_epi16(query));
            sums = _mm256_add_epi32(sums, products);
        }
        let half = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
        let quarter = _mm_add_epi32(half, _mm_shuffle_epi32::<0b01_00_11_10>(half));
        let sum = _mm_cvtsi128_si32(_mm_add_epi32(quarter, _mm_shuffle_epi32::<0b10_11_00_01>(quarter)));
        *out = sum + sum_of_products(row_rest, query_rest);
    }
}

fn dots_by_any(rows: &[i8], query: &[i8], out: &mut [i32]) {
    for (at, out) in out.iter_mut().enumerate() {
        *out = sum_of_products(&rows[at * query.len()..][..query.len()], query);
    }
}

#[inline]
fn sum_of_products(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum()
}

/// The dot product of two codes.
#[inline]
pub(super) fn dot(a: &[i8], b: &[i8]) -> i32 {
    let mut out = [0];
    dots(a, b, &mut out);
    out[0]
}

/// A vector rounded to int8, with what is needed to get cosines out of integer dot products.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Code {
    /// The vector, stretched so that its largest component is ±127, and rounded.
    pub(super) values: Vec<i8>,
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
        Self { inverse_norm: inverse_norm(&values), values }
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
}

impl CodedQuery {
    pub(super) fn new(exact: QueryVector) -> Self {
        Self { code: Code::new(exact.unit()), exact }
    }

    /// Estimates the cosine with a row from their codes, but for the constant factor of the query's own length.
    pub(super) fn estimate(&self, dot: i32, inverse_norm: f32) -> f32 {
        dot as f32 * inverse_norm
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::chance::proptest_config;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(proptest_config(256))]

        #[test]
        fn all_kernels_compute_the_same_integers(
            (query, rows) in (1_usize..200, 0_usize..5).prop_flat_map(|(dims, rows)| {
                (prop::collection::vec(any::<i8>(), dims), prop::collection::vec(any::<i8>(), dims * rows))
            })
        ) {
            let (mut out, mut expected) = (vec![0; rows.len() / query.len()], vec![0; rows.len() / query.len()]);
            dots(&rows, &query, &mut out);
            dots_by_any(&rows, &query, &mut expected);
            prop_assert_eq!(&out, &expected);
        }
    }

    #[test]
    fn no_kernel_overflows_on_the_longest_vectors() {
        for (a, b) in [(i8::MIN, i8::MIN), (i8::MIN, i8::MAX), (i8::MAX, i8::MAX)] {
            let (a, b) = (
                vec![a; crate::index::local::vectors::set::MAX_DIMENSIONS],
                vec![b; crate::index::local::vectors::set::MAX_DIMENSIONS],
            );
            let expected: i64 = a.iter().zip(&b).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum();
            assert_eq!(i64::from(dot(&a, &b)), expected);
        }
    }
}
