/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fields of kernel structures that record.bpf.c reads. The loader relocates them with the
 * running kernel's BTF, so only names and types matter.
 */
#ifndef SCHEDLAB_KERNEL_TYPES_H
#define SCHEDLAB_KERNEL_TYPES_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef _Bool bool;

#define false 0
#define true 1
#define NULL ((void *)0)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	u64 id;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct blkcg {
	struct cgroup_subsys_state css;
};

struct blkcg_gq {
	struct blkcg *blkcg;
};

typedef struct {
	int counter;
} atomic_t;

struct io_context {
	atomic_t active_ref;
};

struct task_struct {
	unsigned int flags;
	int pid;
	int tgid;
	u64 start_boottime;
	u64 self_exec_id;
	struct css_set *cgroups;
	struct io_context *io_context;
};

struct elevator_type {
	const char *elevator_name;
};

struct elevator_queue {
	struct elevator_type *type;
};

struct gendisk {
	int major;
	int first_minor;
};

struct request_queue {
	struct elevator_queue *elevator;
	struct gendisk *disk;
};

struct block_device {
	u64 bd_start_sect;
	struct gendisk *bd_disk;
};

struct bvec_iter {
	u64 bi_sector;
	unsigned int bi_size;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	unsigned short bi_ioprio;
	struct bvec_iter bi_iter;
	struct blkcg_gq *bi_blkg;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	u64 __sector;
	struct bio *bio;
	struct bio *biotail;
	u64 alloc_time_ns;
	u64 start_time_ns;
};

#pragma clang attribute pop

/* The loader inserts the running kernel's values, see flags_of(). */
enum req_flag_bits {
	__REQ_SYNC,
	__REQ_META,
	__REQ_PRIO,
	__REQ_FUA,
	__REQ_PREFLUSH,
	__REQ_RAHEAD,
	__REQ_BACKGROUND,
	__REQ_SWAP,
};

/* These numbers have never changed. */
enum {
	REQ_OP_MASK = 0xff,
	REQ_OP_READ = 0,
	REQ_OP_WRITE = 1,
	REQ_OP_FLUSH = 2,
	REQ_OP_DISCARD = 3,
	REQ_OP_SECURE_ERASE = 5,
	REQ_OP_WRITE_ZEROES = 9,
};

#define PF_KTHREAD 0x00200000

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static long (*bpf_get_current_comm)(void *buf, u32 size) = (void *)16;
static long (*bpf_probe_read_kernel_str)(void *dst, u32 size, const void *from) = (void *)115;
static void *(*bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static struct task_struct *(*bpf_get_current_task_btf)(void) = (void *)158;

#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_RB_NO_WAKEUP 1

#define SEC(name) __attribute__((section(name), used))
#define __always_inline inline __attribute__((always_inline))
#define __uint(name, value) int (*name)[value]
#define __type(name, value) value *name

#define field_exists(field) __builtin_preserve_field_info(field, 2)
#define enum_exists(type, value) __builtin_preserve_enum_value(*(type *)value, 0)
#define enum_value(type, value) __builtin_preserve_enum_value(*(type *)value, 1)

#endif
