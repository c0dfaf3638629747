//! What the tests of several files stand on.

pub(super) mod bent;
