//! How good answers are: questions with the places that answer them, and what became of them, as numbers.
//!
//! [`read`] takes questions from Markdown or JSON Lines, [`Judged`] says at which places of a list of hits the answers stand, and
//! [`measures`] makes numbers of it, with [`interval`]s by the bootstrap.

mod bootstrap;
mod measures;
mod questions;
mod target;

pub(crate) use bootstrap::{Interval, difference, interval};
pub(crate) use measures::{Judged, MEASURES};
pub(crate) use questions::{Question, read};
pub(crate) use target::Place;
