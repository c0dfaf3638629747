//! What a process that reads documents may not do, set by itself before it looks at the first byte.
//!
//! Limits of the system bound its memory and time, and keep it from opening, writing and starting anything; they hold everywhere. On Linux a
//! filter of system calls leaves it those by which it computes, reads its standard input and writes its standard output. Neither can be
//! taken back.

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};

/// Bytes of memory that it may take beside what the program itself is mapped to.
pub(super) const MEMORY: u64 = 200 << 20;
/// Seconds of computing.
pub(super) const SECONDS: u64 = 10;

/// Confines this process for good; says what of it the system does not have.
///
/// # Errors
/// When a limit cannot be set: then nothing may be read.
pub(super) fn enter() -> io::Result<Option<String>> {
    let limits = [
        (Resource::Core, 0, 0),
        (Resource::Fsize, 0, 0),
        // Nothing can be opened: the three that are open stay so.
        (Resource::Nofile, 0, 0),
        (Resource::Nproc, 0, 0),
        // The first of them is told apart from other ends.
        (Resource::Cpu, SECONDS, SECONDS + 1),
        (Resource::As, mapped() + MEMORY, mapped() + MEMORY),
    ];
    // Nobody listens when who started it is gone.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    // Whoever else computes comes first.
    let _ = rustix::process::nice(10);
    for (resource, current, maximum) in limits {
        let limit = Rlimit { current: Some(current), maximum: Some(maximum) };
        match setrlimit(resource, limit) {
            Ok(()) => {}
            // macOS knows this limit, and does not take it below what is mapped.
            Err(_) if cfg!(target_os = "macos") && resource == Resource::As => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(filter::apply().err())
}

/// Bytes of addresses that this process takes already: the program itself with its libraries.
fn mapped() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').next().and_then(|pages| pages.parse::<u64>().ok());
    // Without a number it is what the program is mapped to with a model inside, and room.
    pages.map_or(512 << 20, |pages| pages * rustix::param::page_size() as u64)
}

#[cfg(target_os = "linux")]
mod filter {
    use std::collections::BTreeMap;

    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
        TargetArch, apply_filter,
    };

    type Rules = BTreeMap<i64, Vec<SeccompRule>>;

    /// Has the system refuse all calls but those below.
    pub(super) fn apply() -> Result<(), String> {
        let failed = |error: &dyn std::fmt::Display| format!("system calls cannot be filtered: {error}");
        let arch: TargetArch = std::env::consts::ARCH.try_into().map_err(|error| failed(&error))?;
        let rules = rules().map_err(|error| failed(&error))?;
        let refused = SeccompAction::Errno(libc::EPERM as u32);
        let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, arch).map_err(|error| failed(&error))?;
        let program: BpfProgram = filter.try_into().map_err(|error| failed(&error))?;
        // Sets `no_new_privs`, too.
        apply_filter(&program).map_err(|error| failed(&error))
    }

    /// The calls that are left.
    fn rules() -> Result<Rules, seccompiler::BackendError> {
        let mut rules: Rules = [
            libc::SYS_brk,
            libc::SYS_clock_gettime,
            libc::SYS_exit,
            libc::SYS_exit_group,
            libc::SYS_fstat,
            libc::SYS_futex,
            libc::SYS_getpid,
            libc::SYS_getrandom,
            libc::SYS_gettid,
            libc::SYS_lseek,
            libc::SYS_madvise,
            libc::SYS_mremap,
            libc::SYS_munmap,
            libc::SYS_restart_syscall,
            libc::SYS_rt_sigaction,
            libc::SYS_rt_sigprocmask,
            libc::SYS_rt_sigreturn,
            libc::SYS_sched_yield,
            libc::SYS_sigaltstack,
        ]
        .into_iter()
        .map(|call| (call, Vec::new()))
        .collect();
        let is = |argument, value| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value);
        let only = |condition| SeccompRule::new(vec![condition]);
        rules.insert(libc::SYS_read, vec![only(is(0, 0)?)?]);
        let written = vec![only(is(0, 1)?)?, only(is(0, 2)?)?];
        rules.insert(libc::SYS_write, written);
        // Memory for data, never for code.
        let exec = libc::PROT_EXEC as u64;
        for call in [libc::SYS_mmap, libc::SYS_mprotect] {
            let data = SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(exec), 0)?;
            rules.insert(call, vec![only(data)?]);
        }
        // Its own end, where memory ran out.
        let own = is(0, std::process::id().into())?;
        rules.insert(libc::SYS_tgkill, vec![only(own)?]);
        Ok(rules)
    }
}

#[cfg(not(target_os = "linux"))]
mod filter {
    /// There is no such filter.
    pub(super) fn apply() -> Result<(), String> {
        Err("no filter of system calls is supported on this system".into())
    }
}
