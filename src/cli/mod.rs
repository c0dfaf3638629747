//! The command line: one file a command.

mod agent;
mod annotate;
mod backend;
mod backup;
mod checkpoints;
mod client;
mod collections;
mod completions;
mod conflicts;
mod connect;
mod context;
mod eval;
mod exit;
mod export;
mod fact;
mod forget;
mod forgotten;
mod get;
mod graph;
mod hook;
mod import;
mod import_from;
mod import_sending;
mod import_watch;
mod init;
mod links;
mod log;
mod ls;
mod mcp;
mod memory;
mod model;
mod narrow;
mod note_named;
mod open;
mod profile;
mod progress;
mod qmd;
mod read_attachment;
mod reindex;
mod related;
mod restore;
mod review;
mod save;
mod search;
mod serve;
mod service;
mod status;
mod summaries;
mod tags;
mod terminal;
mod token;
mod trace;
mod verify;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::request::RequestError;
use exit::Outcome;

/// Your memory in plain Markdown: searchable the moment it is saved.
///
/// A vault is a folder of Markdown files. `vault serve` keeps it searchable while you edit; the other commands use the
/// running daemon, or work alone when there is none. The vault is the one named with --vault or $VAULT_DIR, else the
/// nearest one at or above the current folder.
#[derive(Debug, Parser)]
#[command(name = "vault", version, arg_required_else_help = true, after_help = AFTER_HELP)]
struct Cli {
    /// The vault's folder.
    #[arg(long, global = true, env = "VAULT_DIR", value_name = "DIR")]
    vault: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "A command that has commands of its own (`vault agent`) lists what there is when it is given none.\n\n\
    Exit codes: 0 done, 1 nothing found (or, by verify, damage), 2 an error.";

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::InitCommand),
    Serve(serve::ServeCommand),
    Open(open::OpenCommand),
    Mcp(mcp::McpCommand),
    Search(search::SearchCommand),
    Get(get::GetCommand),
    Context(context::ContextCommand),
    Related(related::RelatedCommand),
    Links(links::LinksCommand),
    Ls(ls::LsCommand),
    Profile(profile::ProfileCommand),
    Graph(graph::GraphCommand),
    Fact(fact::FactCommand),
    Summaries(summaries::SummariesCommand),
    Digest(summaries::DigestCommand),
    Memory(memory::MemoryCommand),
    Review(review::ReviewCommand),
    Tags(tags::TagsCommand),
    Status(status::StatusCommand),
    Save(save::SaveCommand),
    Annotate(annotate::AnnotateCommand),
    Forget(forget::ForgetCommand),
    Forgotten(forgotten::ForgottenCommand),
    Conflicts(conflicts::ConflictsCommand),
    Checkpoints(checkpoints::CheckpointsCommand),
    Restore(restore::RestoreCommand),
    Log(log::LogCommand),
    Reindex(reindex::ReindexCommand),
    Verify(verify::VerifyCommand),
    Eval(eval::EvalCommand),
    Collections(collections::CollectionsCommand),
    Model(model::ModelCommand),
    Agent(agent::AgentCommand),
    Connect(connect::ConnectCommand),
    Token(token::TokenCommand),
    Trace(trace::TraceCommand),
    Backup(backup::BackupCommand),
    Export(export::ExportCommand),
    Import(import::ImportCommand),
    Service(service::ServiceCommand),
    Qmd(qmd::QmdCommand),
    Completions(completions::CompletionsCommand),
    #[command(hide = true)]
    Man(completions::ManCommand),
    #[command(hide = true, name = crate::attachments::COMMAND)]
    ReadAttachment(read_attachment::ReadAttachmentCommand),
}

/// Default filter of the log. A client that asks for what is not there is no trouble of ours, though rmcp warns of it.
const DEFAULT_LOG: &str = "warn,rmcp=error";

/// Runs the command line of this process, which ends with it.
pub fn main() -> ! {
    let mut code = run();
    terminal::flush();
    if qmd::is_called(std::env::args_os()) {
        // QMD's errors end with 1, whatever they are.
        code = code.min(1);
    }
    exit::at_once(code)
}

