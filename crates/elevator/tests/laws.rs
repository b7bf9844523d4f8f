//! The laws over every row of the table, with random inputs. `mutants/` shows that the laws can fail.

#[path = "../examples/shortest_first.rs"]
#[allow(dead_code, reason = "main is the example's own")]
mod shortest_first;

use elevator::ELEVATORS;
use elevator_laws::{Law, check, samples, test_every_law};

fn hold(law: &Law) {
    check(law, ELEVATORS.iter().chain([&samples::SWEEP, &samples::IDLER, &shortest_first::ROW]));
}

test_every_law!(hold);

#[test]
fn rows_have_names_of_their_own_and_say_where_they_come_from() {
    for (at, kind) in ELEVATORS.iter().enumerate() {
        assert!(ELEVATORS[..at].iter().all(|other| other.name != kind.name), "{} stands twice", kind.name);
        assert!(!kind.help.is_empty() && !kind.source.is_empty() && !kind.promises.is_empty(), "{}", kind.name);
        for (at, tunable) in kind.tunables.iter().enumerate() {
            assert!(
                kind.tunables[..at].iter().all(|other| other.name != tunable.name),
                "{} {}",
                kind.name,
                tunable.name
            );
        }
    }
}
