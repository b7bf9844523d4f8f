//! `--arena`: the arenas, or those that a command accepts.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use experiment::plan::{ARENAS, ArenaFacts};

/// An arena that a command accepts, and its help there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub(super) arena: &'static ArenaFacts,
    pub(super) help: &'static str,
}

/// Parses the name of any arena.
pub(super) fn every() -> impl TypedValueParser<Value = &'static ArenaFacts> {
    parser(ARENAS.map(|arena| Choice { arena, help: arena.help }).to_vec())
}

/// Parses the name of one of `choices`.
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
