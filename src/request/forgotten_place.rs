//! Who can read a note out of which something goes for good.

use super::{Owner, RequestError, Role};
use crate::access::Principal;
use crate::forgotten::ForgottenPlace;
use crate::note::{Note, sources};
use crate::path::VaultPath;
use crate::vault::globs;

impl Owner {
    /// A note that says `text`, as what is forgotten of it remembers it. `gone` says that all of it goes.
    ///
    /// # Errors
    /// When the index is not open yet.
    pub(crate) fn forgotten_place(
        &self,
        path: &VaultPath,
        text: &str,
        gone: bool,
    ) -> Result<ForgottenPlace, RequestError> {
        let note = Note::of(path, text);
        let by_rule = || {
            let private = globs("access.private", &self.workspace().config().access.private);
            private.map_or(true, |private| private.is_match(path.as_str()))
        };
        let scope = self.now()?;
        let (mut tags, private) = match scope.reader().files().at(path.as_str()) {
            Some(file) => ([&file.tags[..], &file.doubtful[..]].concat(), file.private),
            None => (Vec::new(), by_rule()),
        };
        tags.extend(note.tags.iter().chain(&note.doubtful).cloned());
        Ok(ForgottenPlace {
            path: path.clone(),
            tags,
            private: private || note.is_private(),
            derived: !sources(&note.metadata).is_empty(),
            readers: self.readers(path),
            gone,
        })
    }

    /// The agents that can read a note.
    fn readers(&self, path: &VaultPath) -> Vec<String> {
        let agents = self.workspace().agents();
        // By a request of its own: this one is not to hold on to the text that goes.
        let Ok(apart) = Self::of(self.by(Principal::Owner)) else { return Vec::new() };
        let mut readers = agents.policies().slugs();
        readers.retain(|slug| {
            let seen = agents.named(slug).and_then(|caller| apart.as_seen_by(caller).ok());
            seen.is_some_and(|seen| {
                let file = seen.given.reader().files().at(path.as_str());
                file.is_some_and(|file| seen.given.has(file) || seen.own.has(file))
            })
        });
        readers
    }
}
