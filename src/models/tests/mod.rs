//! What the tests of several files stand on.

pub(crate) mod bent;
