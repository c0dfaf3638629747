//! Memory of an agent's own: Markdown in `agents/<slug>/`, which it writes itself.
//!
//! ```text
//! agents/<slug>/  MEMORY.md · memory.md   what goes into prompts
//!                 memory/<name>.md        what is searched
//!                 facts.md                facts, which have a room of their own
//!                 agent.md                who it is and what it may do: the person's, never read or written here
//! ```
//!
//! What depends on who asks is in the [`MemoryWriter`](crate::access::request::MemoryWriter). A change is worked out from what the file
//! says ([`edit`], pure), written over that and nothing else, and tried again when somebody was faster; every one has a checkpoint.

mod edit;
mod forget;
mod read;
mod write;

pub(crate) use forget::forget;
pub(crate) use read::{get, list, search};
pub(crate) use write::{delete, drop_chunk, flush, keep, restore, save};
