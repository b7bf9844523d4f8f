//! Properties of whole trials: determinism, an uncounted warm-up, and window boundaries.

use elevator::ELEVATORS;
use sim::{Event, Observer, Trial, Unobserved, run};

use super::common::{MS, Server, US, trial};

#[derive(Debug, PartialEq, Eq)]
struct Digest(u64, u64);

impl Observer for Digest {
    fn event(&mut self, event: &Event) {
        let text = format!("{event:?}");
        self.0 = text
            .bytes()
            .fold(self.0, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3));
        self.1 += 1;
    }
}

fn digest(elevator: &'static elevator::ElevatorKind, seed: u64) -> Digest {
    let mut digest = Digest(0xCBF2_9CE4_8422_2325, 0);
    let mut service = sim::stream(seed, "device");
    let device = Box::new(Server::new(2, move || 100 * US + service.below(MS)));
    let plain = trial("oltp", &[("iodepth", "2"), ("sync_every", "7")]);
    run(Trial { elevator, seed, device, ..plain }, &mut digest, &|| false).unwrap();
    digest
}

#[test]
fn the_same_seed_gives_the_same_events_and_another_seed_others() {
    for elevator in ELEVATORS {
        let [first, again, other] = [5, 5, 6].map(|seed| digest(elevator, seed));
        assert_eq!(first, again, "{}", elevator.name);
        assert_ne!(first.0, other.0, "{}", elevator.name);
        assert!(first.1 > 500, "{}: {} events", elevator.name, first.1);
    }
}

#[test]
fn an_observer_changes_nothing() {
    let plain = || trial("oltp", &[]);
    let unseen = run(plain(), &mut Unobserved, &|| false).unwrap();
    let seen = run(plain(), &mut Digest(0, 0) as &mut dyn Observer, &|| false).unwrap();
    assert_eq!(unseen.queue, seen.queue);
    assert_eq!(unseen.measured.clients, seen.measured.clients);
}

#[test]
fn a_warm_up_is_not_counted_but_issued() {
    let with = |warmup_ns| {
        let plain = trial("seqread", &[("block_size", "4k")]);
        run(Trial { warmup_ns, duration_ns: 42 * MS, ..plain }, &mut Unobserved, &|| false).unwrap()
    };
    let (without, after) = (with(0), with(42 * MS));
    assert_eq!(
        (without.measured.reads.count, after.measured.reads.count),
        (40, 40),
        "40 cycles of 1.05 ms each"
    );
    assert_eq!((without.measured.issued.reads, after.measured.issued.reads), (40, 80));
    assert_eq!((without.window_ns, after.window_ns), (42 * MS, 42 * MS));
    assert_eq!((without.busy_ns, after.busy_ns), (40 * MS, 40 * MS));
}

#[test]
fn equal_clients_get_equal_shares_and_a_starved_one_shows() {
    let plain = trial("seqread", &[("block_size", "4k"), ("clients", "4")]);
    let fair = run(plain, &mut Unobserved, &|| false).unwrap();
    assert!(fair.jain_fairness.unwrap() > 0.999, "{:?}", fair.jain_fairness);
    assert_eq!(fair.longest_wait_ns, 4 * MS, "all others go first");
    let alone = run(trial("seqread", &[]), &mut Unobserved, &|| false).unwrap();
    assert_eq!(alone.jain_fairness, None);
}
