//! What the tests of others compare an engine with.

pub(crate) mod exact;
