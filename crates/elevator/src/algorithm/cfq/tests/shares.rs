//! Processes on a small disk: their shares of disk time, and slice lengths.

use super::*;

/// A process that reads one request after another.
struct Client {
    random: bool,
    think_ns: u64,
    priority: Priority,
    sector: u64,
    /// Time of the next request; None: waiting for one.
    asks: Option<Time>,
}

fn client(at: u64) -> Client {
    Client {
        random: false,
        think_ns: 0,
        priority: Priority::default(),
        sector: at,
        asks: Some(Time::ZERO),
    }
}

/// A stretch of device time: the process, its start and end, and the number of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Turn {
    process: u32,
    from: Time,
    to: Time,
    requests: u64,
}

/// Runs clients on a disk that takes 1 ms for a sequential request and 8 ms for others. Tags are
/// processes. `background` asynchronous writes of process 99 are always queued.
fn turns(cfq: &mut Keeper<Cfq>, clients: &mut [Client], background: u32, until: Time) -> Vec<Turn> {
    let (mut now, mut head, mut seed, mut seq) = (Time::ZERO, 0, 5_u64, 0);
    let mut device: Option<(BlockRequest, Time, Time)> = None;
    let mut turns: Vec<Turn> = Vec::new();
    let mut next_write = 1_000_000_000;
    let mut writes = Vec::from_iter(100..100 + background);
    while now < until {
        if let Some((request, from, _)) = device.take_if(|(_, _, to)| *to == now) {
            complete(cfq, now, request);
            match turns.last_mut().filter(|turn| turn.process == request.process) {
                Some(turn) => (turn.to, turn.requests) = (now, turn.requests + 1),
                None => turns.push(Turn { process: request.process, from, to: now, requests: 1 }),
            }
            match clients.get_mut(request.process as usize) {
                Some(client) => client.asks = Some(now + client.think_ns),
                None => writes.push(request.tag),
            }
        }
        if cfq.next_timer().is_some_and(|at| at <= now) {
            cfq.on_timer(now);
        }
        for tag in writes.drain(..) {
            insert(cfq, now, BlockRequest { seq, ..write(tag, 99, next_write) });
            (seq, next_write) = (seq + 1, next_write + 8);
        }
        for (process, client) in clients.iter_mut().enumerate() {
            if client.asks.take_if(|at| *at <= now).is_some() {
                if client.random {
                    seed = seed
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    client.sector = seed >> 33;
                }
                let new = BlockRequest {
                    seq,
                    priority: client.priority,
                    ..read(process as u32, process as u32, client.sector)
                };
                insert(cfq, now, new);
                (seq, client.sector) = (seq + 1, client.sector + 8);
            }
        }
        if device.is_none()
            && let Some(request) = cfq.dispatch(now, &NoDisk)
        {
            let service = if request.sector == head { 1_000_000 } else { 8_000_000 };
            head = request.end();
            device = Some((request, now, now + service));
        }
        let asks = clients.iter().filter_map(|client| client.asks);
        let events = asks.chain(device.map(|(_, _, to)| to)).chain(cfq.next_timer());
        now = events.min().expect("something will happen: nothing held is forgotten");
    }
    turns
}

/// Each client's share of the device's busy time, in per mille.
fn shares(clients: &mut [Client]) -> Vec<u64> {
    let mut cfq = made(1000);
    let turns = turns(&mut cfq, clients, 0, ms(60_000));
    let time = |turn: &Turn| turn.to - turn.from;
    let all: u64 = turns.iter().map(time).sum();
    let of = |process| {
        turns.iter().filter(|turn| turn.process == process).map(time).sum::<u64>() * 1000 / all
    };
    (0..clients.len() as u32).map(of).collect()
}

#[test]
fn equal_sequential_readers_get_equal_shares_of_time() {
    for nr in [2, 3, 10] {
        let mut readers: Vec<Client> = (0..nr).map(|at| client(at * 100_000_000)).collect();
        let shares = shares(&mut readers);
        let fair = 1000 / nr;
        assert!(shares.iter().all(|share| share.abs_diff(fair) <= 20), "{nr} readers: {shares:?}");
    }
}

