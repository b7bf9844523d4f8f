//! PostMark against its source: draws, counts, the file table, and I/O.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn postmark(setup: PostmarkParams, block: u32) -> Postmark {
    let region = Layout::least(&setup, block.into()).blocks() * u64::from(block);
    Postmark::new(&setup, block, region, 42)
}

/// Runs to the end; false if `each` stops it.
fn run(postmark: &mut Postmark, mut each: impl FnMut(&Postmark)) {
    loop {
        postmark.queue.clear();
        postmark.advance();
        each(postmark);
        if matches!(postmark.phase, Phase::Delete(slot) if slot == postmark.files.slots()) {
            return;
        }
    }
}

#[test]
fn the_first_files_have_the_sizes_that_postmark_gives_them() {
    // 500 + MT(42) mod 9500, after the 20,000 draws that fill the buffer; computed with CPython's
    // generator.
    let mut postmark = postmark(PostmarkParams::default(), 512);
    (0..5).for_each(|_| postmark.advance());
    let sizes: Vec<u32> = (0..5).map(|slot| postmark.files.get(slot).size).collect();
    assert_eq!(sizes, [1390, 4732, 3583, 6507, 9640]);
}

#[test]
fn a_run_with_the_defaults_has_the_counts_that_the_program_reports() {
    let mut postmark = postmark(PostmarkParams::default(), 512);
    let (mut requests, mut at_last, mut in_transactions) =
        (0, Counts::default(), Counts::default());
    run(&mut postmark, |at| {
        requests += at.queue.len();
        at_last = at.counts;
        if let Phase::Transactions(_) = at.phase {
            in_transactions = at.counts;
        }
    });
    // PostMark's output after `run` with default settings [C, published outputs]: 764 created, 264
    // of them mixed with transactions; 243 read; 257 appended; 764 deleted, 236 of them mixed; 1.36
    // MB read, 4.45 MB written.
    let Counts { bytes_read, bytes_written, .. } = at_last;
    let counts = (at_last.created, at_last.deleted, at_last.read, at_last.appended);
    assert_eq!(
        (counts, in_transactions.created, in_transactions.deleted),
        ((764, 764, 243, 257), 764, 236)
    );
    let hundredths = |bytes: u64| (bytes * 100 + (1 << 19)) >> 20;
    assert_eq!((hundredths(bytes_read), hundredths(bytes_written)), (136, 445));
    assert_eq!(requests, 14_446, "docs/internals/workloads.md says so");
}

#[test]
fn halves_of_transactions_are_as_many_as_the_biases_say() {
    for (bias_read, bias_create) in [(5, 5), (8, 6), (2, 5)] {
        let (transactions, number) = (20_000, 2_000);
        let setup = PostmarkParams {
            number,
            transactions,
            size_max: 100_000,
            bias_read: Some(bias_read),
            bias_create: Some(bias_create),
            ..PostmarkParams::default()
        };
        let mut postmark = postmark(setup, 4096);
        let (mut mixed, mut full, mut out) = (Counts::default(), false, false);
        run(&mut postmark, |at| {
            if let Phase::Transactions(_) = at.phase {
                mixed = at.counts;
                full |= at.files.in_use() == 2 * number;
                out |= at.files.in_use() == 0;
            }
        });
        assert!(!full && !out || bias_create != 5, "the case is a plain one");
        let within = |seen: u64, bias: u8| {
            let expected = f64::from(transactions) * f64::from(bias) / 10.0;
            (seen as f64 - expected).abs()
                < 4.5 * (expected * (1.0 - f64::from(bias) / 10.0)).sqrt()
        };
        assert!(within(mixed.read, bias_read), "{mixed:?} for bias_read {bias_read}");
        if bias_create == 5 {
            let created = mixed.created - u64::from(number);
            assert!(within(created, 5) && within(mixed.deleted, 5), "{mixed:?}");
            assert_eq!(created + mixed.deleted, u64::from(transactions));
        } else {
            assert!(full, "more creates than deletes fill the table");
        }
    }
}

#[test]
fn biases_of_nothing_all_and_off_do_what_they_say() {
    let counts = |bias_read, bias_create| {
        let setup =
            PostmarkParams { number: 50, bias_read, bias_create, ..PostmarkParams::default() };
        let mut postmark = postmark(setup, 512);
        let mut seen = Counts::default();
        run(&mut postmark, |at| {
            if let Phase::Transactions(_) = at.phase {
                seen = at.counts;
            }
        });
        (seen.created, seen.deleted, seen.read, seen.appended)
    };
    assert_eq!(counts(Some(10), None), (50, 0, 500, 0));
    let appending = counts(Some(0), None);
    assert_eq!((appending.0, appending.1, appending.2), (50, 0, 0));
    assert!((50..500).contains(&appending.3), "files that are full grow no more: {appending:?}");
    assert_eq!(counts(None, Some(10)), (100, 0, 0, 0), "the table is full");
    assert_eq!(counts(None, Some(0)), (50, 50, 0, 0), "out of files");
}

