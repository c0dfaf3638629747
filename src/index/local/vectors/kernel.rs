//! int8 codes, a quarter of the memory of f32 and the unit of the scan, and their integer dot products, by the widest instructions the
//! processor has.
//!
//! For the baseline that a distributed binary is built for, the compiler makes little of an int8 dot product, so the
//! instructions are chosen at run time. All kernels compute the same integers: which one runs can never change an answer.
//!
//! 384 dimensions, one core of a shared AMD EPYC with AVX-512, 10,000 rows (in cache) and 100,000 rows (38 MB, out of it):
//! scalar 0.52 and 5.1 ms, AVX2 0.085 and 1.1 ms, VNNI 0.045 and 0.9 ms. NEON has not been run yet.

use std::sync::LazyLock;

use crate::index::engine::QueryVector;

/// A way of computing dot products.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kernel {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Vnni,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

static SUPPORTED: LazyLock<Vec<Kernel>> = LazyLock::new(|| {
    #[allow(unused_mut)]
    let mut kernels = vec![Kernel::Scalar];
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2") {
            kernels.push(Kernel::Avx2);
        }
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni")
        {
            kernels.push(Kernel::Vnni);
        }
    }
    #[cfg(target_arch = "aarch64")]
    if std::arch::is_aarch64_feature_detected!("neon") {
        kernels.push(Kernel::Neon);
    }
    kernels
});

