//! Client programs as pure step generators.
