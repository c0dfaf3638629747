//! The program from outside: the library with a deterministic embedder, and the real binary.

mod support;

mod chunks;
mod equivalence;
mod search;
mod server;
mod watching;
