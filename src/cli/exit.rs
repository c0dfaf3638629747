//! Ending the process: in order, or while its threads are still at work.

use std::future::Future;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use super::terminal::Outcome;

/// Blocking calls that outlived the drain do not hold the process any longer.
const OUTLIVES: Duration = Duration::from_millis(200);

/// Serves until that is done, which says whether all stores could be closed, and ends what is left of it. Where something could not be
/// closed in time, the process ends at once, as a killed one does: that loses nothing.
///
/// # Errors
/// When it cannot be served.
pub(super) fn after(serving: impl Future<Output = anyhow::Result<bool>>) -> anyhow::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let closed = runtime.block_on(serving)?;
    runtime.shutdown_timeout(OUTLIVES);
    if !closed {
        at_once(0);
    }
    Ok(Outcome::Done)
}

/// Done at the first SIGINT or SIGTERM; a second SIGINT ends the process at once.
///
/// # Errors
/// When signals cannot be received.
pub(super) fn told() -> std::io::Result<impl Future<Output = ()>> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tokio::spawn(async move {
            interrupt.recv().await;
            at_once(130);
        });
    })
}

/// Ends the process now. Unlike `std::process::exit`, and a `main` that returns, it runs none of what C and C++ libraries have
/// registered for the end: that takes down what threads in the middle of a computation, or of loading a model, still use, which
/// crashes them and loses the exit code. What standard output still holds is lost as well.
pub(super) fn at_once(code: u8) -> ! {
    unsafe extern "C" {
        fn _exit(code: std::ffi::c_int) -> !;
    }
    // SAFETY: POSIX's own function, which takes any number and never returns.
    unsafe { _exit(code.into()) }
}
