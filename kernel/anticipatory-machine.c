// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The machine of the anticipatory family for anticipatory-iosched.ko: one object file in two
 * modules is what kbuild warns of.
 */
#include "core/antic.c"
#include "core/antic-batch.c"
#include "core/antic-history.c"
#include "core/antic-requests.c"
#include "core/antic-time.c"
#include "core/antic-wait.c"
