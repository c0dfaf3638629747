//! What is known of batches under way, written beside the index, so that a start goes on with them and nothing is paid for twice.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::super::{BatchPlace, ContentHash};
use crate::fs::{FsError, create_private_dir, write_atomically};

/// A batch that was handed over, or is being so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchRecord {
    pub(crate) place: BatchPlace,
    /// The file of requests, as the service calls it.
    pub(crate) file: String,
    /// The batch, as the service calls it; `None` where that is not known yet.
    pub(crate) batch: Option<String>,
    /// Since when, in milliseconds since 1970.
    pub(crate) since_ms: i64,
    /// The files that are left to be removed at the service, once all else is done.
    pub(crate) leftovers: Option<Vec<String>>,
    /// The texts that are in it, by name.
    contents: Vec<String>,
    /// Whether it was said that its service is not named any more.
    #[serde(skip)]
    is_told: bool,
}

impl BatchRecord {
    pub(crate) fn new(place: BatchPlace, file: String, since_ms: i64, contents: &[ContentHash]) -> Self {
        let contents = contents.iter().map(ContentHash::to_string).collect();
        Self { place, file, batch: None, since_ms, leftovers: None, contents, is_told: false }
    }

    /// The texts that are in it.
    pub(crate) fn contents(&self) -> Vec<ContentHash> {
        self.contents.iter().filter_map(|content| content.parse().ok()).collect()
    }

    /// Whether all that the service is said to call something can be put into an address.
    fn has_good_ids(&self) -> bool {
        let mut ids = [&self.file].into_iter().chain(&self.batch).chain(self.leftovers.iter().flatten());
        ids.all(|id| is_id(id))
    }

    /// Whether no service has anything of it any more.
    pub(crate) fn is_over(&self, now_ms: i64) -> bool {
        now_ms.saturating_sub(self.since_ms) > KEPT_FOR_MS
    }
}

/// The records, each a file in a folder of the index.
#[derive(Debug, Clone)]
pub(crate) struct BatchRecords {
    index: PathBuf,
    /// By the file of requests. Whoever changes one holds the lock until it is written.
    known: Arc<Mutex<BTreeMap<String, BatchRecord>>>,
    /// Who begins a batch has it, so that no other begins one with the same file meanwhile.
    pub(crate) turn: Arc<Mutex<()>>,
}

impl BatchRecords {
    /// Those of the index in a folder. What cannot be read is not known.
    pub(crate) fn of(index: &Path) -> Self {
        let mut known = BTreeMap::new();
        for entry in std::fs::read_dir(index.join(FOLDER)).into_iter().flatten().flatten() {
            match read(&entry.path()) {
                Some(record) => drop(known.insert(record.file.clone(), record)),
                None => tracing::warn!("{} cannot be read, and is left as it is", entry.path().display()),
            }
        }
        Self { index: index.to_owned(), known: Arc::new(Mutex::new(known)), turn: Arc::default() }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.known().is_empty()
    }

    /// Those of a place.
    pub(crate) fn at(&self, place: &BatchPlace) -> Vec<BatchRecord> {
        self.known().values().filter(|record| record.place == *place).cloned().collect()
    }

    /// One of them, as it is now.
    pub(crate) fn get(&self, file: &str) -> Option<BatchRecord> {
        self.known().get(file).cloned()
    }

