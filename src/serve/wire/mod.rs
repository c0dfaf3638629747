//! What is asked and answered, as HTTP, MCP and the command line share it: JSON and its schemas.

mod agents;
mod edits;
mod facts;
mod memory;
mod notes;
mod remote;
mod search;
mod status;
mod suggestions;
mod writes;

pub use agents::*;
pub use edits::*;
pub use facts::*;
pub use memory::*;
pub use notes::*;
pub use remote::*;
pub use search::*;
pub use status::*;
pub use suggestions::*;
pub use writes::*;
