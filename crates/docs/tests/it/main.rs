//! The pages: the book and SECURITY.md.

mod book;
mod security;
