//! The agents that AIR ships: loops that plan, call a tool and observe.
