//! Instructions per request of each scheduler compared with mq-deadline, counted by callgrind.
//!
//! `cargo bench -p kernel-model` prints the table; `-- NAME…` selects other rows. Insertion,
//! dispatch and completion count, including fruitless dispatches; the queue does not. The ratio is
//! that of `occupancy` and `mq-deadline`, both in Rust. `c-occupancy` is the module's core,
//! compiled with -O2; the kernel's mq-deadline cannot run outside a kernel. Then what it takes while
//! a module holds its lock.

#[path = "../tests/it/counting/mod.rs"]
mod counting;

use counting::{Case, held, instructions, run_if_asked};

const ROWS: [&str; 6] = ["none", "mq-deadline", "kyber", "bfq", "occupancy", "c-occupancy"];
/// Relative to mq-deadline.
const BOUND: f64 = 1.3;

const CASES: [(&str, Case); 4] = [
    ("flash, 64 held", Case { held: 64, flows: 16, depth: 32, disk: false }),
    ("flash, 4096 held", Case { held: 4096, flows: 256, depth: 32, disk: false }),
    ("disk, 64 held", Case { held: 64, flows: 16, depth: 1, disk: true }),
    ("disk, 4096 held", Case { held: 4096, flows: 256, depth: 1, disk: true }),
];

fn main() {
    let rows = kernel_model::rows();
    if run_if_asked(&rows.each_ref()) {
        return;
    }
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let mut names: Vec<&str> = ROWS.into_iter().filter(|_| words.is_empty()).collect();
    names.extend(words.iter().map(String::as_str));
    println!(
        "instructions for insertion, dispatch and completion of one request, and their ratio to mq-deadline's"
    );
    print!("{:<14}", "scheduler");
    CASES.iter().for_each(|(title, _)| print!(" {title:>22}"));
    println!();
    let asked: Vec<(&str, Case)> = std::iter::once(&"mq-deadline")
        .chain(&names)
        .flat_map(|name| CASES.map(|(_, case)| (*name, case)))
        .collect();
    let counts = instructions(&asked, &[]);
    let (usual, counts) = counts.split_at(CASES.len());
    for (name, counts) in names.into_iter().zip(counts.chunks(CASES.len())) {
        print!("{name:<14}");
        let mut most = 0f64;
        for (count, usual) in counts.iter().zip(usual) {
            most = most.max(count / usual);
            print!(" {count:>14.0} {:>7.2}", count / usual);
        }
        let verdict = if most <= BOUND { "kept" } else { "MISSED" };
        let verdict = if name.ends_with("occupancy") {
            format!("  at most {BOUND}: {verdict}")
        } else {
            String::new()
        };
        println!("{verdict}");
    }
    if words.is_empty() {
        println!("\nof c-occupancy, with the lock held");
        for (title, case) in CASES {
            let [insert, dispatch, complete] = held(case, &[]);
            println!(
                "{title:<18} insert {insert:.0}, dispatch {dispatch:.0}, complete {complete:.0}"
            );
        }
    }
}
