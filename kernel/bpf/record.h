/* SPDX-License-Identifier: GPL-2.0 */
/* Settings, records, and state between a request's tracepoints. */
#ifndef SCHEDLAB_BPF_RECORD_H
#define SCHEDLAB_BPF_RECORD_H

#include "kernel-types.h"

#define MAX_TARGETS 8
#define MAX_FILTERS 16
#define MAX_SCHEDULERS 8
#define MAX_DEPTH 32
#define MAX_BIOS 256

/* Device number, first sector, end sector, bio-based. */
#define TARGET_WORDS 4

const volatile u32 nr_targets = 0;
const volatile u64 targets[MAX_TARGETS * TARGET_WORDS] = {};
const volatile u32 nr_pids = 0;
const volatile u32 pids[MAX_FILTERS] = {};
/* Processes that started later (CLOCK_BOOTTIME) reuse a recorded pid. */
const volatile u64 pids_began_until = 0;
const volatile u32 nr_cgroups = 0;
const volatile u64 cgroups[MAX_FILTERS] = {};
enum { RECORD_IO = 1, RECORD_PROCESS = 2, RECORD_SCHEDULER = 3 };

/* record_io.flags, as trace::Flags. */
enum {
	FLAG_SYNC = 1 << 0,
	FLAG_META = 1 << 1,
	FLAG_FUA = 1 << 2,
	FLAG_PREFLUSH = 1 << 3,
	FLAG_AHEAD = 1 << 4,
	FLAG_BACKGROUND = 1 << 5,
	FLAG_PRIO = 1 << 6,
	FLAG_FAILED = 1 << 7,
	FLAG_REQUEUED = 1 << 8,
	FLAG_SWAP = 1 << 9,
};

/* As trace::Kind. */
enum { KIND_READ, KIND_WRITE, KIND_FLUSH, KIND_DISCARD, KIND_OTHER };

/* Read by crates/recorder/src/live/bpf/record.rs. Unknown times are 0. */
struct record_io {
	u32 what;
	u32 process;
	u64 sector;
	u32 sectors;
	u16 flags;
	u8 kind;
	u8 scheduler;
	u16 priority;
	u16 bios;
	u32 target;
	u64 queued;
	u64 entered;
	u64 tagged;
	u64 inserted;
	u64 issued;
	u64 completed;
};

struct record_process {
	u32 what;
	u32 number;
	u32 pid;
	u32 tid;
	u64 began;
	u64 cgroup;
	u64 io_context;
	u32 io_context_users;
	u32 unused;
	char name[16];
};

struct record_scheduler {
	u32 what;
	u32 number;
	char name[16];
};

struct asked {
	u32 process;
	u32 opf;
	u32 target;
	u32 unused;
};

#define ASKED_BITS 15
#define ASKED_WAYS 4

/* Keys are adjacent, so that a failed search reads one cache line. */
struct asked_set {
	u64 bio[ASKED_WAYS];
	u64 at[ASKED_WAYS];
	struct asked way[ASKED_WAYS];
};

/* A request from its first tracepoint to its completion, or a bio of a bio-based disk. */
struct open {
	u64 queued;
	u64 inserted;
	u64 issued;
	u64 sector;
	u32 sectors;
	u32 opf;
	u32 process;
	u16 flags;
	u16 bios;
	u16 priority;
	u8 scheduler;
	u8 target;
	u32 unused;
};

#define OPEN_BITS 14
#define OPEN_WAYS 4

struct open_set {
	u64 key[OPEN_WAYS];
	struct open way[OPEN_WAYS];
};

struct asked_way {
	struct asked *asked;
	u64 *bio;
	u64 at;
};

struct open_way {
	struct open *open;
	u64 *key;
};

/* A reported task. If one of these words changes, it is another process. */
struct known {
	u64 task;
	u64 began;
	u64 exec;
	u64 cgroup;
	u64 io_context;
	u32 number;
	u32 wanted;
};

#define KNOWN_BITS 12
#define KNOWN_WAYS 4

struct known_set {
	struct known way[KNOWN_WAYS];
};

/*
 * Causes of missing or incomplete requests: ring full, set full, completion or issue not seen. The
 * kernel skips a tracepoint whose program is already running on the CPU. One was seen to skip, and
 * not to count, what interrupted its first process: 1 completion in 300 next to two busy disks.
 */
enum { LOST_RING, LOST_OPEN, LOST_STALE, LOST_ISSUE, LOST_CAUSES };

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << ASKED_BITS);
	__type(key, u32);
	__type(value, struct asked_set);
} asked_bios SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << OPEN_BITS);
	__type(key, u32);
	__type(value, struct open_set);
} open_requests SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << KNOWN_BITS);
	__type(key, u32);
	__type(value, struct known_set);
} known_tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LOST_CAUSES);
	__type(key, u32);
	__type(value, u64);
} lost SEC(".maps");

/*
 * CLOCK_MONOTONIC at the start, 0 before it. Earlier events are ignored: while programs are being
 * attached, the kernel can skip others.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} trace_since SEC(".maps");

u32 processes = 0;
/* Types of reported schedulers. A scheduler's number is its index + 1. */
u64 schedulers[MAX_SCHEDULERS] = {};

#endif
