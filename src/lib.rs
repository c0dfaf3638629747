//! A person's long-lived memory: plain Markdown in one folder, searchable the moment it is saved.
