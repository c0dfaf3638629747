//! `vault import --from … --watch`: what comes into a source later, until somebody ends it.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::exit::told;
use super::import_sending::Sending;
use super::terminal::{remark, say};
use crate::config::WatchMode;
use crate::imports::{ImportRepeats, ImportSink, ImportTally, SourceKind, read_some};
use crate::vault::{FilesElsewhere, FoldersWatcher, Stamp};

/// Quiet period without a change before files are read: transcripts are written line by line.
const QUIET_PERIOD: Duration = Duration::from_millis(300);
/// Maximum time that such a quiet period is waited for.
const MAX_QUIET_WAIT: Duration = Duration::from_secs(5);
/// Interval of looks at everything, whatever was heard; what failed is tried again then.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);
/// Interval of looks where nothing is heard.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Maximum number of looks at new folders for those that were made in them meanwhile.
const MAX_COVERS: usize = 8;

/// What is heard.
enum ImportNews {
    Changed,
    Over,
}

/// The files of a source, as they were read last.
pub(super) struct WatchedSource {
    files: FilesElsewhere,
    path: PathBuf,
    known: HashMap<PathBuf, Stamp>,
}

impl WatchedSource {
    /// Looks at the files before they are read for the first time: what comes from then on is new.
    pub(super) fn of(path: &Path) -> Self {
        // A link that is named itself leads to its file.
        let followed = path.canonicalize().ok().filter(|followed| followed.is_file());
        let files = FilesElsewhere::all_in(followed.as_deref().unwrap_or(path));
        let mut source = Self { files, path: path.to_owned(), known: HashMap::new() };
        source.known = source.now();
        source
    }

    fn now(&self) -> HashMap<PathBuf, Stamp> {
        self.files.find().files.into_iter().map(|file| (file.path, file.stamp)).collect()
    }

    /// Takes what comes, until somebody ends it, and adds to a tally what is found that did not come before.
    pub(super) fn follow(
        &mut self,
        kind: SourceKind,
        sending: &mut Sending,
        (tally, repeats): (&mut ImportTally, &mut ImportRepeats),
        quiet: bool,
    ) -> anyhow::Result<()> {
        let (news, heard) = channel();
        until_ended(news.clone())?;
        let changed = Arc::new(move || _ = news.send(ImportNews::Changed));
        let mut watcher = FoldersWatcher::start(WatchMode::Auto, changed);
        if !quiet {
            say!("waiting for more in {}; Ctrl-C ends it", self.path.display())?;
        }
        loop {
            // Listened to before it is looked at: what comes in between is heard of.
            for _ in 0..MAX_COVERS {
                if !watcher.cover(&self.files.find().folders) {
                    break;
                }
            }
            let now = self.now();
            if now != self.known {
                let before = sending.taken_so_far();
                match self.bring(kind, sending, repeats, &now) {
                    Ok(found) => {
                        tally.add(found);
                        self.known = now;
                    }
                    // Where it cannot be kept now it can be later: it is looked at again.
                    Err(error) => remark!("vault: not taken yet: {error:#}"),
                }
                let added = sending.taken_so_far() - before;
                if added > 0 && !quiet {
                    let what = if added == 1 { "turn or note" } else { "turns or notes" };
                    say!("{added} new {what} came")?;
                }
            }
            let every = if watcher.needs_polling().is_some() { POLL_INTERVAL } else { CHECK_INTERVAL };
            if is_over(&heard, every) {
                return Ok(());
            }
        }
    }

    /// Reads the files that are others than they were, and gives what was found in them.
    fn bring(
        &self,
        kind: SourceKind,
        sending: &mut Sending,
        repeats: &mut ImportRepeats,
        now: &HashMap<PathBuf, Stamp>,
    ) -> anyhow::Result<ImportTally> {
        let is_new = |name: &str| {
            let path = if self.path.is_dir() { self.path.join(name) } else { self.path.clone() };
            now.get(&path) != self.known.get(&path)
        };
        let mut failed = None;
        let mut take = |item| match sending.add(item) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        };
        let mut sink = ImportSink::again(&mut take, Some(&mut *repeats));
        // That there is nothing of the kind among them is no failure.
        let _ = read_some(kind, &self.path, &is_new, &Rc::new(Cell::new(0)), &mut sink);
        let found = std::mem::take(&mut sink.tally);
        if let Some(error) = failed.or_else(|| sending.flush().err()) {
            repeats.give_up();
            return Err(error);
        }
        repeats.settle();
        Ok(found)
    }
}

/// Waits for news, and until there is none for a moment; whether it is over.
fn is_over(heard: &Receiver<ImportNews>, every: Duration) -> bool {
    match heard.recv_timeout(every) {
        Ok(ImportNews::Over) => return true,
        Ok(ImportNews::Changed) | Err(_) => {}
    }
    let since = Instant::now();
    while since.elapsed() < MAX_QUIET_WAIT {
        match heard.recv_timeout(QUIET_PERIOD) {
            Ok(ImportNews::Over) => return true,
            Ok(ImportNews::Changed) => {}
            Err(_) => break,
        }
    }
    false
}

/// Has the first SIGINT or SIGTERM told; a second ends the process at once.
fn until_ended(news: Sender<ImportNews>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let stop = {
        let _within = runtime.enter();
        told()?
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            stop.await;
            let _ = news.send(ImportNews::Over);
            std::future::pending::<()>().await;
        });
    })?;
    Ok(())
}
