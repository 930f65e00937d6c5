//! When and where a sweep ran.

use std::time::{SystemTime, UNIX_EPOCH};

/// When and where a sweep ran.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Provenance {
    /// Date and time of its start, in UTC.
    pub date: String,
    /// Processor, its cores, operating system.
    pub machine: String,
}

impl Provenance {
    /// Now, on this machine.
    pub fn here() -> Self {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Provenance { date: date(seconds), machine: machine() }
    }
}

/// `2025-11-18 03:54 UTC`, from seconds since 1970.
fn date(seconds: u64) -> String {
    let (days, minutes) = (seconds / 86_400, seconds % 86_400 / 60);
    // Civil date from days since 0000-03-01, in eras of 400 years of 146,097 days (Howard Hinnant, "chrono-compatible low-level
    // date algorithms").
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (year, day) = (year + era * 400 + u64::from(month >= 10), day - (153 * month + 2) / 5 + 1);
    let month = if month < 10 { month + 3 } else { month - 9 };
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let processor = processor().unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    format!("{processor}, {cores} core{}, {}", if cores == 1 { "" } else { "s" }, std::env::consts::OS)
}

/// The processor's name, where the system tells.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_340), "2000-02-28 23:59 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(951_868_800), "2000-03-01 00:00 UTC");
        assert_eq!(date(1_709_164_800), "2024-02-29 00:00 UTC");
        assert_eq!(date(1_763_438_096), "2025-11-18 03:54 UTC");
    }
}
