//! Probes: what the device and the system counted while a workload ran.
