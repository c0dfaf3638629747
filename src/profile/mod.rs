//! The profile of the person.
