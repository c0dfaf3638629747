//! Any byte of any file of the index.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{RngSeed, TestRunner};

use super::Noticed::Perhaps;
use super::{Fixture, flip};
use crate::support::cases;

#[test]
fn flipped_bytes_anywhere_are_healed() {
    let config = ProptestConfig {
        cases: cases(40),
        max_shrink_iters: 20,
        rng_seed: RngSeed::Fixed(3),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    // One vault for all cases: making it costs more than damaging it.
    let fixture = RefCell::new(Fixture::new());
    let flips = prop::collection::vec((any::<Index>(), any::<Index>()), 1..4);
    let result = TestRunner::new(config).run(&(any::<bool>(), flips), |(killed, flips)| {
        let fixture = &mut *fixture.borrow_mut();
        let files = if killed { fixture.open.clone() } else { fixture.closed.clone() };
        fixture.heals(&format!("{flips:?}"), killed, Perhaps, |_| {
            for (file, at) in &flips {
                let (path, bytes) = &files[file.index(files.len())];
                if !bytes.is_empty() {
                    flip(path, at.index(bytes.len()));
                }
            }
        });
        Ok(())
    });
    result.unwrap();
}
