//! How far a mean over questions may be trusted.

/// A mean with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub(crate) struct Interval {
    /// Of all values.
    pub mean: f64,
    /// 2.5 % of the resampled means are below.
    pub low: f64,
    /// 2.5 % are above.
    pub high: f64,
}

const ROUNDS: usize = 2_000;

/// The mean of some values with its interval by the percentile bootstrap (Efron, 1979), drawn the same way each time. All 0 of none.
pub(crate) fn interval(values: &[f64]) -> Interval {
    if values.is_empty() {
        return Interval { mean: 0.0, low: 0.0, high: 0.0 };
    }
    let mean = |sum: f64| sum / values.len() as f64;
    let mut state = 1;
    let mut drawn = || values[(next(&mut state) % values.len() as u64) as usize];
    let mut means: Vec<f64> = (0..ROUNDS).map(|_| mean((0..values.len()).map(|_| drawn()).sum())).collect();
    means.sort_by(f64::total_cmp);
    let (low, high) = (means[ROUNDS * 25 / 1000], means[ROUNDS * 975 / 1000 - 1]);
    Interval { mean: mean(values.iter().sum()), low, high }
}

/// By how much the second is higher, question by question.
///
/// # Panics
/// When there are not as many of each.
pub(crate) fn difference(one: &[f64], two: &[f64]) -> Interval {
    assert_eq!(one.len(), two.len(), "the same questions");
    interval(&one.iter().zip(two).map(|(one, two)| two - one).collect::<Vec<_>>())
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_values_make_a_narrower_interval_around_the_mean() {
        let half = |count: usize| (0..count).map(|at| (at % 2) as f64).collect::<Vec<_>>();
        let (few, many) = (interval(&half(20)), interval(&half(2000)));
        for found in [few, many] {
            assert!(found.mean == 0.5 && found.low < 0.5 && found.high > 0.5, "{found:?}");
        }
        assert!(many.high - many.low < (few.high - few.low) / 5.0);
        // The normal approximation of a mean of 2,000 coins: 0.5 ± 1.96 · 0.5 / √2000.
        assert!((many.high - 0.5219).abs() < 0.004, "{many:?}");
        assert_eq!(interval(&[]), Interval { mean: 0.0, low: 0.0, high: 0.0 });
    }

    #[test]
    fn a_difference_is_of_pairs() {
        let (one, two): (Vec<f64>, Vec<f64>) = (0..50).map(|at| (at as f64, at as f64 + 1.0)).unzip();
        assert_eq!(difference(&one, &two), Interval { mean: 1.0, low: 1.0, high: 1.0 });
    }
}
