/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the elevators use of the kernel, as separate prototypes: for compiling them for releases
 * whose source is not at hand (crates/kernel-model/tests/it/releases.rs). Types have only the
 * members that are used, and the signatures are those of the release in LINUX_VERSION_CODE.
 *
 * Every header that the elevators include is this one.
 */
#ifndef SCHEDLAB_TESTS_BLOCK_LAYER_H
#define SCHEDLAB_TESTS_BLOCK_LAYER_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))
#define SINCE(a, b, c) (LINUX_VERSION_CODE >= KERNEL_VERSION(a, b, c))

#define CONFIG_BLK_DEBUG_FS 1
#define CONFIG_BLK_ICQ 1

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
typedef u64 sector_t;
typedef unsigned short umode_t;

/* Language. */
bool is_true(bool condition);
#define __maybe_unused __attribute__((unused))
#define __init
#define __exit
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((x) = (value))
#define WARN_ON(x) is_true(x)
#define WARN_ON_ONCE(x) is_true(x)
#define max(a, b) ((a) > (b) ? (a) : (b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define clamp(x, low, high) ((x) < (low) ? (low) : (x) > (high) ? (high) : (x))
#define swap(a, b) do { __typeof__(a) other_ = (a); (a) = (b); (b) = other_; } while (0)
#define container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))
#define pr_err(...) print(__VA_ARGS__)
void print(const char *format, ...);
int kstrtou64(const char *text, unsigned int base, u64 *out);

/* Modules. */
struct module;
#define THIS_MODULE ((struct module *)NULL)
#define module_init(function) int init_module(void) { return function(); }
#define module_exit(function) void cleanup_module(void) { function(); }
int init_module(void);
void cleanup_module(void);
#define MODULE_LICENSE(text) struct module
#define MODULE_AUTHOR(text) struct module
#define MODULE_DESCRIPTION(text) struct module
#define MODULE_PARM_DESC(name, text) struct module
#define module_param(name, type, mode) struct module
#define module_param_array(name, type, count, mode) struct module

/* Memory. */
typedef unsigned int gfp_t;
enum { GFP_KERNEL = 1, __GFP_RETRY_MAYFAIL = 2, __GFP_NOWARN = 4 };
#define NUMA_NO_NODE (-1)
unsigned int memalloc_noio_save(void);
void memalloc_noio_restore(unsigned int flags);
void *kzalloc(size_t size, gfp_t flags);
void *kzalloc_node(size_t size, gfp_t flags, int node);
void *kvzalloc_node(size_t size, gfp_t flags, int node);
void *kvcalloc(size_t count, size_t size, gfp_t flags);
void kfree(const void *memory);
void kvfree(const void *memory);

/* Locks, lists and trees. */
typedef struct { int held; } spinlock_t;
void spin_lock_init(spinlock_t *lock);
unsigned long lock_and_save(spinlock_t *lock);
#define spin_lock_irqsave(lock, flags) ((flags) = lock_and_save(lock))
void spin_unlock_irqrestore(spinlock_t *lock, unsigned long flags);
#define lockdep_assert_held(lock) ((void)(lock))

struct list_head { struct list_head *next, *prev; };
#define LIST_HEAD(name) struct list_head name = { &name, &name }
void INIT_LIST_HEAD(struct list_head *list);
void list_add(struct list_head *entry, struct list_head *list);
void list_add_tail(struct list_head *entry, struct list_head *list);
void list_del_init(struct list_head *entry);
bool list_empty(const struct list_head *list);
bool list_empty_careful(const struct list_head *list);
#define list_first_entry(list, type, member) container_of((list)->next, type, member)
#define list_for_each_entry(at, list, member)							\
	for ((at) = container_of((list)->next, __typeof__(*(at)), member);			\
	     &(at)->member != (list);								\
	     (at) = container_of((at)->member.next, __typeof__(*(at)), member))

struct rb_node { struct rb_node *left, *right; };
struct rb_root { struct rb_node *node; };
#define RB_ROOT (struct rb_root){ NULL }
struct rb_node *rb_prev(const struct rb_node *node);
struct rb_node *rb_next(const struct rb_node *node);

/* Time. hrtimer_init() was replaced in two steps. */
typedef s64 ktime_t;
typedef int clockid_type;
#define clockid_t clockid_type
#define CLOCK_MONOTONIC 1
enum hrtimer_mode { HRTIMER_MODE_ABS };
enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };
struct hrtimer { enum hrtimer_restart (*function)(struct hrtimer *timer); };
#if !SINCE(6, 15, 0)
void hrtimer_init(struct hrtimer *timer, clockid_t clock, enum hrtimer_mode mode);
#endif
#if SINCE(6, 13, 0)
void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *),
		   clockid_t clock, enum hrtimer_mode mode);
