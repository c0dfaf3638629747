//! A terminal for the real binary: a pseudo-terminal of which this process is the screen and the keyboard.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use rustix::fs::{Mode, OFlags};

unsafe extern "C" {
    fn posix_openpt(flags: c_int) -> c_int;
    fn grantpt(terminal: c_int) -> c_int;
    fn unlockpt(terminal: c_int) -> c_int;
    fn ptsname(terminal: c_int) -> *mut c_char;
}

/// What of a command is at the terminal; the rest of its output goes into pipes.
#[derive(Debug, Clone, Copy)]
pub enum At {
    Stdout,
    Stderr,
    /// Standard input and standard error, as a question is asked and answered.
    Keyboard(&'static str),
}

/// What a command has shown.
#[derive(Debug)]
pub struct Shown {
    pub code: i32,
    /// On the screen. A terminal puts a carriage return before each line feed; these are taken out.
    pub screen: String,
    /// Into a pipe as standard output, where that is not at the terminal.
    pub piped: String,
}

/// Runs a command at a terminal.
pub fn at_terminal(at: At, command: &mut Command) -> Shown {
    let (screen, terminal) = open();
    let there = || Stdio::from(terminal.try_clone().unwrap());
    command.env("TERM", "xterm-256color");
    match at {
        At::Stdout => command.stdout(there()).stderr(Stdio::piped()),
        At::Stderr => command.stdout(Stdio::piped()).stderr(there()),
        At::Keyboard(_) => command.stdin(there()).stdout(Stdio::piped()).stderr(there()),
    };
    let child = command.spawn().unwrap();
    // The screen ends when nobody has the terminal any more, and the command holds on to what it was given.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    drop(terminal);
    if let At::Keyboard(typed) = at {
        (&screen).write_all(typed.as_bytes()).unwrap();
    }
    let shown = std::thread::spawn(move || {
        let (mut screen, mut shown, mut buffer) = (screen, Vec::new(), [0; 4096]);
        // Linux ends it with an error.
        while let Ok(read @ 1..) = screen.read(&mut buffer) {
            shown.extend_from_slice(&buffer[..read]);
        }
        String::from_utf8(shown).unwrap()
    });
    let output = child.wait_with_output().unwrap();
    Shown {
        code: output.status.code().unwrap_or(-1),
        screen: shown.join().unwrap().replace("\r\n", "\n"),
        piped: String::from_utf8(output.stdout).unwrap(),
    }
}

/// Both ends of a new pseudo-terminal.
fn open() -> (File, OwnedFd) {
    /// `ptsname` gives the same memory each time.
    static NAMING: Mutex<()> = Mutex::new(());
    let flags = OFlags::RDWR | OFlags::NOCTTY;
    let _one = NAMING.lock().unwrap();
    // SAFETY: POSIX's own functions on a descriptor that was opened just now; the name is copied before the next call.
    let (screen, name) = unsafe {
        let screen = posix_openpt(flags.bits() as c_int);
        assert!(screen >= 0, "{}", std::io::Error::last_os_error());
        let screen = File::from_raw_fd(screen);
        assert_eq!((grantpt(screen.as_raw_fd()), unlockpt(screen.as_raw_fd())), (0, 0));
        let name = ptsname(screen.as_raw_fd());
        assert!(!name.is_null());
        (screen, OsStr::from_bytes(CStr::from_ptr(name).to_bytes()).to_owned())
    };
    rustix::io::fcntl_setfd(&screen, rustix::io::FdFlags::CLOEXEC).unwrap();
    (screen, rustix::fs::open(name, flags | OFlags::CLOEXEC, Mode::empty()).unwrap())
}
