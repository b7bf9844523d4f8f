//! Reference page of the command line and exit statuses.

use std::collections::{BTreeMap, BTreeSet};

use clap::builder::StyledStr;
use clap::{Arg, Command, CommandFactory};

use super::sheet::{Sheet, code};
use crate::cli::Cli;
use crate::failure::STATUSES;

fn plain(text: Option<&StyledStr>) -> String {
    text.map(|text| text.to_string()).unwrap_or_default().trim_end_matches('.').to_owned()
}

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

const SHARED_BY: usize = 3;

fn all_commands(command: &Command, path: &str, into: &mut Vec<(String, Command)>) {
    let visible = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
    for subcommand in command.get_subcommands().filter(visible) {
        let path = format!("{path} {}", subcommand.get_name());
        into.push((path.clone(), subcommand.clone()));
        all_commands(subcommand, &path, into);
    }
}

fn options(command: &Command) -> Vec<[String; 3]> {
    let shown = |arg: &&Arg| {
        !arg.is_hide_set()
            && !["help", "version"].contains(&arg.get_id().as_str())
            && !arg.is_global_set()
    };
    command
        .get_positionals()
        .chain(command.get_arguments().filter(|arg| !arg.is_positional()))
        .filter(shown)
        .map(option)
        .collect()
}

/// Paragraphs after the options, as in clap and as printed in 100 columns.
fn help_parts(command: &Command) -> Vec<(String, String)> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let printed =
        command.clone().help_template("{after-help}").term_width(100).render_help().to_string();
    let parts = help.split("\n\n").zip(printed.trim().split("\n\n"));
    let owned = parts.map(|(part, lines)| (part.to_owned(), lines.to_owned()));
    owned.filter(|(part, _)| !part.is_empty()).collect()
}

struct CommandPage {
    sheet: Sheet,
    shared: BTreeSet<[String; 3]>,
    /// Help paragraphs, and the command that explains each.
    explained: BTreeMap<String, String>,
}

impl CommandPage {
    fn add(&mut self, path: &str, command: &Command) {
        let about = sentences(command.get_long_about().or(command.get_about()));
        self.sheet.section(path).text(&format!("{}.", about.trim_end_matches('.')));
        let usage = command.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage: ");
        if usage.trim_end_matches(" [OPTIONS]") != path {
            self.sheet.code_block("text", usage);
        }
        let (shared, own): (Vec<_>, Vec<_>) =
            options(command).into_iter().partition(|row| self.shared.contains(row));
        if !own.is_empty() {
            self.sheet.table(["option", "default", "meaning"], own);
        }
        if !shared.is_empty() {
            let names = shared.iter().map(|[name, ..]| {
                code(name.trim_matches('`').split([' ', '`']).next().unwrap_or_default())
            });
            let names: Vec<String> = names.collect();
            self.sheet.text(&format!("[Shared](#shared-options): {}.", names.join(", ")));
        }
        self.add_help(path, command);
    }

    fn add_help(&mut self, path: &str, command: &Command) {
        let mut elsewhere: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let is_own = |(part, _): &(String, String)| !part.starts_with("Exit status:");
        for (part, lines) in help_parts(command).into_iter().filter(is_own) {
            let title = part.split([':', '(']).next().unwrap_or_default().trim().to_owned();
            if let Some(first) = self.explained.get(&part) {
                elsewhere.entry(first.clone()).or_default().push(title);
                continue;
            }
            self.explained.insert(part.clone(), path.to_owned());
            if part.contains('\n') {
                self.sheet.code_block("text", &lines);
            } else {
                self.sheet.text(&part.replace('*', "\\*").replace('<', "\\<"));
            }
        }
        for (first, titles) in elsewhere {
            let anchor = first.replace(' ', "-");
            self.sheet.text(&format!("{}: see [{first}](#{anchor}).", titles.join(", ")));
        }
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
    let mut commands = Vec::new();
    all_commands(&cli, "schedlab", &mut commands);
    let mut counts: BTreeMap<[String; 3], usize> = BTreeMap::new();
    for row in commands.iter().flat_map(|(_, command)| options(command)) {
        *counts.entry(row).or_default() += 1;
    }
    counts.retain(|_, count| *count >= SHARED_BY);
    let global = cli
        .get_arguments()
        .filter(|arg| arg.is_global_set() && !["help", "version"].contains(&arg.get_id().as_str()));
    let shared: BTreeSet<[String; 3]> = counts.into_keys().collect();
    sheet
        .section("Shared options")
        .text("Every command has the first of these; the others have the same meaning wherever a command lists them.")
        .table(
            ["option", "default", "meaning"],
            global.map(option).chain(shared.iter().cloned()),
        );
    let mut page = CommandPage { sheet, shared, explained: BTreeMap::new() };
    for (path, command) in &commands {
        page.add(path, command);
    }
    add_exit_statuses(&mut page.sheet);
    super::check("cli", page.sheet);
}

fn add_exit_statuses(sheet: &mut Sheet) {
    sheet.section("Exit status");
    let rows = STATUSES.iter().map(|row| {
        [code(row.code), row.name.to_owned(), row.meaning.to_owned(), row.then.to_owned()]
    });
    sheet.table(["status", "name", "meaning", "what to do"], rows);
    sheet.text(
        "Only comparisons on the metric that decides for a workload count: the status is 3 when no such comparison\n\
         is left that counts. Of several conditions of `--fail-if` that hold, the first of the table gives the status.\n\
         A signal outranks them. A program run by `schedlab kernel exec` passes its own status on; 125 means that it\n\
         could not be run or that the guest failed.",
    );
}
