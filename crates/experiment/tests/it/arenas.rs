//! The rows of the arenas: found by name, with consistent facts.

use experiment::plan::{ARENAS, ArenaFacts, DISK};

#[test]
fn an_arena_is_written_read_and_found_by_its_name() {
    for arena in ARENAS {
        let written = serde_json::to_string(arena).expect("a name");
        assert_eq!(written, format!("{:?}", arena.name));
        let read: &ArenaFacts = serde_json::from_str(&written).expect("a name of a row");
        assert_eq!((read, ArenaFacts::find(arena.name)), (arena, Some(arena)));
    }
    assert_eq!(<&ArenaFacts>::default(), &DISK);
    assert_eq!(ArenaFacts::find("foreign"), None);
}

#[test]
fn an_arena_has_cpus_or_a_disk_and_virtual_time_needs_no_running_kernel() {
    for arena in ARENAS {
        assert!(!(arena.is_cpu() && arena.has_disk()), "{arena:?}");
        assert!(!(arena.is_virtual() && arena.has_disk()), "{arena:?}");
        // A chosen kernel, or none, needs virtual time.
        let own_kernel = arena.chooses_kernel() || arena.is_in_process();
        assert_eq!(own_kernel, arena.is_virtual(), "{arena:?}");
        assert_eq!(arena.watch_refusal.is_none(), arena.has_disk(), "{arena:?}");
        assert_eq!(arena.paper.is_empty(), !arena.is_virtual(), "{arena:?}");
    }
}
