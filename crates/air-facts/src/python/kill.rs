//! Processes that are ended.

use air_core::{code::Activity, place::PlaceKind};

use super::{
    effects::Call,
    interpret::Interpreter,
    value::{GAP, Sources, Value, What},
};
use crate::owner;

impl Interpreter<'_, '_> {
    /// A signal to a process, by its number or as an object.
    pub(super) fn kill(&mut self, target: Option<&Value>, signal: Option<&Value>, call: &Call) {
        let signal = signal.map(|signal| match &signal.what {
            What::Name(name) => name.rsplit('.').next().unwrap_or(name).to_owned(),
            _ => signal.as_text().text.to_string(),
        });
        let unknown = Value::unknown();
        for target in target.unwrap_or(&unknown).each() {
            let mut sources = self.heap.sources(target);
            let name = match target.what {
                // A process that is known by where it was found alone.
                What::Object(id) => {
                    let object = self.heap.objects.get(id);
                    if object.is_some_and(|object| is_child(&object.class)) {
                        sources = Sources::of(owner::own());
                    }
                    let place = object.and_then(|object| object.place.as_ref());
                    place.map_or_else(|| GAP.to_owned(), |place| place.name.clone())
                }
                _ => target.as_text().text.to_string(),
            };
            let labels = owner::labels(&name, sources.places(), self.out);
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            let signal = signal.clone();
            let activity = Activity::ProcessKill;
            self.labelled(activity, &name, call.name, signal, false, &labels, call.line);
        }
    }

    /// `psutil.Process(pid)`: without a number, the source itself.
    pub(super) fn process(&mut self, pid: Option<&Value>, call: &Call) -> Value {
        let from = match pid {
            Some(pid) if !matches!(pid.what, What::None) => {
                let from = self.heap.sources(pid);
                let told = from.places().iter().any(|place| place.kind == PlaceKind::Variable);
                if told || !matches!(pid.what, What::Number(_)) {
                    from
                } else {
                    Sources::of(owner::foreign())
                }
            }
            _ => Sources::of(owner::own()),
        };
        self.heap.object(call.name, None).with(&from)
    }

    /// The number of the process that `object` is.
    pub(super) fn number_of(&self, id: usize) -> Value {
        let Some(object) = self.heap.objects.get(id) else { return Value::unknown() };
        if is_child(&object.class) {
            return Value::computed(Sources::of(owner::own()));
        }
        Value::computed(object.from.clone())
    }
}

/// Whether an object of that class is a process that the source has started.
fn is_child(class: &str) -> bool {
    class != "psutil.Process" && (class.ends_with(".Process") || class.contains("Popen"))
}
