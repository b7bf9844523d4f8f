//! Programs that write the same settings.
