//! The `vault` command.

fn main() -> std::process::ExitCode {
    memory_vault::cli::main()
}
