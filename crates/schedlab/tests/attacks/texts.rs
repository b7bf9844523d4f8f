//! Control characters and formulas in text from outside.
