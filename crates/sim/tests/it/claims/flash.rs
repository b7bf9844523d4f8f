//! Properties of any SSD, checked on the SSD models.

use super::common::{MS, trial, unseen};

/// The default `mixed`: 256 open writes of 128 KiB, 34 MB, which a SATA link carries in 61 ms.
const QUEUE_AHEAD_NS: u64 = 61 * MS;

#[test]
fn sata_ssd_serves_a_read_within_the_queue_ahead_of_it() {
    for scheduler in ["none", "mq-deadline", "kyber"] {
        let measured = unseen(trial(scheduler, "sata-ssd", "mixed", &[], 2_000)).measured;
        let longest_ns = measured.reads.latency.max();
        assert!(measured.reads.count > 40, "{scheduler}: {} reads in 2 s", measured.reads.count);
        assert!(longest_ns < QUEUE_AHEAD_NS, "{scheduler}: a read waited {longest_ns} ns");
        let mb_per_s = measured.writes.bytes as f64 / measured.window_ns as f64 * 1e3;
        assert!(
            (500.0..560.0).contains(&mb_per_s),
            "{scheduler}: {mb_per_s} MB/s of writes over a link of 550"
        );
    }
}
