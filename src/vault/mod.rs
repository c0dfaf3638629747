//! The person's files: on disk, their attachments, backups, what is asked and written of notes, what was forgotten for good.

pub mod attachments;
pub(crate) mod backup;
pub mod disk;
pub(crate) mod forgotten;
pub mod notes;
