//! Progress bars, on a terminal.

use std::cell::Cell;
use std::fmt::Write;
use std::time::Duration;

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::index::sync::Shared;

/// A bar on standard error with rate and time left; nothing when that is not a terminal. Its words are ours alone, so it needs
/// not go the way of what may hold a note's.
pub(super) struct Bar {
    bar: ProgressBar,
    /// Where it is drawn, until it is for the first time.
    target: Cell<Option<ProgressDrawTarget>>,
}

/// Before that long nobody can tell how fast it is.
const SETTLES_AFTER: Duration = Duration::from_secs(1);

impl Bar {
    /// Counts notes.
    pub(super) fn files() -> Self {
        Self::new("reading notes")
    }

    /// Counts passages.
    pub(super) fn embeddings() -> Self {
        Self::new("embedding passages")
    }

    /// Counts questions.
    pub(super) fn questions() -> Self {
        Self::new("asking")
    }

    /// Counts bytes.
    pub(super) fn bytes(what: &'static str) -> Self {
        Self::with_template(what, "{msg:20} {bar:30} {bytes}/{total_bytes}  {bytes_per_sec}  {left}")
    }

    fn new(what: &'static str) -> Self {
        Self::with_template(what, "{msg:20} {bar:30} {human_pos}/{human_len}  {rate}  {left}")
    }

    fn with_template(what: &'static str, template: &str) -> Self {
        let told = |state: &ProgressState, tell: fn(&ProgressState) -> String, out: &mut dyn Write| {
            // Writing into a text cannot fail.
            let _ = out.write_str(&tell(state));
        };
        let style = ProgressStyle::with_template(template)
            .expect("the template is well formed")
            .with_key("rate", move |state: &ProgressState, out: &mut dyn Write| {
                told(state, |state| rate(state.per_sec(), state.elapsed()), out);
            })
            .with_key("left", move |state: &ProgressState, out: &mut dyn Write| {
                told(state, |state| left(state.eta(), state.elapsed()), out);
            });
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(style);
        bar.set_message(what);
        Self { bar, target: Cell::new(Some(ProgressDrawTarget::stderr())) }
    }

    /// Shows so many done and so many left.
    pub(super) fn show(&self, done: usize, left: usize) {
        self.bar.set_length((done + left) as u64);
        self.bar.set_position(done as u64);
        if let Some(target) = self.target.take() {
            // What was done before says nothing of how fast it is now.
            self.bar.tick();
            self.bar.reset_elapsed();
            self.bar.set_draw_target(target);
            self.bar.tick();
        }
    }

    /// Shows how many passages are embedded, and how many are not.
    pub(super) fn show_passages(&self, shared: &Shared) {
        if let Some(snapshot) = shared.snapshot() {
            let (embedded, of) = snapshot.embedded(None);
            self.show(embedded, of.saturating_sub(embedded));
        }
    }

    /// Takes the bar off the screen.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn rate(per_second: f64, elapsed: Duration) -> String {
    match per_second {
        _ if elapsed < SETTLES_AFTER => String::new(),
        0.05..10.0 => format!("{per_second:.1}/s"),
        10.0.. => format!("{}/s", HumanCount(per_second.round() as u64)),
        _ => String::new(),
    }
}

/// indicatif says 0 where it does not know.
fn left(left: Duration, elapsed: Duration) -> String {
    if left.is_zero() || elapsed < SETTLES_AFTER { String::new() } else { format!("{:#} left", HumanDuration(left)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_rounded_and_what_nobody_knows_yet_is_not_told() {
        let (early, late) = (Duration::from_millis(200), Duration::from_secs(3));
        for (per_second, told) in
            [(12.2674, "12/s"), (1234.5, "1,235/s"), (3.0519, "3.1/s"), (0.0, ""), (f64::NAN, ""), (-1.0, "")]
        {
            assert_eq!(rate(per_second, late), told);
            assert_eq!(rate(per_second, early), "");
        }
        assert_eq!(left(Duration::ZERO, late), "");
        assert_eq!(left(Duration::from_secs(90), early), "");
        assert_eq!(left(Duration::from_secs(42), late), "42s left");
    }
}
