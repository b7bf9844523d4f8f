//! Files swapped between the moment in which they are checked and that in which they are used.
