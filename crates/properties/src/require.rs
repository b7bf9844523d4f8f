//! The condition of a property.

/// Returns an error with a message unless the condition holds.
macro_rules! require {
    ($holds:expr, $($message:tt)*) => {
        if !$holds {
            return Err(format!($($message)*));
        }
    };
}
