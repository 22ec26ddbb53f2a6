//! AIR's rule language. Pure: no clock, randomness, file, network or thread.
//!
//! [`parse`] takes a rule set file apart and never fails; what is wrong with it is in
//! [`Parsed::diagnostics`], what is right in [`Parsed::rules`]. [`format()`] lays a file out. A file is
//! trusted once its rules are loaded, not before: any bytes may be parsed.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod convert;
pub mod diagnostic;
pub mod export;
pub mod expr;
mod fix;
mod format;
pub mod lint;
mod lower;
mod mutate;
mod parsed;
mod reader;
mod respond;
mod set;
pub mod syntax;

pub use convert::{Converted, Converter};
pub use diagnostic::{Code, Diagnostic, Edit, Position, Report, Severity, positions, render};
pub use fix::{Fixed, fix};
pub use format::format;
pub use lint::lint;
pub use mutate::{Mutant, mutants};
pub use parsed::{MAX_FILE_BYTES, Parsed, parse, parse_bytes};
pub use reader::LangRules;
pub use set::{SetError, rule_set};
