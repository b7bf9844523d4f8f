//! The path of a disk's actuator: one trial's requests in the order in which the device received
//! them.
//!
//! It shows why a scheduler is slower: alternating between two sequential readers seeks for every
//! request, anticipating a reader's next request seldom. The caller extracts it from a trace.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActuatorPath {
    pub workload: String,
    pub variant: String,
    /// In the order in which the device received them.
    pub visits: Vec<Visit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visit {
    /// Virtual time since the trial began, including warm-up.
    pub at_ns: u64,
    pub sector: u64,
    pub nr_sectors: u32,
    /// `None` if unknown.
    pub client: Option<u32>,
}

const WINDOW_NS: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Excerpt<'a> {
    pub(crate) variant: &'a str,
    pub(crate) from_ns: u64,
    pub(crate) length_ns: u64,
    pub(crate) visits: &'a [Visit],
    /// Requests that do not begin where the previous one ended.
    pub(crate) moves: usize,
}

/// The first second after warm-up of each path with requests in it.
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
    // The trial ended during warm-up.
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

    /// Each reader gets `run` requests per turn. A request takes 0.2 ms, a seek 5 ms more.
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
