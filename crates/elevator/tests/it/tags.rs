//! More clients than tags: every client finishes with any scheduler and number of tags. A freed tag
//! must wake a client even if it is the only one that can be freed.

use elevator::{
    Bio, BlockRequest, Build, ELEVATORS, ElevatorKind, Limits, NoDisk, Op, Origin, Priority, Queue,
    Time,
};

const TAGS: [u32; 7] = [64, 128, 256, 512, 1024, 2048, 4096];
/// Consecutive requests per client.
const REQUESTS: u32 = 2;
const SERVICE_NS: u64 = 100_000;

/// A queue with a device of constant service time, and clients that wait for each request.
struct Bed {
    queue: Queue,
    now: Time,
    in_device: std::collections::VecDeque<(Time, BlockRequest)>,
    left: Vec<u32>,
}

impl Bed {
    fn new(kind: &ElevatorKind, tags: u32, queue_depth: u32, linux: u64) -> Bed {
        let limits = Limits { nr_requests: tags, queue_depth, max_sectors: 1024, merge: true };
        let build = Build { rotational: true, ..Build::default() };
        let mut queue = Queue::new(kind, &build, limits);
        if kind.tunables.iter().any(|row| row.name == "linux") {
            queue.set_tunable("linux", linux);
        }
        let clients = tags + tags / 2 + 1;
        Bed {
            queue,
            now: Time::ZERO,
            in_device: Default::default(),
            left: vec![REQUESTS; clients as usize],
        }
    }

    fn submit(&mut self, client: u32) {
        let left = &mut self.left[client as usize];
        if *left == 0 {
            return self.queue.exited(self.now, client);
        }
        *left -= 1;
        let (op, sync) =
            [(Op::Read, true), (Op::Read, true), (Op::Write, false), (Op::Write, true)]
                [client as usize % 4];
        // A multiplicative hash: no two requests are adjacent, so none merge.
        let place = u64::from(client * REQUESTS + *left).wrapping_mul(0x9E37_79B9) % (1 << 24);
        let bio = Bio {
            cookie: u64::from(client),
            process: client,
            op,
            sector: place * 16,
            nr_sectors: 8,
            sync,
            meta: false,
            priority: Priority::default(),
            release: None,
            deadline: None,
        };
        self.queue.submit(self.now, bio, &mut |_| {});
    }

    fn offer(&mut self) {
        while let Some(&request) = self.queue.dispatch(self.now, &NoDisk) {
            let begins = self.in_device.back().map_or(self.now, |(ends, _)| *ends);
            self.in_device.push_back((begins + SERVICE_NS, request));
        }
    }

    /// Runs until no event is left; returns the number of unfinished clients.
    fn run(&mut self) -> usize {
        for client in 0..self.left.len() as u32 {
            self.submit(client);
        }
        let mut done = Vec::new();
        loop {
            self.offer();
            let device = self.in_device.front().map(|(ends, _)| *ends);
            let Some(next) = device.into_iter().chain(self.queue.next_timer()).min() else { break };
            self.now = self.now.max(next);
            if device.is_some_and(|ends| ends <= self.now) {
                let (_, request) = self.in_device.pop_front().expect("the device is busy");
                self.queue.complete(self.now, request.tag, &mut done);
                self.offer();
                self.queue.admit_waiting(self.now, &mut |_| {});
                done.drain(..).for_each(|client| self.submit(client as u32));
            } else {
                self.queue.on_timer(self.now, &mut |_| {});
            }
            // Timers may continue after the last request.
            if self.queue.is_idle() {
                break;
            }
        }
        self.queue.waiting() + self.queue.held()
    }
}

fn check(kind: &ElevatorKind, tags: u32) {
    for (queue_depth, linux) in [(1, 601), (1, 612), (1, 703), (32, 601), (32, 612), (32, 703)] {
        let mut bed = Bed::new(kind, tags, queue_depth, linux);
        let left = bed.run();
        let counters = bed.queue.counters();
        let expected = bed.left.len() as u64 * u64::from(REQUESTS);
        assert!(
            left == 0 && counters.done == expected,
            "{}, {tags} tags, queue_depth {queue_depth}, linux {linux}: {left} requests are never served, at {} ns, {} of \
             {expected} are done: {counters:?}",
            kind.name,
            bed.now.as_ns(),
            counters.done,
        );
    }
}

#[test]
fn every_client_of_blk_mq_ends_with_more_clients_than_tags() {
    for kind in ELEVATORS.iter().filter(|kind| kind.origin == Origin::BlkMq) {
        TAGS.into_iter().for_each(|tags| check(kind, tags));
    }
}

/// Other schedulers' clients wait in order of arrival, independently of the number of tags: few,
/// except in the soak.
#[test]
fn every_client_of_the_others_ends_with_more_clients_than_tags() {
    let sizes = if std::env::var_os("SCHEDLAB_SOAK").is_some() { &TAGS[..] } else { &TAGS[..1] };
    for kind in ELEVATORS.iter().filter(|kind| kind.origin != Origin::BlkMq) {
        sizes.iter().for_each(|tags| check(kind, *tags));
    }
}
