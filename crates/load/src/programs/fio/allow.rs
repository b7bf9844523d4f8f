//! The allowed options of a job file.
//!
//! fio has 250 options, and each version and engine adds more; many name files, start programs,
//! switch the scheduler or send requests to another machine. A deny list is safe only for known
//! versions; the worst case of an allow list is a missing harmless option. The same holds for
//! engines and characters of values.
//!
//! [C: HOWTO and options.c of fio 3.33; aliases are those of options.c]

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Passed on unchanged.
    Given,
    /// Dropped: affects only fio's output.
    LeftOut,
    /// Names a file in the directory under test, on a file system only.
    FileName,
    /// With reason and advice.
    Refused(&'static str),
    /// Hence refused.
    Unknown,
}

/// Each followed by its aliases.
const GIVEN: &[&[&str]] = &[
    // Kind of I/O.
    &["rw", "readwrite"],
    &["rw_sequencer"],
    &["bs", "blocksize"],
    &["ba", "blockalign"],
    &["bsrange", "blocksize_range"],
    &["bssplit"],
    &["bs_unaligned", "blocksize_unaligned"],
    &["bs_is_seq_rand"],
    &["rwmixread"],
    &["rwmixwrite"],
    &["size"],
    &["io_size", "io_limit"],
    &["filesize"],
    &["offset", "fileoffset"],
    &["offset_align"],
    &["offset_increment"],
    &["number_ios"],
    &["loops"],
    &["nrfiles", "nr_files"],
    &["openfiles"],
    &["file_service_type"],
    &["overwrite"],
    &["fallocate"],
    // Offsets.
    &["randrepeat", "allrandrepeat"],
    &["randseed"],
    &["norandommap"],
    &["softrandommap"],
    &["random_generator"],
    &["random_distribution"],
    &["percentage_random"],
    // Engine.
    &["ioengine"],
    &["iodepth"],
    &["iodepth_batch", "iodepth_batch_submit"],
    &["iodepth_batch_complete_min", "iodepth_batch_complete"],
    &["iodepth_batch_complete_max"],
    &["iodepth_low"],
    &["io_submit_mode"],
    &["serialize_overlap"],
    &["direct"],
    &["buffered"],
    &["sync"],
    &["fsync"],
    &["fdatasync"],
    &["sync_file_range"],
    &["end_fsync"],
    &["fsync_on_close"],
    &["invalidate"],
    &["fadvise_hint"],
    &["write_hint"],
    &["create_serialize"],
    &["create_fsync"],
    &["create_on_open"],
    // Options of the engines below.
    &["hipri"],
    &["hipri_percentage"],
    &["cmdprio_percentage"],
    &["cmdprio_class"],
    &["cmdprio"],
    &["cmdprio_bssplit"],
    &["fixedbufs"],
    &["registerfiles"],
    &["sqthread_poll"],
    &["sqthread_poll_cpu"],
    &["nonvectored"],
    &["uncached"],
    &["nowait"],
    &["force_async"],
    &["userspace_reap"],
    // Jobs and timing.
    &["numjobs"],
    &["thread"],
    &["stonewall", "wait_for_previous"],
    &["startdelay"],
    &["runtime", "timeout"],
    &["time_based"],
    &["ramp_time"],
    &["exitall"],
    &["exit_what"],
    &["exitall_on_error"],
    &["nice"],
    &["prio"],
    &["prioclass"],
    &["priohint"],
    &["cpumask"],
    &["cpus_allowed"],
    &["cpus_allowed_policy"],
    &["thinktime"],
    &["thinktime_spin"],
    &["thinktime_blocks"],
    &["thinktime_blocks_type"],
    &["thinktime_iotime"],
    &["rate"],
    &["rate_min", "ratemin"],
    &["rate_iops"],
    &["rate_iops_min"],
    &["rate_process"],
    &["rate_cycle", "ratecycle"],
    &["rate_ignore_thinktime"],
    &["max_latency"],
    &["latency_target"],
    &["latency_window"],
    &["latency_percentile"],
    &["latency_run"],
    &["flow"],
    &["flow_id"],
    &["flow_sleep"],
    &["clocksource"],
    &["kb_base"],
    // Buffer contents.
    &["zero_buffers"],
    &["refill_buffers"],
    &["scramble_buffers"],
    &["buffer_compress_percentage"],
    &["buffer_compress_chunk"],
    &["dedupe_percentage"],
    &["dedupe_mode"],
    &["dedupe_working_set_percentage"],
];

/// They affect only the output.
const LEFT_OUT: &[&str] = &[
    "description",
    "group_reporting",
    "new_group",
    "clat_percentiles",
    "lat_percentiles",
    "slat_percentiles",
    "percentile_list",
    "significant_figures",
    "unit_base",
    "unified_rw_reporting",
    "disk_util",
    "disable_slat",
    "disable_bw",
    "disable_bw_measurement",
    "bwavgtime",
    "iopsavgtime",
    "per_job_logs",
];