    /// Writes a record, unless it is too late for it by then. Says whether it was.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn put(&self, record: BatchRecord, is_late: impl Fn() -> bool) -> Result<bool, FsError> {
        let mut known = self.known();
        if is_late() {
            return Ok(false);
        }
        self.write(&record)?;
        known.insert(record.file.clone(), record);
        Ok(true)
    }

    /// Changes a record that is there. Where it cannot be written, the next start knows it as it was.
    pub(crate) fn change(&self, file: &str, change: impl FnOnce(&mut BatchRecord)) {
        let mut known = self.known();
        let Some(record) = known.get_mut(file) else { return };
        change(record);
        if let Err(error) = self.write(record) {
            tracing::warn!("what is known of a batch could not be written: {error}");
        }
    }

    /// Says that nothing is left to be fetched of a batch, and which files are left to be removed.
    pub(crate) fn done(&self, file: &str, leftovers: Vec<String>) {
        self.change(file, |record| {
            record.contents.clear();
            record.leftovers = Some(leftovers);
        });
    }

    /// Leaves nothing of texts in the records: not even their names.
    pub(crate) fn forget(&self, contents: &[ContentHash]) {
        if self.is_empty() || contents.is_empty() {
            return;
        }
        let gone: HashSet<String> = contents.iter().map(ContentHash::to_string).collect();
        let has_one = |record: &BatchRecord| record.contents.iter().any(|content| gone.contains(content));
        let files: Vec<String> =
            self.known().values().filter(|record| has_one(record)).map(|record| record.file.clone()).collect();
        for file in files {
            self.change(&file, |record| record.contents.retain(|content| !gone.contains(content)));
        }
    }

    /// Removes a record.
    pub(crate) fn remove(&self, file: &str) {
        self.drop_from(&mut self.known(), file);
    }

    fn drop_from(&self, known: &mut BTreeMap<String, BatchRecord>, file: &str) {
        if known.remove(file).is_some() {
            let _ = std::fs::remove_file(self.path(file));
        }
    }

    /// Removes and gives the records that are none of these places', and of a service that is named. Those of other services stay until
    /// theirs is named again, or has nothing of them any more.
    pub(crate) fn take_others(
        &self,
        places: &[&BatchPlace],
        is_named: impl Fn(&BatchPlace) -> bool,
        now_ms: i64,
    ) -> Vec<BatchRecord> {
        let others: Vec<BatchRecord> = {
            let mut known = self.known();
            let others = known.values_mut().filter(|record| !places.contains(&&record.place));
            let (taken, left): (Vec<_>, Vec<_>) = others.partition(|record| is_named(&record.place));
            for record in left.iter().filter(|record| !record.is_told) {
                tracing::warn!(
                    "a batch at {} is left alone there, as memory.toml does not name that service",
                    record.place.endpoint
                );
            }
            let over = left.iter().filter(|record| record.is_over(now_ms)).map(|record| record.file.clone());
            let over: Vec<String> = over.collect();
            left.into_iter().for_each(|record| record.is_told = true);
            let taken = taken.into_iter().map(|record| record.clone()).collect();
            over.iter().for_each(|file| self.drop_from(&mut known, file));
            taken
        };
        others.iter().for_each(|record| self.remove(&record.file));
        others
    }

    fn write(&self, record: &BatchRecord) -> Result<(), FsError> {
        // Nothing is made where the index is not.
        if self.index.is_dir() {
            create_private_dir(&self.index.join(FOLDER))?;
        }
        write_atomically(&self.path(&record.file), &serde_json::to_vec(record).unwrap_or_default(), 0o600)
    }

    /// What the service calls it may be no name for a file.
    fn path(&self, file: &str) -> PathBuf {
        let name = blake3::hash(file.as_bytes()).to_hex();
        self.index.join(FOLDER).join(format!("{}.json", &name[..16]))
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, BatchRecord>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const FOLDER: &str = "endpoint-batches";
/// OpenAI keeps the files of a batch for thirty days.
const KEPT_FOR_MS: i64 = 30 * 24 * 3600 * 1000;
/// A record is at most so large: 10,000 names are a twentieth of it.
const MOST_BYTES: u64 = 8 << 20;

/// Reads a record. An index may have come from anywhere, so that nothing of it is put into an address unless it is an id.
fn read(path: &Path) -> Option<BatchRecord> {
    if !path.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() <= MOST_BYTES) {
        return None;
    }
    let record: BatchRecord = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    record.has_good_ids().then_some(record)
}

