//! Mounts of one process tree: namespaces, overlays and mapped owners.