/// With a specific reason.
const REFUSED: &[(&[&str], &str)] = &[
    (
        &[
            "directory",
            "opendir",
            "filename_format",
            "unique_filename",
            "filetype",
            "lockfile",
            "file_append",
        ],
        "schedlab itself names the device or the directory under test; remove the line",
    ),
    (&["include"], "another file would be read; copy its lines into this one"),
    (&["name"], "give the section that name: [NAME]"),
    (
        &["exec_prerun", "exec_postrun", "profile"],
        "it would start a program that schedlab cannot watch; remove the line",
    ),
    (
        &["ioscheduler"],
        "it would switch the scheduler; name the schedulers as variants, e.g. --schedulers none,bfq",
    ),
    (
        &[
            "write_bw_log",
            "write_lat_log",
            "write_iops_log",
            "write_hist_log",
            "log_avg_msec",
            "log_hist_msec",
            "log_store_compressed",
            "log_compression",
            "write_iolog",
            "verify_dump",
            "verify_state_save",
            "verify_state_load",
            "merge_blktrace_file",
        ],
        "it would access a file outside the device under test; remove the line",
    ),
    (
        &["read_iolog", "replay_redirect"],
        "a recorded trace names other devices; use the workload replay:FILE",
    ),
    (
        &["cgroup", "cgroup_weight", "cgroup_nodelete"],
        "schedlab makes control groups itself; use the workload's io_weight= or io_max=",
    ),
    (&["uid", "gid"], "programs run as the user who started schedlab; remove the line"),
    (&["allow_mounted_write"], "a mounted device is never written; remove the line"),
    (
        &["unlink", "unlink_each_loop", "create_only", "fill_device", "fill_fs"],
        "schedlab itself makes and removes the files of a trial; remove the line",
    ),
    (
        &["disable_lat", "disable_clat", "gtod_reduce", "stats"],
        "there would be no latencies to compare; remove the line",
    ),
    (
        &["continue_on_error", "ignore_error"],
        "failed requests would be counted as successful; remove the line",
    ),
    (&["wait_for"], "fio does not report the order of its jobs; use stonewall in the later one"),
    (
        &["verify", "verify_only", "do_verify", "verify_pattern", "trim_percentage"],
        "its verification reads would be counted as load; remove the line",
    ),
];

/// Their requests go only to the named file or device.
pub(super) const ENGINES: &[&str] =
    &["psync", "sync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio", "mmap"];

pub(super) fn canonical(option: &str) -> &str {
    GIVEN.iter().find(|names| names.contains(&option)).map_or(option, |names| names[0])
}

/// Accepts aliases.
pub(super) fn classify(option: &str) -> Fate {
    if GIVEN.iter().any(|names| names.contains(&option)) {
        return Fate::Given;
    }
    if LEFT_OUT.contains(&option) {
        return Fate::LeftOut;
    }
    if option == "filename" {
        return Fate::FileName;
    }
    REFUSED
        .iter()
        .find(|(names, _)| names.contains(&option))
        .map_or(Fate::Unknown, |(_, why)| Fate::Refused(why))
}

/// The most similar allowed name.
pub(super) fn nearest(option: &str) -> Option<&'static str> {
    text::nearest(
        option,
        GIVEN.iter().flat_map(|names| names.iter().copied()).filter(|name| name.len() > 3),
    )
}

/// fio starts a shell for `$` (evaluated by bc) and reads files for quotes.
pub(super) fn is_plain(value: &str) -> bool {
    value.chars().all(|c| c.is_ascii_alphanumeric() || " _.,:%/+*()=-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_stands_in_two_lists() {
        let given = GIVEN.iter().flat_map(|names| names.iter());
        let refused = REFUSED.iter().flat_map(|(names, _)| names.iter());
        let mut all: Vec<&str> = given.chain(LEFT_OUT).chain(refused).copied().collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
    }

    #[test]
    fn an_option_that_reaches_outside_is_never_given() {
        let outside = "directory opendir filename_format exec_prerun exec_postrun write_bw_log write_lat_log write_iops_log \
             write_hist_log read_iolog write_iolog cgroup ioscheduler include verify_state_load verify_state_save verify_dump aux-path output \
             replay_redirect merge_blktrace_file uid gid profile name mem iomem lockmem hugepage-size allow_mounted_write \
             trigger client server hostname port program uri pool numa_mem_policy error_dump comm";
        for option in outside.split_whitespace() {
            assert!(matches!(classify(option), Fate::Refused(_) | Fate::Unknown), "{option}");
        }
        assert_eq!(classify("filename"), Fate::FileName);
    }

    #[test]
    fn a_value_cannot_reach_a_shell() {
        for value in
            ["4k", "randread:8", "zipf:1.2", "4k/60:64k/40", "1,4", "-1", "50%", "(2*1024)"]
        {
            assert!(is_plain(value), "{value}");
        }
        for value in
            ["$ncpus", "`id`", "'/etc/passwd'", "\"x\"", "a\\:b", "a;b", "a#b", "4k\n[x]", "ä"]
        {
            assert!(!is_plain(value), "{value}");
        }
    }
}
