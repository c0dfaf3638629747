//! How alike two texts are in meaning, by the model that is loaded.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Workspace;
use crate::forgotten::{ForgottenLookup, TombstoneScope};
use crate::layers::ProposeRules;
use crate::models::{Embedder, Sameness};
use crate::sync::ModelStatus;

/// How long a model is asked about all texts of one request.
const PATIENCE: Duration = Duration::from_secs(1);

/// Compares texts by their embeddings, each of which is made once. Where no model is loaded, and once the time is over, nobody can tell.
pub(crate) struct MeaningAlike {
    model: Option<Arc<dyn Embedder>>,
    until: Instant,
    made: RefCell<HashMap<String, Option<Vec<f32>>>>,
    /// Why there is no model, though one is to be there.
    missing: Option<&'static str>,
    was_asked: Cell<bool>,
}

impl MeaningAlike {
    /// By the model that a vault has now. What waits for the person is private: a model elsewhere is asked only where it may be given that.
    pub(crate) fn of(workspace: &Workspace) -> Self {
        let serving = workspace.shared().embedder();
        let missing = match workspace.shared().progress().model {
            ModelStatus::Loading if serving.is_none() => Some("the model is still loading"),
            ModelStatus::Failed(_) if serving.is_none() => Some("the model cannot be used"),
            _ => None,
        };
        let model = serving.filter(|model| model.takes_private());
        let until = Instant::now() + PATIENCE;
        Self { model, until, made: RefCell::default(), missing, was_asked: Cell::default() }
    }

    /// Why texts were compared by their words alone, though a model is to compare their meaning; `None` where it did, and where none is to.
    pub(crate) fn degraded(&self) -> Option<String> {
        let unanswered = || self.made.borrow().values().any(Option::is_none).then_some("the model has not answered");
        let why = self.missing.or_else(unanswered).filter(|_| self.was_asked.get())?;
        Some(format!("{why}: what says the same in other words was not looked for"))
    }

    /// How likely two texts say the same, 0 to 1, as far as their meaning tells; `None` where nobody can tell.
    pub(crate) fn likeness(&self, one: &str, other: &str) -> Option<f64> {
        self.was_asked.set(true);
        let model = self.model.as_ref()?;
        let (one, other) = (self.vector(model.as_ref(), one)?, self.vector(model.as_ref(), other)?);
        let cosine: f64 = one.iter().zip(&other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum();
        Some(Sameness::of(model.name()).likely(cosine))
    }

    /// The rules that new entries are held to: what `[memory]` says, what was forgotten for good as far as `reach` goes, and how alike texts are.
    pub(crate) fn rules<'a>(
        &'a self,
        workspace: &'a Workspace,
        forgotten: &'a ForgottenLookup<'a>,
        reach: TombstoneScope<'a>,
    ) -> ProposeRules<'a> {
        let likeness = |one: &str, other: &str| self.likeness(one, other);
        ProposeRules { config: &workspace.config().memory, forgotten, reach, likeness: Some(Box::new(likeness)) }
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
