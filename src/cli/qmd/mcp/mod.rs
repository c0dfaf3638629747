//! `qmd mcp`: the Model Context Protocol as QMD speaks it, on standard input and output or over HTTP.

mod described;
mod http;
mod rpc;
mod tools;

use std::sync::Arc;

use clap::{Args, Subcommand};

use self::rpc::QmdAnswers;
use super::index::QmdIndex;
use super::keep;
use crate::cli::exit;
use crate::cli::exit::Outcome;
use crate::cli::mcp::{AnswersMessages, RpcMessage, answer_lines};

/// Where it listens over HTTP, as QMD does.
const USUAL_PORT: u16 = 8181;

/// How the protocol is served.
#[derive(Debug, Args)]
pub(super) struct QmdMcpArgs {
    #[command(subcommand)]
    action: Option<QmdMcpAction>,
    /// Serve over HTTP on this machine, at http://localhost:PORT/mcp, to every program on it: no token is asked for.
    #[arg(long)]
    http: bool,
    /// The port; 0 takes any free one.
    #[arg(long, value_name = "PORT", default_value_t = USUAL_PORT)]
    port: u16,
    /// Do so in the background, until `qmd mcp stop`.
    #[arg(long, requires = "http")]
    daemon: bool,
    /// Serve as the one in the background; --daemon starts it.
    #[arg(long, hide = true)]
    background: bool,
}

#[derive(Debug, Subcommand)]
enum QmdMcpAction {
    /// End the one in the background.
    Stop,
}

impl QmdMcpArgs {
    pub(super) fn run(self, index: QmdIndex) -> anyhow::Result<Outcome> {
        if let Some(QmdMcpAction::Stop) = self.action {
            return http::stop(&index.place);
        }
        if self.daemon {
            return http::start(&index.place, self.port);
        }
        // Its searches are to find it open.
        drop(index.client()?);
        let _asked = keep::asking(&index.place.folder);
        let answers = Arc::new(QmdAnswers::new(index.place.clone()));
        match self.http {
            true => http::serve(answers, &index.place, self.port, self.background),
            false => exit::after(answer_lines(answers)),
        }
    }
}

impl AnswersMessages for QmdAnswers {
    async fn answer_message(self: &Arc<Self>, message: &RpcMessage) -> anyhow::Result<Option<Vec<u8>>> {
        let (answers, bytes) = (Arc::clone(self), message.bytes.clone());
        let answering = move || {
            let message = serde_json::from_slice(&bytes).ok()?;
            answers.answer(&message).map(|answer| answer.to_string().into_bytes())
        };
        Ok(tokio::task::spawn_blocking(answering).await?)
    }

    async fn close(&self) -> bool {
        true
    }
}
