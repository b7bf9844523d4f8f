// SPDX-License-Identifier: GPL-2.0
/*
 * wpcas-iosched.ko: the elevator of core/wpcas.c.
 *
 * The module parameters describe the disk. Except for seek_first, they are initial values of the
 * tunables of the same name, for queues that select the elevator later. Without cylinders and
 * cylinder_sectors the core never idles.
 */
#include "core/seek.h"
#include "iosched.h"

#define MAX_LISTED 1024

static unsigned long long cylinders, cylinder_sectors;
static unsigned long long seek_knee, seek_a_ns, seek_b_ns, seek_c_ns, seek_e_ps;
static unsigned long long seek_first[MAX_LISTED];
static unsigned int nr_seek_first;

module_param(cylinders, ullong, 0444);
MODULE_PARM_DESC(cylinders, "cylinders of the disk; 0: geometry unknown, no idling");
module_param(cylinder_sectors, ullong, 0444);
MODULE_PARM_DESC(cylinder_sectors, "512-byte sectors per cylinder, on average; 0: geometry unknown, no idling");
module_param(seek_knee, ullong, 0444);
MODULE_PARM_DESC(seek_knee, "largest distance d, in cylinders, with seek time a + b * sqrt(d)");
module_param(seek_a_ns, ullong, 0444);
MODULE_PARM_DESC(seek_a_ns, "a in nanoseconds");
module_param(seek_b_ns, ullong, 0444);
MODULE_PARM_DESC(seek_b_ns, "b in nanoseconds");
module_param(seek_c_ns, ullong, 0444);
MODULE_PARM_DESC(seek_c_ns, "c in nanoseconds, for longer distances with seek time c + e * d");
module_param(seek_e_ps, ullong, 0444);
MODULE_PARM_DESC(seek_e_ps, "e in picoseconds");
module_param_array(seek_first, ullong, &nr_seek_first, 0444);
MODULE_PARM_DESC(seek_first, "seek times in nanoseconds for the distances 1, 2, 3, ...; take precedence over the curve");

static struct core_seek_curve curve;

static void wpcas_configure(struct core_config *config)
{
	config->cylinders = cylinders;
	config->sectors_per_cylinder = cylinder_sectors;
	config->seek = &curve;
}

/* The bounds are those of the tunables. */
static int check(const char *name, u64 value)
{
	u32 i;

	for (i = 0; i < core_wpcas.nr_tunables; i++) {
		const struct core_tunable *row = &core_wpcas.tunables[i];

		if (strcmp(row->name, name) || (value >= row->min && value <= row->max))
			continue;
		pr_err("wpcas: %s: value out of range (found %llu, expected %llu to %llu)\n", name,
		       value, row->min, row->max);
		return -EINVAL;
	}
	return 0;
}

static int __init wpcas_init(void)
{
	unsigned int i;

	if (check("cylinders", cylinders) || check("cylinder_sectors", cylinder_sectors) ||
	    check("seek_knee", seek_knee) || check("seek_a_ns", seek_a_ns) ||
	    check("seek_b_ns", seek_b_ns) || check("seek_c_ns", seek_c_ns) ||
	    check("seek_e_ps", seek_e_ps))
		return -EINVAL;
	for (i = 0; i < nr_seek_first; i++) {
		if (check("seek_a_ns", seek_first[i]))
			return -EINVAL;
	}
	curve = (struct core_seek_curve){
		.first = (const u64 *)seek_first,
		.nr_first = nr_seek_first,
		.knee = seek_knee,
		.a_ns = seek_a_ns,
		.b_ns = seek_b_ns,
		.c_ns = seek_c_ns,
		.e_ps = seek_e_ps,
	};
	return iosched_register(&core_wpcas, wpcas_configure, false);
}

static void __exit wpcas_exit(void)
{
	iosched_unregister();
}

module_init(wpcas_init);
module_exit(wpcas_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("schedlab");
MODULE_DESCRIPTION("WPCAS I/O scheduler for blk-mq");