/// What was asked, by the name of `vault` or by that of `qmd`, and whether `vault` is to answer in JSON.
fn parsed() -> Result<(Cli, bool), clap::Error> {
    if qmd::is_called(std::env::args_os().take(1)) {
        let qmd::QmdCli { asked } = qmd::QmdCli::try_parse_from(qmd::dashed_query_last(std::env::args_os(), 0))?;
        return Ok((Cli { vault: None, command: Command::Qmd(asked) }, false));
    }
    if qmd::is_called(std::env::args_os()) {
        return Ok((Cli::try_parse_from(qmd::dashed_query_last(std::env::args_os(), 1))?, false));
    }
    let matches = matched(search::negated_words_last(std::env::args_os()))?;
    let mut asked = &matches;
    while let Some((_, below)) = asked.subcommand() {
        asked = below;
    }
    let in_json = matches!(asked.try_get_one::<bool>("json"), Ok(Some(true)));
    Ok((Cli::from_arg_matches(&matches)?, in_json))
}

fn matched(args: Vec<OsString>) -> Result<ArgMatches, clap::Error> {
    Cli::command().try_get_matches_from(&args).or_else(|error| {
        let root = Cli::command();
        match note_named::listing(&error, &args, &root) {
            Some(args) => Cli::command().try_get_matches_from(args),
            None => Err(note_named::suggested(error, &args, &root)),
        }
    })
}

/// The exit code.
fn run() -> u8 {
    crate::allocator::configure();
    terminal::tell_panics();
    let (cli, in_json) = match parsed() {
        Ok(parsed) => parsed,
        Err(ended) => return terminal::parsing_ended(&ended),
    };
    let filter = tracing_subscriber::EnvFilter::try_from_env("VAULT_LOG").unwrap_or_else(|_| DEFAULT_LOG.into());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(terminal::Log)
        .with_ansi(false)
        .with_level(false)
        .with_target(false)
        .without_time()
        .init();
    let vault = cli.vault.as_deref();
    let result = match cli.command {
        Command::Init(command) => command.run(),
        Command::Serve(command) => command.run(vault),
        Command::Open(command) => command.run(vault),
        Command::Mcp(command) => command.run(vault),
        Command::Search(command) => command.run(vault),
        Command::Get(command) => command.run(vault),
        Command::Context(command) => command.run(vault),
        Command::Related(command) => command.run(vault),
        Command::Links(command) => command.run(vault),
        Command::Ls(command) => command.run(vault),
        Command::Tags(command) => command.run(vault),
        Command::Profile(command) => command.run(vault),
        Command::Graph(command) => command.run(vault),
        Command::Fact(command) => command.run(vault),
        Command::Summaries(command) => command.run(vault),
        Command::Digest(command) => command.run(vault),
        Command::Memory(command) => command.run(vault),
        Command::Review(command) => command.run(vault),
        Command::Status(command) => command.run(vault),
        Command::Save(command) => command.run(vault),
        Command::Annotate(command) => command.run(vault),
        Command::Forget(command) => command.run(vault),
        Command::Forgotten(command) => command.run(vault),
        Command::Conflicts(command) => command.run(vault),
        Command::Checkpoints(command) => command.run(vault),
        Command::Restore(command) => command.run(vault),
        Command::Log(command) => command.run(vault),
        Command::Reindex(command) => command.run(vault),
        Command::Verify(command) => command.run(vault),
        Command::Eval(command) => command.run(vault),
        Command::Collections(command) => command.run(vault),
        Command::Model(command) => command.run(vault),
        Command::Agent(command) => command.run(vault),
        Command::Connect(command) => command.run(vault),
        Command::Token(command) => command.run(vault),
        Command::Trace(command) => command.run(vault),
        Command::Backup(command) => command.run(vault),
        Command::Export(command) => command.run(vault),
        Command::Import(command) => command.run(vault),
        Command::Service(command) => command.run(vault),
        Command::Qmd(command) => command.run(),
        Command::Completions(command) => command.run(&mut Cli::command()),
        Command::Man(command) => command.run(Cli::command()),
        Command::ReadAttachment(command) => command.run(),
    };
    match result {
        Ok(Outcome::Done) => 0,
        Ok(Outcome::NothingFound | Outcome::Damaged) => 1,
        Err(error) if terminal::is_broken_pipe(&error) => 0,
        Err(error) => {
            let in_json = in_json && !terminal::has_printed_json();
            let in_json = in_json && terminal::stdout().json(&terminal::error_as_json(&error)).is_ok();
            if !in_json {
                terminal::remark!("vault: {}", terminal::explain(&error));
            }
            error.downcast_ref::<RequestError>().map_or(2, |error| error.kind.exit_code())
        }
    }
}
