//! A whole vault in one file: a tar archive, compressed with Zstandard, that `tar --zstd` reads too.
//!
//! Its last entry is a manifest with a hash over all the others, so that an archive that was cut short or changed is told
//! from a whole one.

mod contents;
mod export;
mod import;

pub(crate) use export::{Export, Made, export, export_to};
pub(crate) use import::{Import, import};
