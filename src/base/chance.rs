//! What tests that take chances begin with.

use proptest::test_runner::{Config, RngSeed};

/// How a property is tried: on so many cases, or as many as `PROPTEST_CASES` says, which begin at `SOAK_SEED`, else at another seed each
/// time. It is printed, so that a failure can be had again.
pub(crate) fn proptest_config(cases: u32) -> Config {
    let told = std::env::var("SOAK_SEED").ok().map(|seed| seed.parse().expect("SOAK_SEED is a number"));
    let seed = told.unwrap_or_else(|| std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs()));
    println!("SOAK_SEED={seed}");
    Config { rng_seed: RngSeed::Fixed(seed), ..Config::with_cases(cases) }
}
