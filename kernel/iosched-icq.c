// SPDX-License-Identifier: GPL-2.0
/*
 * Per-process data, and a process's share of the tags.
 *
 * A process may exit with requests in the core. Its exit is then reported with the last completion;
 * until then the requests' references keep the io_cq.
 */
#include <linux/list.h>

#include "iosched.h"

static void report_exit(struct iosched *io, u64 now, struct iosched_icq *icq)
{
	icq->exit_reported = true;
	list_del_init(&icq->link);
	io->ops->exited(io->core, now, icq_process(icq));
}

/* Undoes the count of a request. @icq may be NULL. */
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

/* Called under ioc->lock, when the process exits or the elevator is removed. */
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
 * 2.6.20 has one request pool per direction, and as_may_queue() lets the anticipated process exceed
 * it. blk-mq has one pool with a hard limit, which async writes could exhaust. Async requests
 * therefore get at most three quarters of the tags, and one eighth is reserved for the anticipated
 * process. With core_ops.shares all writes get three quarters, if the core asks for that.
 */
void iosched_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data)
{
	struct iosched *io = iosched_of(data->q);
	unsigned int total = data->q->nr_requests;
	struct io_cq *io_cq;
	unsigned long flags;
	bool may_exceed;

	if (io->ops->shares && (!op_is_write(opf) || io->ops->may_exceed(io->core, NULL)))
		return;
	if (io->ops->shares || !op_is_sync(opf)) {
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
