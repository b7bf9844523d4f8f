//! Where a disk's actuator was: the requests of one trial in the order in which the device received
//! them.
//!
//! A throughput says that one scheduler is slower; the actuator's path shows why. A scheduler that
//! alternates between two sequential readers moves the actuator for every request, one that waits
//! for a reader's next request moves it seldom. The caller reads the path from a trace and gives it
//! as data.

/// The requests of one trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActuatorPath {
    /// The workload.
    pub workload: String,
    /// The variant.
    pub variant: String,
    /// The requests, in the order in which the device received them.
    pub visits: Vec<Visit>,
}

/// A request that the device received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visit {
    /// Virtual time since the trial began, warm-up included, in nanoseconds.
    pub at_ns: u64,
    /// Its first sector.
    pub sector: u64,
    /// Its length in sectors.
    pub nr_sectors: u32,
    /// The client that it came from; `None` where it is not known.
    pub client: Option<u32>,
}

/// How much of a trial is shown.
const WINDOW_NS: u64 = 1_000_000_000;

/// The part of a path that is shown, and what happened in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Excerpt<'a> {
    /// The variant.
    pub(crate) variant: &'a str,
    /// When it begins.
    pub(crate) from_ns: u64,
    /// How long it is.
    pub(crate) length_ns: u64,
    /// Its requests.
    pub(crate) visits: &'a [Visit],
    /// How many requests did not begin where the request before them ended.
    pub(crate) moves: usize,
}

/// The first second after the warm-up of each path of a workload; empty where there is no request
/// in it.
pub(crate) fn excerpts<'a>(
    paths: &'a [ActuatorPath],
    workload: &str,
    warmup_ns: u64,
) -> Vec<Excerpt<'a>> {
    let of_workload = paths.iter().filter(|path| path.workload == workload);
    of_workload.filter_map(|path| excerpt(path, warmup_ns)).collect()
}

fn excerpt(path: &ActuatorPath, warmup_ns: u64) -> Option<Excerpt<'_>> {
    let last_ns = path.visits.last()?.at_ns;
    // A trial that ended during its warm-up is shown from its beginning.
    let from_ns = if last_ns > warmup_ns { warmup_ns } else { 0 };
    let from = path.visits.partition_point(|visit| visit.at_ns < from_ns);
    let to = path.visits.partition_point(|visit| visit.at_ns < from_ns + WINDOW_NS);
    let visits = &path.visits[from..to];
    let is_move =
        |pair: &&[Visit]| pair[0].sector + u64::from(pair[0].nr_sectors) != pair[1].sector;
    let moves = visits.windows(2).filter(is_move).count();
    let length_ns = WINDOW_NS.min(last_ns - from_ns).max(1);
    (!visits.is_empty()).then_some(Excerpt {
        variant: &path.variant,
        from_ns,
        length_ns,
        visits,
        moves,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Two sequential readers, far apart; a reader gets `run` requests before the other one's turn.
    /// A request takes 0.2 ms, a move 5 ms more.
    pub(crate) fn two_readers(variant: &str, run: u64) -> ActuatorPath {
        let (mut at_ns, mut next) = (0, [1000, 900_000]);
        let mut visits = Vec::new();
        while at_ns < 2 * WINDOW_NS {
            for client in 0..2_u32 {
                at_ns += 5_000_000;
                for _ in 0..run {
                    let sector = next[client as usize];
                    visits.push(Visit { at_ns, sector, nr_sectors: 8, client: Some(client) });
                    next[client as usize] += 8;
                    at_ns += 200_000;
                }
            }
        }
        ActuatorPath { workload: "oltp".into(), variant: variant.into(), visits }
    }

    #[test]
    fn a_second_after_the_warm_up_is_shown_and_its_moves_are_counted() {
        let paths = [two_readers("deadline", 1), two_readers("anticipatory", 1000)];
        let found = excerpts(&paths, "oltp", 500_000_000);
        assert_eq!(
            found.iter().map(|e| e.variant).collect::<Vec<_>>(),
            ["deadline", "anticipatory"]
        );
        let [deadline, anticipatory] = &found[..] else { panic!("two variants") };
        assert_eq!((deadline.from_ns, deadline.length_ns), (500_000_000, 1_000_000_000));
        assert!(
            deadline.visits.iter().all(|visit| (500_000_000..1_500_000_000).contains(&visit.at_ns))
        );
        assert_eq!(deadline.moves, deadline.visits.len() - 1, "every request moves the actuator");
        assert!(anticipatory.moves <= 5 && anticipatory.visits.len() > 10 * deadline.visits.len());
        assert!(excerpts(&paths, "another", 0).is_empty());
    }

    #[test]
    fn a_trial_that_is_shorter_than_its_warm_up_is_shown_from_its_beginning() {
        let paths = [two_readers("deadline", 1)];
        assert_eq!(excerpts(&paths, "oltp", 10 * WINDOW_NS)[0].from_ns, 0);
        let empty = [ActuatorPath { visits: Vec::new(), ..paths[0].clone() }];
        assert!(excerpts(&empty, "oltp", 0).is_empty());
    }
}