#endif
void hrtimer_start(struct hrtimer *timer, ktime_t at, enum hrtimer_mode mode);
int hrtimer_cancel(struct hrtimer *timer);
int hrtimer_try_to_cancel(struct hrtimer *timer);
ktime_t ns_to_ktime(u64 ns);
u64 ktime_get_ns(void);

/* Sysfs and debugfs. */
struct attribute { const char *name; umode_t mode; };
struct kobject { int count; };
void kobject_put(struct kobject *object);
struct seq_file;
void seq_printf(struct seq_file *file, const char *format, ...);
int sysfs_emit(char *page, const char *format, ...);
struct blk_mq_debugfs_attr {
	const char *name;
	umode_t mode;
	int (*show)(void *data, struct seq_file *file);
};

/* Tag maps. */
struct sbitmap { unsigned int depth, shift; u64 words[64]; };
struct sbitmap_queue { struct sbitmap sb; };
int sbitmap_queue_init_node(struct sbitmap_queue *sbq, unsigned int depth, int shift,
			    bool round_robin, gfp_t flags, int node);
int sbitmap_queue_get_shallow(struct sbitmap_queue *sbq, unsigned int depth);
void sbitmap_queue_min_shallow_depth(struct sbitmap_queue *sbq, unsigned int depth);
void sbitmap_queue_free(struct sbitmap_queue *sbq);

/* Operations and priorities. */
enum { READ, WRITE };
typedef unsigned int blk_opf_t;
enum req_op { REQ_OP_READ, REQ_OP_WRITE, REQ_OP_DISCARD = 3 };
bool op_is_sync(blk_opf_t opf);
bool op_is_write(blk_opf_t opf);
enum { IOPRIO_CLASS_NONE, IOPRIO_CLASS_RT, IOPRIO_CLASS_BE, IOPRIO_CLASS_IDLE };
enum { IOPRIO_BE_NORM = 4, IOPRIO_BE_NR = 8 };
#define IOPRIO_PRIO_CLASS(ioprio) ((ioprio) >> 13)

/* Processes. */
struct io_context { int count; };
struct io_cq { struct request_queue *q; struct io_context *ioc; };
struct task_struct { struct io_context *io_context; };
extern struct task_struct *current;
struct io_cq *ioc_find_get_icq(struct request_queue *q);
struct io_cq *ioc_lookup_icq(struct request_queue *q);
void put_io_context(struct io_context *ioc);

/* Queues. The flag of a disk without an arm became a feature in 6.11. */
struct gendisk;
sector_t get_capacity(struct gendisk *disk);
struct blk_mq_tag_set { unsigned int flags; };
struct request_queue {
	struct elevator_queue *elevator;
	struct request *last_merge;
	struct blk_mq_tag_set *tag_set;
	struct gendisk *disk;
	struct { unsigned int features; } limits;
	spinlock_t queue_lock;
	unsigned int nr_hw_queues, queue_flags;
#if SINCE(6, 18, 0)
	unsigned int nr_requests;
#else
	unsigned long nr_requests;
#endif
	int node;
};
#if SINCE(6, 11, 0)
#define BLK_FEAT_ROTATIONAL 4u
#else
#define blk_queue_nonrot(q) ((q)->queue_flags & 1)
#endif
enum { QUEUE_FLAG_SQ_SCHED = 1 };
void blk_queue_flag_set(unsigned int flag, struct request_queue *q);
unsigned int queue_max_sectors(const struct request_queue *q);

struct blk_mq_tags { unsigned int nr_tags; struct sbitmap_queue bitmap_tags; };
struct blk_mq_hw_ctx {
	struct request_queue *queue;
	struct blk_mq_tags *sched_tags;
	unsigned int queue_num;
};
struct blk_mq_alloc_data {
	struct request_queue *q;
	struct blk_mq_hw_ctx *hctx;
	unsigned int shallow_depth;
};
#define MAX_SCHED_RQ 2048
bool blk_mq_is_shared_tags(unsigned int flags);
struct blk_mq_hw_ctx *hctx_of(struct request_queue *q, unsigned long index);
#define queue_for_each_hw_ctx(q, hctx, i) for ((i) = 0; ((hctx) = hctx_of(q, i)); (i)++)
void blk_mq_run_hw_queues(struct request_queue *q, bool async);

/* Bios and requests. The flag of a request with an elevator was renamed in 6.5. */
struct bio {
	struct { sector_t bi_sector; } bi_iter;
	blk_opf_t bi_opf;
	unsigned short bi_ioprio;
};
unsigned int bio_sectors(const struct bio *bio);
sector_t bio_end_sector(const struct bio *bio);
enum req_op bio_op(const struct bio *bio);

