//! `virtual-machines`: guests with an image each, that jump within it, continue sequentially, and
//! think.
//!
//! A host sees what each guest's page cache and scheduler leave: short sequential runs, mixed reads
//! and writes, a few at a time, with pauses. Guest i of n has the i-th part of the region;
//! `jump_share` percent of requests go to a random block, so run lengths are geometric. The
//! workload is ours [P]; studies such as DVT (SoCC'10) run programs in real guests.

use elevator::{Op, Request};

use crate::workload::client::Client;
use crate::workload::paced::{Paced, Pattern};
use crate::workload::rng::Rng;
use crate::workload::row::{Params, Seat};
use crate::workload::think::mean_is_possible;
use crate::workload::timed::streams;

pub(crate) const ACCEPTS: &[&str] = &[
    "clients",
    "block_size",
    "jump_share",
    "read_share",
    "think_time",
    "think_dist",
    "iodepth",
    "file_size",
    "direct",
    "amount",
];

struct Guest {
    rng: Rng,
    base: u64,
    blocks: u64,
    len: u32,
    /// The block after the last request.
    next: u64,
    jump_percent: u32,
    read_percent: u32,
}

impl Pattern for Guest {
    fn pick(&mut self) -> Option<Request> {
        // All three are always drawn, so that changing one share leaves the other draws unchanged.
        let (jumps, to, reads) =
            (self.rng.below(100), self.rng.below(self.blocks), self.rng.below(100));
        let block = if jumps < u64::from(self.jump_percent) { to } else { self.next };
        self.next = (block + 1) % self.blocks;
        let op = if reads < u64::from(self.read_percent) { Op::Read } else { Op::Write };
        Some(Request::new(op, self.base + block * u64::from(self.len), self.len))
    }
}

pub(crate) fn possible(params: &Params) -> Result<(), String> {
    if params.jump_share > 100 {
        return Err(format!("jump_share = {}: 0 to 100 percent", params.jump_share));
    }
    mean_is_possible(params.think_time_ns)
}

pub(crate) fn build(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    let (base, len) = streams::part(seat.len, params.block_size, seat.index, seat.count);
    let guest = Guest {
        rng: seat.rng(),
        base,
        blocks: len / u64::from(params.block_size),
        len: params.block_size,
        next: 0,
        jump_percent: params.jump_share,
        read_percent: params.read_share,
    };
    Box::new(Paced::thinking(guest, params, params.think(seat.seed, seat.index)))
}

#[cfg(test)]
mod tests {
    use elevator::Time;

    use super::*;
    use crate::workload::{Step, find};

    fn requests(pairs: &[(&str, &str)], index: u32, n: usize) -> Vec<Request> {
        let row = find("virtual-machines").unwrap();
        let params = row.params(pairs.iter().copied()).unwrap();
        let mut client =
            row.client(&params, Seat { index, count: params.clients, len: 64 << 20, seed: 9 });
        let mut made = Vec::new();
        while made.len() < n {
            if let Step::Io(request) = client.next(Time::ZERO, None) {
                made.push(request);
            }
        }
        made
    }

    #[test]
    fn a_guest_stays_in_its_image_and_jumps_as_often_as_it_is_to() {
        for (jump_share, wanted) in [("0", 0.0), ("25", 0.25), ("100", 1.0)] {
            let made = requests(&[("jump_share", jump_share)], 2, 4000);
            assert!(made.iter().all(|request| (32 << 20..48 << 20).contains(&request.offset)));
            let in_order =
                |pair: &[Request]| pair[1].offset == pair[0].offset + u64::from(pair[0].len);
            let jumps = made.windows(2).filter(|pair| !in_order(pair)).count() as f64 / 3999.0;
            // The image wraps around after 1024 blocks, and one jump in 1024 goes to the next
            // block.
            assert!((jumps - wanted).abs() < 0.03, "{jump_share}: {jumps}");
        }
    }

    #[test]
    fn another_share_of_reads_leaves_the_places_as_they_are() {
        let places = |share| {
            requests(&[("read_share", share)], 0, 500)
                .iter()
                .map(|made| made.offset)
                .collect::<Vec<_>>()
        };
        assert_eq!(places("0"), places("100"));
    }
}
