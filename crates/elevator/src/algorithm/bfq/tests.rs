//! Tests of bfq as a whole.

use super::*;
use crate::algorithm::blk_mq_testing::{check_extremes, check_random_drives};

#[test]
fn every_request_comes_out_once_whatever_is_merged_and_at_every_depth() {
    check_random_drives(&ROW);
}

#[test]
fn tunables_read_back_and_their_extremes_break_nothing() {
    check_extremes(&ROW);
}
