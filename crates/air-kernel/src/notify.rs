//! Seccomp user notification: a supervisor answers system calls of those that it supervises.
