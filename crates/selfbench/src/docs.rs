//! Checks that the command line accepts every `selfbench` command in the docs.

use clap::Parser;

use crate::cli::Cli;

#[test]
fn every_selfbench_command_of_the_docs_is_taken_by_the_command_line() {
    let (mut faults, mut nr_commands) = (Vec::new(), 0);
    for page in docs::pages() {
        for command in page.commands("selfbench").into_iter().chain(page.mentions("selfbench")) {
            nr_commands += 1;
            if let Err(error) = Cli::try_parse_from(&command.words) {
                faults.push(format!("{}: {}\n    {error}", page.path.display(), command.line));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(nr_commands > 5, "only {nr_commands} commands were found: the search is wrong");
}
