//! Any byte of any file of the index.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

use super::Noticed::Perhaps;
use super::{Fixture, flip};
use crate::support::prelude::*;

#[test]
fn flipped_bytes_anywhere_are_healed() {
    // There is no file beside which what failed would be kept.
    let config = ProptestConfig { max_shrink_iters: 20, failure_persistence: None, ..proptest_config(40) };
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
