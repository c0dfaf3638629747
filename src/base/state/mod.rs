//! What cannot be derived again, in one SQLite file: whose tokens count, what agents asked,
//! events on their way into their files, what was changed, what was forgotten for good, work that waits and calls of chat models.
//!
//! It is a file of its own beside the index, for its owner's eyes only. Several processes read and write it: the daemon, and
//! commands beside it. What is deleted of it is overwritten, and what it says is safe on disk when a call returns.

mod export;
mod jobs;
mod key;
mod later;
mod logs;
mod model_calls;
mod page_sessions;
mod queue;
mod remote;
mod schema;
mod seen;
mod share_links;
mod sources;
mod store;
mod tokens;
mod tombstones;

pub use jobs::{Job, JobTable};
pub(crate) use jobs::{MOST_ATTEMPTS, MOST_DELAY_MS};
pub use key::{Digest, DigestKey, cut, digest_of, hash_of};
pub use logs::{ChangeLine, ChangeTable, LogEntry, ReadLog};
pub use model_calls::{CallAllowance, CallEnd, CallQuota, ModelCall, ModelCallTable, ModelCallTotals};
pub use page_sessions::{PageSession, PageSessionTable};
pub use queue::{Batch, EventQueue, EventReader, Extent, NewEvent, WaitingEvent};
pub use remote::{RemoteGrant, RemoteGrantTable, RemoteTerms};
pub use seen::SeenTable;
pub use share_links::{ShareLink, ShareLinks};
pub use sources::{ImportRow, ImportTable, ImportedFile, NoteOrigin, SessionNote, SessionSource, SessionTable};
pub use store::{State, StateError};
pub use tokens::{AgentRow, AgentTable, TokenRow, TokenTable};
pub use tombstones::{
    ForgottenKind, KnownTombstones, LeftOut, LeftOutTable, OpenPurge, OpenPurgeTable, Tombstone, TombstoneTable,
    Tombstones,
};
