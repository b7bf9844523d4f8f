//! Reference page of the command line and exit statuses.

use std::collections::{BTreeMap, BTreeSet};

use clap::builder::StyledStr;
use clap::{Arg, Args as _, Command, CommandFactory};

use super::sheet::{Sheet, code};
use crate::cli::{
    Cli, ConductArgs, DesignArgs, FleetSelectArgs, MonitorArgs, PlaceArgs, RepeatArgs,
};
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
        _ => {
            let before = if arg.is_last_set() { "-- " } else { "" };
            let several = arg.get_num_args().is_some_and(|range| range.max_values() > 1);
            code(format!("{before}{}{}", value.trim_start(), if several { "…" } else { "" }))
        }
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
        None if arg.is_required_set() => [name, "required".to_owned(), help],
        None => [name, code(default.join(",")), help],
    }
}

const SHARED_BY: usize = 2;

/// A group of options that several commands have as a whole.
#[derive(Clone)]
struct Group {
    title: &'static str,
    rows: Vec<[String; 3]>,
}

impl Group {
    fn new(title: &'static str, add: fn(Command) -> Command) -> Group {
        Group { title, rows: options(&add(Command::default())) }
    }

    /// Whether a command with `rows` has every option of the group, few of them with another help.
    fn is_in(&self, rows: &[[String; 3]]) -> bool {
        let names: BTreeSet<String> = rows.iter().map(short_name).collect();
        let same = self.rows.iter().filter(|row| rows.contains(row)).count();
        self.rows.iter().all(|row| names.contains(&short_name(row))) && same * 2 > self.rows.len()
    }
}

fn groups() -> Vec<Group> {
    let mut outer = [
        Group::new("Design", DesignArgs::augment_args),
        Group::new("Conduct", ConductArgs::augment_args),
    ];
    let inner = [
        Group::new("Load", PlaceArgs::augment_args),
        Group::new("Monitoring", MonitorArgs::augment_args),
        Group::new("Repeats", RepeatArgs::augment_args),
        Group::new("Selection", FleetSelectArgs::augment_args),
    ];
    for group in &mut outer {
        group.rows.retain(|row| !inner.iter().any(|inner| inner.rows.contains(row)));
    }
    outer.into_iter().chain(inner).collect()
}

fn all_commands(command: &Command, path: &str, into: &mut Vec<(String, Command)>) {
    let visible = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
    for subcommand in command.get_subcommands().filter(visible) {
        let path = format!("{path} {}", subcommand.get_name());
        into.push((path.clone(), subcommand.clone()));
        all_commands(subcommand, &path, into);
    }
}

fn is_shown(arg: &Arg) -> bool {
    !arg.is_hide_set()
        && !["help", "version"].contains(&arg.get_id().as_str())
        && !arg.is_global_set()
}

fn options(command: &Command) -> Vec<[String; 3]> {
    command
        .get_positionals()
        .chain(command.get_arguments().filter(|arg| !arg.is_positional()))
        .filter(|arg| is_shown(arg))
        .map(option)
        .collect()
}

fn short_name([name, ..]: &[String; 3]) -> String {
    code(name.trim_matches('`').split([' ', '`']).next().unwrap_or_default())
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
    groups: Vec<Group>,
    shared: BTreeSet<[String; 3]>,
    /// Help paragraphs, and the command that explains each.
    explained: BTreeMap<String, String>,
}

impl CommandPage {
    fn add(&mut self, path: &str, command: &Command) {
        let about = sentences(command.get_long_about().or(command.get_about()));
        self.sheet.section(path).text(&format!("{}.", about.trim_end_matches('.')));
        let mut own = options(command);
        let mut also = Vec::new();
        let names =
            |rows: &[[String; 3]]| rows.iter().map(short_name).collect::<Vec<_>>().join(", ");
        for group in &self.groups {
            let link = format!("[{}](#{})", group.title, group.title.to_lowercase());
            let is_whole = group.is_in(&own);
            let taken: Vec<_> = own.extract_if(.., |row| group.rows.contains(row)).collect();
            if is_whole {
                also.push(link);
            } else if !taken.is_empty() {
                also.push(format!("{} of {link}", names(&taken)));
            }
        }
        let shared: Vec<_> = own.extract_if(.., |row| self.shared.contains(row)).collect();
        if !shared.is_empty() {
            also.push(names(&shared));
        }
        if !own.is_empty() {
            self.sheet.table(["option", "default", "meaning"], own);
        }
        if !also.is_empty() {
            self.sheet.text(&format!("[Shared](#shared-options): {}.", also.join("; ")));
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
            if part.starts_with("Formats (") {
                self.sheet.text("Formats: see [formats of other programs](formats.md).");
            } else if part.contains('\n') {
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

/// Global options and those of at least `SHARED_BY` commands, then each group.
fn add_shared(sheet: &mut Sheet, cli: &Command, page: &CommandPage) {
    let global = cli.get_arguments().filter(|arg| arg.is_global_set());
    let global =
        global.filter(|arg| !["help", "version"].contains(&arg.get_id().as_str())).map(option);
    sheet
        .section("Shared options")
        .text("Every command has the first. The others hold for the commands that name them, or their table, after *Shared*.")
        .table(["option", "default", "meaning"], global.chain(page.shared.iter().cloned()));
    for Group { title, rows } in &page.groups {
        sheet.subsection(title).table(["option", "default", "meaning"], rows.clone());
    }
}

#[test]
fn the_page_about_the_command_line_has_every_command_and_option() {
    let mut sheet = Sheet::new(
        "Command line",
        "Commands and options, as `schedlab COMMAND --help` prints them. Values with `,…` are lists\n\
         separated by commas. The *default* holds if the option is left out.",
    );
    let mut cli = Cli::command().disable_help_subcommand(true);
    cli.build();
    let mut commands = Vec::new();
    all_commands(&cli, "schedlab", &mut commands);
    let groups = groups();
    let mut counts: BTreeMap<[String; 3], usize> = BTreeMap::new();
    for row in commands.iter().flat_map(|(_, command)| options(command)) {
        *counts.entry(row).or_default() += 1;
    }
    let in_group = |row: &[String; 3]| groups.iter().any(|group| group.rows.contains(row));
    counts.retain(|row, count| *count >= SHARED_BY && !in_group(row));
    let mut page = CommandPage {
        sheet: Sheet::new("", ""),
        groups: groups.clone(),
        shared: counts.into_keys().collect(),
        explained: BTreeMap::new(),
    };
    add_shared(&mut sheet, &cli, &page);
    page.sheet = sheet;
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
        "Only comparisons on each workload's deciding metric count. If several conditions of `--fail-if` hold, the first\n\
         of the table gives the status; a signal outranks them. `schedlab kernel exec` passes its program's status on; 125\n\
         means that the program could not be run or the guest failed.",
    );
}
