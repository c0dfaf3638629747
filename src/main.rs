//! The `vault` command.

fn main() {
    memory_vault::cli::main()
}
