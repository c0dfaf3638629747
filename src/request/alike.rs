//! How alike two texts are in meaning, by the model that is loaded.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Workspace;
use crate::models::{Embedder, Sameness};

/// How long a model is asked about all texts of one request.
const PATIENCE: Duration = Duration::from_secs(1);

/// Compares texts by their embeddings, each of which is made once. Where no model is loaded, and once the time is over, nobody can tell.
pub(crate) struct MeaningAlike {
    model: Option<Arc<dyn Embedder>>,
    until: Instant,
    made: RefCell<HashMap<String, Option<Vec<f32>>>>,
}

impl MeaningAlike {
    /// By the model that a vault has now. What waits for the person is private: a model elsewhere is asked only where it may be given that.
    pub(crate) fn of(workspace: &Workspace) -> Self {
        let model = workspace.shared().embedder().filter(|model| model.takes_private());
        Self { model, until: Instant::now() + PATIENCE, made: RefCell::default() }
    }

    /// How likely two texts say the same, 0 to 1, as far as their meaning tells; `None` where nobody can tell.
    pub(crate) fn likeness(&self, one: &str, other: &str) -> Option<f64> {
        let model = self.model.as_ref()?;
        let (one, other) = (self.vector(model.as_ref(), one)?, self.vector(model.as_ref(), other)?);
        let cosine: f64 = one.iter().zip(&other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum();
        Some(Sameness::of(model.name()).likely(cosine))
    }

    fn vector(&self, model: &dyn Embedder, text: &str) -> Option<Vec<f32>> {
        if let Some(made) = self.made.borrow().get(text) {
            return made.clone();
        }
        let in_time = Instant::now() < self.until;
        let made = in_time.then(|| model.embed_query(text, Some(self.until)).ok()).flatten();
        self.made.borrow_mut().insert(text.to_owned(), made.clone());
        made
    }
}
