//! Ending the process while its threads are still at work.

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
