//! Why the system gives no more watches, and what a person can do about it.

use notify::{Error, ErrorKind};
use rustix::io::Errno;

/// What to raise a limit to, at least: as much as distributions for developers ship.
const ENOUGH_WATCHES: u64 = 524_288;
const ENOUGH_INSTANCES: u64 = 1_024;

/// Whether the system's limit of watches is reached, and not this folder at fault.
pub(super) fn is_reached(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::MaxFilesWatch)
}

/// Says why events cannot be had; where a limit is the reason, which one it is and how to raise it.
pub(super) fn explain(error: &Error) -> String {
    let instances = match &error.kind {
        ErrorKind::MaxFilesWatch => false,
        // No more inotify instances, or open files, are allowed.
        ErrorKind::Io(io) if io.raw_os_error() == Some(Errno::MFILE.raw_os_error()) => true,
        _ => return format!("file events are not available: {error}"),
    };
    let (what, least) = if instances { ("instances", ENOUGH_INSTANCES) } else { ("watches", ENOUGH_WATCHES) };
    // A container has limits of its own, which may be the lower ones.
    let keys = [("fs.inotify.max_user_", "fs/inotify/max_user_"), ("user.max_inotify_", "user/max_inotify_")];
    let limits = keys.iter().filter_map(|(key, path)| {
        let limit = std::fs::read_to_string(format!("/proc/sys/{path}{what}")).ok()?;
        Some((limit.trim().parse::<u64>().ok()?, format!("{key}{what}")))
    });
    match limits.min_by_key(|(limit, _)| *limit) {
        Some((limit, key)) => advice(what, limit, &key, least),
        None => format!("the system's limit of inotify {what} is reached"),
    }
}

fn advice(what: &str, limit: u64, key: &str, least: u64) -> String {
    let more = least.max(limit.saturating_mul(4));
    format!(
        "the system's limit of {limit} inotify {what} is reached. Raise it with `sudo sysctl {key}={more}`, and write that \
         setting into a file in /etc/sysctl.d to keep it"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_which_limit_to_raise_and_how() {
        let said = advice("watches", 8192, "fs.inotify.max_user_watches", ENOUGH_WATCHES);
        assert!(said.contains("limit of 8192") && said.contains("`sudo sysctl fs.inotify.max_user_watches=524288`"));
        let said = advice("watches", 524_288, "fs.inotify.max_user_watches", ENOUGH_WATCHES);
        assert!(said.contains("max_user_watches=2097152`"), "{said}");
        let full = Error::new(ErrorKind::MaxFilesWatch);
        assert!(is_reached(&full) && explain(&full).contains("inotify watches is reached"));
        let instances = Error::io(std::io::Error::from_raw_os_error(Errno::MFILE.raw_os_error()));
        assert!(!is_reached(&instances) && explain(&instances).contains("inotify instances is reached"));
        assert!(explain(&Error::generic("no")).starts_with("file events are not available: no"));
    }
}