#[test]
fn after_a_run_everything_is_free_and_the_same_run_begins_again() {
    let setup = PostmarkParams {
        number: 20,
        transactions: 60,
        subdirectories: 3,
        ..PostmarkParams::default()
    };
    let mut postmark = postmark(setup, 512);
    let fresh = postmark.free.clone();
    run(&mut postmark, |_| ());
    assert_eq!((postmark.files.in_use(), postmark.counts.created), (0, postmark.counts.deleted));
    assert_eq!(postmark.free, fresh);
    postmark.queue.clear();
    let first: Vec<Request> = (0..2_000).map(|_| postmark.pick().unwrap()).collect();
    let mut again = super::Postmark::new(&postmark.setup, 512, postmark.layout.blocks() * 512, 42);
    let second: Vec<Request> = (0..2_000).map(|_| again.pick().unwrap()).collect();
    assert_eq!(first, second);
}

#[test]
fn reading_a_file_moves_what_creating_it_wrote_and_metadata_can_be_left_out() {
    let setup = PostmarkParams { read_block: 2048, metadata: false, ..PostmarkParams::default() };
    let mut postmark = postmark(setup, 512);
    postmark.advance();
    let written: Vec<Request> = postmark.queue.drain(..).collect();
    postmark.read(0);
    let read: Vec<Request> = postmark.queue.drain(..).collect();
    assert_eq!((written.len(), read.len()), (3, 1), "1390 bytes are three blocks of 512 bytes");
    assert_eq!((read[0].offset, read[0].len), (written[0].offset, 1536));
    postmark.setup.metadata = true;
    postmark.delete(0);
    assert_eq!(postmark.queue.len(), 1, "deleting is one write of metadata");
}

#[test]
fn an_append_writes_from_the_block_that_was_partly_filled() {
    let setup = PostmarkParams {
        size_min: 700,
        size_max: 5000,
        metadata: false,
        ..PostmarkParams::default()
    };
    let mut postmark = postmark(setup, 512);
    postmark.advance();
    let before = postmark.files.get(0).clone();
    postmark.queue.clear();
    postmark.append(0);
    let after = postmark.files.get(0);
    assert!(after.size > before.size && after.size <= 5000);
    let first = before.runs[0].start + u64::from(before.size) / 512;
    assert_eq!(postmark.queue[0].offset, first * 512);
    let blocks = u64::from(after.size).div_ceil(512) - u64::from(before.size) / 512;
    assert_eq!(postmark.queue.len() as u64, blocks);
}

proptest! {
    #[test]
    fn files_hold_their_bytes_never_share_a_block_and_keep_off_the_metadata(
        number in 1u32..20, transactions in 0u32..80, sizes in (1u32..3000, 0u32..3000), subdirectories in 0u32..4,
        biases in (0u8..11, 0u8..11), metadata: bool, shift in 0u32..4, seed: u32,
    ) {
        let setup = PostmarkParams {
            number, transactions, subdirectories, metadata,
            size_min: sizes.0, size_max: sizes.0 + sizes.1,
            bias_read: Some(biases.0), bias_create: Some(biases.1),
            ..PostmarkParams::default()
        };
        let block = 512u32 << shift;
        let region = Layout::least(&setup, block.into()).blocks() * u64::from(block);
        let mut postmark = Postmark::new(&setup, block, region, seed);
        let mut problem = None;
        run(&mut postmark, |at| {
            let mut used = BTreeSet::new();
            let mut blocks = 0;
            let mut files = 0;
            for slot in (0..at.files.slots()).filter(|slot| at.files.is_used(*slot)) {
                let file = at.files.get(slot);
                files += 1;
                let own: u64 = file.runs.iter().map(|run| run.len).sum();
                blocks += own;
                used.extend(file.runs.iter().flat_map(|run| run.start..run.end()));
                if own != u64::from(file.size).div_ceil(block.into()) || file.size > setup.size_max {
                    problem = Some(format!("{file:?}"));
                }
            }
            let total: u64 = at.layout.data().map(|run| run.len).sum();
            let of_metadata = |block: &u64| block % at.layout.group < at.layout.metadata;
            if used.len() as u64 != blocks || blocks + at.free.free() != total || used.iter().any(of_metadata) {
                problem = Some(format!("blocks: {blocks} of {} distinct, {} free of {total}", used.len(), at.free.free()));
            }
            if files != at.files.in_use() || at.counts.created - at.counts.deleted != u64::from(files) {
                problem = Some(format!("{files} files: {:?}", at.counts));
            }
        });
        prop_assert_eq!(problem, None);
    }
}