struct request {
	struct request_queue *q;
	struct blk_mq_hw_ctx *mq_hctx;
	blk_opf_t cmd_flags;
	unsigned int rq_flags;
	int internal_tag;
	struct list_head queuelist;
	struct rb_node rb_node;
	u64 start_time_ns;
	struct { struct io_cq *icq; void *priv[2]; } elv;
};
#define rb_entry_rq(node) container_of(node, struct request, rb_node)
#if SINCE(6, 5, 0)
enum { RQF_STARTED = 1, RQF_USE_SCHED = 2 };
#else
enum { RQF_STARTED = 1, RQF_ELVPRIV = 2 };
#endif
sector_t blk_rq_pos(const struct request *rq);
unsigned int blk_rq_sectors(const struct request *rq);
enum req_op req_op(const struct request *rq);
unsigned short req_get_ioprio(struct request *rq);
int rq_data_dir(const struct request *rq);
bool rq_mergeable(struct request *rq);
void blk_mq_free_request(struct request *rq);
void trace_block_rq_insert(struct request *rq);

void blk_mq_sched_mark_restart_hctx(struct blk_mq_hw_ctx *hctx);
bool blk_mq_sched_try_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs,
			    struct request **merged);
bool blk_mq_sched_try_insert_merge(struct request_queue *q, struct request *rq,
				   struct list_head *free);

/* Elevators. */
enum elv_merge { ELEVATOR_NO_MERGE, ELEVATOR_FRONT_MERGE, ELEVATOR_BACK_MERGE };
struct elevator_type;
struct elevator_queue { struct elevator_type *type; void *elevator_data; struct kobject kobj; };
#if SINCE(6, 4, 0)
typedef unsigned int blk_insert_t;
#define BLK_MQ_INSERT_AT_HEAD 1u
#else
typedef bool blk_insert_t;
#endif

struct elevator_mq_ops {
#if SINCE(6, 16, 4)
	int (*init_sched)(struct request_queue *, struct elevator_queue *);
#else
	int (*init_sched)(struct request_queue *, struct elevator_type *);
#endif
	void (*exit_sched)(struct elevator_queue *);
	int (*init_hctx)(struct blk_mq_hw_ctx *, unsigned int);
#if SINCE(6, 17, 0)
	void (*depth_updated)(struct request_queue *);
#else
	void (*depth_updated)(struct blk_mq_hw_ctx *);
#endif
	bool (*allow_merge)(struct request_queue *, struct request *, struct bio *);
	bool (*bio_merge)(struct request_queue *, struct bio *, unsigned int);
	int (*request_merge)(struct request_queue *, struct request **, struct bio *);
	void (*request_merged)(struct request_queue *, struct request *, enum elv_merge);
	void (*requests_merged)(struct request_queue *, struct request *, struct request *);
	void (*limit_depth)(blk_opf_t, struct blk_mq_alloc_data *);
	void (*prepare_request)(struct request *);
	void (*finish_request)(struct request *);
	void (*insert_requests)(struct blk_mq_hw_ctx *, struct list_head *, blk_insert_t);
	struct request *(*dispatch_request)(struct blk_mq_hw_ctx *);
	bool (*has_work)(struct blk_mq_hw_ctx *);
	void (*completed_request)(struct request *, u64);
	struct request *(*former_request)(struct request_queue *, struct request *);
	struct request *(*next_request)(struct request_queue *, struct request *);
	void (*init_icq)(struct io_cq *);
	void (*exit_icq)(struct io_cq *);
};

struct elv_fs_entry {
	struct attribute attr;
	ssize_t (*show)(struct elevator_queue *, char *);
	ssize_t (*store)(struct elevator_queue *, const char *, size_t);
};

struct elevator_type {
	struct elevator_mq_ops ops;
	size_t icq_size, icq_align;
	const struct elv_fs_entry *elevator_attrs;
	const char *elevator_name;
	struct module *elevator_owner;
	const struct blk_mq_debugfs_attr *queue_debugfs_attrs;
};

#if !SINCE(6, 16, 4)
struct elevator_queue *elevator_alloc(struct request_queue *q, struct elevator_type *type);
#endif
int elv_register(struct elevator_type *type);
void elv_unregister(struct elevator_type *type);
bool elv_bio_merge_ok(struct request *rq, struct bio *bio);
void elv_rqhash_add(struct request_queue *q, struct request *rq);
void elv_rqhash_del(struct request_queue *q, struct request *rq);
void elv_rb_add(struct rb_root *root, struct request *rq);
void elv_rb_del(struct rb_root *root, struct request *rq);
struct request *elv_rb_find(struct rb_root *root, sector_t sector);
struct request *elv_rb_former_request(struct request_queue *q, struct request *rq);
struct request *elv_rb_latter_request(struct request_queue *q, struct request *rq);

#endif
