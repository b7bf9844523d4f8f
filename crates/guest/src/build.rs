//! From source to a kernel that has booted.
