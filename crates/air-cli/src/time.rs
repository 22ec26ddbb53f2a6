//! Times: stored in UTC, shown local.

use jiff::{Timestamp, tz::TimeZone};

/// Milliseconds since the Unix epoch, in the time zone of this machine, to the second.
pub fn local(ms: u64) -> String {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    match Timestamp::from_millisecond(ms) {
        Ok(at) => at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => "an impossible time".to_owned(),
    }
}
