//! The C cores against the Rust schedulers, the properties, a kernel's compiler, and callgrind; the
//! elevators against the signatures of each release.

mod compiled;
mod cost;
mod counting;
mod differential;
mod disk;
mod freestanding;
mod lockstep;
mod mutants;
mod processes;
mod properties;
mod releases;
