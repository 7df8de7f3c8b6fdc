//! Waits until something is so, or a time is up, by looking again and again.

use std::thread;
use std::time::{Duration, Instant};

use shopfloor_core::error::Result;

/// Looks until there is an answer, with a pause after each look. None once the time is up; it looks at least once.
pub fn answer<T>(limit: Duration, pause: Duration, mut look: impl FnMut() -> Result<Option<T>>) -> Result<Option<T>> {
    let start = Instant::now();
    loop {
        let found = look()?;
        if found.is_some() || start.elapsed() >= limit {
            return Ok(found);
        }
        thread::sleep(pause);
    }
}

/// Whether something holds before the time is up.
pub fn holds(limit: Duration, pause: Duration, mut look: impl FnMut() -> bool) -> bool {
    answer(limit, pause, || Ok(look().then_some(()))).is_ok_and(|found| found.is_some())
}
