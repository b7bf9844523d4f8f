// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The machine of the anticipatory family for wpcas-iosched.ko: see anticipatory-machine.c. */
#include "core/antic.c"
#include "core/antic-batch.c"
#include "core/antic-history.c"
#include "core/antic-requests.c"
#include "core/antic-time.c"
#include "core/antic-wait.c"
