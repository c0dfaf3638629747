//! The name of a fact within its scope: `namespace/key`, or `key` where it stands below no heading.

/// The name.
pub(crate) fn full_name(namespace: &str, key: &str) -> String {
    if namespace.is_empty() { key.to_owned() } else { format!("{namespace}/{key}") }
}

/// Namespace and key.
pub(crate) fn split_name(name: &str) -> (&str, &str) {
    name.rsplit_once('/').unwrap_or(("", name))
}
