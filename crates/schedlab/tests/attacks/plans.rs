//! Plans from elsewhere: what they start, and as whom.
