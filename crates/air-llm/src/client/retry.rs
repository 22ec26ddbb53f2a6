//! How long to wait before a request is sent again.

use std::{
    hash::{BuildHasher, RandomState},
    time::{Duration, SystemTime},
};

use jiff::Timestamp;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

use super::limits::Retry;

/// No provider is believed that asks for more.
const LONGEST: Duration = Duration::from_hours(24);

impl Retry {
    /// The wait after `tried` requests: half of it fixed, half by chance, so that many clients do not
    /// come back all at once.
    pub(super) fn wait(&self, tried: u32) -> Duration {
        let doubled = 2u32.saturating_pow(tried.saturating_sub(1).min(20));
        let most = self.first.saturating_mul(doubled).min(self.most);
        // The standard library's hash keys are random: enough for chance that guards nothing.
        let chance = RandomState::new().hash_one(tried) % 1024;
        let chance = u32::try_from(chance).unwrap_or_default();
        most / 2 + most / 2 * chance / 1024
    }
}

/// How long the provider asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date.
pub(super) fn asked(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let millis = text("retry-after-ms").and_then(|value| seconds(value, 1000.0));
    let wait = millis.or_else(|| {
        let value = text(RETRY_AFTER.as_str())?;
        seconds(value, 1.0).or_else(|| until(value, text(DATE.as_str())))
    });
    wait.map(|wait| wait.min(LONGEST))
}

fn seconds(text: &str, in_one: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse::<f64>().ok()? / in_one).ok()
}

/// From the server's own time, where it tells: its clock may be another.
fn until(then: &str, now: Option<&str>) -> Option<Duration> {
    let read = |text: &str| jiff::fmt::rfc2822::parse(text).ok().map(|time| time.timestamp());
    let now = now.and_then(read).or_else(|| Timestamp::try_from(SystemTime::now()).ok())?;
    let wait = read(then)?.as_millisecond().saturating_sub(now.as_millisecond());
    Some(Duration::from_millis(u64::try_from(wait).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Header = (&'static str, &'static str);

    #[test]
    fn providers_say_how_long_to_wait() {
        #[rustfmt::skip]
        let table: [(&[Header], Option<u64>); 12] = [
            (&[("retry-after", "2")],                                        Some(2000)),
            (&[("retry-after", "0.25")],                                     Some(250)),
            (&[("retry-after-ms", "1500"), ("retry-after", "9")],            Some(1500)),
            (&[("retry-after-ms", "soon"), ("retry-after", "9")],            Some(9000)),
            (&[("date", "Sun, 06 Nov 1994 08:49:00 GMT"), ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(37_000)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")],            Some(0)),
            (&[("retry-after", "-5")],                                       None),
            (&[("retry-after", "NaN")],                                      None),
            (&[("retry-after", "1e300")],                                    None),
            (&[("retry-after", "999999999")],                                Some(86_400_000)),
            (&[("retry-after", "tomorrow")],                                 None),
            (&[],                                                            None),
        ];
        for (given, expected) in &table {
            let mut headers = HeaderMap::new();
            for (name, value) in *given {
                headers.insert(*name, value.parse().unwrap());
            }
            assert_eq!(asked(&headers), expected.map(Duration::from_millis), "{given:?}");
        }
    }

    #[test]
    fn waits_double_within_their_limit() {
        let retry = Retry { tries: 9, first: Duration::from_secs(1), most: Duration::from_secs(5) };
        for (tried, most) in [(1, 1), (2, 2), (3, 4), (4, 5), (40, 5), (u32::MAX, 5)] {
            let most = Duration::from_secs(most);
            for _ in 0..50 {
                let wait = retry.wait(tried);
                assert!(wait >= most / 2 && wait <= most, "{tried}: {wait:?}");
            }
        }
    }
}
