//! `--arena`: the names of the rows of arenas, all of them or those that a command takes.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use experiment::plan::{ARENAS, ArenaFacts};

/// An arena that a command takes, and what it is there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub(super) arena: &'static ArenaFacts,
    pub(super) help: &'static str,
}

/// Reads the name of any arena.
pub(super) fn every() -> impl TypedValueParser<Value = &'static ArenaFacts> {
    parser(ARENAS.map(|arena| Choice { arena, help: arena.help }).to_vec())
}

/// Reads the name of one of these.
pub(super) fn among(
    choices: &'static [Choice],
) -> impl TypedValueParser<Value = &'static ArenaFacts> {
    parser(choices.to_vec())
}

fn parser(choices: Vec<Choice>) -> impl TypedValueParser<Value = &'static ArenaFacts> {
    let value = |choice: Choice| PossibleValue::new(choice.arena.name).help(choice.help);
    PossibleValuesParser::new(choices.into_iter().map(value))
        .map(|name| ArenaFacts::find(&name).expect("the parser takes names of rows only"))
}
