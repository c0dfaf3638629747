//! Bringing the stores to one state after whatever happened to them.

use std::fs;
use std::path::Path;

use super::keyword::{Payload, Stemming, Words};
use super::store::{IndexError, Settings, Store, document};
use super::update::embedded_context;
use crate::fs::{Context, FsError, crash};

pub(super) const MARKER: &str = "open";

/// A file that is there while the stores are open for writing, or were not closed. It names the boot of the machine: files
/// that a killed process wrote are whole, for the system had them; those written before a power loss may not be.
pub(super) struct Marker {
    boot: String,
    /// What the file said when the stores were opened.
    before: Option<String>,
    set: bool,
}

impl Marker {
    pub(super) fn read(folder: &Path, settings: &Settings) -> Result<Self, IndexError> {
        let made_with = format!("{:?}", settings.stemmer);
        let language = folder.join("stemmer");
        match fs::read_to_string(&language) {
            Ok(found) if found != made_with => {
                return Err(IndexError::Stale(format!("its words were stemmed as {found}, now {made_with} is wanted")));
            }
            Ok(_) => {}
            Err(_) => fs::write(&language, made_with).on("write", &language)?,
        }
        Ok(Self { boot: boot_id(), before: fs::read_to_string(folder.join(MARKER)).ok(), set: false })
    }

    /// Whether the machine stopped while the stores were open.
    pub(super) fn machine_stopped(&self) -> bool {
        self.before.as_ref().is_some_and(|before| *before != self.boot)
    }

    /// Says that the stores are being written. Only the first call costs anything.
    pub(super) fn set(&mut self, folder: &Path) -> Result<(), FsError> {
        if !self.set {
            crate::fs::remove_unfinished(folder)?;
            crate::fs::write_atomically(&folder.join(MARKER), self.boot.as_bytes(), 0o600)?;
            self.set = true;
            crash::point("marked");
        }
        Ok(())
    }

    /// Says that they are closed, once all that was written, by this process or a killed one before, is on disk.
    pub(super) fn clear(self, folder: &Path) -> Result<(), FsError> {
        if !self.set && self.before.is_none() {
            return Ok(());
        }
        #[cfg(target_os = "linux")]
        fs::File::open(folder).and_then(|folder| Ok(rustix::fs::syncfs(folder)?)).on("sync", folder)?;
        #[cfg(all(unix, not(target_os = "linux")))]
        rustix::fs::sync();
        crash::point("closing-synced");
        let path = folder.join(MARKER);
        fs::remove_file(&path).on("remove", &path)
    }
}

/// Names this boot of the machine; where the system does not, every start counts as one.
fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .unwrap_or_else(|_| format!("{:?}", std::time::UNIX_EPOCH.elapsed().unwrap_or_default()))
}

impl Store {
    /// Brings the keyword index to the state of the catalog: it may be new, foreign or behind.
    pub(super) fn catch_up(&mut self) -> Result<(), IndexError> {
        let seq = self.catalog.seq();
        let found = self.keyword.payload()?;
        let payload = found.as_ref().filter(|payload| payload.store == self.catalog.store());
        let stale: Vec<u32> = match payload {
            Some(payload) if payload.seq == seq => return Ok(()),
            // Killed between the two commits. What was deleted longer ago is forgotten.
            Some(payload) if payload.seq + 1 == seq => self.catalog.changed_after(payload.seq)?,
            None if found.is_none() && seq == 0 => return Ok(()),
            _ => {
                tracing::info!("the keyword index does not match the catalog and is rebuilt from it");
                self.keyword.clear()?;
                crash::point("words-cleared");
                self.files().iter().map(|file| file.id).collect()
            }
        };
        self.mark()?;
        let reader = self.catalog.reader()?;
        let mut stemming = Stemming::new(self.stemmer());
        for id in stale {
            self.keyword.remove_file(id);
            let Some(file) = self.files().get(id).cloned() else { continue };
            let mut words: Vec<(Words, Words)> = Vec::with_capacity(file.chunks.len());
            for chunk in &file.chunks {
                let text = reader.chunk(chunk.row)?;
                let (own, heading) = text.map_or_else(Default::default, |text| {
                    let heading = embedded_context(&file.title, &text.heading_path);
                    (stemming.words(text.text.get(text.body_start..).unwrap_or_default()), stemming.words(&heading))
                });
                words.push((own, heading));
            }
            for at in 0..file.chunks.len() {
                self.keyword.add(&document(&file, at, |at| (&words[at].0, &words[at].1)))?;
            }
        }
        Ok(self.keyword.commit(&Payload { store: self.catalog.store().to_owned(), seq })?)
    }
}
