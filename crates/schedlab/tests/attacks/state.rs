//! Planted journal entries and kernels.
