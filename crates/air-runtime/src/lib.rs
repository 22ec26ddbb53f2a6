//! The driver around `air-core`: collects the facts that an evaluation needs, journals before it
//! acts, carries out responses, and verifies them on fresh facts.
//!
//! Start at [`Session`]. It knows ports only: no judge, store or sandbox in particular.

mod asking;
mod critical;
mod decide;
mod engine;
mod eradicate;
mod facts;
mod gate;
mod hands;
mod hosted;
mod incident;
mod models;
mod order;
mod plan;
mod ports;
pub mod rehearse;
mod repair;
pub mod replay;
mod respond;
mod resume;
mod review;
mod session;

pub use asking::{Asking, Waiting};
pub use critical::{Kept, ask_critical, critical, critical_engine};
pub use engine::{GuardrailFault, LoadedGuardrails, load_engine, load_guardrails};
pub use hosted::{Concurrent, Hosted, Issued, Ordered, Reach, Told};
pub use models::{Models, Remediation, ReviewMode};
pub use ports::{Hand, Ports};
pub use repair::proved as proved_repair;
pub use resume::{Attention, Decision};
pub use session::{GateReply, Opening, ReviewReply, RuntimeError, Session, Ticket};
