//! Checks that the command line accepts every command shown in the book.

use clap::{Command, CommandFactory, Parser, error::ErrorKind};

use crate::cli::Cli;

fn fault(words: &[String]) -> Option<String> {
    match Cli::try_parse_from(words) {
        Ok(_) => None,
        Err(error)
            if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) =>
        {
            None
        }
        Err(error) => Some(error.to_string().lines().next().unwrap_or_default().to_owned()),
    }
}

/// For commands within prose, which may be shortened: subcommands and options must exist.
fn unknown(words: &[String]) -> Option<String> {
    let mut command: Command = Cli::command();
    command.build();
    let mut at = &command;
    for word in &words[1..] {
        if let Some(option) =
            word.strip_prefix("--").map(|option| option.split('=').next().expect("a part"))
        {
            let known = at.get_arguments().any(|arg| arg.get_long() == Some(option));
            if !known && !option.is_empty() {
                return Some(format!("`{}` has no option --{option}", at.get_name()));
            }
            if option.is_empty() {
                return None;
            }
        } else if at.has_subcommands() {
            match at.find_subcommand(word) {
                Some(subcommand) => at = subcommand,
                None if word.chars().all(|c| c.is_ascii_lowercase()) => {
                    return Some(format!("no subcommand {word}"));
                }
                None => return None,
            }
        }
    }
    None
}

#[test]
fn every_command_in_a_code_block_of_the_docs_is_taken_by_the_command_line() {
    let (mut faults, mut nr_commands) = (Vec::new(), 0);
    for page in docs::pages() {
        for command in page.commands("schedlab") {
            nr_commands += 1;
            // The values that a shell fills in are unknown here.
            let shortened = command.words.iter().any(|word| word.contains(['…', '$']));
            if let Some(fault) =
                if shortened { unknown(&command.words) } else { fault(&command.words) }
            {
                faults.push(format!("{}: {}\n    {fault}", page.path.display(), command.line));
            }
        }
        for command in page.mentions("schedlab") {
            if let Some(fault) = unknown(&command.words) {
                faults.push(format!("{}: `{}`: {fault}", page.path.display(), command.line));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(nr_commands > 50, "only {nr_commands} commands were found: the search is wrong");
}

#[test]
fn a_command_with_an_option_or_a_subcommand_that_does_not_exist_is_a_fault() {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for line in [
        "schedlab compare --devise x",
        "schedlab compair",
        "schedlab compare",
        "schedlab list nothing",
    ] {
        assert!(fault(&words(line)).is_some(), "{line}");
    }
    assert_eq!(fault(&words("schedlab compare --help")), None);
    for line in ["schedlab compare --devise", "schedlab compair", "schedlab watch ad"] {
        assert!(unknown(&words(line)).is_some(), "{line}");
    }
    for line in
        ["schedlab compare … --dry-run", "schedlab watch add", "schedlab kernel exec -- sh --x"]
    {
        assert_eq!(unknown(&words(line)), None, "{line}");
    }
}
