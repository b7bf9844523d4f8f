//! Tests of the help texts.

use super::*;

/// With the arguments of every command.
fn complete() -> clap::Command {
    let mut command = with_groups(Cli::command()).disable_help_subcommand(true);
    command.build();
    command
}

fn collect_texts(command: &clap::Command, found: &mut Vec<String>) {
    found.extend(command.get_after_help().map(ToString::to_string));
    command.get_subcommands().for_each(|command| collect_texts(command, found));
}

/// clap wraps long lines and keeps their indent, so a paragraph must be one line and a command
/// a short one.
#[test]
fn help_groups_hold_every_command_once_and_fit_80_columns() {
    let command = complete();
    let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
    let mut listed: Vec<&str> = visible.map(clap::Command::get_name).collect();
    let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
    listed.sort_unstable();
    grouped.sort_unstable();
    assert_eq!(grouped, listed);
    let help = command.clone().render_help().to_string();
    let groups = help.split("Options:").next().expect("a first part");
    assert!(groups.contains("\nCompare:\n  compare "), "{groups}");
    for line in groups.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

fn collect_long_rows(command: &clap::Command, rows: &mut Vec<String>) {
    let names = command.get_subcommands().map(|command| command.get_name().len());
    let width = names.max().unwrap_or_default();
    for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
        let row = format!("  {:<width$}  {about}", subcommand.get_name());
        rows.extend((row.chars().count() > 80).then_some(row));
        collect_long_rows(subcommand, rows);
    }
}

#[test]
fn a_subcommand_is_one_row_of_80_columns_in_the_help_of_its_group() {
    let mut rows = Vec::new();
    complete().get_subcommands().for_each(|group| collect_long_rows(group, &mut rows));
    assert!(rows.is_empty(), "{rows:#?}");
}

#[test]
fn the_first_help_names_every_exit_status() {
    let (_, statuses) = EXAMPLES.split_once("Exit status:").expect("it has the statuses");
    let words: Vec<&str> =
        statuses.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty()).collect();
    for row in crate::failure::STATUSES {
        assert!(words.contains(&row.code.to_string().as_str()), "{}: {statuses}", row.code);
    }
}

/// A doc comment of a struct of arguments would replace the row, since arguments come later.
#[test]
fn a_command_s_help_begins_with_its_row() {
    let rows = Cli::command();
    let about = |command: &clap::Command| command.get_about().map(ToString::to_string);
    for command in complete().get_subcommands() {
        let row = rows.find_subcommand(command.get_name()).expect("it has a row");
        assert_eq!(about(command), about(row), "{}", command.get_name());
    }
}

fn flags_that_only_show(command: &clap::Command, path: &str, found: &mut Vec<String>) {
    let path = format!("{path} {}", command.get_name());
    for arg in command.get_arguments() {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let only_shows = ["measure nothing", "change nothing", "write none"]
            .iter()
            .any(|end| help.starts_with("Print") && help.contains(end));
        if only_shows {
            found.push(format!("{path} --{}", arg.get_long().expect("it is a flag")));
        }
    }
    command.get_subcommands().for_each(|of| flags_that_only_show(of, &path, found));
}

#[test]
fn what_only_shows_what_it_would_do_is_a_dry_run() {
    let mut found = Vec::new();
    flags_that_only_show(&complete(), "", &mut found);
    found.retain(|flag| !flag.ends_with(" --dry-run"));
    // What it prints is to be put where /etc is generated.
    assert_eq!(found, [" schedlab persist --print"]);
}

#[test]
fn help_texts_wrap_at_any_width() {
    let mut texts = Vec::new();
    collect_texts(&complete(), &mut texts);
    assert!(texts.len() > 15);
    for text in &texts {
        let lines: Vec<&str> = text.lines().collect();
        for (line, next) in lines.iter().zip(lines.iter().skip(1)) {
            let is_heading = line.ends_with(':') && next.starts_with("  ");
            let is_paragraph = !line.is_empty() && !line.starts_with(' ');
            assert!(
                !is_paragraph || is_heading || next.is_empty(),
                "a paragraph in two lines: {line:?} {next:?}"
            );
        }
        let is_command =
            |line: &&&str| ["schedlab ", "sudo "].iter().any(|word| line.trim().starts_with(word));
        for line in lines.iter().filter(|line| is_command(line) || line.ends_with('\\')) {
            assert!(line.chars().count() <= 80, "clap would wrap this command: {line}");
        }
    }
}
