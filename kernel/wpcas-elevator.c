// SPDX-License-Identifier: GPL-2.0
/*
 * The elevator `wpcas`: core/wpcas.c behind the glue, which makes wpcas-iosched.ko, and what it is
 * told of the disk's arm.
 *
 * The arm's parameters are those of the tunables of the same names, for queues that get the
 * elevator from then on; each queue's own can be changed in its iosched directory. Only the listed
 * distances (seek_first) have no tunable. Without any of them the disk has no arm, as in the
 * simulator, and nobody is waited for: no seek can be saved.
 */
#include "core/seek.h"
#include "iosched-glue.c"

#define MAX_LISTED 1024

static unsigned long long cylinders, cylinder_sectors;
static unsigned long long seek_knee, seek_a_ns, seek_b_ns, seek_c_ns, seek_e_ps;
static unsigned long long seek_first[MAX_LISTED];
static unsigned int nr_seek_first;

module_param(cylinders, ullong, 0444);
MODULE_PARM_DESC(cylinders, "cylinders of the disk; 0: no arm, no waiting");
module_param(cylinder_sectors, ullong, 0444);
MODULE_PARM_DESC(cylinder_sectors, "sectors of 512 bytes of a cylinder, on average; 0: no arm, no waiting");
module_param(seek_knee, ullong, 0444);
MODULE_PARM_DESC(seek_knee, "last distance, in cylinders, of a + b * sqrt(d)");
module_param(seek_a_ns, ullong, 0444);
MODULE_PARM_DESC(seek_a_ns, "a, in nanoseconds");
module_param(seek_b_ns, ullong, 0444);
MODULE_PARM_DESC(seek_b_ns, "b, in nanoseconds");
module_param(seek_c_ns, ullong, 0444);
MODULE_PARM_DESC(seek_c_ns, "c of c + e * d beyond, in nanoseconds");
module_param(seek_e_ps, ullong, 0444);
MODULE_PARM_DESC(seek_e_ps, "e, in picoseconds");
module_param_array(seek_first, ullong, &nr_seek_first, 0444);
MODULE_PARM_DESC(seek_first, "nanoseconds for the distances 1, 2, 3, ...: they win over the curve");

static struct core_seek_curve curve;

static void wpcas_configure(struct core_config *config)
{
	config->cylinders = cylinders;
	config->sectors_per_cylinder = cylinder_sectors;
	config->seek = &curve;
}

/* A parameter beyond the bounds of its tunable is a mistake. */
static int check(const char *name, u64 value)
{
	u32 at;

	for (at = 0; at < core_wpcas.nr_tunables; at++) {
		const struct core_tunable *row = &core_wpcas.tunables[at];

		if (strcmp(row->name, name) || (value >= row->min && value <= row->max))
			continue;
		pr_err("wpcas: %s=%llu is not between %llu and %llu\n", name, value, row->min,
		       row->max);
		return -EINVAL;
	}
	return 0;
}

static int __init wpcas_init(void)
{
	unsigned int at;

	if (check("cylinders", cylinders) || check("cylinder_sectors", cylinder_sectors) ||
	    check("seek_knee", seek_knee) || check("seek_a_ns", seek_a_ns) ||
	    check("seek_b_ns", seek_b_ns) || check("seek_c_ns", seek_c_ns) ||
	    check("seek_e_ps", seek_e_ps))
		return -EINVAL;
	for (at = 0; at < nr_seek_first; at++) {
		if (check("seek_a_ns", seek_first[at]))
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
	return iosched_register(&core_wpcas, wpcas_configure);
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
