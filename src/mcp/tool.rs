//! One tool: what it is called, takes and gives, and how it is run.

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::ToSchema;

use super::answers::{Answers, NOTHING_ELSE};
use super::schema;
use crate::app::App;
use crate::request::{Request, RequestError, Role};

/// An answer that a person, or a model whose client shows it nothing else, can read.
pub(super) trait Told {
    /// The answer as text, citations included. Its first line says what it is.
    fn text(&self) -> String;

    /// What the answer is, in a line.
    fn line(&self) -> String {
        self.text().lines().next().unwrap_or_default().to_owned()
    }
}

/// A number of things, in words: `1 passage`, `2 passages`.
pub(super) fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

type Run = Box<dyn Fn(&App, Request, JsonObject, Answers) -> Result<CallToolResult, RequestError> + Send + Sync>;

/// One tool.
pub(super) struct ToolEntry {
    /// What clients are told of it.
    pub(super) tool: Tool,
    run: Run,
}

/// What a tool does to the vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    Reads,
    /// It may write over something, and does so once more at the next call.
    Replaces,
    /// It takes something away, and at the next call finds it gone.
    Removes,
}

/// What a tool is called, and what a model is told of it.
pub(super) struct About {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) effect: Effect,
}

impl ToolEntry {
    /// A tool for a role `R` that reads its arguments as `P` and answers with `A`.
    pub(super) fn new<R, P, A>(about: About, run: fn(&App, &R, P) -> Result<A, RequestError>) -> Self
    where
        R: Role + 'static,
        P: DeserializeOwned + ToSchema + 'static,
        A: Serialize + ToSchema + Told + 'static,
    {
        // What is as the protocol takes it for is left out: each tool costs the model room in every conversation.
        let hints = ToolAnnotations::new().open_world(false);
        let hints = match about.effect {
            Effect::Reads => hints.read_only(true),
            Effect::Replaces => hints.destructive(true),
            Effect::Removes => hints.destructive(true).idempotent(true),
        };
        let mut tool =
            Tool::new(about.name, about.description, schema::of::<P>()).with_title(about.title).with_annotations(hints);
        tool.output_schema = Some(schema::outline::<A>().into());
        let taken = Arc::clone(&tool.input_schema);
        let run = move |app: &App, request: Request, arguments: JsonObject, answers: Answers| {
            schema::hold(&taken, &arguments).map_err(RequestError::invalid)?;
            let params = serde_path_to_error::deserialize(Value::Object(arguments))
                .map_err(|error| RequestError::invalid(explain(&error)))?;
            let answer = run(app, &R::of(request)?, params)?;
            match answers {
                Answers::Text => Ok(CallToolResult::success(vec![ContentBlock::text(answer.text())])),
                Answers::Structured => {
                    let value =
                        serde_json::to_value(&answer).map_err(|error| RequestError::invalid(error.to_string()))?;
                    let mut result = CallToolResult::structured(value);
                    result.content = vec![ContentBlock::text(summary(&answer))];
                    Ok(result)
                }
            }
        };
        Self { tool, run: Box::new(run) }
    }

    /// The tool as a client is told of it. One that is answered by text must not be promised anything else.
    pub(super) fn shown(&self, answers: Answers) -> Tool {
        let mut tool = self.tool.clone();
        if answers == Answers::Text {
            tool.output_schema = None;
        }
        tool
    }

    /// Calls the tool. What a use case refuses is an answer too, so that the model sees why.
    pub(super) fn call(&self, app: &App, request: Request, arguments: JsonObject, answers: Answers) -> CallToolResult {
        let principal = request.principal().clone();
        (self.run)(app, request, arguments, answers).unwrap_or_else(|error| failed(&error.told_to(&principal)))
    }
}

/// A field and what is wrong with it.
fn explain(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    match error.path().to_string().as_str() {
        "." => error.inner().to_string(),
        path => format!("`{path}`: {}", error.inner()),
    }
}

/// The line beside structured content; it says too where the rest is, when there is more.
fn summary(answer: &impl Told) -> String {
    let line = answer.line();
    if line.trim_end() == answer.text().trim_end() { line } else { format!("{line} {NOTHING_ELSE}") }
}

/// What a model is told of a failure: a word for programs, a sentence, and what to do next.
fn failed(error: &RequestError) -> CallToolResult {
    let hint = error.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    CallToolResult::error(vec![ContentBlock::text(format!("{}: {}{hint}", error.kind.code(), error.message))])
}