/// Whether a text is an id that leads nowhere else within an address.
pub(super) fn is_id(id: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || "-_:".contains(character);
    (1..=200).contains(&id.len()) && id.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::proptest_config;
    use crate::models::tests::bent::bent;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(proptest_config(500))]
        #[test]
        fn whatever_a_record_says_what_is_believed_of_it_are_ids(
            text in bent(&[
                r#"{"place":{"fingerprint":"f","endpoint":"a","api_key_env":""},"file":"file-1","batch":"batch-1","since_ms":7,"leftovers":["out"],"contents":["01010101010101010101010101010101"]}"#,
                r#"{"place":{"fingerprint":"f","endpoint":"a","api_key_env":""},"file":"file-1","batch":null,"since_ms":-9223372036854775808,"leftovers":null,"contents":[]}"#,
            ]),
        ) {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join(FOLDER)).unwrap();
            std::fs::write(folder.path().join(FOLDER).join("a.json"), text).unwrap();
            let records = BatchRecords::of(folder.path());
            for record in records.known().values() {
                prop_assert!(record.has_good_ids());
                let _ = (record.contents(), record.is_over(i64::MAX), record.is_over(i64::MIN));
            }
        }
    }

    fn record(endpoint: &str, file: &str) -> BatchRecord {
        let place = BatchPlace { fingerprint: "f".into(), endpoint: endpoint.into(), api_key_env: String::new() };
        BatchRecord::new(place, file.into(), 7, &[1, 2].map(|number| ContentHash::from_bytes([number; 16])))
    }

    #[test]
    fn what_is_under_way_is_known_after_a_start() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (record("a", "file:1"), record("b", "file-2"));
        let records = BatchRecords::of(folder.path());
        assert!(records.put(one.clone(), || false).unwrap() && records.put(other.clone(), || false).unwrap());
        assert!(!records.put(record("c", "file-3"), || true).unwrap());
        records.change("file:1", |record| record.batch = Some("batch-1".into()));
        records.forget(&[ContentHash::from_bytes([2; 16])]);
        let written = folder.path().join(FOLDER);
        std::fs::write(written.join("torn.json"), "{").unwrap();
        let again = BatchRecords::of(folder.path());
        let found = again.at(&one.place);
        assert_eq!((found.len(), found[0].batch.as_deref()), (1, Some("batch-1")));
        assert_eq!(found[0].contents(), [ContentHash::from_bytes([1; 16])], "what was forgotten has no name there");
        let is_named = |place: &BatchPlace| place.endpoint == "b";
        assert!(again.take_others(&[&one.place], |_| false, 8).is_empty(), "of a service that is not named");
        assert_eq!(again.take_others(&[&one.place], is_named, 8)[0].place, other.place);
        again.done("file:1", vec!["out".into()]);
        assert_eq!(BatchRecords::of(folder.path()).at(&one.place)[0].leftovers, Some(vec!["out".to_owned()]));
        again.remove("file:1");
        assert!(again.is_empty() && BatchRecords::of(folder.path()).is_empty());
        for entry in std::fs::read_dir(written).unwrap() {
            assert_eq!(entry.unwrap().file_name(), "torn.json");
        }
    }

    #[test]
    fn what_is_left_of_a_service_that_is_not_named_is_forgotten_when_it_has_nothing_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let records = BatchRecords::of(folder.path());
        records.put(record("a", "file-1"), || false).unwrap();
        assert!(records.take_others(&[], |_| false, KEPT_FOR_MS).is_empty() && !records.is_empty());
        assert!(records.take_others(&[], |_| false, KEPT_FOR_MS + 8).is_empty() && records.is_empty());
        assert!(BatchRecords::of(folder.path()).is_empty());
    }

    #[test]
    fn an_id_leads_nowhere_else() {
        for good in ["file-abc123", "batch_6f2:1", "0b8f2a1e-0000-4000-8000-000000000000"] {
            assert!(is_id(good), "{good}");
        }
        for bad in ["", "..", "a/b", "a?b", "a b", "a%2fb", "ä", &"x".repeat(201)] {
            assert!(!is_id(bad), "{bad}");
        }
    }

    #[test]
    fn a_record_whose_ids_lead_elsewhere_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let good = BatchRecord { batch: Some("b".into()), leftovers: Some(vec!["c".into()]), ..record("a", "f") };
        let is_known = |record: &BatchRecord| {
            BatchRecords::of(folder.path()).put(record.clone(), || false).unwrap();
            let records = BatchRecords::of(folder.path());
            let known = !records.is_empty();
            std::fs::remove_dir_all(folder.path().join(FOLDER)).unwrap();
            known
        };
        assert!(is_known(&good));
        for bad in ["../embeddings", "a/b", "", "a?b"] {
            assert!(!is_known(&BatchRecord { file: bad.into(), ..good.clone() }), "{bad}");
            assert!(!is_known(&BatchRecord { batch: Some(bad.into()), ..good.clone() }), "{bad}");
            assert!(!is_known(&BatchRecord { leftovers: Some(vec![bad.into()]), ..good.clone() }), "{bad}");
        }
    }

    #[test]
    fn nothing_is_made_where_the_index_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().join("gone");
        assert!(BatchRecords::of(&gone).put(record("a", "f"), || false).is_err());
        assert!(!gone.exists());
    }
}
