// SPDX-License-Identifier: GPL-2.0
/*
 * Per-process data: one struct iosched_icq per io_context and queue, and a process's share of tags.
 *
 * A process may exit while it has requests in the core. The exit is reported with the last of them;
 * until then their references keep the io_cq.
 */
#include <linux/list.h>

#include "iosched.h"

static void report_exit(struct iosched *io, u64 now, struct iosched_icq *icq)
{
	icq->exit_reported = true;
	list_del_init(&icq->link);
	io->ops->exited(io->core, now, icq_process(icq));
}

/* Uncounts a request; @icq may be NULL. */
void iosched_put_icq(struct iosched *io, u64 now, struct iosched_icq *icq)
{
	if (!icq || --icq->nr_requests || !icq->exited || icq->exit_reported)
		return;
	report_exit(io, now, icq);
}

void iosched_init_icq(struct io_cq *io_cq)
{
	struct iosched *io = iosched_of(io_cq->q);
	struct iosched_icq *icq = to_iosched_icq(io_cq);
	unsigned long flags;

	icq->nr_requests = 0;
	icq->exited = false;
	icq->exit_reported = false;
	memset(icq->process, 0, io->ops->process_size);
	spin_lock_irqsave(&io->lock, flags);
	list_add_tail(&icq->link, &io->icqs);
	spin_unlock_irqrestore(&io->lock, flags);
}

/* On process exit or elevator removal, under ioc->lock. */
void iosched_exit_icq(struct io_cq *io_cq)
{
	struct iosched *io = iosched_of(io_cq->q);
	struct iosched_icq *icq = to_iosched_icq(io_cq);
	unsigned long flags;

	spin_lock_irqsave(&io->lock, flags);
	icq->exited = true;
	if (!icq->nr_requests && !icq->exit_reported) {
		report_exit(io, iosched_clock(io, ktime_get_ns()), icq);
		iosched_set_timer(io);
	}
	spin_unlock_irqrestore(&io->lock, flags);
}

/*
 * 2.6.20 has a pool per direction, which the anticipated process may exceed. blk-mq has one pool,
 * which async writes could use up and nothing can exceed. Therefore async requests get at most
 * three quarters of the tags, and an eighth is reserved for the anticipated process.
 */
void iosched_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data)
{
	struct iosched *io = iosched_of(data->q);
	unsigned int total = data->q->nr_requests;
	struct io_cq *io_cq;
	unsigned long flags;
	bool may_exceed;

	if (io->ops->shares)
		return;
	if (!op_is_sync(opf)) {
		compat_limit(data, max(1u, total - total / 4), total, iosched_whole_depth);
		return;
	}
	io_cq = compat_find_icq(data->q);
	if (io_cq) {
		spin_lock_irqsave(&io->lock, flags);
		may_exceed = io->ops->may_exceed(io->core, icq_process(to_iosched_icq(io_cq)));
		spin_unlock_irqrestore(&io->lock, flags);
		if (may_exceed)
			return;
	}
	compat_limit(data, max(1u, total - total / 8), total, iosched_whole_depth);
}
