//! Linux in a process: the clients of a workload inside the guest's kernel.

pub mod load;
