// SPDX-License-Identifier: GPL-2.0
/*
 * modeldisk: a block device with the service times of the simulator's disk, configured through
 * configfs.
 *
 *   mkdir /sys/kernel/config/modeldisk/NAME; cat TABLES > NAME/tables; echo 1 > NAME/power
 *
 * creates /dev/NAME. Attributes; those before power are constant while the power is on:
 *
 * tables         the model, as written by `DeviceModel::tables` of crates/sim; checked at power-on,
 *                because errors of close are lost
 * queue_depth    commands that the disk accepts at once; 0: the model's, also the maximum
 * nr_requests    tags of the adapter; 0: 32, or the queue depth if larger
 * memory_backed  1: stores written data; 0: reads do not fill their buffers
 * log            number of commands to log in debugfs
 * submit_ns      CPU time of a request before it reaches the disk; see burn()
 * complete_ns    CPU time after the disk has completed it
 * charge_all     1: a request costs all of it; 0: less what the CPU has worked between requests
 * timeout_ms     request timeout of the block layer
 * power          1: creates the disk; 0: removes it after its requests have completed
 * epoch          resets the idle model, log and counters, with time 0 at this CLOCK_MONOTONIC in ns
 * error_sector, error_count   fail this number of requests that cover the sector
 * timeout_sector let requests that cover the sector time out; -1: none
 * gone           1: fail all requests until power is 0
 *
 * In the first 10 ms after boot timers have the tick's resolution, so completions are late; the
 * model's times are not affected.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "modeldisk-device.h"

/* A million cylinders, 4096 zones. */
#define MOST_TABLES	(5u << 20)
#define MOST_LOG	(16u << 20)
#define MOST_TAGS	10240u
/* The largest cost in crates/sim/src/host.rs, times 100 and a margin. */
#define MOST_CPU_NS	1000000u

static struct modeldisk *dev_of(struct config_item *item)
{
	return container_of(item, struct modeldisk, item);
}

static ssize_t store_fixed(struct modeldisk *dev, unsigned int *field, unsigned int most,
			   const char *text, size_t len)
{
	unsigned int value;
	int error = kstrtouint(text, 0, &value);

	if (error)
		return error;
	if (value > most)
		return -ERANGE;
	mutex_lock(&dev->mutex);
	if (dev->on)
		error = -EBUSY;
	else
		*field = value;
	mutex_unlock(&dev->mutex);
	return error ? error : len;
}

/* A number that is constant while the power is on. */
#define FIXED_NUMBER(name, field, most)								\
static ssize_t dev_##name##_show(struct config_item *item, char *page)				\
{												\
	return sysfs_emit(page, "%u\n", dev_of(item)->field);					\
}												\
static ssize_t dev_##name##_store(struct config_item *item, const char *text, size_t len)	\
{												\
	struct modeldisk *dev = dev_of(item);							\
												\
	return store_fixed(dev, &dev->field, most, text, len);					\
}												\
CONFIGFS_ATTR(dev_, name)

FIXED_NUMBER(nr_requests, nr_requests, MOST_TAGS);
FIXED_NUMBER(queue_depth, queue_depth, 65535);
FIXED_NUMBER(memory_backed, memory_backed, 1);
FIXED_NUMBER(submit_ns, submit_ns, MOST_CPU_NS);
FIXED_NUMBER(complete_ns, complete_ns, MOST_CPU_NS);
FIXED_NUMBER(charge_all, charge_all, 1);
FIXED_NUMBER(timeout_ms, timeout_ms, 3600000);
FIXED_NUMBER(log, log_entries, MOST_LOG);

/* A number of the running disk; -1 for none if allowed. */
#define LIVE_NUMBER(name)									\
static ssize_t dev_##name##_show(struct config_item *item, char *page)				\
{												\
	return sysfs_emit(page, "%lld\n", (long long)READ_ONCE(dev_of(item)->name));		\
}												\
static ssize_t dev_##name##_store(struct config_item *item, const char *text, size_t len)	\
{												\
	struct modeldisk *dev = dev_of(item);							\
												\
	return store_live(dev, &dev->name, text, len);						\
}												\
CONFIGFS_ATTR(dev_, name)

