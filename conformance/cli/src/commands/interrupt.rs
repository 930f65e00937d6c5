//! Ctrl-C: work that can end early and keep what it has.

use std::sync::Once;
use std::sync::atomic::{AtomicU8, Ordering};

use output_file::scratch;

/// Exit code of a command that was interrupted, as shells give it.
pub const EXIT_CODE: u8 = 130;

/// Nobody watches: an interrupt ends the program.
const IDLE: u8 = 0;
/// Somebody watches: the first interrupt is noted, the second one ends the program.
const WATCHED: u8 = 1;
/// An interrupt was noted.
const INTERRUPTED: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(IDLE);
static HANDLER: Once = Once::new();

/// Notes interrupts as long as it lives. There is one at a time.
pub struct Watch(());

/// From now on an interrupt, SIGTERM or SIGHUP removes scratch files before the program ends.
pub fn tidy_up() {
    HANDLER.call_once(|| {
        // Without a handler, an interrupt ends the program at once, as it did before.
        let _ = ctrlc::set_handler(|| {
            let noted = STATE.compare_exchange(WATCHED, INTERRUPTED, Ordering::SeqCst, Ordering::SeqCst);
            if noted.is_err() {
                scratch::remove_all();
                std::process::exit(i32::from(EXIT_CODE));
            }
        });
    });
}

/// Notes interrupts from now on.
pub fn watch() -> Watch {
    tidy_up();
    STATE.store(WATCHED, Ordering::SeqCst);
    Watch(())
}

impl Watch {
    /// Whether there was an interrupt.
    #[expect(clippy::unused_self, reason = "only who watches may ask")]
    pub fn interrupted(&self) -> bool {
        STATE.load(Ordering::SeqCst) == INTERRUPTED
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        STATE.store(IDLE, Ordering::SeqCst);
    }
}
