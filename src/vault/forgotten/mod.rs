//! What was forgotten for good stays forgotten: a text that was purged is known again, in whatever file or marks, by keyed digests of
//! its words and of its sentences. Whoever is about to write down what a program or an agent brings asks here first.
//!
//! Senders and agents are told nothing of it: what they hear is success. An agent's text is held against what that agent could read
//! alone, so that no guess of what it could not read ever comes out. The person may write anything again; it is pointed out.

mod lookup;
mod texts;

pub(crate) use lookup::{FactToWrite, ForgottenLookup, TextPart, WithoutForgotten, parts_of};
pub(crate) use texts::{ANY_SCOPE, ForgottenNote, ForgottenTexts, folder_of};