static ssize_t store_live(struct modeldisk *dev, u64 *field, const char *text, size_t len)
{
	unsigned long flags;
	long long value;
	int error = kstrtoll(text, 0, &value);

	if (error)
		return error;
	if (value < -1)
		return -ERANGE;
	mutex_lock(&dev->mutex);
	if (dev->on) {
		spin_lock_irqsave(&dev->lock, flags);
		*field = value;
		spin_unlock_irqrestore(&dev->lock, flags);
	} else {
		error = -ENODEV;
	}
	mutex_unlock(&dev->mutex);
	return error ? error : len;
}

LIVE_NUMBER(error_sector);
LIVE_NUMBER(error_count);
LIVE_NUMBER(timeout_sector);

static ssize_t dev_gone_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(dev_of(item)->gone));
}

static ssize_t dev_gone_store(struct config_item *item, const char *text, size_t len)
{
	struct modeldisk *dev = dev_of(item);
	bool gone;
	int error = kstrtobool(text, &gone);

	if (error)
		return error;
	if (!gone)
		return -EINVAL;	/* only power brings the disk back */
	mutex_lock(&dev->mutex);
	if (dev->on)
		modeldisk_be_gone(dev);
	else
		error = -ENODEV;
	mutex_unlock(&dev->mutex);
	return error ? error : len;
}

static ssize_t dev_epoch_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%llu\n", READ_ONCE(dev_of(item)->epoch_ns));
}

static ssize_t dev_epoch_store(struct config_item *item, const char *text, size_t len)
{
	struct modeldisk *dev = dev_of(item);
	u64 epoch;
	int error = kstrtou64(text, 0, &epoch);

	if (error)
		return error;
	if (epoch > KTIME_MAX / 2)
		return -ERANGE;
	mutex_lock(&dev->mutex);
	error = dev->on ? modeldisk_restart(dev, epoch) : -ENODEV;
	mutex_unlock(&dev->mutex);
	return error ? error : len;
}

/* Checks the configuration and sets defaults. The tables have been written. */
static int settle(struct modeldisk *dev)
{
	unsigned int depth;

	if (!core_disk_size(dev->tables, dev->tables_len))
		return -EINVAL;
	depth = core_disk_tables_depth(dev->tables);
	if (dev->queue_depth > depth)
		return -ERANGE;
	if (!dev->queue_depth)
		dev->queue_depth = depth;
	if (!dev->nr_requests)
		dev->nr_requests = clamp_t(unsigned int, dev->queue_depth, MODELDISK_ADAPTER_TAGS,
					   MOST_TAGS);
	return 0;
}

static int power_on(struct modeldisk *dev)
{
	int error = dev->tables ? settle(dev) : -EINVAL;

	if (!error)
		error = modeldisk_queue_make(dev);
	if (error)
		pr_err("modeldisk: %s cannot be made (%d)%s\n", config_item_name(&dev->item), error,
		       error == -EINVAL ? ": the tables are missing or malformed" :
		       error == -ERANGE ? ": the model does not take so many requests at once" :
			       "");
	dev->on = !error;
	return error;
}

static void power_off(struct modeldisk *dev)
{
	if (dev->on)
		modeldisk_queue_remove(dev);
	dev->on = false;
}

static ssize_t dev_power_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(dev_of(item)->on));
}

static ssize_t dev_power_store(struct config_item *item, const char *text, size_t len)
{
	struct modeldisk *dev = dev_of(item);
	bool on;
	int error = kstrtobool(text, &on);

	if (error)
		return error;
	mutex_lock(&dev->mutex);
	if (!on)
		power_off(dev);
	else if (!dev->on)
		error = power_on(dev);
	mutex_unlock(&dev->mutex);
	return error ? error : len;
}

CONFIGFS_ATTR(dev_, gone);
CONFIGFS_ATTR(dev_, epoch);
CONFIGFS_ATTR(dev_, power);