#[test]
fn random_readers_get_the_same_time_as_sequential_ones() {
    let mut readers: Vec<Client> =
        (0..4).map(|at| Client { random: at % 2 == 1, ..client(at * 1_000_000_000) }).collect();
    let shares = shares(&mut readers);
    assert!(shares.iter().all(|share| share.abs_diff(250) <= 25), "{shares:?}");
}

#[test]
fn readers_that_think_a_little_keep_their_slices() {
    let mut readers: Vec<Client> =
        (0..3).map(|at| Client { think_ns: 2_500_000, ..client(at * 100_000_000) }).collect();
    let mut cfq = made(1000);
    let turns = turns(&mut cfq, &mut readers, 0, ms(20_000));
    let long = turns.iter().filter(|turn| turn.to - turn.from >= 95_000_000).count();
    assert!(long * 10 >= turns.len() * 9, "{long} of {} turns lasted a slice", turns.len());
    assert!(cfq.anticipation.successes > 50 * cfq.anticipation.failures, "{:?}", cfq.anticipation);
}

#[test]
fn slices_are_as_long_as_the_priority_says() {
    let level = |level| Priority { class: PrioClass::BestEffort, level };
    let mut readers: Vec<Client> = [0, 4, 7]
        .into_iter()
        .zip(0..)
        .map(|(at, place)| Client { priority: level(at), ..client(place * 100_000_000) })
        .collect();
    let turns = turns(&mut made(1000), &mut readers, 0, ms(30_000));
    // A slice begins with the first dispatch, and a request in the driver at its end completes.
    for (process, slice) in [(0, 180), (1, 100), (2, 40)] {
        let mut lengths: Vec<u64> = turns
            .iter()
            .filter(|turn| turn.process == process)
            .map(|turn| (turn.to - turn.from) / 1_000_000)
            .collect();
        lengths.pop();
        assert!(lengths.len() > 10, "process {process} had {} turns", lengths.len());
        // Consecutive turns of a process count as one: level 0 comes again before the others.
        let whole =
            lengths.iter().filter(|length| (slice + 1..=slice + 2).contains(*length)).count();
        assert!(
            whole > lengths.len() / 2 && lengths.iter().all(|length| *length > slice),
            "{process}: {lengths:?}"
        );
    }
}

#[test]
fn the_idle_class_gets_nothing_while_somebody_else_reads() {
    let idle = Priority { class: PrioClass::Idle, level: 0 };
    let mut readers = [
        Client { think_ns: 5_000_000, ..client(0) },
        Client { priority: idle, ..client(500_000_000) },
    ];
    let turns_together = turns(&mut made(1000), &mut readers, 0, ms(10_000));
    assert!(turns_together.iter().all(|turn| turn.process == 0), "{turns_together:?}");
    let alone =
        turns(&mut made(1000), &mut [Client { priority: idle, ..client(0) }], 0, ms(10_000));
    assert!(alone[0].requests > 9_000, "alone it has the disk: {alone:?}");
}

#[test]
fn the_real_time_class_goes_before_the_others() {
    let urgent = Priority { class: PrioClass::RealTime, level: 4 };
    let mut readers = [client(0), Client { priority: urgent, ..client(500_000_000) }];
    let turns = turns(&mut made(1000), &mut readers, 0, ms(10_000));
    let best_effort: u64 =
        turns.iter().filter(|turn| turn.process == 0).map(|turn| turn.to - turn.from).sum();
    assert!(best_effort < 1_000_000_000, "{turns:?}");
}

#[test]
fn an_async_slice_ends_after_sixteen_requests_at_priority_4() {
    let turns = turns(&mut made(1000), &mut [client(0)], 64, ms(10_000));
    let writes: Vec<u64> =
        turns.iter().filter(|turn| turn.process == 99).map(|turn| turn.requests).collect();
    assert!(writes.len() > 10 && writes.iter().all(|nr| *nr == 16), "{writes:?}");
    let mut generous = made(1000);
    generous.set("slice_async_rq", 1);
    let turns = super::shares::turns(&mut generous, &mut [client(0)], 64, ms(5_000));
    assert!(turns.iter().filter(|turn| turn.process == 99).all(|turn| turn.requests == 8));
}
