//! What directory trees hold over time: checkpoints, differences, and changes that lose nothing.
//!
//! [`Scanner`] looks at watched [`Root`]s and fills a [`Tree`]; a [`Store`] keeps contents by
//! digest; a [`Timeline`] remembers trees as checkpoints; an [`apply::Applier`] changes what is there. Nothing here follows a link below a root,
//! trusts a name it finds there, or writes outside of the roots and its own directory.
//!
//! A directory of checkpoints holds secrets. It belongs to its user alone (mode 0700) and lies
//! outside of every root.

pub mod apply;
pub mod beneath;
mod blind;
mod differences;
pub mod known;
pub mod overlay;
mod scan;
pub mod store;
mod timeline;
mod tree;
mod watch;

pub use blind::Covered;
pub use differences::{Aspect, Difference, differences};
pub use scan::{Scanner, companions};
pub use store::{Budget, Store, StoreError};
pub use timeline::{Done, Position, Scope, Timeline, TimelineError};
pub use tree::{Digest, Entry, Kind, Place, Root, Tree, Unread};
pub use watch::{Dirty, Looker, Watch, Watches};
