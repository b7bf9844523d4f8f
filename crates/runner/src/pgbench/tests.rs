//! Tests of the runner as a whole: a real cluster on a real loop device.
