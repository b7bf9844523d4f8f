// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The machine of the anticipatory family for wpcas-iosched.ko: see anticipatory-machine.c. */
#include "core/antic.c"
