//! Progress bars, on a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar on standard error with rate and time left; nothing when that is not a terminal.
pub(super) struct Bar(ProgressBar);

impl Bar {
    /// Counts notes.
    pub(super) fn files() -> Self {
        Self::new("reading notes")
    }

    /// Counts passages.
    pub(super) fn embeddings() -> Self {
        Self::new("embedding passages")
    }

    /// Counts bytes.
    pub(super) fn bytes(what: &'static str) -> Self {
        Self::with_template(what, "{msg:20} {bar:30} {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left")
    }

    fn new(what: &'static str) -> Self {
        Self::with_template(what, "{msg:20} {bar:30} {human_pos}/{human_len}  {per_sec:.0}  {eta} left")
    }

    fn with_template(what: &'static str, template: &str) -> Self {
        let bar = ProgressBar::no_length();
        bar.set_style(ProgressStyle::with_template(template).expect("the template is well formed"));
        bar.set_message(what);
        Self(bar)
    }

    /// Shows so many done and so many left.
    pub(super) fn show(&self, done: usize, left: usize) {
        self.0.set_length((done + left) as u64);
        self.0.set_position(done as u64);
    }

    /// Takes the bar off the screen.
    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
