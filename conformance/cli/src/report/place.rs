//! Where a backend computes, as a word of reports and messages.

use kernels::DeviceKind;

/// The word.
pub const fn name(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Host => "host",
        DeviceKind::Software => "software",
        DeviceKind::Gpu => "gpu",
    }
}

/// What a word means.
pub fn parse(word: &str) -> Option<DeviceKind> {
    [DeviceKind::Host, DeviceKind::Software, DeviceKind::Gpu].into_iter().find(|kind| name(*kind) == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lead_back_to_places() {
        for kind in [DeviceKind::Host, DeviceKind::Software, DeviceKind::Gpu] {
            assert_eq!(parse(name(kind)), Some(kind));
        }
        assert_eq!(parse("moon"), None);
    }
}
