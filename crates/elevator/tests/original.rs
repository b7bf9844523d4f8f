//! The schedulers of Linux 2.6.20 dispatch as the original does: cases of single rules, each with what the original did.
//!
//! The format is that of `elevator_laws::original`: a script, and each request's event, first sector and length.

use elevator::find;
use elevator_laws::original::{Script, drive, shown};

/// A rule, the scheduler, ticks a second, the script, and the original's dispatches.
type Case = (&'static str, &'static str, u32, &'static str, &'static str);

const CASES: &[Case] = &[
    (
        "after a join that removed the next request the next one is chosen from where the class was served last",
        "anticipatory",
        1000,
        "1 1024 w0:592+48 w0:192+24 w0:280+56 w0:1464+48 w0:216+64 c0 c0",
        "0:592+48 5:1464+48 6:192+144",
    ),
    (
        "a request is joined with its neighbour in the tree of its own class",
        "anticipatory",
        1000,
        "1 1024 r0:0+8 w1:1008+8 s1:984+16 s1:1000+8 c0 t300 c0 c0",
        "0:0+8 4:984+16 6:1000+16",
    ),
    (
        "a joined request is as old as the older one but keeps its place in the FIFO",
        "cfq",
        1000,
        "1 1024 kquantum=1 kfifo_expire_sync=125 r0:50000+8 r0:9000+8 t60 r0:100+8 t60 r0:8984+8 r0:8992+8 t6 c0 c0 c0",
        "2:50000+8 10:100+8 11:8984+24",
    ),
    (
        "a shared queue dies with its last process and request, and its successor is new",
        "cfq",
        1000,
        "1 64 w0:0+8 c0 x0 r1:1000+8 r2:2000+8 w3:3000+8 c0 t8 c0 c0",
        "0:0+8 3:1000+8 7:3000+8 8:2000+8",
    ),
    (
        "the one-hit cache takes pieces at the front",
        "noop",
        1000,
        "1 64 r0:100+8 r0:308+8 r0:300+8 c0 c0",
        "0:100+8 3:300+16",
    ),
    (
        "also where front merges are off, and only the cache",
        "deadline",
        1000,
        "1 64 kfront_merges=0 r0:100+8 r0:308+8 r0:300+8 r0:508+8 r0:500+8 c0 c0 c0 c0",
        "1:100+8 6:300+16 7:500+8 8:508+8",
    ),
    (
        "a request that has refused a piece for its size takes no more",
        "deadline",
        1000,
        "1 64 r0:0+8 r1:100+60 r1:160+8 r1:96+4 c0 c0 c0 c0",
        "0:0+8 4:96+4 5:100+60 6:160+8",
    ),
    (
        "of overlapping requests the neighbour in the tree decides",
        "deadline",
        1000,
        "1 64 r0:0+8 r1:100+16 r1:104+4 r1:124+8 r1:116+8 c0 c0 c0 c0",
        "0:0+8 5:100+24 6:104+4 7:124+8",
    ),
    (
        "the driver asks on a submission only if the scheduler was empty",
        "cfq",
        1000,
        "2 64 r0:0+8 r1:1000+8 r0:8+8 c0 t8",
        "0:0+8 3:8+8",
    ),
];

#[test]
fn single_rules_are_those_of_the_original() {
    for (rule, scheduler, hz, script, original) in CASES {
        let script: Script = script.parse().expect("the cases are scripts");
        let kind = find(scheduler).expect("a row of the table");
        let ours = drive(kind, *hz, &script).expect("no scheduler panics");
        assert_eq!(shown(&ours).trim_start(), *original, "{scheduler}: {rule}");
    }
}
