//! What is known of each file without asking a store, to plan changes, resolve filters and break ties.

use std::collections::HashMap;
use std::sync::Arc;

use super::bm25::Statistics;
use super::entry::FileEntry;
use super::facets::Facets;
use super::file_set::FileSet;
use super::query_terms::QueryTerms;
use super::terms::WordQuery;
use crate::config::StemmerLanguage;

/// All files, by row id.
#[derive(Debug, Clone, Default)]
pub struct FileTable {
    by_id: HashMap<u32, Arc<FileEntry>>,
    facets: Arc<Facets>,
}

impl FileTable {
    /// The file with a row id.
    pub fn get(&self, id: u32) -> Option<&Arc<FileEntry>> {
        self.by_id.get(&id)
    }

    /// The file at a path.
    pub fn at(&self, path: &str) -> Option<&Arc<FileEntry>> {
        self.get(self.facets.at(path)?).filter(|file| file.path.as_str() == path)
    }

    /// The files, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<FileEntry>> {
        self.by_id.values()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Chunks and words of the files of a scope (all when `None`).
    pub fn statistics(&self, scope: Option<&FileSet>) -> Statistics {
        let mut sum = Statistics::default();
        let mut add = |file: &Arc<FileEntry>| sum.add_all(&file.statistics());
        match scope {
            None => self.iter().for_each(&mut add),
            Some(scope) => scope.iter().filter_map(|file| self.get(file)).for_each(&mut add),
        }
        sum
    }

    /// The terms of a query in a scope, given the usual language. Whatever is outside the scope has no part in them.
    pub(crate) fn terms(&self, query: &WordQuery, usual: StemmerLanguage, scope: Option<&FileSet>) -> QueryTerms {
        QueryTerms::new(query, usual, &self.facets.stemmed_languages(usual, scope))
    }

    /// What filters ask of them.
    pub fn facets(&self) -> &Facets {
        &self.facets
    }

    pub(crate) fn insert(&mut self, file: Arc<FileEntry>) {
        self.remove(file.id);
        Arc::make_mut(&mut self.facets).insert(&file);
        self.by_id.insert(file.id, file);
    }

    pub(crate) fn remove(&mut self, id: u32) {
        if let Some(file) = self.by_id.remove(&id) {
            Arc::make_mut(&mut self.facets).remove(&file);
        }
    }
}