impl Kernel {
    /// The kernels this processor can run, slowest first.
    pub(super) fn supported() -> &'static [Kernel] {
        &SUPPORTED
    }

    /// The fastest kernel this processor can run.
    pub(super) fn best() -> Kernel {
        *Self::supported().last().expect("the scalar kernel runs everywhere")
    }

    /// Writes the dot product of each row with `query` to `out`. `query_sum` is the sum of the query's values; `rows` holds
    /// `out.len()` rows of `query.len()` values.
    #[inline]
    pub(super) fn dots(self, rows: &[i8], query: &[i8], query_sum: i32, out: &mut [i32]) {
        assert_eq!(rows.len(), query.len() * out.len(), "as many rows as places for results");
        if query.is_empty() {
            return out.fill(0);
        }
        match self {
            Kernel::Scalar => scalar(rows, query, out),
            // SAFETY: a kernel is only made when the processor has its instructions.
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => unsafe { x86::avx2(rows, query, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Kernel::Vnni => unsafe { x86::vnni(rows, query, query_sum, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "aarch64")]
            Kernel::Neon => unsafe { arm::neon(rows, query, out) },
        }
        let _ = query_sum;
    }

    /// The dot product of one row.
    #[inline]
    pub(super) fn dot(self, row: &[i8], query: &[i8], query_sum: i32) -> i32 {
        let mut out = [0];
        self.dots(row, query, query_sum, &mut out);
        out[0]
    }
}

fn scalar(rows: &[i8], query: &[i8], out: &mut [i32]) {
    for (row, out) in rows.chunks_exact(query.len()).zip(out) {
        *out = dot_rest(row, query);
    }
}

/// What is left over after the last whole register, and all of it in the scalar kernel.
/// The sum of the values of a code.
pub(super) fn sum(values: &[i8]) -> i32 {
    values.iter().map(|&value| i32::from(value)).sum()
}

#[inline]
fn dot_rest(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::sum;

    #[target_feature(enable = "avx2")]
    pub(super) fn avx2(rows: &[i8], query: &[i8], out: &mut [i32]) {
        let (query_blocks, query_rest) = query.as_chunks::<16>();
        for (row, out) in rows.chunks_exact(query.len()).zip(out) {
            let (row_blocks, row_rest) = row.as_chunks::<16>();
            let mut sums = _mm256_setzero_si256();
            for (row, query) in row_blocks.iter().zip(query_blocks) {
                // SAFETY: both point at 16 readable bytes, and the load needs no alignment.
                let (row, query) =
                    unsafe { (_mm_loadu_si128(row.as_ptr().cast()), _mm_loadu_si128(query.as_ptr().cast())) };
                let products = _mm256_madd_epi16(_mm256_cvtepi8_epi16(row), _mm256_cvtepi8_epi16(query));
                sums = _mm256_add_epi32(sums, products);
            }
            *out = total(sums) + super::dot_rest(row_rest, query_rest);
        }
    }

    /// The instruction multiplies unsigned by signed bytes, so rows are shifted up by 128 (a flip of the top bit) and the
    /// 128 × sum of the query that this adds is taken off at the end.
    ///
    /// On half of the 512-bit registers: whole ones are no faster in cache and slower out of it, where half their loads cross
    /// two cache lines, and with masked loads 100,000 rows took 3.3 ms instead of 0.9.
    #[target_feature(enable = "avx2,avx512vl,avx512vnni")]
    pub(super) fn vnni(rows: &[i8], query: &[i8], query_sum: i32, out: &mut [i32]) {
        let (query_blocks, query_rest) = query.as_chunks::<32>();
        let shift = 128 * (query_sum - sum(query_rest));
        let top_bit = _mm256_set1_epi8(i8::MIN);
        for (row, out) in rows.chunks_exact(query.len()).zip(out) {
            let (row_blocks, row_rest) = row.as_chunks::<32>();
            let mut sums = _mm256_setzero_si256();
            for (row, query) in row_blocks.iter().zip(query_blocks) {
                // SAFETY: both point at 32 readable bytes, and the load needs no alignment.
                let (row, query) =
                    unsafe { (_mm256_loadu_si256(row.as_ptr().cast()), _mm256_loadu_si256(query.as_ptr().cast())) };
                sums = _mm256_dpbusd_epi32(sums, _mm256_xor_si256(row, top_bit), query);
            }
            *out = total(sums) - shift + super::dot_rest(row_rest, query_rest);
        }
    }

    /// The sum of the eight numbers of a register.
    #[target_feature(enable = "avx2")]
    fn total(sums: __m256i) -> i32 {
        let half = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
        let quarter = _mm_add_epi32(half, _mm_shuffle_epi32::<0b01_00_11_10>(half));
        _mm_cvtsi128_si32(_mm_add_epi32(quarter, _mm_shuffle_epi32::<0b10_11_00_01>(quarter)))
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::aarch64::*;

    #[target_feature(enable = "neon")]
    pub(super) fn neon(rows: &[i8], query: &[i8], out: &mut [i32]) {
        let (query_blocks, query_rest) = query.as_chunks::<16>();
        for (row, out) in rows.chunks_exact(query.len()).zip(out) {
            let (row_blocks, row_rest) = row.as_chunks::<16>();
            let mut sums = vdupq_n_s32(0);
            for (row, query) in row_blocks.iter().zip(query_blocks) {
                // SAFETY: both point at 16 readable bytes, and the load needs no alignment.
                let (row, query) = unsafe { (vld1q_s8(row.as_ptr()), vld1q_s8(query.as_ptr())) };
                sums = vpadalq_s16(sums, vmull_s8(vget_low_s8(row), vget_low_s8(query)));
                sums = vpadalq_s16(sums, vmull_high_s8(row, query));
            }
            *out = vaddvq_s32(sums) + super::dot_rest(row_rest, query_rest);
        }
    }
}

/// A bitmap of fixed length.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RowBits {
    words: Vec<u64>,
}

impl RowBits {
    pub(super) fn new(rows: usize) -> Self {
        Self { words: vec![0; rows.div_ceil(64)] }
    }

    pub(super) fn set(&mut self, row: usize) {
        self.words[row / 64] |= 1 << (row % 64);
    }

    pub(super) fn get(&self, row: usize) -> bool {
        self.words[row / 64] >> (row % 64) & 1 == 1
    }

    /// The bits of rows `64 * at ..` as one word.
    pub(super) fn word(&self, at: usize) -> u64 {
        self.words[at]
    }
}

/// Lists the positions of the bits that are set, lowest first.
pub(super) fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (at < u64::BITS).then_some(at as usize)
    })
}

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
            let expected: Vec<i32> = rows.chunks(query.len()).map(|row| dot_rest(row, &query)).collect();
            for kernel in Kernel::supported() {
                let mut out = vec![0; rows.len() / query.len()];
                kernel.dots(&rows, &query, sum(&query), &mut out);
                prop_assert_eq!(&out, &expected, "{:?}", kernel);
            }
        }
    }

    #[test]
    fn no_kernel_overflows_on_the_longest_vectors() {
        for (a, b) in [(i8::MIN, i8::MIN), (i8::MIN, i8::MAX), (i8::MAX, i8::MAX)] {
            let (a, b) = (
                vec![a; crate::index::local::vectors::set::MAX_DIMENSIONS],
                vec![b; crate::index::local::vectors::set::MAX_DIMENSIONS],
            );
            for kernel in Kernel::supported() {
                assert_eq!(kernel.dot(&a, &b, sum(&b)), dot_rest(&a, &b), "{kernel:?}");
            }
        }
    }
}
