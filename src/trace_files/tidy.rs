//! What is done with files as time passes: they are mended, sealed, and removed.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use jiff::Timestamp;

use super::error::TraceFilesError;
use super::file::{TraceFile, agents, files_of, folder_of, mend, open_whole, torn_of};
use super::write::TraceFiles;
use crate::fs::{Context, FsError, crash, remove_unfinished, sync_folder};

/// The mode of a file that nothing more is written to.
const SEALED: u32 = 0o400;

impl TraceFiles {
    /// Mends the files that a kill has torn, seals those of hours that are over, and removes those that are older than so many days
    /// (0 keeps all). A file that refuses keeps nothing from the others.
    ///
    /// # Errors
    /// The last that there was.
    pub(crate) fn tidy(&self, now: Timestamp, retention_days: u64) -> Result<(), TraceFilesError> {
        // What is being written anew is not removed as something unfinished.
        let _one = self.sweeping();
        let mut done = Ok(());
        for agent in agents(&self.root) {
            // One agent at a time: whoever sends events waits that long alone.
            let mut files = self.files();
            let tidied = remove_unfinished(&folder_of(&self.root, &agent)).map_err(TraceFilesError::from);
            done = tidied
                .and_then(|()| Ok(files_of(&self.root, &agent)?))
                .and_then(|all| {
                    let mut done = Ok(());
                    for file in &all {
                        let tidied = match retention_days > 0 && file.hour.is_older_than(retention_days, now) {
                            true => {
                                files.close(file);
                                self.remove(file)
                            }
                            false => self.mend_and_seal(file, now, || files.close(file)),
                        };
                        done = tidied.map_err(TraceFilesError::from).and(done);
                    }
                    done
                })
                .and(done);
        }
        done
    }

    fn remove(&self, file: &TraceFile) -> Result<(), FsError> {
        let path = file.path(&self.root);
        fs::remove_file(&path).on("remove", &path)?;
        for torn in torn_of(&self.root, &file.agent)?.into_iter().filter(|torn| *torn == path.with_extension("torn")) {
            fs::remove_file(&torn).on("remove", &torn)?;
        }
        sync_folder(&path)
    }

    fn mend_and_seal(&self, file: &TraceFile, now: Timestamp, close: impl FnOnce()) -> Result<(), FsError> {
        let path = file.path(&self.root);
        let mode = path.symlink_metadata().on("look at", &path)?.permissions().mode();
        let is_sealed = mode & 0o222 == 0;
        if is_sealed {
            return Ok(());
        }
        let opened = open_whole(&path, true)?;
        let length = opened.metadata().on("look at", &path)?.len();
        let seals = !file.late && file.hour.is_sealed(now);
        let is_torn = mend(&opened, &path)? != length;
        if seals {
            opened.sync_all().on("sync", &path)?;
            crash::point("trace-sealing");
            opened.set_permissions(Permissions::from_mode(SEALED)).on("seal", &path)?;
        }
        if seals || is_torn {
            close();
        }
        Ok(())
    }
}
