//! The command line: one file a command.

mod agent;
mod backend;
mod backup;
mod browse;
mod changes;
mod check;
mod completions;
mod connect;
mod context;
mod eval;
mod exit;
mod fact;
mod import;
mod mcp;
mod memory;
mod model;
mod note_named;
mod person;
mod qmd;
mod remote;
mod review;
mod search;
mod serve;
mod service;
mod share;
mod status;
mod terminal;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::access::request::RequestError;
use terminal::Outcome;

/// Your memory in plain Markdown: searchable the moment it is saved.
///
/// A vault is a folder of Markdown files. `vault serve` keeps it searchable while you edit; the other commands use this
/// daemon if it runs, and work without it otherwise. The vault is the one named with --vault or $VAULT_DIR, else the
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

const AFTER_HELP: &str = "A command with subcommands (`vault agent`) lists what there is when you name none of them.\n\n\
    Exit codes: 0 done, 1 nothing found (or, with verify, damage), 2 an error.";

/// Declares the commands by what they are for, in the order of the help, each with what runs it.
macro_rules! commands {
    ($($task:literal { $($(#[$how:meta])* $Name:ident($args:ty),)+ })+) => {
        #[derive(Debug, Subcommand)]
        enum Command {
            $($($(#[$how])* $Name($args),)+)+
        }

        /// What the commands are for, each with theirs.
        const TASKS: &[(&str, &[&str])] = &[$(($task, &[$(stringify!($Name)),+])),+];

        impl Command {
            fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
                match self {
                    $($(Self::$Name(command) => command.run(vault),)+)+
                }
            }
        }
    };
}

commands! {
    "Everyday" {
        Init(backup::InitCommand),
        Serve(serve::ServeCommand),
        Open(serve::OpenCommand),
        Search(search::SearchCommand),
        Get(browse::GetCommand),
        Ls(browse::LsCommand),
        Save(changes::SaveCommand),
        Forget(changes::ForgetCommand),
        Undo(changes::UndoCommand),
        Status(status::StatusCommand),
        /// Give agents access, see what each may read and has read, and revoke it.
        #[command(
            subcommand,
            after_help = "Examples:\n  vault agent add \"Claude\" --allow --collections notes,bookmarks\n  vault agent explain claude notes/plan.md\n  vault agent log claude\n  vault agent deny claude"
        )]
        Agent(agent::AgentCommand),
        Import(import::ImportCommand),
        Person(person::PersonCommand),
        Share(share::ShareCommand),
    }
    "Reading" {
        Context(context::ContextCommand),
        Related(browse::RelatedCommand),
        Links(browse::LinksCommand),
        Graph(browse::GraphCommand),
        Tags(browse::TagsCommand),
        Collections(browse::CollectionsCommand),
    }
    "Memory" {
        /// List, add, edit and remove memory entries: preferences, decisions, commitments, facts, one line each.
        ///
        /// Entries are list items in `memories/user.md`, an agent's in `agents/<name>/entries.md`: you may edit them in any editor. Proposals of
        /// agents and models wait in `pending.md` beside them; `vault memory review` goes through them.
        #[command(
            subcommand,
            after_help = "Examples:\n  vault memory add --kind preference \"Prefers tabs over spaces\"\n  vault memory list\n  \
            vault memory list --agent ada --status archived\n  vault memory edit e-7f3a2b9c \"Prefers tabs, width 4\"\n  \
            vault memory remove e-7f3a2b9c --archive"
        )]
        Memory(memory::MemoryCommand),
        /// Look up and set facts: values with one right answer, and when each was true.
        ///
        /// Facts are list items `- key: value` below the headings of a `facts.md`; the headings are the namespace. `facts.history.md` beside it
        /// records every change, whoever makes it, so that you can ask what was true on any day, and what you believed then.
        #[command(
            subcommand,
            after_help = "Examples:\n  vault fact set project/test_command \"make test\"\n  vault fact get project/test_command\n  \
            vault fact set project/deploy_branch release --from 2026-03-09\n  vault fact get project/deploy_branch --as-of 2026-03-15\n  \
            vault fact list project --scope project:mech\n  vault fact history project/deploy_branch"
        )]
        Fact(fact::FactCommand),
        Digest(memory::DigestCommand),
    }
    "Changes" {
        Annotate(changes::AnnotateCommand),
        Review(review::ReviewCommand),
        Log(changes::LogCommand),
        /// See what is permanently forgotten, or let it come back.
        ///
        /// `vault forget --purge` keeps hashes of the removed words, made with a key of this vault, and never the text. vault compares what
        /// programs and agents bring later with these hashes, and leaves out what matches.
        #[command(subcommand)]
        Forgotten(changes::ForgottenCommand),
        Conflicts(changes::ConflictsCommand),
    }
    "Programs" {
        Connect(connect::ConnectCommand),
        Mcp(mcp::McpCommand),
        /// Give programs tokens that let them send events, and read nothing.
        #[command(subcommand)]
        Token(agent::TokenCommand),
        Trace(agent::TraceCommand),
        /// Let remote assistants (claude.ai, ChatGPT) in through your own tunnel.
        #[command(subcommand)]
        Remote(remote::RemoteCommand),
        Qmd(qmd::QmdCommand),
    }
    "Upkeep" {
        Reindex(status::ReindexCommand),
        Verify(status::VerifyCommand),
        Config(completions::ConfigCommand),
        /// List, choose, download and time embedding models, for search by meaning.
        ///
        /// The bundled model needs no set-up. Others are GGUF files: `import` one from this disk, or `pull` it from the web. Both check it, put it
        /// into a folder for all your vaults, and make this vault use it, with the prefixes and the pooling it was trained with. For a service
        /// (Ollama, OpenAI and others) set `embed.endpoint` in memory.toml. A new model embeds every passage again; the previous one answers until
        /// that is done, and its vectors are kept until `vault model gc`.
        #[command(
            subcommand,
            after_help = "Examples:\n  vault model list\n  vault model import ~/Downloads/bge-small-en-v1.5-q8_0.gguf\n  vault model use bundled"
        )]
        Model(model::ModelCommand),
        Eval(eval::EvalCommand),
        /// Run the daemon in the background, started at login.
        #[command(subcommand)]
        Service(service::ServiceCommand),
    }
    "Backup, and the shell" {
        Backup(backup::BackupCommand),
        Export(backup::ExportCommand),
        Completions(completions::CompletionsCommand),
        #[command(hide = true)]
        Man(completions::ManCommand),
        #[command(hide = true, name = crate::vault::attachments::COMMAND)]
        ReadAttachment(completions::ReadAttachmentCommand),
    }
}

