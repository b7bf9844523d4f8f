//! Locks held and session marks forged by another user.
