//! The pages about the command line and the exit status.

use clap::builder::StyledStr;
use clap::{Arg, Command, CommandFactory};

use super::sheet::{Sheet, code};
use crate::cli::Cli;
use crate::failure::STATUSES;

fn plain(text: Option<&StyledStr>) -> String {
    text.map(|text| text.to_string()).unwrap_or_default().trim_end_matches('.').to_owned()
}

/// Lines of help joined into one; paragraphs stay apart.
fn sentences(text: Option<&StyledStr>) -> String {
    text.map(|text| text.to_string()).unwrap_or_default()
}

fn option(arg: &Arg) -> [String; 3] {
    let values: Vec<String> =
        arg.get_value_names().into_iter().flatten().map(|name| format!("<{name}>")).collect();
    let takes = arg.get_action().takes_values();
    let value =
        if takes && !values.is_empty() { format!(" {}", values.join(" ")) } else { String::new() };
    let name = match (arg.get_long(), arg.get_short()) {
        (Some(long), Some(short)) => format!("`--{long}{value}`, `-{short}`"),
        (Some(long), None) => format!("`--{long}{value}`"),
        _ => code(value.trim_start()),
    };
    let defaults =
        if takes && !arg.is_hide_default_value_set() { arg.get_default_values() } else { &[] };
    let default: Vec<String> =
        defaults.iter().map(|value| value.to_string_lossy().into_owned()).collect();
    let mut help = plain(arg.get_help());
    let possible: Vec<String> = if takes && !arg.is_hide_possible_values_set() {
        arg.get_possible_values()
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| code(value.get_name()))
            .collect()
    } else {
        Vec::new()
    };
    if !possible.is_empty() {
        help.push_str(&format!(": {}", possible.join(", ")));
    }
    match help.clone().split_once(" [default: ") {
        Some((before, rest)) => {
            let (stated, after) = rest.split_once(']').unwrap_or((rest, ""));
            [name, stated.to_owned(), format!("{before}{after}")]
        }
        None => [name, code(default.join(",")), help],
    }
}

fn render(sheet: &mut Sheet, command: &Command, path: &str) {
    let visible = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
    sheet.section(path);
    let about = sentences(command.get_long_about().or(command.get_about()));
    sheet.text(&format!("{}.", about.trim_end_matches('.')));
    let usage = command.clone().render_usage().to_string();
    sheet.round("text", usage.trim_start_matches("Usage: "));
    let shown = |arg: &&Arg| {
        !arg.is_hide_set()
            && !["help", "version"].contains(&arg.get_id().as_str())
            && !arg.is_global_set()
    };
    let rows: Vec<[String; 3]> = command
        .get_positionals()
        .chain(command.get_arguments().filter(|arg| !arg.is_positional()))
        .filter(shown)
        .map(option)
        .collect();
    if !rows.is_empty() {
        sheet.table(["option", "default", "meaning"], rows);
    }
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let printed =
        command.clone().help_template("{after-help}").term_width(100).render_help().to_string();
    for (part, lines) in
        help.split("\n\n").zip(printed.trim().split("\n\n")).filter(|(part, _)| !part.is_empty())
    {
        match part.contains('\n') {
            true => sheet.round("text", lines),
            false => sheet.text(&part.replace('*', "\\*").replace('<', "\\<")),
        };
    }
    for subcommand in command.get_subcommands().filter(visible) {
        render(sheet, subcommand, &format!("{path} {}", subcommand.get_name()));
    }
}

#[test]
fn the_page_about_the_command_line_has_every_command_and_option() {
    let mut sheet = Sheet::new(
        "Command line",
        "Every command with its options, as `schedlab COMMAND --help` prints them. A value in the column\n\
         *default* holds where the option is left out.",
    );
    let mut cli = Cli::command().disable_help_subcommand(true);
    cli.build();
    let global = cli
        .get_arguments()
        .filter(|arg| arg.is_global_set() && !["help", "version"].contains(&arg.get_id().as_str()));
    let global: Vec<[String; 3]> = global.map(option).collect();
    sheet.text("Options of every command:").table(["option", "default", "meaning"], global);
    for command in cli.get_subcommands().filter(|command| !command.is_hide_set()) {
        render(&mut sheet, command, &format!("schedlab {}", command.get_name()));
    }
    super::check("cli", sheet);
}

#[test]
fn the_page_about_the_exit_status_has_every_status() {
    let mut sheet = Sheet::new(
        "Exit status",
        "What a script learns from schedlab without reading its output. `analysis.json` has the verdicts themselves.",
    );
    let rows = STATUSES.iter().map(|row| {
        [code(row.code), row.name.to_owned(), row.meaning.to_owned(), row.then.to_owned()]
    });
    sheet.table(["status", "name", "meaning", "what to do"], rows);
    sheet.text(
        "Only comparisons on the metric that decides for a workload count. One invalid variant of a sweep is not an invalid\n\
         experiment: the status is 3 when no deciding comparison is left that counts. Of the conditions of `--fail-if`\n\
         that hold, the first of the table gives the status. A signal outranks what it made fail.",
    );
    sheet.round(
        "sh",
        "schedlab run plan.toml --fail-if worse,inconclusive\ncase $? in\n0) echo 'not worse' ;;\n5) echo 'worse' ;;\n7) echo \
         'measure longer' ;;\n*) exit 1 ;;\nesac",
    );
    sheet.text(
        "A program that runs under `schedlab kernel exec` hands its own status through; 125 says that it could not be\n\
         run or that the guest failed. [Gate changes in CI](../howto/ci.md) uses these values.",
    );
    super::check("exit-status", sheet);
}
