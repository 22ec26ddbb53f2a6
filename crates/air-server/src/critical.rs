//! What a host is answered where no daemon can be asked, by the critical guardrails alone.

use air::{CopyError, Critical, Told};
use air_hooks::{DecodeError, Native, Reply, Via, adapter};
use air_protocol::{Answer, Event, Point, VERSION};

use crate::{
    call::{call, plan},
    question::{directory, failed, missing},
    told::answer,
};

/// Answers the payload of a host's hook. A call is decided by `critical`, and refused where that could not be
/// had; nothing else is kept from happening. `why` no daemon can be asked. `None`: the host is not known.
pub async fn answer_alone(
    critical: Result<Critical, CopyError>,
    (host, event): (&str, Option<&str>),
    payload: &[u8],
    why: &str,
) -> Option<Reply> {
    let adapter = adapter(host)?;
    let native = Native { payload, event, via: Via::Command, version: None };
    let event = match adapter.decode(&native) {
        Ok(event) => event,
        Err(DecodeError::UnknownEvent { .. }) => return Some(Reply::default()),
        Err(error) => return Some(adapter.refuse(&native, &format!("AIR: {error}"))),
    };
    if event.point != Point::PreToolCall {
        return Some(adapter.encode(&event, &Answer::allow(event.id.as_str())));
    }
    let answer = match critical {
        Ok(critical) => decided(&critical, &event, why).await,
        Err(error) => {
            let why = format!("AIR cannot be asked: {why}; and {error}, so nothing runs");
            return Some(adapter.refuse(&native, &why));
        }
    };
    let reply = adapter.encode(&event, &answer);
    let note = answer.user_message.filter(|_| reply.stderr.is_empty() && reply.exit == 0);
    Some(Reply { stderr: note.map_or(reply.stderr, |note| format!("{note}\n")), ..reply })
}

async fn decided(critical: &Critical, event: &Event, why: &str) -> Answer {
    if event.v != VERSION {
        return failed(event, &format!("AIR speaks version {VERSION} of air-hook"));
    }
    if let Some(what) = missing(event) {
        let why = format!("AIR could not decide: the question does not say {what}");
        return failed(event, &why);
    }
    let Some(tool) = &event.tool else { return failed(event, "AIR could not decide") };
    let cwd = directory(event);
    let told = critical.ask(&event.host.name, cwd, plan(event), call(tool)).await;
    let passed = matches!(told, Told::Go { .. });
    let mut answer = answer(event, told);
    if passed {
        let note = format!(
            "AIR is away ({why}): only its critical guardrails were asked about this call, and nothing looks \
             at what it does"
        );
        let warned = answer.reason.take().map(|reason| format!("{reason}; {note}"));
        answer.reason = Some(warned.unwrap_or_else(|| note.clone()));
        answer.user_message = Some(note);
    }
    answer
}
