//! A hostile guest: root in it, and its kernel too, tries to change the machine.
