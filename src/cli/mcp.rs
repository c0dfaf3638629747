//! `vault mcp`

mod answers;
mod link;
mod message;
mod stdio;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use self::answers::AnswerForm;
use self::link::DaemonLink;
pub(super) use self::message::RpcMessage;
use self::message::{ReadLine, refusal};
use self::stdio::InputLine;
use super::backend::home;
use super::exit;
use super::exit::Outcome;
use crate::policy::agent_file;
use crate::vault::slug;

/// Serve the Model Context Protocol on standard input and output, for the programs that start it.
///
/// Claude Desktop, Cursor, VS Code and the like start it themselves, for one agent. It passes what they ask on to the daemon
/// of the vault, and does the daemon's work for as long as it lives where there is none.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  vault mcp --vault ~/vault --agent claude\n  vault mcp --vault ~/vault --owner")]
pub(super) struct McpCommand {
    /// The agent that asks; $VAULT_AGENT when it is not said. It sees what you have given it.
    #[arg(long, value_name = "NAME", conflicts_with = "owner")]
    agent: Option<String>,
    /// Ask as you yourself: everything is seen, private notes too.
    #[arg(long)]
    owner: bool,
    /// How answers are given: `text` where it is not said, but to programs that ask for structured content, as ChatGPT does.
    #[arg(long, value_enum, value_name = "FORM")]
    answers: Option<AnswerForm>,
}

/// Requests that are answered at a time; more wait.
const AT_A_TIME: usize = 8;

/// When standard input ends, requests under way get this long.
const DRAIN: Duration = Duration::from_secs(30);

/// A program that has ended this one, or its answers, reads no more than what is on its way.
const STOPS_WRITING: Duration = Duration::from_millis(200);

impl McpCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let answers = self.answers;
        let agent = self.agent()?;
        let home = home(vault)?;
        if let Some(slug) = &agent
            && !agent_file(slug).is_some_and(|page| page.on_disk(home.root()).is_file())
        {
            bail!(
                "there is no agent `{slug}`. `vault agent add {slug} --allow` makes one that reads your notes; \
                 `vault agent list` names those there are"
            );
        }
        exit::after(answer_lines(Arc::new(DaemonLink::new(home, agent, answers))))
    }

    /// The folder's name of the agent that asks; `None` is the owner, who must have been named.
    fn agent(self) -> anyhow::Result<Option<String>> {
        if self.owner {
            return Ok(None);
        }
        let named = self.agent.or_else(|| std::env::var("VAULT_AGENT").ok()).map(|name| name.trim().to_owned());
        let Some(name) = named.filter(|name| !name.is_empty()) else {
            bail!(
                "who asks? `vault mcp --agent NAME` serves an agent, which sees what you have given it (or set \
                 VAULT_AGENT=NAME); `vault mcp --owner` serves you yourself, with all your notes"
            );
        };
        Ok(Some(slug(&name)))
    }
}

/// What answers messages, one by one.
pub(super) trait AnswersMessages: Send + Sync + 'static {
    /// The answer to a message, where there is one to give.
    ///
    /// # Errors
    /// When nobody can answer.
    fn answer_message(
        self: &Arc<Self>,
        message: &RpcMessage,
    ) -> impl Future<Output = anyhow::Result<Option<Vec<u8>>>> + Send;

    /// Ends what it has begun. Tells whether the stores could be closed in time, where this process had them open.
    fn close(&self) -> impl Future<Output = bool> + Send;
}

impl AnswersMessages for DaemonLink {
    async fn answer_message(self: &Arc<Self>, message: &RpcMessage) -> anyhow::Result<Option<Vec<u8>>> {
        self.ask(message).await
    }

    async fn close(&self) -> bool {
        self.end().await
    }
}

/// Answers each line until standard input ends, nobody reads the answers any more, or a signal says so. Tells whether the
/// stores could be closed in time, where this process had them open.
pub(super) async fn answer_lines<L: AnswersMessages>(link: Arc<L>) -> anyhow::Result<bool> {
    let mut lines = stdio::lines();
    let (answers, written) = stdio::answers();
    let free = Arc::new(Semaphore::new(AT_A_TIME));
    let mut tasks = JoinSet::new();
    let mut stop = std::pin::pin!(exit::told()?);
    let ended = loop {
        while tasks.try_join_next().is_some() {}
        let line = tokio::select! {
            line = lines.recv() => line,
            () = answers.closed() => break false,
            () = &mut stop => break false,
        };
        let Some(line) = line else { break true };
        let Ok(turn) = Arc::clone(&free).acquire_owned().await else { break false };
        let (link, answers) = (Arc::clone(&link), answers.clone());
        tasks.spawn(async move {
            answer(&link, line, &answers).await;
            drop(turn);
        });
    };
    let until = tokio::time::Instant::now() + if ended { DRAIN } else { STOPS_WRITING };
    if ended {
        let finished = async { while tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout_at(until, finished).await;
    }
    tasks.shutdown().await;
    drop(answers);
    let closed = link.close().await;
    // The process must not end with an answer that is made and not out.
    let _ = tokio::time::timeout_at(until, written).await;
    Ok(closed)
}

async fn answer<L: AnswersMessages>(link: &Arc<L>, line: InputLine, answers: &mpsc::Sender<Vec<u8>>) {
    let answer = match ReadLine::of(line) {
        ReadLine::Nothing => None,
        ReadLine::Refused(answer) => Some(answer),
        ReadLine::Message(message) => match link.answer_message(&message).await {
            Ok(answer) => answer,
            Err(error) => {
                tracing::warn!("{}: {error:#}", message.method);
                message.id.as_ref().map(|id| refusal(id, message::INTERNAL, &format!("{error:#}")))
            }
        },
    };
    if let Some(answer) = answer {
        // Whoever no longer reads has no use for it.
        let _ = answers.send(answer).await;
    }
}