/// The commands that print nothing for programs to read, and `qmd`, which says so itself.
const WITHOUT_JSON: [&str; 14] = [
    "serve",
    "config",
    "mcp",
    "qmd",
    "completions",
    "man",
    crate::vault::attachments::COMMAND,
    "agent allow",
    "agent deny",
    "agent remove",
    "token add",
    "token remove",
    "service install",
    "service remove",
];

/// All commands; each that prints something takes `--json`.
fn command() -> clap::Command {
    let command = Cli::command().mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        with_json(command, &name)
    });
    let tasks = by_task(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{tasks}Options:\n{{options}}\n\n{{after-help}}"
    ))
}

/// The commands below what they are for, which clap's own list cannot show.
fn by_task(command: &clap::Command) -> String {
    let mut said = String::new();
    for (task, names) in TASKS {
        said += &format!("{task}:\n");
        for name in *names {
            let known = command.find_subcommand(name.to_lowercase()).filter(|known| !known.is_hide_set());
            let Some(known) = known else { continue };
            let about = known.get_about().map(ToString::to_string).unwrap_or_default();
            said += &format!("  {:<12} {about}\n", known.get_name());
        }
        said.push('\n');
    }
    said
}

fn with_json(command: clap::Command, path: &str) -> clap::Command {
    let json = Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print JSON");
    match command.has_subcommands() {
        _ if WITHOUT_JSON.contains(&path) => command,
        false => command.arg(json),
        true if command.is_subcommand_required_set() => command.mut_subcommands(|below| {
            let path = format!("{path} {}", below.get_name());
            with_json(below, &path)
        }),
        true => command.arg(json.global(true)),
    }
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

/// What was asked, by the name of `vault` or by that of `qmd`.
fn parsed() -> Result<Cli, clap::Error> {
    if qmd::is_called(std::env::args_os().take(1)) {
        let qmd::QmdCli { asked } = qmd::QmdCli::try_parse_from(qmd::dashed_query_last(std::env::args_os(), 0))?;
        return Ok(Cli { vault: None, command: Command::Qmd(asked) });
    }
    if qmd::is_called(std::env::args_os()) {
        return Cli::try_parse_from(qmd::dashed_query_last(std::env::args_os(), 1));
    }
    let matches = matched(search::dashed_query_last(command(), std::env::args_os(), 0, false))?;
    let mut asked = &matches;
    while let Some((_, below)) = asked.subcommand() {
        asked = below;
    }
    if let Ok(Some(true)) = asked.try_get_one::<bool>("json") {
        terminal::answer_in_json();
    }
    Cli::from_arg_matches(&matches)
}

fn matched(args: Vec<OsString>) -> Result<ArgMatches, clap::Error> {
    command().try_get_matches_from(&args).or_else(|error| {
        let root = command();
        match note_named::listing(&error, &args, &root) {
            Some(args) => command().try_get_matches_from(args),
            None => Err(note_named::suggested(error, &args, &root)),
        }
    })
}

/// The exit code.
fn run() -> u8 {
    crate::base::allocator::configure();
    terminal::tell_panics();
    let cli = match parsed() {
        Ok(cli) => cli,
        Err(ended) => return terminal::parsing_ended(&ended),
    };
    let filter = tracing_subscriber::EnvFilter::try_from_env("VAULT_LOG").unwrap_or_else(|_| DEFAULT_LOG.into());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(terminal::stderr)
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .init();
    let done = cli.command.run(cli.vault.as_deref());
    match done.and_then(|outcome| terminal::printed().map(|()| outcome)) {
        Ok(Outcome::Done) => 0,
        Ok(Outcome::NothingFound | Outcome::Damaged) => 1,
        Err(error) if terminal::is_broken_pipe(&error) => 0,
        Err(error) => {
            let in_json = terminal::is_in_json() && !terminal::has_printed_json();
            if in_json {
                terminal::stdout().json(&terminal::error_as_json(&error));
            }
            if !in_json || terminal::printed().is_err() {
                terminal::remark!("vault: {}", terminal::explain(&error));
            }
            error.downcast_ref::<RequestError>().map_or(2, |error| error.kind.exit_code())
        }
    }
}