static ssize_t dev_tables_read(struct config_item *item, void *to, size_t len)
{
	struct modeldisk *dev = dev_of(item);
	size_t have;

	mutex_lock(&dev->mutex);
	have = dev->tables_len;
	/* configfs first calls without a buffer, for the length. */
	if (to && len >= have)
		memcpy(to, dev->tables, have);
	mutex_unlock(&dev->mutex);
	return have;
}

static ssize_t dev_tables_write(struct config_item *item, const void *from, size_t len)
{
	struct modeldisk *dev = dev_of(item);
	void *tables = vmalloc(max_t(size_t, len, 1));
	ssize_t answer = len;

	if (!tables)
		return -ENOMEM;
	memcpy(tables, from, len);
	mutex_lock(&dev->mutex);
	if (dev->on) {
		answer = -EBUSY;
		vfree(tables);
	} else {
		vfree(dev->tables);
		dev->tables = tables;
		dev->tables_len = len;
	}
	mutex_unlock(&dev->mutex);
	return answer;
}

CONFIGFS_BIN_ATTR(dev_, tables, NULL, MOST_TABLES);

static struct configfs_attribute *dev_attributes[] = {
	&dev_attr_nr_requests,
	&dev_attr_queue_depth,
	&dev_attr_memory_backed,
	&dev_attr_submit_ns,
	&dev_attr_complete_ns,
	&dev_attr_charge_all,
	&dev_attr_timeout_ms,
	&dev_attr_log,
	&dev_attr_power,
	&dev_attr_epoch,
	&dev_attr_error_sector,
	&dev_attr_error_count,
	&dev_attr_timeout_sector,
	&dev_attr_gone,
	NULL,
};

static struct configfs_bin_attribute *dev_bin_attributes[] = {
	&dev_attr_tables,
	NULL,
};

static void dev_release(struct config_item *item)
{
	struct modeldisk *dev = dev_of(item);

	power_off(dev);
	vfree(dev->tables);
	kfree(dev);
}

static struct configfs_item_operations dev_item_operations = {
	.release = dev_release,
};

static const struct config_item_type dev_type = {
	.ct_item_ops = &dev_item_operations,
	.ct_attrs = dev_attributes,
	.ct_bin_attrs = dev_bin_attributes,
	.ct_owner = THIS_MODULE,
};

static struct config_item *make_item(struct config_group *group, const char *name)
{
	struct modeldisk *dev;

	if (strlen(name) >= DISK_NAME_LEN)
		return ERR_PTR(-ENAMETOOLONG);
	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	mutex_init(&dev->mutex);
	spin_lock_init(&dev->lock);
	xa_init(&dev->store);
	dev->memory_backed = true;
	dev->timeout_ms = 30000;
	dev->timeout_sector = MODELDISK_NO_SECTOR;
	config_item_init_type_name(&dev->item, name, &dev_type);
	return &dev->item;
}

static void drop_item(struct config_group *group, struct config_item *item)
{
	struct modeldisk *dev = dev_of(item);

	mutex_lock(&dev->mutex);
	power_off(dev);
	mutex_unlock(&dev->mutex);
	config_item_put(item);
}

static struct configfs_group_operations group_operations = {
	.make_item = make_item,
	.drop_item = drop_item,
};

static const struct config_item_type group_type = {
	.ct_group_ops = &group_operations,
	.ct_owner = THIS_MODULE,
};

static struct configfs_subsystem subsystem = {
	.su_group = {
		.cg_item = {
			.ci_namebuf = "modeldisk",
			.ci_type = &group_type,
		},
	},
};

static int __init modeldisk_init(void)
{
	int error;

	config_group_init(&subsystem.su_group);
	mutex_init(&subsystem.su_mutex);
	modeldisk_debugfs_init();
	error = configfs_register_subsystem(&subsystem);
	if (error)
		modeldisk_debugfs_exit();
	return error;
}

static void __exit modeldisk_exit(void)
{
	configfs_unregister_subsystem(&subsystem);
	modeldisk_debugfs_exit();
}

module_init(modeldisk_init);
module_exit(modeldisk_exit);
MODULE_DESCRIPTION("A disk with the service times of schedlab's models");
MODULE_LICENSE("GPL");
